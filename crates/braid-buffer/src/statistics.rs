//! The gauges and counters of the buffer, as `SHOW` and the benchmarks print them.

/// A moment's view of the buffer. Counters count from the buffer's construction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStats {
    /// Bytes the buffer may use.
    pub capacity_bytes: u64,
    /// Bytes in use: cached, pinned or reserved by a load; at most the capacity.
    pub used_bytes: u64,
    /// Of the used bytes, those that a scan is reading right now.
    pub pinned_bytes: u64,
    /// Bytes still held by scans that stopped taking chunks, no longer counted as used (rule 7 of the buffer).
    pub lent_bytes: u64,
    /// Segments read from disk.
    pub segments_loaded: u64,
    /// Bytes read from disk.
    pub bytes_loaded: u64,
    /// Requests to the device; adjacent small segments are read together.
    pub reads: u64,
    /// Segments delivered to a scan without a read of its own: reads saved by sharing.
    pub segment_hits: u64,
    /// Bytes of those segments.
    pub bytes_saved: u64,
    /// Segments evicted.
    pub evictions: u64,
    /// Chunks delivered to scans.
    pub chunks_delivered: u64,
    /// Loads that failed.
    pub load_failures: u64,
    /// Microseconds spent deciding, under the buffer's lock.
    pub scheduling_us: u64,
    /// Scans registered now.
    pub scans: u64,
    /// Scans with a consumer that waits for a chunk now.
    pub waiting_scans: u64,
    /// Reads at the device now.
    pub loads_in_flight: u64,
}
