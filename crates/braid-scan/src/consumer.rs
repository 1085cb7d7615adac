//! One core's stream of batches from a scan.
//!
//! A poll works through at most one chunk's predicates and one batch's decoding, then returns or yields, so that a scan
//! that drops every row still lets its neighbours run and notices cancellation. Small leftovers are held back and joined
//! with what comes next, across chunks, so that selective scans still produce full batches.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::concat_batches;
use arrow::error::ArrowError;
use braid_buffer::PinnedChunk;

use crate::chunk_cursor::{ChunkCursor, PredicateRanks};
use crate::cooperative_scan::TakenChunk;
use crate::prune::refuted;
use crate::{CooperativeScan, ScanError, ScanMetrics};

/// Pulls batches from a [`CooperativeScan`]. Dropping it gives back its chunk; dropping the last one ends the scan.
pub struct ScanConsumer {
    scan: Arc<CooperativeScan>,
    ranks: PredicateRanks,
    cursor: Option<ChunkCursor>,
    held_back: HeldBack,
    metrics: ScanMetrics,
    /// The part of `metrics` that the scan's totals have.
    metrics_added: ScanMetrics,
    done: bool,
}

impl CooperativeScan {
    /// A new consumer; any number may exist at a time, and each row goes to one of them.
    pub fn consumer(self: &Arc<Self>) -> ScanConsumer {
        ScanConsumer::new(self.clone())
    }
}

impl ScanConsumer {
    fn new(scan: Arc<CooperativeScan>) -> Self {
        let held_back = HeldBack { batches: Vec::new(), row_count: 0, batch_rows: scan.spec().batch_rows };
        let ranks = PredicateRanks::new(&scan);
        let (metrics, metrics_added) = Default::default();
        Self { scan, ranks, cursor: None, held_back, metrics, metrics_added, done: false }
    }

    /// The scan it consumes.
    pub fn scan(&self) -> &Arc<CooperativeScan> {
        &self.scan
    }

    /// What this consumer did so far.
    pub fn metrics(&self) -> &ScanMetrics {
        &self.metrics
    }

    /// The next batch, never empty; `None` when the scan is over, and after an error. Cancel-safe: a dropped call loses
    /// no row.
    pub async fn next_batch(&mut self) -> Option<Result<RecordBatch, ScanError>> {
        loop {
            if let Some(batch) = self.held_back.take(self.done).transpose() {
                return Some(self.produce(batch));
            }
            if self.done {
                return None;
            }
            if self.cursor.is_some() {
                if let Err(source) = self.advance() {
                    return Some(self.produce(Err(source)));
                }
                if self.cursor.as_ref().is_some_and(ChunkCursor::is_finished) {
                    self.cursor = None;
                    self.add_metrics();
                    tokio::task::yield_now().await;
                }
                continue;
            }
            match self.scan.next_chunk().await {
                None => {
                    self.done = true;
                    self.add_metrics();
                }
                Some(Ok(TakenChunk::Counted { rows, .. })) => self.count(rows),
                Some(Ok(TakenChunk::Pinned(chunk))) => self.open(chunk),
                Some(Err(error)) => {
                    self.fail();
                    return Some(Err(error));
                }
            }
        }
    }

    /// Begins a chunk, unless the live predicates refute it by now.
    fn open(&mut self, chunk: PinnedChunk) {
        let meta = &self.scan.version().chunks[chunk.chunk];
        let live = self.scan.live_predicates();
        self.metrics.take_chunk(meta.live_row_count(), &chunk.segments);
        if refuted(meta, &live) {
            self.metrics.chunks_refuted += 1;
        } else {
            self.cursor = Some(ChunkCursor::new(self.scan.clone(), chunk, &self.ranks, &live));
        }
    }

    /// Takes rows that only need to be counted.
    fn count(&mut self, rows: u64) {
        self.metrics.chunks_counted += 1;
        let rows = self.scan.limit.claim(rows) as usize;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(self.scan.schema().clone(), Vec::new(), &options);
        self.held_back.push(batch.expect("a batch without columns has as many rows as it is told"));
    }

    /// Decodes the next rows of the current chunk.
    fn advance(&mut self) -> Result<(), ArrowError> {
        let rows_wanted = self.held_back.batch_rows.saturating_sub(self.held_back.row_count).max(1);
        let cursor = self.cursor.as_mut().expect("the caller saw a cursor");
        if let Some(batch) = cursor.fill(rows_wanted, &mut self.ranks, &mut self.metrics)? {
            self.held_back.push(batch);
        }
        Ok(())
    }

    fn produce(&mut self, batch: Result<RecordBatch, ArrowError>) -> Result<RecordBatch, ScanError> {
        match batch {
            Ok(batch) => {
                self.metrics.rows_out += batch.num_rows() as u64;
                self.add_metrics();
                Ok(batch)
            }
            Err(source) => {
                let table = self.scan.version().def.name.clone();
                let chunk = self.cursor.as_ref().map_or(0, ChunkCursor::chunk);
                self.fail();
                Err(ScanError::Batch { table, chunk, source })
            }
        }
    }

    fn fail(&mut self) {
        self.done = true;
        self.cursor = None;
        self.held_back.batches.clear();
        self.held_back.row_count = 0;
        self.add_metrics();
    }

    fn add_metrics(&mut self) {
        self.scan.totals.add_difference(&self.metrics_added, &self.metrics);
        self.metrics_added = self.metrics;
    }
}

/// Decoded rows on their way to a batch.
struct HeldBack {
    batches: Vec<RecordBatch>,
    row_count: usize,
    batch_rows: usize,
}

impl HeldBack {
    fn push(&mut self, batch: RecordBatch) {
        self.row_count += batch.num_rows();
        self.batches.push(batch);
    }

    /// A batch if the rows held back fill at least half of one, or any rows if these are the last.
    ///
    /// Half, because joining copies: a leftover of a chunk that is worth a call of the operators above goes as it is.
    fn take(&mut self, last: bool) -> Result<Option<RecordBatch>, ArrowError> {
        if self.row_count == 0 {
            self.batches.clear();
            return Ok(None);
        }
        if !last && self.row_count < self.batch_rows.div_ceil(2) {
            return Ok(None);
        }
        let joined = match self.batches.as_slice() {
            [only] => only.clone(),
            several => concat_batches(&several[0].schema(), several)?,
        };
        self.batches.clear();
        self.row_count = 0;
        if joined.num_rows() <= self.batch_rows {
            return Ok(Some(joined));
        }
        self.push(joined.slice(self.batch_rows, joined.num_rows() - self.batch_rows));
        Ok(Some(joined.slice(0, self.batch_rows)))
    }
}
