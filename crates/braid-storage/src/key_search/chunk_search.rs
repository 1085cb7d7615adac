//! Rows with one of several keys, in the chunks of a version.
//!
//! Chunks whose keys are in a tree are searched together (`tree_search.rs`). Another one is ruled out by the bounds of the key's first column
//! in its zone map, then by its summary, and only then is its run searched. A run that is not in memory is made of the chunk's columns.

use std::sync::Arc;

use arrow::array::RecordBatch;
use braid_base::{ChunkId, TableId};

use super::key_evaluation::run_of;
use super::tree_search::{by_tree, tree_matches};
use crate::chunk_reader::read_columns;
use crate::key_index::{KeyRun, KeyShape, KeySummary, KnownRun, ShapeId};
use crate::store_shared::StoreShared;
use crate::{ChunkMeta, Scalar, StoreError, TableDef, TableVersion};

/// Rows up to which a run is made in place. Those of more rows are made on a thread for blocking work.
const ROWS_INLINE_MAX: u32 = 4096;

/// Rows from which on a run is kept. Smaller ones are made again each time: their chunks are soon merged.
const ROWS_CACHED_MIN: u32 = 256;

/// A row with one of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyMatch {
    pub chunk: ChunkId,
    pub row: u32,
    /// The place of the key among those that were searched for.
    pub key_at: usize,
}

/// A chunk of a version of a table.
#[derive(Clone, Copy)]
pub(crate) struct SearchedChunk<'a> {
    pub table: TableId,
    pub def: &'a Arc<TableDef>,
    pub chunk: &'a Arc<ChunkMeta>,
}

/// A row of these chunks that has one of these keys, is not deleted and is not passed over.
///
/// # Errors
/// What reading chunks fails with.
pub(crate) async fn first_match<'a>(
    shared: &Arc<StoreShared>,
    shape: &Arc<KeyShape>,
    chunks: impl Iterator<Item = SearchedChunk<'a>>,
    keys: &KeyRun,
    is_passed_over: impl Fn(ChunkId, u32) -> bool,
) -> Result<Option<KeyMatch>, StoreError> {
    let search = Search { shared, shape, keys, is_passed_over: &is_passed_over, wanted: Wanted::First };
    Ok(search.matches(chunks).await?.first().copied())
}

/// All rows of these chunks that have one of these keys and are not deleted.
///
/// # Errors
/// What reading chunks fails with.
pub(crate) async fn all_matches<'a>(
    shared: &Arc<StoreShared>,
    shape: &Arc<KeyShape>,
    chunks: impl Iterator<Item = SearchedChunk<'a>>,
    keys: &KeyRun,
) -> Result<Vec<KeyMatch>, StoreError> {
    let search = Search { shared, shape, keys, is_passed_over: &|_, _| false, wanted: Wanted::All };
    search.matches(chunks).await
}

/// Which rows of a chunk are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    First,
    All,
}

/// A search for some keys.
pub(super) struct Search<'s, P> {
    pub shared: &'s Arc<StoreShared>,
    pub shape: &'s Arc<KeyShape>,
    pub keys: &'s KeyRun,
    pub is_passed_over: &'s P,
    pub wanted: Wanted,
}

impl<P: Fn(ChunkId, u32) -> bool> Search<'_, P> {
    async fn matches<'a>(&self, chunks: impl Iterator<Item = SearchedChunk<'a>>) -> Result<Vec<KeyMatch>, StoreError> {
        let (mut trees, singles) = by_tree(self.shape, chunks);
        let mut found = Vec::new();
        // The last chunks have the keys that were added last.
        for searched in singles.into_iter().rev() {
            found.extend(self.matches_in(searched).await?);
            if self.is_enough(&found) {
                return Ok(found);
            }
        }
        while let Some(tree) = trees.pop() {
            match tree_matches(self, &tree).await {
                Ok(matches) => found.extend(matches),
                Err(error) => {
                    tree.forget(&error);
                    for searched in tree.chunks() {
                        found.extend(self.matches_in(searched).await?);
                    }
                }
            }
            if self.is_enough(&found) {
                return Ok(found);
            }
        }
        found.sort_unstable_by_key(|found| (found.chunk, found.key_at, found.row));
        Ok(found)
    }

    fn is_enough(&self, found: &[KeyMatch]) -> bool {
        self.wanted == Wanted::First && !found.is_empty()
    }

    /// Whether a row that has one of the keys counts.
    pub(super) fn counts(&self, chunk: &ChunkMeta, row: u32) -> bool {
        let is_deleted = chunk.deleted.as_ref().is_some_and(|deleted| deleted.contains(row));
        !is_deleted && !(self.is_passed_over)(chunk.id, row)
    }

    async fn matches_in(&self, searched: SearchedChunk<'_>) -> Result<Vec<KeyMatch>, StoreError> {
        let Self { shared, shape, keys, .. } = *self;
        let (chunk, mut found) = (searched.chunk, Vec::new());
        if is_out_of_bounds(chunk, shape, keys) {
            return Ok(found);
        }
        let candidates: Vec<usize> = match searched.summary(shared, shape).await? {
            Some(summary) => (0..keys.len()).filter(|at| summary.may_have(keys.key(*at))).collect(),
            None => (0..keys.len()).collect(),
        };
        if candidates.is_empty() {
            return Ok(found);
        }
        let run = searched.run(shared, shape).await?;
        let mut from = 0;
        for key_at in candidates {
            from = run.lower_bound(keys.key(key_at), from);
            let rows = run.places_of(keys.key(key_at), from).map(|at| run.row(at));
            let counted = rows.filter(|row| self.counts(chunk, *row));
            found.extend(counted.map(|row| KeyMatch { chunk: chunk.id, row, key_at }));
            if self.is_enough(&found) {
                break;
            }
        }
        Ok(found)
    }
}

/// Whether the zone map of the key's first column excludes all keys.
fn is_out_of_bounds(chunk: &ChunkMeta, shape: &KeyShape, keys: &KeyRun) -> bool {
    let Some((smallest, largest)) = keys.integer_bounds().filter(|_| shape.form().is_none()) else { return false };
    let Some(segment) = shape.columns().next().and_then(|column| chunk.find_segment(column)) else { return false };
    match (&segment.zone_map.min, &segment.zone_map.max) {
        // Nulls are outside of the bounds.
        (Some(Scalar::Int(min)), Some(Scalar::Int(max))) if segment.zone_map.null_count == 0 => {
            largest < *min || smallest > *max
        }
        _ => false,
    }
}

impl<'a> SearchedChunk<'a> {
    /// All chunks of a version.
    pub fn all_of(version: &'a TableVersion) -> impl DoubleEndedIterator<Item = Self> {
        let of_chunk = |chunk| SearchedChunk { table: version.def.id, def: &version.def, chunk };
        version.chunks.iter().map(of_chunk)
    }
}

impl SearchedChunk<'_> {
    /// The summary of the run; `None` if a tree has got its keys meanwhile.
    async fn summary(
        self,
        shared: &Arc<StoreShared>,
        shape: &Arc<KeyShape>,
    ) -> Result<Option<Arc<KeySummary>>, StoreError> {
        match self.chunk.keys.known(shape) {
            Some(KnownRun::Summary(summary)) => return Ok(Some(summary)),
            Some(KnownRun::Tree(_)) => return Ok(None),
            None => {}
        }
        let run = self.run(shared, shape).await?;
        let summary = Arc::new(KeySummary::of(&run));
        self.chunk.keys.keep(shape, Arc::clone(&summary));
        if self.chunk.file.is_some() {
            shared.key_trees.note_indexed_chunk();
        }
        Ok(Some(summary))
    }

    /// The run of all rows of the chunk, deleted ones included.
    ///
    /// # Errors
    /// What reading the chunk fails with.
    pub async fn run(self, shared: &Arc<StoreShared>, shape: &Arc<KeyShape>) -> Result<Arc<KeyRun>, StoreError> {
        match shared.search_cache.run(self.run_id(shape)) {
            Some(run) => Ok(run),
            None => self.new_run(shared, shape, |_| false).await,
        }
    }

    /// The same of a chunk that is yet to be indexed: the keys of all rows that are not deleted must be computable.
    ///
    /// # Errors
    /// Those of expressions, and what reading the chunk fails with.
    pub async fn first_run(self, shared: &Arc<StoreShared>, shape: &Arc<KeyShape>) -> Result<Arc<KeyRun>, StoreError> {
        if shape.form().is_none() {
            return self.run(shared, shape).await;
        }
        let deleted = self.chunk.deleted.clone();
        self.new_run(shared, shape, move |row| deleted.as_ref().is_none_or(|deleted| !deleted.contains(row as u32)))
            .await
    }

    fn run_id(self, shape: &KeyShape) -> (TableId, ChunkId, ShapeId) {
        (self.table, self.chunk.id, shape.id())
    }

    async fn new_run(
        self,
        shared: &Arc<StoreShared>,
        shape: &Arc<KeyShape>,
        is_needed: impl Fn(usize) -> bool + Send + Sync + 'static,
    ) -> Result<Arc<KeyRun>, StoreError> {
        let position = |column| self.def.position(column).expect("a key has columns of its table");
        let positions = shape.columns().map(position).collect();
        let columns = read_columns(shared.device.as_ref(), self.def, self.chunk, positions).await?;
        let row_count = self.chunk.row_count as usize;
        let run = Arc::new(match self.chunk.row_count {
            ..=ROWS_INLINE_MAX => run_of(shared, self.def, shape, &columns, (row_count, &is_needed))?,
            _ => {
                let (shared, def, shape) = (Arc::clone(shared), Arc::clone(self.def), Arc::clone(shape));
                let make = move || run_of(&shared, &def, &shape, &columns, (row_count, &is_needed));
                let made = tokio::task::spawn_blocking(make).await;
                made.map_err(|error| StoreError::Stopped { reason: error.to_string() })??
            }
        });
        if self.chunk.row_count >= ROWS_CACHED_MIN {
            shared.search_cache.put_run(self.run_id(shape), Arc::clone(&run));
        }
        Ok(run)
    }
}

/// The run of rows in memory, at most a chunk.
///
/// # Errors
/// For a key that is too long, and those of expressions.
pub(crate) fn run_of_batches(
    shared: &StoreShared,
    def: &TableDef,
    shape: &KeyShape,
    rows: &[RecordBatch],
) -> Result<KeyRun, StoreError> {
    let columns = shape.columns().map(|column| {
        let at = def.position(column).expect("a key has columns of its table");
        let parts: Vec<&dyn arrow::array::Array> = rows.iter().map(|batch| batch.column(at).as_ref()).collect();
        match &parts[..] {
            [_] => Arc::clone(rows[0].column(at)),
            parts => arrow::compute::concat(parts).expect("batches are checked to have the table's types"),
        }
    });
    let row_count = rows.iter().map(RecordBatch::num_rows).sum();
    run_of(shared, def, shape, &columns.collect::<Vec<_>>(), (row_count, &|_| true))
}
