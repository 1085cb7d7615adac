//! The bounded queue between callers and the threads that execute requests.
//!
//! Its bound is the device's queue depth. Callers wait for a place *before* they get here (asynchronously, at the
//! semaphore of `queued_device`), so a full queue is a bug, not a condition.
//!
//! Two kinds of consumer: pool threads block in [`SubmissionQueue::pop`]; a ring thread blocks in the kernel and must
//! be woken through a descriptor, but only if it is really asleep: a wake-up costs a system call and a completion.
//! [`SubmissionQueue::fall_asleep`] and [`SubmissionQueue::push`] agree on that under the lock, so no request is
//! missed and none wakes a thread that is up.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

use crate::request::Request;

/// What [`SubmissionQueue::push`] asks of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Wake {
    /// Wake the ring thread.
    Needed,
    /// The kernel thread is awake, or does not exist.
    NotNeeded,
}

/// The queue.
pub(crate) struct SubmissionQueue<T = Request> {
    capacity: usize,
    state: Mutex<State<T>>,
    arrived: Condvar,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// Whether a ring thread has announced that it will block in the kernel.
    asleep: bool,
    closed: bool,
}

impl<T> SubmissionQueue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        let state = State { waiting: VecDeque::with_capacity(capacity), asleep: false, closed: false };
        Self { capacity, state: Mutex::new(state), arrived: Condvar::new() }
    }

    /// Adds a request; gives it back if the queue is closed.
    pub(crate) fn push(&self, request: T) -> Result<Wake, T> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(request);
        }
        assert!(state.waiting.len() < self.capacity, "{} requests in a queue of as many", self.capacity);
        state.waiting.push_back(request);
        let asleep = std::mem::take(&mut state.asleep);
        drop(state);
        self.arrived.notify_one();
        Ok(if asleep { Wake::Needed } else { Wake::NotNeeded })
    }

    /// Takes the oldest request, waiting for one; `None` once the queue is closed and empty.
    pub(crate) fn pop(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(request) = state.waiting.pop_front() {
                return Some(request);
            }
            if state.closed {
                return None;
            }
            self.arrived.wait(&mut state);
        }
    }

    /// Moves all requests to the end of `target`, and marks the ring thread awake. Returns whether the queue is closed.
    pub(crate) fn drain_into(&self, target: &mut VecDeque<T>) -> bool {
        let mut state = self.state.lock();
        state.asleep = false;
        target.append(&mut state.waiting);
        state.closed
    }

    /// Announces that the ring thread will block until it is woken. False if there is something to do instead.
    pub(crate) fn fall_asleep(&self) -> bool {
        let mut state = self.state.lock();
        state.asleep = state.waiting.is_empty() && !state.closed;
        state.asleep
    }

    /// Lets nothing more in; what is in still comes out.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.closed = true;
        state.asleep = false;
        drop(state);
        self.arrived.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_sleeping_thread_is_woken_and_only_once() {
        let queue = SubmissionQueue::new(4);
        assert_eq!(queue.push(1), Ok(Wake::NotNeeded));
        assert!(!queue.fall_asleep(), "there is work");
        let mut drained = VecDeque::new();
        assert!(!queue.drain_into(&mut drained));
        assert!(queue.fall_asleep());
        assert_eq!((queue.push(2), queue.push(3)), (Ok(Wake::Needed), Ok(Wake::NotNeeded)));
        assert!(!queue.drain_into(&mut drained));
        assert_eq!(drained, [1, 2, 3]);
    }

    #[test]
    fn a_closed_queue_gives_out_what_it_has_and_takes_nothing() {
        let queue = SubmissionQueue::new(4);
        assert_eq!(queue.push(1), Ok(Wake::NotNeeded));
        queue.close();
        assert_eq!(queue.push(2), Err(2));
        assert!(!queue.fall_asleep());
        assert_eq!((queue.pop(), queue.pop()), (Some(1), None));
        assert!(queue.drain_into(&mut VecDeque::new()));
    }

    #[test]
    fn blocked_threads_end_when_the_queue_closes() {
        let queue = SubmissionQueue::<u32>::new(4);
        std::thread::scope(|scope| {
            let consumers: Vec<_> =
                (0..3).map(|_| scope.spawn(|| std::iter::from_fn(|| queue.pop()).count())).collect();
            for request in 0..4 {
                assert_eq!(queue.push(request), Ok(Wake::NotNeeded));
            }
            queue.close();
            assert_eq!(consumers.into_iter().map(|consumer| consumer.join().unwrap()).sum::<usize>(), 4);
        });
    }

    #[test]
    #[should_panic(expected = "in a queue of as many")]
    fn an_overfull_queue_is_a_bug() {
        let queue = SubmissionQueue::new(1);
        let _ = queue.push(1);
        let _ = queue.push(2);
    }
}
