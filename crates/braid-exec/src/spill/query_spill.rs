//! One query's temporary files.
//!
//! Blocks are written behind the query's back: whoever has one hands it over and goes on. Workers wait between two batches
//! of their source while more than [`WRITING_BYTES_MAX`] are on their way ([`QuerySpill::is_congested`]); one that makes very many
//! rows of one batch waits in its tracks when it is twice as much. Bytes on their way count as memory of the query, so who
//! is refused memory may get it when they are written.

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use braid_base::SEGMENT_ALIGN_BYTES;
use braid_io::{AlignedBuffer, FileHandle, IoError, IoReason};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Notify;

use super::row_block::{decode, encode};
use super::{SpillSettings, SpillSpace};
use crate::runtime::backpressure::Backpressure;
use crate::{ExecError, MemoryBudget, Reservation, Vector};
use futures::future::BoxFuture;

/// Bytes on their way to the disk before workers wait; less when a query has little memory.
const WRITING_BYTES_MAX: usize = 4 << 20;

/// One query's way to the disk.
pub(crate) struct QuerySpill {
    space: Arc<SpillSpace>,
    budget: Arc<dyn MemoryBudget>,
    writing_bytes_max: usize,
    writing: Arc<Writing>,
}

/// What is on its way to the disk.
#[derive(Default)]
struct Writing {
    bytes: AtomicUsize,
    /// Told when a write has ended.
    ended: Notify,
    failed: OnceLock<IoError>,
}

/// A temporary file; its space is free when the last user is gone.
pub(crate) struct SpillFile {
    space: Arc<SpillSpace>,
    handle: FileHandle,
    end: AtomicU64,
    /// Bytes on their way to it.
    writing: Arc<AtomicUsize>,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockPlace {
    offset: u64,
    /// Without the padding behind it.
    len: usize,
    pub(crate) row_count: usize,
    /// Bytes that the rows take in memory.
    pub(crate) memory_bytes: usize,
}

impl QuerySpill {
    /// For a query with this budget.
    pub(crate) fn new(space: Arc<SpillSpace>, budget: Arc<dyn MemoryBudget>) -> Arc<Self> {
        let writing_bytes_max = (budget.free() / 8).min(WRITING_BYTES_MAX);
        Arc::new(Self { space, budget, writing_bytes_max, writing: Arc::default() })
    }

    /// What the operators have to keep to.
    pub(crate) fn settings(&self) -> SpillSettings {
        self.space.settings()
    }

    /// The query's budget.
    pub(crate) fn budget(&self) -> &Arc<dyn MemoryBudget> {
        &self.budget
    }

    /// A new file.
    ///
    /// # Errors
    /// When there can be none.
    pub(crate) fn create_file(&self) -> Result<Arc<SpillFile>, ExecError> {
        let handle = self.space.create_file()?;
        let (end, writing) = (AtomicU64::new(0), Arc::default());
        Ok(Arc::new(SpillFile { space: self.space.clone(), handle, end, writing }))
    }

    /// Hands rows over to be written. Waits only when very much is on its way.
    ///
    /// # Errors
    /// When this or an earlier write failed, or the space is used up.
    pub(crate) fn write<'a>(
        &self,
        file: &SpillFile,
        row_count: usize,
        columns: impl ExactSizeIterator<Item = &'a Vector> + Clone,
    ) -> Result<BlockPlace, ExecError> {
        let memory_bytes = columns.clone().map(Vector::bytes).sum();
        let bytes = encode(row_count, columns);
        let len = bytes.len();
        let buffer = AlignedBuffer::from_slice_padded(&bytes);
        drop(bytes);
        let written = buffer.len();
        let mut reservation = Reservation::new(self.budget.clone(), "temporary file");
        let is_congested = self.writing.bytes.load(Ordering::Relaxed) > 2 * self.writing_bytes_max;
        if is_congested || reservation.resize(written).is_err() {
            self.wait_for_writes()?;
            // One block is on its way when there is no memory for it, so that memory can be given back at all.
            drop(reservation.resize(written));
        }
        let offset = file.grow(written)?;
        self.writing.bytes.fetch_add(written, Ordering::Relaxed);
        file.writing.fetch_add(written, Ordering::Relaxed);
        let (writing, of_file) = (self.writing.clone(), file.writing.clone());
        let write = self.space.device().write(&file.handle, offset, buffer, IoReason::Spill);
        // A task, because a request that has its turn and is not polled would keep all others from theirs.
        tokio::spawn(async move {
            if let Err(error) = write.await {
                drop(writing.failed.set(error));
            }
            drop(reservation);
            of_file.fetch_sub(written, Ordering::Relaxed);
            writing.bytes.fetch_sub(written, Ordering::Relaxed);
            writing.ended.notify_waiters();
        });
        Ok(BlockPlace { offset, len, row_count, memory_bytes })
    }

    /// Waits until everything is written that was handed over.
    ///
    /// # Errors
    /// When a write failed.
    pub(crate) async fn until_all_written(&self) -> Result<(), ExecError> {
        self.writing.until(|| self.writing.bytes.load(Ordering::Relaxed) == 0).await
    }

    /// The same in the middle of an operator.
    ///
    /// # Errors
    /// When a write failed.
    pub(crate) fn wait_for_writes(&self) -> Result<(), ExecError> {
        wait_here(self.until_all_written())
    }

    /// Waits until everything is written that was handed over for a file.
    ///
    /// # Errors
    /// When a write failed.
    pub(super) async fn until_written(&self, file: &SpillFile) -> Result<(), ExecError> {
        self.writing.until(|| file.writing.load(Ordering::Relaxed) == 0).await
    }

    /// Reads a block that is written.
    ///
    /// # Errors
    /// When the disk does not give what was written.
    pub(super) async fn read(&self, file: &SpillFile, place: BlockPlace) -> Result<Vec<Vector>, ExecError> {
        let padded = place.len.next_multiple_of(SEGMENT_ALIGN_BYTES);
        let read = self.space.device().read(&file.handle, place.offset, padded, IoReason::Spill);
        let bytes = read.await.map_err(ExecError::Spill)?;
        let (_, columns) = decode(&bytes.as_slice()[..place.len]).map_err(ExecError::BrokenBlock)?;
        Ok(columns)
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
    /// Waits for writes until it is enough, or one failed.
    async fn until(&self, is_enough: impl Fn() -> bool) -> Result<(), ExecError> {
        loop {
            let mut ended = pin!(self.ended.notified());
            // From here on nothing that ends is missed.
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

impl fmt::Debug for QuerySpill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuerySpill").field("space", &self.space).finish_non_exhaustive()
    }
}

impl SpillFile {
    /// Makes room for so many bytes, and says where.
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

/// Waits in the middle of an operator, where nothing can be awaited. A runtime of one thread has nobody for the others then,
/// writes among them: there it does not wait.
fn wait_here(future: impl Future<Output = Result<(), ExecError>> + Send) -> Result<(), ExecError> {
    let runtime = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    if !matches!(runtime, Ok(RuntimeFlavor::MultiThread)) {
        return Ok(());
    }
    // Not counted in the task's share of its thread: as long as it is not polled again it would not get a new one.
    tokio::task::block_in_place(|| futures::executor::block_on(tokio::task::unconstrained(future)))
}
