//! One query's temporary files.
//!
//! Blocks are written in the background: a worker hands a block over and continues. Workers wait between two batches of their
//! source while more than [`WRITING_BYTES_MAX`] bytes are being written ([`QuerySpill::is_congested`]). A worker that makes
//! very many rows of one batch waits within the batch when twice as many bytes are being written. Bytes being written count
//! as memory of the query. A refused request for memory may therefore succeed after a write.

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use braid_base::SEGMENT_ALIGN_BYTES;
use braid_io::{AlignedBuffer, FileHandle, IoError, IoOperation, IoReason};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;

use super::row_block::{BlockShape, bytes_when_read, decode, encode};
use super::{SpillSettings, SpillSpace};
use crate::runtime::backpressure::Backpressure;
use crate::{ExecError, MemoryBudget, Reservation, Vector};
use futures::future::BoxFuture;

/// Bytes being written above which workers wait. The limit is lower for a small query budget.
const WRITING_BYTES_MAX: usize = 4 << 20;

/// One query's access to temporary files.
pub(crate) struct QuerySpill {
    space: Arc<SpillSpace>,
    budget: Arc<dyn MemoryBudget>,
    writing_bytes_max: usize,
    writing: Arc<Writing>,
}

/// The state of the writes.
#[derive(Default)]
struct Writing {
    bytes: AtomicUsize,
    /// Notified when a write ends.
    ended: Notify,
    failed: OnceLock<IoError>,
}

/// A block that is being written. Dropping it before the write has ended, as a runtime that shuts down does, is a failure of the
/// write: nobody waits for it forever.
struct WriteUnderWay {
    of_query: Arc<Writing>,
    of_file: Arc<AtomicUsize>,
    bytes: usize,
    reservation: Option<Reservation>,
    outcome: Result<(), IoError>,
}

/// A temporary file. Its space is released with the last reference.
pub(crate) struct SpillFile {
    space: Arc<SpillSpace>,
    handle: FileHandle,
    end: AtomicU64,
    /// Bytes being written to it.
    writing: Arc<AtomicUsize>,
}

/// The position of a block in its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace {
    offset: u64,
    /// The bytes without padding.
    len: usize,
    pub(crate) row_count: usize,
    column_count: usize,
    /// Bytes that the rows take in memory.
    pub(crate) memory_bytes: usize,
}

impl QuerySpill {
    /// The spill of a query with this budget.
    pub(crate) fn new(space: Arc<SpillSpace>, budget: Arc<dyn MemoryBudget>) -> Arc<Self> {
        let writing_bytes_max = (budget.free() / 8).min(WRITING_BYTES_MAX);
        Arc::new(Self { space, budget, writing_bytes_max, writing: Arc::default() })
    }

    /// The sizes and limits for operators.
    pub(crate) fn settings(&self) -> SpillSettings {
        self.space.settings()
    }

    /// The space of its files.
    pub(crate) fn space(&self) -> &Arc<SpillSpace> {
        &self.space
    }

    /// The query's budget.
    pub(crate) fn budget(&self) -> &Arc<dyn MemoryBudget> {
        &self.budget
    }

    /// A new file.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(crate) fn create_file(&self) -> Result<Arc<SpillFile>, ExecError> {
        let handle = self.space.create_file()?;
        let (end, writing) = (AtomicU64::new(0), Arc::default());
        Ok(Arc::new(SpillFile { space: self.space.clone(), handle, end, writing }))
    }

    /// Writes rows in the background. Waits only when too many bytes are being written.
    ///
    /// # Errors
    /// When this or an earlier write failed, or the space is used up.
    pub(crate) fn write<'a>(
        &self,
        file: &SpillFile,
        row_count: usize,
        columns: impl ExactSizeIterator<Item = &'a Vector> + Clone,
    ) -> Result<BlockPlace, ExecError> {
        let memory_bytes = columns.clone().map(bytes_when_read).sum();
        let column_count = columns.len();
        let bytes = encode(row_count, columns);
        let len = bytes.len();
        let buffer = AlignedBuffer::from_slice_padded(&bytes);
        drop(bytes);
        let written = buffer.len();
        let mut reservation = Reservation::new(self.budget.clone(), "temporary file");
        let is_congested = self.writing.bytes.load(Ordering::Relaxed) > 2 * self.writing_bytes_max;
        if is_congested || reservation.resize(written).is_err() {
            self.wait_for_writes()?;
            // One block is allowed without a reservation, because writing it frees memory.
            drop(reservation.resize(written));
        }
        let offset = file.grow(written)?;
        let under_way = self.begin_write(file, written, reservation);
        let write = self.space.device().write(&file.handle, offset, buffer, IoReason::Spill);
        // The write is a task, because a request that is scheduled but not polled would block all other requests.
        tokio::spawn(async move { under_way.end(write.await) });
        Ok(BlockPlace { offset, len, row_count, column_count, memory_bytes })
    }

    fn begin_write(&self, file: &SpillFile, bytes: usize, reservation: Reservation) -> WriteUnderWay {
        self.writing.bytes.fetch_add(bytes, Ordering::Relaxed);
        file.writing.fetch_add(bytes, Ordering::Relaxed);
        let closed = IoError::Closed {
            operation: IoOperation::Write,
            path: file.handle.path().to_owned(),
            device: self.space.device().name(),
        };
        let (of_query, of_file) = (self.writing.clone(), file.writing.clone());
        WriteUnderWay { of_query, of_file, bytes, reservation: Some(reservation), outcome: Err(closed) }
    }

    /// As [`Self::write`], in blocks of about the settings' size.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub(super) fn write_in_blocks(
        &self,
        file: &SpillFile,
        row_count: usize,
        columns: &[Vector],
    ) -> Result<Vec<BlockPlace>, ExecError> {
        let bytes: usize = columns.iter().map(Vector::bytes).sum();
        let row_bytes = bytes.div_ceil(row_count.max(1)).max(1);
        let block_rows = (self.settings().block_bytes / row_bytes).max(1);
        if row_count <= block_rows {
            return Ok(vec![self.write(file, row_count, columns.iter())?]);
        }
        let numbers: Vec<u32> = (0..row_count as u32).collect();
        let write = |numbers: &[u32]| {
            let part: Vec<Vector> = columns.iter().map(|column| column.take(numbers)).collect();
            self.write(file, numbers.len(), part.iter())
        };
        numbers.chunks(block_rows).map(write).collect()
    }

    /// Waits until all blocks are written.
    ///
    /// # Errors
    /// When a write failed.
    pub(crate) async fn until_all_written(&self) -> Result<(), ExecError> {
        self.writing.until(|| self.writing.bytes.load(Ordering::Relaxed) == 0).await
    }

    /// As [`Self::until_all_written`], from synchronous code within an operator.
    ///
    /// # Errors
    /// When a write failed.
    pub(crate) fn wait_for_writes(&self) -> Result<(), ExecError> {
        wait_here(self.until_all_written())
    }

    /// Waits until all blocks of a file are written.
    ///
    /// # Errors
    /// When a write failed.
    pub(super) async fn until_written(&self, file: &SpillFile) -> Result<(), ExecError> {
        self.writing.until(|| file.writing.load(Ordering::Relaxed) == 0).await
    }

    /// Reads a block that is written.
    ///
    /// # Errors
    /// When the read fails, or returns other bytes than were written.
    pub(super) async fn read(&self, file: &SpillFile, place: BlockPlace) -> Result<Vec<Vector>, ExecError> {
        let padded = place.len.next_multiple_of(SEGMENT_ALIGN_BYTES);
        let read = self.space.device().read(&file.handle, place.offset, padded, IoReason::Spill);
        let bytes = read.await.map_err(ExecError::Spill)?;
        let shape = BlockShape { row_count: place.row_count, column_count: place.column_count };
        decode(&bytes.as_slice()[..place.len], shape).map_err(ExecError::BrokenBlock)
    }
}

impl Backpressure for QuerySpill {
    fn is_congested(&self) -> bool {
        self.writing.bytes.load(Ordering::Relaxed) > self.writing_bytes_max
    }

    fn until_not_congested(&self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(self.writing.until(|| !self.is_congested()))
    }
}

impl Writing {
    /// Waits for writes until `is_enough` holds or a write fails.
    async fn until(&self, is_enough: impl Fn() -> bool) -> Result<(), ExecError> {
        loop {
            let mut ended = pin!(self.ended.notified());
            // Registered before the check, so that no end of a write is missed.
            ended.as_mut().enable();
            if let Some(error) = self.failed.get() {
                return Err(ExecError::Spill(error.clone()));
            }
            if is_enough() {
                return Ok(());
            }
            ended.await;
        }
    }
}

impl WriteUnderWay {
    fn end(mut self, outcome: Result<(), IoError>) {
        self.outcome = outcome;
    }
}

impl Drop for WriteUnderWay {
    fn drop(&mut self) {
        if let Err(error) = std::mem::replace(&mut self.outcome, Ok(())) {
            drop(self.of_query.failed.set(error));
        }
        // Before the notification, after which memory is asked for again.
        drop(self.reservation.take());
        self.of_file.fetch_sub(self.bytes, Ordering::Relaxed);
        self.of_query.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        self.of_query.ended.notify_waiters();
    }
}

impl fmt::Debug for QuerySpill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuerySpill").field("space", &self.space).finish_non_exhaustive()
    }
}

impl SpillFile {
    /// Allocates `bytes` bytes in the file, and returns their offset.
    fn grow(&self, bytes: usize) -> Result<u64, ExecError> {
        self.space.take(bytes as u64)?;
        Ok(self.end.fetch_add(bytes as u64, Ordering::Relaxed))
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.space.give_back(self.end.load(Ordering::Relaxed));
    }
}

/// Waits within synchronous code of an operator. On a single-threaded runtime it does not wait, because the writes could not
/// run meanwhile.
fn wait_here(future: impl Future<Output = Result<(), ExecError>> + Send) -> Result<(), ExecError> {
    let runtime = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if !matches!(runtime, Ok(RuntimeFlavor::MultiThread)) {
        return Ok(());
    }
    // Excluded from the task's cooperative budget, which would not be renewed until the task is polled again.
    tokio::task::block_in_place(|| futures::executor::block_on(tokio::task::unconstrained(future)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use braid_base::ByteSize;
    use braid_io::{Backend, DeviceOptions, open_device};

    use super::*;
    use crate::FixedBudget;
    use crate::values::vector::Values;

    #[test]
    fn a_write_that_its_runtime_gave_up_has_failed() {
        let directory = tempfile::tempdir().unwrap();
        let device = open_device(directory.path(), &DeviceOptions { backend: Backend::Threads, ..Default::default() });
        let settings = SpillSettings { block_bytes: 1 << 10, ..SpillSettings::default() };
        let space = SpillSpace::new(device.unwrap(), directory.path().to_owned(), ByteSize(1 << 20), settings);
        let budget = FixedBudget::new(ByteSize(1 << 20));
        let spill = QuerySpill::new(space, budget.clone());
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let file = runtime().block_on(async {
            let file = spill.create_file().unwrap();
            let rows = Vector::new(Values::Int(vec![7; 100]), None);
            spill.write(&file, 100, std::iter::once(&rows)).unwrap();
            // The task of the write has not begun.
            file
        });
        let waits = async {
            let all = spill.until_all_written().await;
            let of_file = spill.until_written(&file).await;
            [all, of_file, spill.until_not_congested().await]
        };
        let waits = runtime().block_on(async { tokio::time::timeout(Duration::from_secs(20), waits).await }).unwrap();
        for waited in waits {
            let closed = matches!(waited, Err(ExecError::Spill(IoError::Closed { .. })));
            assert!(closed, "{waited:?}");
        }
        assert_eq!(budget.free(), 1 << 20, "its memory was given back");
    }
}
