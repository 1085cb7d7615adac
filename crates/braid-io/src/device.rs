//! What the rooms above see of a disk: files, exact reads, whole writes, and a queue of bounded depth.
//!
//! A future does nothing before it is first polled; then it waits for a place in the device's queue, and from there on
//! the request belongs to the device. **Dropping a future** gives up its result: a request that still waits is
//! withdrawn, one that the kernel has already taken runs to its end in memory that the device keeps until then.
//! Whether a dropped write happened is unknown.
//!
//! **Dropping the device** (and every future made by it) waits for the requests in flight.
//!
//! Requests are not ordered among each other. Whoever needs an order awaits the first before polling the second.

use std::fmt;
use std::path::Path;

use futures::future::BoxFuture;

use crate::aligned_buffer::AlignedBuffer;
use crate::durable;
use crate::error::IoError;
use crate::file_handle::{FileHandle, OpenMode};
use crate::statistics::IoStats;
use crate::trace::IoTrace;

/// The future of one request: boxed, so that what is awaited in upper crates does not grow with the device.
pub type IoFuture<T> = BoxFuture<'static, Result<T, IoError>>;

/// On whose behalf a request is made; counted and traced apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IoReason {
    /// A query reads a segment.
    Scan,
    /// Rows are being added.
    Load,
    /// The catalog and the manifest.
    Catalog,
    /// Checksums and structures are being verified.
    Check,
    /// A query's intermediate results.
    Spill,
}

impl IoReason {
    /// Every reason, in the order of their counters.
    pub const ALL: [Self; 5] = [Self::Scan, Self::Load, Self::Catalog, Self::Check, Self::Spill];

    /// Position in [`IoReason::ALL`].
    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

impl fmt::Display for IoReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scan => "scan",
            Self::Load => "load",
            Self::Catalog => "catalog",
            Self::Check => "check",
            Self::Spill => "spill",
        })
    }
}

/// A disk, or a directory on one.
pub trait Device: Send + Sync + 'static {
    /// Opens or creates a file. Blocks, shortly.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<FileHandle, IoError>;

    /// Reads exactly `len` bytes from `offset`, or fails; a file that ends before is [`IoError::ShortRead`].
    ///
    /// Panics if the file is direct and `offset` or `len` is no multiple of
    /// [`SEGMENT_ALIGN_BYTES`](braid_base::SEGMENT_ALIGN_BYTES).
    fn read(&self, file: &FileHandle, offset: u64, len: usize, reason: IoReason) -> IoFuture<AlignedBuffer>;

    /// Writes the whole buffer at `offset`, growing the file where needed. Durable only after [`Device::sync`].
    ///
    /// Panics as [`Device::read`] does. After a failure any part of the range may have been written.
    fn write(&self, file: &FileHandle, offset: u64, buffer: AlignedBuffer, reason: IoReason) -> IoFuture<()>;

    /// Makes every completed write of the file durable (`fdatasync`), its length included. The file's *name* is
    /// durable only after [`durable::sync_dir`]. A failed sync must not be retried: the kernel may have given up the
    /// data and report success next time.
    fn sync(&self, file: &FileHandle) -> IoFuture<()>;

    /// What the device is made of, such as `io_uring+O_DIRECT`.
    fn name(&self) -> &'static str;

    /// Counters and gauges as of now.
    fn stats(&self) -> IoStats;

    /// The record of requests; off until switched on.
    fn trace(&self) -> &IoTrace;

    /// Replaces the small file `name` in `dir` atomically and durably: see [`durable::replace_file`]. Blocks. Here, and
    /// not only a free function, so that a [`FaultDevice`](crate::FaultDevice) can fail it.
    fn replace_file(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), IoError> {
        durable::replace_file(dir, name, bytes)
    }
}
