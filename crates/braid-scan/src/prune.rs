//! Which chunks a scan needs at all, by zone map, and what its predicates still have to say about each.
//!
//! Invariant: a chunk is left out only if some predicate is refuted for every row of it; predicates are ANDed, so one
//! refutation suffices. Zone maps are about deleted rows too: what they refute or confirm of all rows holds for the others.
//! Pruning reads the catalog only, never the disk.

use braid_base::ColumnId;
use braid_storage::{ChunkMeta, ColumnPredicate, TableVersion, Verdict};

/// Indices into `version.chunks`, ascending, of the chunks in which every predicate may hold for some row.
pub fn prune(version: &TableVersion, predicates: &[(ColumnId, ColumnPredicate)]) -> Vec<usize> {
    let possible = |chunk: &ChunkMeta| !refuted(chunk, predicates);
    version.chunks.iter().enumerate().filter(|(_, chunk)| possible(chunk)).map(|(index, _)| index).collect()
}

/// Whether the zone maps of `chunk` say that no row satisfies all `predicates`.
pub(crate) fn refuted(chunk: &ChunkMeta, predicates: &[(ColumnId, ColumnPredicate)]) -> bool {
    predicates.iter().any(|(column, predicate)| verdict(chunk, *column, predicate) == Verdict::None)
}

/// What the zone map of `column` in `chunk` says about `predicate`.
pub(crate) fn verdict(chunk: &ChunkMeta, column: ColumnId, predicate: &ColumnPredicate) -> Verdict {
    chunk.segment(column).zone_map.verdict(predicate, chunk.row_count)
}

/// Whether `chunk` satisfies every predicate in every row, so that none need be evaluated.
pub(crate) fn satisfied(chunk: &ChunkMeta, predicates: &[(ColumnId, ColumnPredicate)]) -> bool {
    predicates.iter().all(|(column, predicate)| verdict(chunk, *column, predicate) == Verdict::All)
}
