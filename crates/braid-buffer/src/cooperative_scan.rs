//! A scan's side of the buffer: announce what is wanted, then take chunks as they come (CScan of Cooperative Scans,
//! section 4).
//!
//! Every chunk is delivered to exactly one consumer. [`CooperativeScanHandle::next`] may be dropped at any point: a
//! chunk that was on its way to the dropped call goes to another waiting consumer or to a later call.

use std::sync::Arc;

use braid_base::{ChunkId, ColumnId, ScanId};
use braid_storage::{Segment, TableVersion};
use tokio::sync::oneshot;

use crate::error::BufferError;

/// What a scan wants to read.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// The table as the scan's snapshot sees it.
    pub version: Arc<TableVersion>,
    /// Indices into `version.chunks`, ascending.
    pub chunks: Vec<usize>,
    /// Columns to deliver of each chunk; none for a scan that only counts.
    pub columns: Vec<ColumnId>,
    /// Whether chunks must come in the order of `chunks`.
    pub in_order: bool,
}

/// What a scan tells the buffer that it is registered with.
pub(crate) trait ScanEvents: Send + Sync {
    /// A consumer wants a chunk; returns the number under which it waits for its answer.
    fn next_wanted(self: Arc<Self>, scan: ScanId, sender: oneshot::Sender<Answer>) -> u64;

    /// A waiting consumer has gone.
    fn wait_cancelled(&self, scan: ScanId, waiter: u64);

    /// A delivered chunk is no longer held.
    fn released(self: Arc<Self>, scan: ScanId, chunk: ChunkId, fate: ChunkFate);

    /// The last handle of a scan has gone.
    fn unregister(self: Arc<Self>, scan: ScanId);
}

/// What a consumer did with a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChunkFate {
    /// It has read the chunk.
    Consumed,
    /// It had gone before the chunk came: the scan gets it again.
    Returned,
}

/// The answer to a consumer: a chunk, an error, or nothing if none is left.
pub(crate) type Answer = Option<Result<PinnedChunk, BufferError>>;

/// A registered scan. Clones share it; when the last one is dropped it is unregistered.
#[derive(Clone)]
pub struct CooperativeScanHandle {
    registration: Arc<Registration>,
}

struct Registration {
    buffer: Arc<dyn ScanEvents>,
    /// The scan, or why it could not be registered.
    scan: Result<ScanId, BufferError>,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Ok(scan) = self.scan {
            Arc::clone(&self.buffer).unregister(scan);
        }
    }
}

impl CooperativeScanHandle {
    pub(crate) fn new(buffer: Arc<dyn ScanEvents>, scan: Result<ScanId, BufferError>) -> Self {
        Self { registration: Arc::new(Registration { buffer, scan }) }
    }

    /// The next chunk for the calling consumer, or none when all have been delivered.
    ///
    /// Several consumers may wait at the same time. Dropping the future loses no chunk.
    ///
    /// # Errors
    /// When a chunk could not be loaded. The scan has failed then: this and every later call, of every consumer,
    /// answers the error, so that no consumer takes a failed scan for a complete one.
    pub async fn next(&self) -> Option<Result<PinnedChunk, BufferError>> {
        let Registration { buffer, scan } = self.registration.as_ref();
        let scan = match scan {
            Ok(scan) => *scan,
            Err(error) => return Some(Err(error.clone())),
        };
        let (sender, answer) = oneshot::channel();
        let waiter = Arc::clone(buffer).next_wanted(scan, sender);
        let mut wait = Wait { buffer, scan, waiter, answer, answered: false };
        let answer = (&mut wait.answer).await.expect("the buffer answers every waiter");
        wait.answered = true;
        answer
    }
}

/// A consumer that waits, so that dropping it is noticed.
struct Wait<'a> {
    buffer: &'a Arc<dyn ScanEvents>,
    scan: ScanId,
    waiter: u64,
    answer: oneshot::Receiver<Answer>,
    answered: bool,
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        // From here on an answer either is in the channel already or fails to be sent, and then it is given back by
        // the sender.
        self.answer.close();
        match self.answer.try_recv() {
            Ok(Some(Ok(chunk))) => chunk.give_back(),
            Ok(_) => {}
            Err(_) => self.buffer.wait_cancelled(self.scan, self.waiter),
        }
    }
}

/// A chunk in memory. It stays there until this is dropped, which also tells the buffer that it was consumed.
pub struct PinnedChunk {
    /// Index into the version's chunks.
    pub chunk: usize,
    /// The segments, in the order of the request's columns.
    pub segments: Vec<Arc<Segment>>,
    pin: Pin,
}

/// What is told to the buffer when a chunk is done with.
struct Pin {
    buffer: Arc<dyn ScanEvents>,
    scan: ScanId,
    chunk: ChunkId,
    fate: ChunkFate,
}

impl PinnedChunk {
    pub(crate) fn new(
        buffer: Arc<dyn ScanEvents>,
        scan: ScanId,
        chunk: ChunkId,
        index: usize,
        segments: Vec<Arc<Segment>>,
    ) -> Self {
        Self { chunk: index, segments, pin: Pin { buffer, scan, chunk, fate: ChunkFate::Consumed } }
    }

    /// Returns the chunk unread: the scan gets it again.
    pub(crate) fn give_back(mut self) {
        self.pin.fate = ChunkFate::Returned;
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        Arc::clone(&self.buffer).released(self.scan, self.chunk, self.fate);
    }
}

impl std::fmt::Debug for PinnedChunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PinnedChunk").field("chunk", &self.chunk).field("segments", &self.segments.len()).finish()
    }
}

impl std::fmt::Debug for CooperativeScanHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CooperativeScanHandle").field("scan", &self.registration.scan).finish_non_exhaustive()
    }
}
