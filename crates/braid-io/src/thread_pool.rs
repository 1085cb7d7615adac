//! Executes requests with blocking `pread` and `pwrite` on a fixed number of threads: works on every kernel, container
//! and filesystem. The disk sees a queue no deeper than there are threads, and each request costs two thread switches.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crate::queued_device::{Executor, join_unless_current};
use crate::request::Request;
use crate::submission_queue::SubmissionQueue;

/// The threads; dropping it waits for the requests that are queued or running.
pub(crate) struct ThreadPool {
    queue: Arc<SubmissionQueue>,
    threads: Vec<JoinHandle<()>>,
}

impl ThreadPool {
    /// Starts `threads` threads for at most `queue_depth_max` requests.
    pub(crate) fn start(threads: usize, queue_depth_max: usize) -> io::Result<Self> {
        let queue = Arc::new(SubmissionQueue::new(queue_depth_max));
        // Filled one by one: if a thread cannot be started, dropping the pool ends those that were.
        let mut pool = Self { queue, threads: Vec::with_capacity(threads) };
        for index in 0..threads {
            let queue = Arc::clone(&pool.queue);
            let thread = thread::Builder::new().name(format!("braid-io-{index}")).spawn(move || run(&queue))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }
}

impl Executor for ThreadPool {
    fn submit(&self, request: Request) -> Result<(), Request> {
        self.queue.push(request).map(|_wake| ())
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.queue.close();
        self.threads.drain(..).for_each(join_unless_current);
    }
}

fn run(queue: &SubmissionQueue) {
    while let Some(request) = queue.pop() {
        if !request.is_abandoned() {
            request.execute();
        }
    }
}
