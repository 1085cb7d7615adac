//! Sizes that the on-disk format, the vectors and the disk alignment are built on.

/// Rows of a full chunk. 128 vectors of [`VECTOR_ROWS`].
pub const CHUNK_ROWS: usize = 128 * VECTOR_ROWS;

/// Rows of a vector: what is decoded, filtered and handed on at a time. The block size of FastLanes.
pub const VECTOR_ROWS: usize = 1024;

/// Alignment of segments in files and of buffers in memory, in bytes: the largest logical block size of the
/// disks that direct I/O meets.
pub const SEGMENT_ALIGN_BYTES: usize = 4096;

const _: () = assert!(CHUNK_ROWS == 131_072);
const _: () = assert!(SEGMENT_ALIGN_BYTES.is_power_of_two());
