//! The requests that the kernel holds, and the ring through which it got them.
//!
//! The one rule: memory that the kernel was given stays allocated, and its descriptor open, until the completion
//! arrives. Requests therefore live in `slots` from [`KernelRequests::submit`] to [`KernelRequests::completed`]. If the
//! ring's thread must end earlier (a bug, or a kernel that refuses to wait), dropping this leaks the memory: direct I/O
//! writes to physical pages whenever it is done, and to an allocator's reused pages that would be silent corruption.
//!
//! The ring also holds a read of the wake-up descriptor, so that one wait covers completions and new submissions.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::{IoUring, opcode, squeue, types};

use crate::aligned_memory::AlignedMemory;
use crate::request::{Ask, Request};

/// The identity of the wake-up read; requests have their slot's index.
const WAKE: u64 = u64::MAX;

/// A ring and what the kernel holds of it.
pub(crate) struct KernelRequests {
    ring: IoUring,
    slots: Vec<Option<Request>>,
    free: Vec<usize>,
    wake_file: Arc<File>,
    /// `None` only while dropping. The kernel writes here while `wake_pending`.
    wake_counter: Option<AlignedMemory>,
    wake_pending: bool,
}

impl KernelRequests {
    /// An empty set of at most `capacity` requests, woken through the eventfd `wake_file`.
    pub(crate) fn new(ring: IoUring, capacity: usize, wake_file: Arc<File>) -> Self {
        let slots = (0..capacity).map(|_| None).collect();
        let wake_counter = Some(AlignedMemory::zeroed(size_of::<u64>()));
        Self { ring, slots, free: (0..capacity).rev().collect(), wake_file, wake_counter, wake_pending: false }
    }

    /// Whether the kernel holds nothing, the wake-up read included.
    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len() && !self.wake_pending
    }

    /// Queues a request for the kernel; gives it back while there is no room.
    pub(crate) fn submit(&mut self, mut request: Request) -> Result<(), Request> {
        let Some(&index) = self.free.last() else { return Err(request) };
        let entry = entry(&mut request).user_data(index as u64);
        // SAFETY: the entry's addresses lie in memory that `request` owns on the heap, and its descriptor is held open
        // by `request`; it moves into a slot now and leaves only with its completion, or leaks.
        if unsafe { self.ring.submission().push(&entry) }.is_err() {
            return Err(request);
        }
        self.free.pop();
        self.slots[index] = Some(request);
        Ok(())
    }

    /// Makes the next write to the wake-up descriptor end a wait. Does nothing if that is so already.
    pub(crate) fn arm_wake(&mut self) {
        if self.wake_pending {
            return;
        }
        let counter = self.wake_counter.as_mut().expect("taken only by drop").address_mut(0);
        let descriptor = types::Fd(self.wake_file.as_raw_fd());
        let entry = opcode::Read::new(descriptor, counter, size_of::<u64>() as u32).build().user_data(WAKE);
        // SAFETY: the counter's memory and the descriptor live as long as `self`, and leak while the read is pending.
        // A full queue is no harm: the wake-up is armed before the next wait.
        self.wake_pending = unsafe { self.ring.submission().push(&entry) }.is_ok();
    }

    /// Gives the kernel what is queued and waits for at least one completion.
    pub(crate) fn submit_and_wait(&mut self) -> io::Result<()> {
        self.ring.submit_and_wait(1).map(|_| ())
    }

    /// Moves every completed request, with the kernel's answer, to the end of `target`.
    pub(crate) fn completed(&mut self, target: &mut VecDeque<(Request, io::Result<usize>)>) {
        for entry in self.ring.completion() {
            if entry.user_data() == WAKE {
                self.wake_pending = false;
                continue;
            }
            let index = usize::try_from(entry.user_data()).expect("it was a usize when it was submitted");
            let request = self.slots[index].take().expect("the kernel completes a request once");
            self.free.push(index);
            let answer = usize::try_from(entry.result()).map_err(|_| io::Error::from_raw_os_error(-entry.result()));
            target.push_back((request, answer));
        }
    }
}

impl Drop for KernelRequests {
    fn drop(&mut self) {
        self.slots.drain(..).flatten().for_each(Request::leak);
        if self.wake_pending {
            std::mem::forget(self.wake_counter.take());
        }
    }
}

/// What the request asks for next, in the ring's form.
fn entry(request: &mut Request) -> squeue::Entry {
    let descriptor = types::Fd(request.file().file().as_raw_fd());
    let len_u32 = |len: usize| u32::try_from(len).expect("at most 2^30 bytes are asked for at once");
    match request.ask() {
        Ask::Read { memory, start, len, offset } => {
            assert!(start + len <= memory.capacity(), "a read past the end of its buffer");
            opcode::Read::new(descriptor, memory.address_mut(start), len_u32(len)).offset(offset).build()
        }
        Ask::Write { bytes, offset } => {
            opcode::Write::new(descriptor, bytes.as_ptr(), len_u32(bytes.len())).offset(offset).build()
        }
        Ask::Sync => opcode::Fsync::new(descriptor).flags(types::FsyncFlags::DATASYNC).build(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::{Semaphore, oneshot};

    use super::*;
    use crate::file_handle::{FileHandle, OpenMode};
    use crate::io_reason::IoReason;
    use crate::statistics::{Counters, InFlight};
    use crate::syscalls;

    #[test]
    fn a_ring_that_ends_too_early_leaves_memory_but_no_caller_waiting() {
        let ring = match IoUring::new(4) {
            Ok(ring) => ring,
            Err(error) => return println!("skipped: {error}"),
        };
        let dir = tempfile::tempdir().unwrap();
        let file = FileHandle::open(&dir.path().join("x"), OpenMode::Create, false).unwrap();
        let counters = Arc::new(Counters::new(2));
        let places = Arc::new(Semaphore::new(3));
        let request = || {
            let permit = Arc::clone(&places).try_acquire_owned().unwrap();
            let (reply, result) = oneshot::channel();
            let in_flight = InFlight::enter(&counters, permit);
            (Request::read(file.clone(), 0, 4096, IoReason::Scan, in_flight, reply), result)
        };
        let mut kernel = KernelRequests::new(ring, 2, Arc::new(syscalls::eventfd().unwrap()));
        assert!(kernel.is_empty());
        let ((first, mut first_result), (second, _second_result), (third, _)) = (request(), request(), request());
        assert!(kernel.submit(first).is_ok() && kernel.submit(second).is_ok());
        assert!(kernel.submit(third).is_err(), "there are two slots");
        kernel.arm_wake();
        assert!(!kernel.is_empty());
        drop(kernel);
        assert!(matches!(first_result.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
        assert_eq!((counters.snapshot().queue_depth_now, places.available_permits()), (0, 3));
    }
}
