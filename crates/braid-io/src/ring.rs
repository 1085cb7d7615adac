//! Executes requests through io_uring: one or two threads, each with a ring of its own, keep as many requests in the
//! kernel as the queue is deep.
//!
//! A thread's cycle: take new submissions, put them into the ring, wait in the kernel for a completion or a wake-up,
//! answer what completed. Callers wake it by writing to an eventfd, and only when it really sleeps. The ring is used by
//! its own thread alone (`SINGLE_ISSUER`, `DEFER_TASKRUN` where the kernel has them), so it needs no locks.
//!
//! Deliberately without registered buffers and files: they would tie the memory of every segment to a pool of fixed
//! slots, to save a little work on requests that are mostly large. Without kernel-side polling too: it burns a core.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use io_uring::{IoUring, Probe, opcode};

use crate::kernel_requests::KernelRequests;
use crate::queued_device::{Executor, join_unless_current};
use crate::request::Request;
use crate::submission_queue::{SubmissionQueue, Wake};
use crate::syscalls;

/// How long a thread pauses when the kernel is too busy to take submissions and has nothing completed either.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// The ring threads; dropping it waits for the requests that are queued or in the kernel.
pub(crate) struct RingPool {
    rings: Vec<RingThread>,
    next: AtomicUsize,
}

struct RingThread {
    queue: Arc<SubmissionQueue>,
    wake_file: Arc<File>,
    thread: Option<JoinHandle<()>>,
}

impl RingPool {
    /// Starts `rings` threads for at most `queue_depth_max` requests together. Fails where io_uring is missing,
    /// forbidden, or too old.
    pub(crate) fn start(rings: usize, queue_depth_max: usize) -> io::Result<Self> {
        assert!(rings > 0, "a pool of rings has at least one");
        let rings = (0..rings).map(|index| RingThread::start(index, queue_depth_max)).collect::<io::Result<_>>()?;
        Ok(Self { rings, next: AtomicUsize::new(0) })
    }
}

impl Executor for RingPool {
    fn submit(&self, request: Request) -> Result<(), Request> {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        self.rings[turn % self.rings.len()].submit(request)
    }
}

impl RingThread {
    fn start(index: usize, queue_depth_max: usize) -> io::Result<Self> {
        let queue = Arc::new(SubmissionQueue::new(queue_depth_max));
        let wake_file = Arc::new(syscalls::eventfd()?);
        let (started, is_started) = mpsc::sync_channel(1);
        let context = (Arc::clone(&queue), Arc::clone(&wake_file));
        let run = move || {
            let (queue, wake_file) = context;
            // Built here, since a single-issuer ring belongs to the thread that builds it.
            match build_ring(queue_depth_max) {
                Ok(ring) => {
                    let kernel = KernelRequests::new(ring, queue_depth_max, wake_file);
                    let _ = started.send(Ok(()));
                    RingCycle { queue, kernel, waiting: VecDeque::new(), completed: VecDeque::new() }.run();
                }
                Err(error) => drop(started.send(Err(error))),
            }
        };
        let thread = thread::Builder::new().name(format!("braid-ring-{index}")).spawn(run)?;
        is_started.recv().unwrap_or_else(|_| Err(io::Error::other("the ring's thread ended while starting")))?;
        Ok(Self { queue, wake_file, thread: Some(thread) })
    }

    fn submit(&self, request: Request) -> Result<(), Request> {
        if self.queue.push(request)? == Wake::Needed {
            self.wake();
        }
        Ok(())
    }

    fn wake(&self) {
        // An eventfd refuses a write only when its counter is about to overflow; the thread is awake then anyway.
        let _ = (&*self.wake_file).write_all(&1u64.to_ne_bytes());
    }
}

impl Drop for RingThread {
    fn drop(&mut self) {
        self.queue.close();
        self.wake();
        if let Some(thread) = self.thread.take() {
            join_unless_current(thread);
        }
    }
}

/// The state of a ring's thread.
struct RingCycle {
    queue: Arc<SubmissionQueue>,
    kernel: KernelRequests,
    /// Taken from the queue, not yet in the ring. Bounded by the queue depth, as are the completed ones.
    waiting: VecDeque<Request>,
    completed: VecDeque<(Request, io::Result<usize>)>,
}

impl RingCycle {
    fn run(mut self) {
        loop {
            let closed = self.queue.drain_into(&mut self.waiting);
            self.answer();
            self.submit();
            if closed && self.waiting.is_empty() && self.kernel.is_empty() {
                return;
            }
            if !closed {
                if !self.queue.fall_asleep() {
                    continue;
                }
                self.kernel.arm_wake();
            }
            if let Err(error) = self.kernel.submit_and_wait() {
                match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN | libc::EBUSY) => self.pause_unless_completed(),
                    _ => {
                        tracing::error!(%error, "io_uring refuses to wait; this ring ends and its requests fail");
                        return;
                    }
                }
            }
        }
    }

    /// Reports the kernel's answers; requests with more to ask for wait again.
    fn answer(&mut self) {
        self.kernel.completed(&mut self.completed);
        let unfinished = self.completed.drain(..).filter_map(|(request, answer)| request.advance(answer));
        self.waiting.extend(unfinished);
    }

    /// Puts waiting requests into the ring, as far as it has room, and withdraws those whose callers have gone.
    fn submit(&mut self) {
        while let Some(request) = self.waiting.pop_front() {
            if request.is_abandoned() {
                continue;
            }
            if let Err(request) = self.kernel.submit(request) {
                self.waiting.push_front(request);
                return;
            }
        }
    }

    fn pause_unless_completed(&mut self) {
        self.kernel.completed(&mut self.completed);
        if self.completed.is_empty() {
            thread::sleep(BUSY_PAUSE);
        }
    }
}

impl Drop for RingCycle {
    fn drop(&mut self) {
        // However the thread ends, callers that wait or come later hear that it has.
        self.queue.close();
        self.queue.drain_into(&mut self.waiting);
    }
}

/// A ring for `queue_depth_max` requests and the wake-up, with what the kernel offers to rings of one thread.
fn build_ring(queue_depth_max: usize) -> io::Result<IoUring> {
    let entries = u32::try_from(queue_depth_max + 1).map_err(io::Error::other)?;
    let ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(entries)
        // Before Linux 6.1 these flags do not exist.
        .or_else(|_| IoUring::builder().build(entries))?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe)?;
    let needed = [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE];
    if needed.iter().all(|&code| probe.is_supported(code)) {
        Ok(ring)
    } else {
        Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel's io_uring has no read, write or fsync"))
    }
}

#[cfg(test)]
mod tests {
    use braid_base::ManualClock;
    use braid_testing::{Requirement, skip};
    use futures::future::try_join_all;

    use super::*;
    use crate::aligned_buffer::AlignedBuffer;
    use crate::device::Device;
    use crate::file_handle::OpenMode;
    use crate::io_reason::IoReason;
    use crate::queued_device::QueuedDevice;

    #[test]
    fn several_rings_share_the_work() {
        let rings = match RingPool::start(3, 8) {
            Ok(rings) => rings,
            Err(error) => return skip(Requirement::IoUring, error),
        };
        let dir = tempfile::tempdir().unwrap();
        let device = QueuedDevice::new("rings", rings, false, 8, Arc::new(ManualClock::at(0)));
        let file = device.open(&dir.path().join("x"), OpenMode::Create).unwrap();
        futures::executor::block_on(async {
            let write = |i: u8| device.write(&file, u64::from(i), AlignedBuffer::from_slice(&[i]), IoReason::Load);
            try_join_all((0..200).map(write)).await.unwrap();
            let all = device.read(&file, 0, 200, IoReason::Scan).await.unwrap();
            assert_eq!(all.as_slice(), (0..200).collect::<Vec<u8>>());
        });
        assert_eq!(device.stats().writes, 200);
    }
}
