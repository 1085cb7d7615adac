//! One chunk on its way to batches: predicates vector by vector on encoded data, then late decoding of the projected
//! columns for the selected rows only.
//!
//! Predicates run in the order of their rank (Hellerstein, Predicate Migration, 1993): cost over the share of rows they
//! drop, both as this consumer has seen them so far. A predicate that the chunk's zone map answers is not evaluated, and
//! a vector without selected rows is left as soon as that is known. Rows that are deleted in the scanned version are left out
//! before the first predicate; the segments, which scans of other versions read at the same time, have all rows.
//!
//! Invariant: a cursor pins its chunk, and what it returns does not: decoded columns own their bytes, except that
//! strings may share their segment's dictionary by reference count, which outlives the pin without holding its place in
//! the buffer's accounting.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::error::ArrowError;
use braid_base::{ColumnId, VECTOR_ROWS};
use braid_buffer::PinnedChunk;
use braid_storage::{ColumnPredicate, DeletedRows, PhysicalType, PreparedPredicate, Selection, Verdict};

use crate::prune::verdict;
use crate::{CooperativeScan, ScanMetrics};

/// How a consumer has come to know its predicates, over all its chunks.
#[derive(Debug)]
pub(crate) struct PredicateRanks {
    ranks: Vec<Rank>,
}

#[derive(Clone, Debug)]
struct Rank {
    /// Relative cost of evaluating one row.
    cost: f64,
    rows_seen: f64,
    rows_dropped: f64,
}

impl PredicateRanks {
    /// Ranks for the predicates of `scan`, by type alone: each is taken to drop half of its rows until seen to do
    /// otherwise, over more rows than the vector that the assumption weighs.
    pub(crate) fn new(scan: &CooperativeScan) -> Self {
        let rank = |(column, _): &(ColumnId, ColumnPredicate)| {
            let cost = relative_cost(scan.version().physical(*column));
            Rank { cost, rows_seen: VECTOR_ROWS as f64, rows_dropped: VECTOR_ROWS as f64 / 2.0 }
        };
        Self { ranks: scan.spec().predicates.iter().map(rank).collect() }
    }

    /// Smaller goes first.
    fn rank(&self, predicate: usize) -> f64 {
        let Rank { cost, rows_seen, rows_dropped } = &self.ranks[predicate];
        // One row in a million keeps a predicate that never drops anything comparable with its like.
        cost / (rows_dropped / rows_seen).max(1e-6)
    }

    fn observe(&mut self, predicate: usize, rows_seen: usize, rows_left: usize) {
        let rank = &mut self.ranks[predicate];
        rank.rows_seen += rows_seen as f64;
        rank.rows_dropped += (rows_seen - rows_left) as f64;
    }
}

/// What evaluating a comparison on one encoded value costs, an integer's being 1; from the codecs' shapes: strings are
/// compared bytewise unless a dictionary helps, 128-bit integers take two steps.
fn relative_cost(physical: PhysicalType) -> f64 {
    match physical {
        PhysicalType::Bool => 0.5,
        PhysicalType::Int => 1.0,
        PhysicalType::Float32 | PhysicalType::Float64 => 1.5,
        PhysicalType::Int128 => 2.0,
        PhysicalType::Bytes | PhysicalType::Interval => 4.0,
    }
}

/// A predicate to evaluate in the cursor's chunk.
#[derive(Debug)]
struct ChunkPredicate {
    /// Position among the chunk's segments.
    segment: usize,
    predicate: PreparedPredicate,
    /// Position among the scan's predicates, for its rank; `None` for a live predicate.
    ranked: Option<usize>,
}

/// A pinned chunk and how far it has been worked through.
pub(crate) struct ChunkCursor {
    scan: Arc<CooperativeScan>,
    chunk: Arc<PinnedChunk>,
    predicates: Vec<ChunkPredicate>,
    deleted: Option<Arc<DeletedRows>>,
    row_count: usize,
    /// The first vector not yet filtered.
    vector: usize,
    /// Reused between calls: the selections of the vectors to gather.
    selections: Vec<Selection>,
}

impl ChunkCursor {
    /// A cursor at the first vector of `chunk`, with `live` as the live predicates know them now.
    pub(crate) fn new(
        scan: Arc<CooperativeScan>,
        chunk: PinnedChunk,
        ranks: &PredicateRanks,
        live: &[(ColumnId, ColumnPredicate)],
    ) -> Self {
        let meta = scan.version().chunks[chunk.chunk].clone();
        let mut order: Vec<usize> = (0..scan.spec().predicates.len()).collect();
        order.sort_by(|a, b| ranks.rank(*a).total_cmp(&ranks.rank(*b)));
        let ranked = order.into_iter().map(|at| {
            let (column, predicate) = &scan.spec().predicates[at];
            (*column, predicate, Some(at))
        });
        let live = live.iter().map(|(column, predicate)| (*column, predicate, None));
        let undecided =
            ranked.chain(live).filter(|(column, predicate, _)| verdict(&meta, *column, predicate) != Verdict::All);
        let predicates = undecided.map(|(column, predicate, ranked)| {
            let segment = scan.segment_index(column);
            ChunkPredicate { segment, predicate: chunk.segments[segment].prepare(predicate), ranked }
        });
        let predicates = predicates.collect();
        let (chunk, row_count, deleted) = (Arc::new(chunk), meta.row_count as usize, meta.deleted.clone());
        Self { scan, chunk, predicates, deleted, row_count, vector: 0, selections: Vec::new() }
    }

    /// Whether every vector has been worked through.
    pub(crate) fn is_finished(&self) -> bool {
        self.vector * VECTOR_ROWS >= self.row_count
    }

    /// Works through vectors until another one might exceed `rows_wanted` rows or the chunk ends, and decodes the
    /// selected rows; if fewer rows than a vector's are wanted, it stops with the first vector that has any. `None` if
    /// no row was selected. Claims from the scan's limit what it returns.
    pub(crate) fn fill(
        &mut self,
        rows_wanted: usize,
        ranks: &mut PredicateRanks,
        metrics: &mut ScanMetrics,
    ) -> Result<Option<RecordBatch>, ArrowError> {
        self.selections.clear();
        let mut first = self.vector;
        let mut rows_selected = 0;
        // A vector is filtered only when all of it would fit, so that none is filtered twice.
        while !self.is_finished() && (rows_selected == 0 || rows_selected + VECTOR_ROWS <= rows_wanted) {
            let mut selection = self.filter_vector(ranks);
            self.vector += 1;
            metrics.vectors += 1;
            let count = selection.count();
            if count == 0 {
                metrics.vectors_skipped += 1;
                if rows_selected == 0 {
                    first = self.vector;
                    continue;
                }
            }
            let granted = self.scan.limit.claim(count as u64) as usize;
            if granted < count {
                selection.truncate(granted);
                // The limit is used up: what is left of the chunk is not wanted.
                self.row_count = 0;
            }
            self.selections.push(selection);
            rows_selected += granted;
        }
        if rows_selected == 0 { Ok(None) } else { self.gather(first, rows_selected).map(Some) }
    }

    /// Works through vectors until one has rows that satisfy every predicate; it and those rows. `None` at the chunk's
    /// end.
    pub(crate) fn next_vector(
        &mut self,
        ranks: &mut PredicateRanks,
        metrics: &mut ScanMetrics,
    ) -> Option<(usize, Selection)> {
        while !self.is_finished() {
            let selection = self.filter_vector(ranks);
            self.vector += 1;
            metrics.vectors += 1;
            if !selection.is_empty() {
                return Some((self.vector - 1, selection));
            }
            metrics.vectors_skipped += 1;
        }
        None
    }

    /// The chunk, pinned for as long as the result is held.
    pub(crate) fn pinned(&self) -> &Arc<PinnedChunk> {
        &self.chunk
    }

    /// The rows of the next vector that are not deleted and satisfy every predicate.
    fn filter_vector(&self, ranks: &mut PredicateRanks) -> Selection {
        let mut selection = self.live_rows();
        let mut rows_left = selection.count();
        for ChunkPredicate { segment, predicate, ranked } in &self.predicates {
            if rows_left == 0 {
                break;
            }
            self.chunk.segments[*segment].filter_prepared(self.vector, predicate, &mut selection);
            let rows_seen = rows_left;
            rows_left = selection.count();
            if let Some(predicate) = ranked {
                ranks.observe(*predicate, rows_seen, rows_left);
            }
        }
        selection
    }

    /// The rows of the next vector that are not deleted.
    fn live_rows(&self) -> Selection {
        let mut rows = Selection::all(VECTOR_ROWS.min(self.row_count - self.vector * VECTOR_ROWS));
        if let Some(deleted) = &self.deleted {
            deleted.exclude_from(self.vector, &mut rows);
        }
        rows
    }

    /// The projected columns of the selected rows of the vectors from `first` on.
    fn gather(&self, first: usize, rows: usize) -> Result<RecordBatch, ArrowError> {
        let vectors = first..first + self.selections.len();
        let column = |column: &ColumnId| -> ArrayRef {
            let version = self.scan.version();
            let declared = version.def.columns[version.position(*column)].column_type;
            let segment = &self.chunk.segments[self.scan.segment_index(*column)];
            segment.gather_declared(vectors.clone(), &self.selections, declared)
        };
        let columns = self.scan.spec().projection.iter().map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.scan.schema().clone(), columns, &options)
    }

    /// The chunk's index in the scanned version.
    pub(crate) fn chunk(&self) -> usize {
        self.chunk.chunk
    }
}
