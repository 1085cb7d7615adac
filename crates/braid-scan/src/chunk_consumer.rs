//! One core's stream of chunks, for operators that decode themselves: which rows of each vector satisfy the scan's
//! predicates and are not deleted, and the segments to read them from.
//!
//! A chunk stays pinned for as long as it is held. Working through it is synchronous: the caller yields between vectors,
//! so that other tasks run.

use std::sync::Arc;

use braid_base::ColumnId;
use braid_buffer::PinnedChunk;
use braid_storage::{Segment, Selection};

use crate::chunk_cursor::{ChunkCursor, PredicateRanks};
use crate::cooperative_scan::TakenChunk;
use crate::prune::refuted;
use crate::{CooperativeScan, ScanError, ScanMetrics};

/// Pulls chunks from a [`CooperativeScan`]. Dropping the last consumer ends the scan.
pub struct ChunkConsumer {
    scan: Arc<CooperativeScan>,
    ranks: PredicateRanks,
    metrics: ScanMetrics,
    /// The part of `metrics` that the scan's totals have.
    metrics_added: ScanMetrics,
    done: bool,
}

/// What a consumer is handed.
pub enum ScanChunk {
    /// Rows without a needed column.
    Counted {
        /// The index of their chunk in the scanned version.
        chunk: usize,
        /// How many of the chunk's rows are not deleted.
        rows: u64,
    },
    /// A chunk to work through.
    Filtered(FilteredChunk),
}

/// A pinned chunk that is worked through vector by vector.
pub struct FilteredChunk {
    cursor: ChunkCursor,
}

impl CooperativeScan {
    /// A new consumer of chunks whose rows stay encoded; it may stand beside consumers of batches. The caller counts
    /// rows itself, so the scan must have no limit: panics when it has one.
    pub fn chunk_consumer(self: &Arc<Self>) -> ChunkConsumer {
        assert!(self.spec().limit.is_none(), "a consumer of whole chunks cannot keep to a limit of rows");
        ChunkConsumer::new(self.clone())
    }
}

impl ChunkConsumer {
    fn new(scan: Arc<CooperativeScan>) -> Self {
        let ranks = PredicateRanks::new(&scan);
        let (metrics, metrics_added) = Default::default();
        Self { scan, ranks, metrics, metrics_added, done: false }
    }

    /// The next chunk; `None` when the scan is over, and after an error. Cancel-safe: a dropped call loses no chunk.
    pub async fn next_chunk(&mut self) -> Option<Result<ScanChunk, ScanError>> {
        self.add_metrics();
        while !self.done {
            match self.scan.next_chunk().await {
                None => self.done = true,
                Some(Ok(TakenChunk::Counted { chunk, rows })) => {
                    self.metrics.chunks_counted += 1;
                    self.metrics.rows_out += rows;
                    return Some(Ok(ScanChunk::Counted { chunk, rows }));
                }
                Some(Ok(TakenChunk::Pinned(chunk))) => {
                    if let Some(chunk) = self.open(chunk) {
                        return Some(Ok(ScanChunk::Filtered(chunk)));
                    }
                }
                Some(Err(error)) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
        self.add_metrics();
        None
    }

    /// Begins a chunk, unless the live predicates refute it by now.
    fn open(&mut self, chunk: PinnedChunk) -> Option<FilteredChunk> {
        let meta = &self.scan.version().chunks[chunk.chunk];
        let live = self.scan.live_predicates();
        self.metrics.take_chunk(meta.live_row_count(), &chunk.segments);
        if refuted(meta, &live) {
            self.metrics.chunks_refuted += 1;
            return None;
        }
        Some(FilteredChunk { cursor: ChunkCursor::new(self.scan.clone(), chunk, &self.ranks, &live) })
    }

    /// The next vector of the chunk that has rows which satisfy the predicates, and those rows; `None` at its end.
    pub fn next_vector(&mut self, chunk: &mut FilteredChunk) -> Option<(usize, Selection)> {
        let next = chunk.cursor.next_vector(&mut self.ranks, &mut self.metrics);
        if let Some((_, selection)) = &next {
            self.metrics.rows_out += selection.count() as u64;
        }
        next
    }

    /// What this consumer did so far.
    pub fn metrics(&self) -> &ScanMetrics {
        &self.metrics
    }

    fn add_metrics(&mut self) {
        self.scan.totals.add_difference(&self.metrics_added, &self.metrics);
        self.metrics_added = self.metrics;
    }
}

impl Drop for ChunkConsumer {
    fn drop(&mut self) {
        self.add_metrics();
    }
}

impl FilteredChunk {
    /// Keeps the chunk in memory for as long as it is held.
    pub fn pin(&self) -> Arc<PinnedChunk> {
        self.cursor.pinned().clone()
    }

    /// The chunk's segment of a column. Panics when the scan does not read that column.
    pub fn segment(&self, scan: &CooperativeScan, column: ColumnId) -> Arc<Segment> {
        self.cursor.pinned().segments[scan.segment_index(column)].clone()
    }
}
