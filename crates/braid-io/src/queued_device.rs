//! A device over anything that executes requests: the part that the ring and the thread pool share.
//!
//! It bounds the queue (a semaphore, so that waiting is asynchronous and first come first served), keeps counters and
//! trace, and turns requests into futures. The futures hold the executor, so it ends with the last of them and of the
//! device; ending it waits for what it has in hand.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use braid_base::{Clock, SEGMENT_ALIGN_BYTES};
use futures::FutureExt;
use futures::executor::block_on;
use futures::future;
use tokio::sync::{Semaphore, oneshot};

use crate::aligned_buffer::AlignedBuffer;
use crate::device::{Device, DurableWriteError, IoFuture};
use crate::error::{IoError, IoOperation};
use crate::file_handle::{FileHandle, OpenMode};
use crate::io_reason::IoReason;
use crate::request::Request;
use crate::statistics::{Counters, InFlight, IoStats};
use crate::trace::{IoTrace, TRACE_EVENTS_MAX, TraceKind};

/// Something that executes requests, each to its end. Dropping it executes what it has accepted, then returns.
pub(crate) trait Executor: Send + Sync + 'static {
    /// Accepts a request, or gives it back when no more are executed.
    fn submit(&self, request: Request) -> Result<(), Request>;
}

/// Waits for a thread to end, unless it is the thread that asks: the last future of a device may be dropped by the
/// very thread that completes it, which then ends by itself.
pub(crate) fn join_unless_current(thread: JoinHandle<()>) {
    if thread.thread().id() != thread::current().id() && thread.join().is_err() {
        tracing::error!("an I/O thread has panicked; its requests were given up");
    }
}

/// A device whose requests an [`Executor`] executes.
pub(crate) struct QueuedDevice<E> {
    name: &'static str,
    direct: bool,
    core: Arc<Core<E>>,
}

/// What futures need of their device.
struct Core<E> {
    name: &'static str,
    executor: E,
    places: Arc<Semaphore>,
    counters: Arc<Counters>,
    trace: IoTrace,
}

impl<E: Executor> QueuedDevice<E> {
    /// A device that opens files for direct I/O if `direct`, and has at most `queue_depth_max` requests at a time.
    pub(crate) fn new(
        name: &'static str,
        executor: E,
        direct: bool,
        queue_depth_max: usize,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let core = Core {
            name,
            executor,
            places: Arc::new(Semaphore::new(queue_depth_max)),
            counters: Arc::new(Counters::new(queue_depth_max)),
            trace: IoTrace::new(clock, TRACE_EVENTS_MAX),
        };
        Self { name, direct, core: Arc::new(core) }
    }
}

impl<E: Executor> Core<E> {
    async fn enter(&self) -> InFlight {
        let permit = Arc::clone(&self.places).acquire_owned().await.expect("the semaphore is never closed");
        InFlight::enter(&self.counters, permit)
    }

    /// Hands a request over and waits for its result. A request that is not executed drops its reply.
    async fn execute<T>(
        &self,
        request: Request,
        result: oneshot::Receiver<Result<T, IoError>>,
        operation: IoOperation,
    ) -> Result<T, IoError> {
        let path = request.file().shared_path();
        drop(self.executor.submit(request));
        result.await.unwrap_or_else(|_| Err(IoError::Closed { operation, path: path.to_path_buf(), device: self.name }))
    }
}

impl<E: Executor> Device for QueuedDevice<E> {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<FileHandle, IoError> {
        FileHandle::open(path, mode, self.direct)
    }

    fn read(&self, file: &FileHandle, offset: u64, len: usize, reason: IoReason) -> IoFuture<AlignedBuffer> {
        if let Err(error) = check_range(IoOperation::Read, file, offset, len, reason) {
            return future::ready(Err(error)).boxed();
        }
        if len == 0 {
            return future::ready(Ok(AlignedBuffer::zeroed(0))).boxed();
        }
        let (core, file) = (Arc::clone(&self.core), file.clone());
        async move {
            let in_flight = core.enter().await;
            core.trace.record(&file, offset, len, reason, TraceKind::Read);
            let (reply, result) = oneshot::channel();
            let request = Request::read(file, offset, len, reason, in_flight, reply);
            core.execute(request, result, IoOperation::Read).await
        }
        .boxed()
    }

    fn write(&self, file: &FileHandle, offset: u64, buffer: AlignedBuffer, reason: IoReason) -> IoFuture<()> {
        let len = buffer.len();
        if let Err(error) = check_range(IoOperation::Write, file, offset, len, reason) {
            return future::ready(Err(error)).boxed();
        }
        if len == 0 {
            return future::ready(Ok(())).boxed();
        }
        let (core, file) = (Arc::clone(&self.core), file.clone());
        async move {
            let in_flight = core.enter().await;
            core.trace.record(&file, offset, len, reason, TraceKind::Write);
            let (reply, result) = oneshot::channel();
            let request = Request::write(file, offset, buffer, reason, in_flight, reply);
            core.execute(request, result, IoOperation::Write).await
        }
        .boxed()
    }

    fn sync(&self, file: &FileHandle) -> IoFuture<()> {
        let (core, file) = (Arc::clone(&self.core), file.clone());
        async move {
            let in_flight = core.enter().await;
            let (reply, result) = oneshot::channel();
            let request = Request::sync(file, in_flight, reply);
            core.execute(request, result, IoOperation::Sync).await
        }
        .boxed()
    }

    fn write_durably(
        &self,
        file: &FileHandle,
        offset: u64,
        buffer: AlignedBuffer,
        reason: IoReason,
    ) -> Result<(), DurableWriteError> {
        let len = buffer.len();
        check_range(IoOperation::Write, file, offset, len, reason).map_err(DurableWriteError::NotWritten)?;
        let in_flight = || block_on(self.core.enter());
        if len > 0 {
            let in_flight = in_flight();
            self.core.trace.record(file, offset, len, reason, TraceKind::Write);
            let (reply, result) = oneshot::channel();
            Request::write(file.clone(), offset, buffer, reason, in_flight, reply).execute();
            executed(result).map_err(DurableWriteError::NotWritten)?;
        }
        let (reply, result) = oneshot::channel();
        Request::sync(file.clone(), in_flight(), reply).execute();
        executed(result).map_err(DurableWriteError::NotSynced)
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn stats(&self) -> IoStats {
        self.core.counters.snapshot()
    }

    fn trace(&self) -> &IoTrace {
        &self.core.trace
    }
}

/// The result of a request that was executed on this thread.
fn executed(mut result: oneshot::Receiver<Result<(), IoError>>) -> Result<(), IoError> {
    result.try_recv().expect("a request that was executed has replied")
}

/// Misalignment is a bug of the caller, an offset beyond what files can have may come from a damaged file.
fn check_range(
    operation: IoOperation,
    file: &FileHandle,
    offset: u64,
    len: usize,
    reason: IoReason,
) -> Result<(), IoError> {
    let align = SEGMENT_ALIGN_BYTES;
    assert!(
        !file.is_direct() || (offset.is_multiple_of(align as u64) && len.is_multiple_of(align)),
        "{operation} of {len} bytes at offset {offset} of a direct file; both must be multiples of {align}"
    );
    match offset.checked_add(len as u64) {
        Some(end) if end <= i64::MAX as u64 => Ok(()),
        _ => {
            let source = io::Error::new(io::ErrorKind::InvalidInput, "files end at 2^63 - 1 bytes");
            let path = file.path().to_owned();
            Err(IoError::Transfer { operation, path, offset, len, reason, source: Arc::new(source) })
        }
    }
}

#[cfg(test)]
mod tests {
    use braid_base::ManualClock;
    use parking_lot::Mutex;

    use super::*;

    /// Keeps requests until it is told to answer them.
    #[derive(Default)]
    struct Held {
        requests: Mutex<Vec<Request>>,
        refuses: bool,
    }

    impl Executor for Arc<Held> {
        fn submit(&self, request: Request) -> Result<(), Request> {
            if self.refuses {
                return Err(request);
            }
            self.requests.lock().push(request);
            Ok(())
        }
    }

    impl Held {
        /// Answers what is held as a disk at the end of its file does.
        fn answer(&self) {
            let held = std::mem::take(&mut *self.requests.lock());
            assert!(held.into_iter().all(|request| request.advance(Ok(0)).is_none()));
        }
    }

    fn device(held: &Arc<Held>, queue_depth_max: usize) -> (QueuedDevice<Arc<Held>>, FileHandle) {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(0));
        let device = QueuedDevice::new("held", Arc::clone(held), false, queue_depth_max, clock);
        let file = device.open(&dir.path().join("x"), OpenMode::Create).unwrap();
        (device, file)
    }

    #[test]
    fn requests_beyond_the_queue_depth_wait_outside() {
        let held = Arc::new(Held::default());
        let (device, file) = device(&held, 16);
        let mut reads: Vec<_> = (0..20).map(|i| device.read(&file, i * 4096, 4096, IoReason::Scan)).collect();
        assert_eq!(held.requests.lock().len(), 0, "a future that is not polled asks for nothing");
        let pending = |reads: &mut Vec<IoFuture<AlignedBuffer>>| {
            reads.retain_mut(|read| read.now_or_never().is_none());
            let stats = device.stats();
            (reads.len(), held.requests.lock().len(), stats.queue_depth_now, stats.queue_depth_max)
        };
        assert_eq!(pending(&mut reads), (20, 16, 16, 16));
        held.answer();
        assert_eq!(pending(&mut reads), (4, 4, 4, 16));
        held.answer();
        assert_eq!(pending(&mut reads), (0, 0, 0, 16));
        assert_eq!((device.stats().failures, device.stats().queue_depth_limit), (20, 16));
    }

    #[test]
    fn a_dropped_future_abandons_its_request_which_keeps_its_place() {
        let held = Arc::new(Held::default());
        let (device, file) = device(&held, 2);
        let mut reads: Vec<_> = (0..3).map(|i| device.read(&file, i * 4096, 4096, IoReason::Scan)).collect();
        reads.iter_mut().for_each(|read| assert!(read.now_or_never().is_none()));
        // One that is in the queue and the one that waits for a place in it.
        reads.truncate(1);
        let abandoned: Vec<bool> = held.requests.lock().iter().map(Request::is_abandoned).collect();
        assert_eq!(abandoned, [false, true]);
        assert_eq!(device.stats().queue_depth_now, 2);
        held.requests.lock().pop();
        assert_eq!(device.stats().queue_depth_now, 1);
    }

    #[test]
    fn an_executor_that_has_ended_fails_requests() {
        let held = Arc::new(Held { refuses: true, ..Held::default() });
        let (device, file) = device(&held, 2);
        for _ in 0..5 {
            let error = device.sync(&file).now_or_never().expect("refused at once").unwrap_err();
            assert!(matches!(error, IoError::Closed { operation: IoOperation::Sync, device: "held", .. }), "{error}");
        }
        assert_eq!(device.stats().queue_depth_now, 0);
    }
}
