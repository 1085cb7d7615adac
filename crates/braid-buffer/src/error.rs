//! What can go wrong between a scan and the disk, with enough in it to find the broken bytes.
//!
//! Errors are cheap to clone: one failed load is told to every scan that wanted the chunk.

use std::sync::Arc;

use braid_base::ChunkId;
use braid_io::IoError;
use braid_storage::SegmentError;

/// Why a scan cannot have a chunk.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BufferError {
    /// The bytes on disk are not those that were written.
    #[error(
        "table \"{table}\", column \"{column}\", chunk {chunk}: the segment's checksum is {found:016x}, \
         expected {expected:016x}"
    )]
    Corrupt {
        /// Name of the table.
        table: String,
        /// Name of the column.
        column: String,
        /// The chunk.
        chunk: ChunkId,
        /// The checksum in the catalog.
        expected: u64,
        /// The checksum of the bytes read.
        found: u64,
    },
    /// The bytes are those that were written, but they are no segment of this column.
    #[error("table \"{table}\", column \"{column}\", chunk {chunk}: {source}")]
    Segment {
        /// Name of the table.
        table: String,
        /// Name of the column.
        column: String,
        /// The chunk.
        chunk: ChunkId,
        /// What is wrong with them.
        source: Arc<SegmentError>,
    },
    /// The segment does not have as many rows as the catalog says its chunk has.
    #[error("table \"{table}\", column \"{column}\", chunk {chunk}: the segment has {found} rows, expected {expected}")]
    RowCount {
        /// Name of the table.
        table: String,
        /// Name of the column.
        column: String,
        /// The chunk.
        chunk: ChunkId,
        /// Rows of the chunk.
        expected: usize,
        /// Rows of the segment.
        found: usize,
    },
    /// The read failed.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The read was given up without a result: the server is stopping, or a fault of its own stopped the read.
    #[error("table \"{table}\", chunk {chunk}: the read was abandoned")]
    Abandoned {
        /// Name of the table.
        table: String,
        /// The chunk.
        chunk: ChunkId,
    },
    /// One chunk of the wanted columns does not fit the buffer, so the scan could never proceed.
    #[error("one chunk of the wanted columns takes {needed} bytes, the buffer has {capacity} bytes")]
    TooLarge {
        /// Bytes of the wanted columns of the largest wanted chunk.
        needed: u64,
        /// Bytes of the whole buffer.
        capacity: u64,
    },
}
