//! What a scan did: counters that consumers keep for themselves and add to the scan's totals batch by batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_storage::Segment;

/// Counters of a scan, or of one of its consumers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanMetrics {
    /// Chunks of the scanned version (0 in a consumer's own counters).
    pub chunks_total: u64,
    /// Chunks left out by zone map before the scan started (0 in a consumer's own counters).
    pub chunks_pruned: u64,
    /// Chunks taken from the buffer.
    pub chunks_read: u64,
    /// Chunks answered from the catalog alone: no column of them was needed.
    pub chunks_counted: u64,
    /// Chunks taken from the buffer and refuted by then by a live predicate: nothing of them was decoded.
    pub chunks_refuted: u64,
    /// Rows of the chunks taken that are not deleted.
    pub rows_in: u64,
    /// Rows produced.
    pub rows_out: u64,
    /// Vectors of the chunks taken.
    pub vectors: u64,
    /// Vectors without a selected row, so that none of their projected columns was decoded.
    pub vectors_skipped: u64,
    /// Encoded bytes of the segments taken from the buffer.
    pub encoded_bytes: u64,
}

impl ScanMetrics {
    /// Counts a chunk with `row_count` rows that was taken from the buffer.
    pub(crate) fn take_chunk(&mut self, row_count: u32, segments: &[Arc<Segment>]) {
        self.chunks_read += 1;
        self.rows_in += u64::from(row_count);
        self.encoded_bytes += segments.iter().map(|segment| segment.encoded_bytes() as u64).sum::<u64>();
    }
}

/// The sum over consumers. Relaxed atomics: the counters are independent, and readers want an estimate while running.
#[derive(Debug, Default)]
pub(crate) struct SharedMetrics {
    chunks_read: AtomicU64,
    chunks_counted: AtomicU64,
    chunks_refuted: AtomicU64,
    rows_in: AtomicU64,
    rows_out: AtomicU64,
    vectors: AtomicU64,
    vectors_skipped: AtomicU64,
    encoded_bytes: AtomicU64,
}

impl SharedMetrics {
    /// Adds what a consumer counted between `before` and `after`.
    pub(crate) fn add_difference(&self, before: &ScanMetrics, after: &ScanMetrics) {
        let add = |total: &AtomicU64, before: u64, after: u64| {
            if after > before {
                total.fetch_add(after - before, Ordering::Relaxed);
            }
        };
        add(&self.chunks_read, before.chunks_read, after.chunks_read);
        add(&self.chunks_counted, before.chunks_counted, after.chunks_counted);
        add(&self.chunks_refuted, before.chunks_refuted, after.chunks_refuted);
        add(&self.rows_in, before.rows_in, after.rows_in);
        add(&self.rows_out, before.rows_out, after.rows_out);
        add(&self.vectors, before.vectors, after.vectors);
        add(&self.vectors_skipped, before.vectors_skipped, after.vectors_skipped);
        add(&self.encoded_bytes, before.encoded_bytes, after.encoded_bytes);
    }

    pub(crate) fn snapshot(&self, chunks_total: u64, chunks_pruned: u64) -> ScanMetrics {
        let load = |total: &AtomicU64| total.load(Ordering::Relaxed);
        ScanMetrics {
            chunks_total,
            chunks_pruned,
            chunks_read: load(&self.chunks_read),
            chunks_counted: load(&self.chunks_counted),
            chunks_refuted: load(&self.chunks_refuted),
            rows_in: load(&self.rows_in),
            rows_out: load(&self.rows_out),
            vectors: load(&self.vectors),
            vectors_skipped: load(&self.vectors_skipped),
            encoded_bytes: load(&self.encoded_bytes),
        }
    }
}
