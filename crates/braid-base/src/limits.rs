//! Sizes that the on-disk format, the vectors and the disk alignment are built on.

/// Rows of a full chunk. 128 vectors of [`VECTOR_ROWS`].
pub const CHUNK_ROWS: usize = 128 * VECTOR_ROWS;

/// Rows of a vector: what is decoded, filtered and handed on at a time. The block size of FastLanes.
pub const VECTOR_ROWS: usize = 1024;

/// Alignment of segments in files and of buffers in memory, in bytes: the largest logical block size of the
/// disks that direct I/O meets.
pub const SEGMENT_ALIGN_BYTES: usize = 4096;

/// Most bytes that an operator puts into a column of a batch, unless one row alone has more. A batch of long values has
/// fewer rows instead. At 8192 rows a batch, values of up to 128 bytes never meet it.
pub const BATCH_BYTES_MAX: usize = 1 << 20;

/// Most bytes of one value, as in PostgreSQL: what it allocates at most (1 GiB - 1), less the four bytes that hold a
/// value's length.
pub const VALUE_BYTES_MAX: usize = 0x3fff_ffff - 4;

const _: () = assert!(CHUNK_ROWS == 131_072);
const _: () = assert!(BATCH_BYTES_MAX < VALUE_BYTES_MAX);
const _: () = assert!(SEGMENT_ALIGN_BYTES.is_power_of_two());
