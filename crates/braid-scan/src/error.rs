//! Why a scan fails: what the buffer reports, or our own bug in putting a batch together.

use arrow::error::ArrowError;
use braid_buffer::BufferError;

/// A scan's failure; the consumer that meets it ends, and so does the query above.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// A chunk could not be had: the disk failed, a checksum differs, a segment is malformed or too large.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// Decoded columns did not fit together.
    #[error("the decoded columns of chunk {chunk} of table \"{table}\" do not make a batch: {source}")]
    Batch {
        /// Table name.
        table: String,
        /// Index of the chunk in the scanned version.
        chunk: usize,
        /// What Arrow says.
        source: ArrowError,
    },
}
