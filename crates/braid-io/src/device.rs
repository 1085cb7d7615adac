//! What the rooms above see of a disk: files, exact reads, whole writes, and a queue of bounded depth.
//!
//! A future does nothing before it is first polled; then it waits for a place in the device's queue, and from there on
//! the request belongs to the device. **Dropping a future** gives up its result: a request that still waits is
//! withdrawn, one that the kernel has already taken runs to its end in memory that the device keeps until then.
//! Whether a dropped write happened is unknown.
//!
//! **Dropping the device** (and every future made by it) waits for the requests in flight.
//!
//! Requests are not ordered among each other. A caller that needs an order awaits the first before it polls the second.
//!
//! Operations on names and on small files are part of the trait too, so that a device made for tests can fail each of
//! them; [`durable`](crate::durable) puts them together.

use std::path::Path;

use futures::executor::block_on;
use futures::future::BoxFuture;

use crate::aligned_buffer::AlignedBuffer;
use crate::error::IoError;
use crate::file_handle::{FileHandle, OpenMode};
use crate::io_reason::IoReason;
use crate::small_file::{self, SmallFile};
use crate::statistics::IoStats;
use crate::trace::IoTrace;

/// The future of one request: boxed, so that what is awaited in upper crates does not grow with the device.
pub type IoFuture<T> = BoxFuture<'static, Result<T, IoError>>;

/// What of a durable write failed.
#[derive(Debug)]
pub enum DurableWriteError {
    /// The write: any part of the range may have been written.
    NotWritten(IoError),
    /// The sync: whether the range is durable is unknown.
    NotSynced(IoError),
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
    /// durable only after [`Device::sync_directory`]. A failed sync must not be retried: the kernel may have given up the
    /// data and report success next time.
    fn sync(&self, file: &FileHandle) -> IoFuture<()>;

    /// Writes the whole buffer at `offset` and makes every completed write of the file durable, on the calling thread. For a thread with
    /// nothing else to do meanwhile, such as that of a log: [`Device::write`] and [`Device::sync`] may each wake two other threads.
    ///
    /// Panics as [`Device::write`] does.
    fn write_durably(
        &self,
        file: &FileHandle,
        offset: u64,
        buffer: AlignedBuffer,
        reason: IoReason,
    ) -> Result<(), DurableWriteError> {
        block_on(self.write(file, offset, buffer, reason)).map_err(DurableWriteError::NotWritten)?;
        block_on(self.sync(file)).map_err(DurableWriteError::NotSynced)
    }

    /// What the device is made of, such as `io_uring+O_DIRECT`.
    fn name(&self) -> &'static str;

    /// Counters and gauges as of now.
    fn stats(&self) -> IoStats;

    /// The record of requests; off until switched on.
    fn trace(&self) -> &IoTrace;

    /// Creates `path`, replacing a file of that name, and writes `bytes`. Neither is durable yet. Blocks, as all the
    /// following do.
    fn create_small(&self, path: &Path, bytes: &[u8]) -> Result<SmallFile, IoError> {
        small_file::create(path, bytes)
    }

    /// Makes the bytes of a small file durable (`fsync`).
    fn sync_small(&self, file: &SmallFile) -> Result<(), IoError> {
        file.sync()
    }

    /// Gives a file another name on the same filesystem, which a file of that name loses.
    fn rename(&self, from: &Path, to: &Path) -> Result<(), IoError> {
        small_file::rename(from, to)
    }

    /// Removes a file's name. The file itself goes with the last handle.
    fn remove(&self, path: &Path) -> Result<(), IoError> {
        small_file::remove(path)
    }

    /// Makes the names in `dir` durable: of files created, renamed and removed in it before.
    fn sync_directory(&self, dir: &Path) -> Result<(), IoError> {
        small_file::sync_directory(dir)
    }
}
