//! Runs a function once on each worker thread of a runtime.
//!
//! Tokio has no such call, and wakes of its sleeping workers the one that fell asleep last. So there are as many tasks as workers, and
//! each keeps its thread until all of them run: then no two of them have the same thread. A runtime that does something else lets some
//! of them wait, and the others leave after [`WAIT_MAX`]; so this is for runtimes that are idle. What is missed is done
//! the next time.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;

/// How long a task keeps its thread for the others. Sleeping threads wake within a tenth of a millisecond.
const WAIT_MAX: Duration = Duration::from_millis(10);

/// The tasks of one call that run.
#[derive(Default)]
struct Meeting {
    arrived_count: Mutex<usize>,
    /// Signalled for the last one.
    complete: Condvar,
}

impl Meeting {
    /// Waits until `expected_count` tasks have arrived, or [`WAIT_MAX`] has passed.
    fn attend(&self, expected_count: usize) {
        let mut arrived_count = self.arrived_count.lock();
        *arrived_count += 1;
        if *arrived_count == expected_count {
            self.complete.notify_all();
        }
        self.complete.wait_while_for(&mut arrived_count, |count| *count < expected_count, WAIT_MAX);
    }
}

/// Runs `work` on the worker threads of `runtime`, on each once if all of them are idle, and waits for it.
pub(crate) async fn on_each_worker(runtime: &Handle, work: fn()) {
    let worker_count = runtime.metrics().num_workers();
    let meeting = Arc::new(Meeting::default());
    let visits = (0..worker_count).map(|_| {
        let meeting = Arc::clone(&meeting);
        runtime.spawn(async move {
            meeting.attend(worker_count);
            work();
        })
    });
    // All of them are spawned before the first is awaited. A runtime that is shut down cancels them.
    let _ = futures::future::join_all(visits).await;
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread::{self, ThreadId};

    use super::*;

    static VISITED: Mutex<Vec<ThreadId>> = Mutex::new(Vec::new());

    fn visit() {
        VISITED.lock().push(thread::current().id());
    }

    #[test]
    fn each_thread_of_an_idle_runtime_is_visited_once() {
        let visited = tokio::runtime::Builder::new_multi_thread().worker_threads(5).enable_all().build().unwrap();
        let caller = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // The runtime's threads start, and go to sleep.
        visited.block_on(async { tokio::time::sleep(Duration::from_millis(50)).await });
        // Another program may keep a thread from running for longer than the others wait; not each time.
        let complete = (0..100).any(|_| {
            VISITED.lock().clear();
            caller.block_on(on_each_worker(visited.handle(), visit));
            let threads = VISITED.lock();
            assert_eq!(threads.len(), 5);
            threads.iter().collect::<HashSet<_>>().len() == 5
        });
        assert!(complete, "{:?}", VISITED.lock());
    }
}
