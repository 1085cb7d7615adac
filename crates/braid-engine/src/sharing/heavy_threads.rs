//! The threads of heavy queries.
//!
//! The threads of a runtime take its tasks in turns, and a turn of a query that computes lasts for milliseconds. On the runtime of the
//! connections, each step of a light query (its message, its pass, its workers, its answer) would wait for such turns. So what
//! computes for long runs on threads of its own, which give way ([`give_way`]): the operating system interrupts them at once for a
//! thread that wakes up, of this process or of a client beside it.

use std::io;

use braid_io::give_way;
use tokio::runtime::{Builder, EnterGuard, Handle, Runtime};

use crate::RUNTIME_STACK_BYTES;

/// A runtime for passes that are not short, and for queries that run outside of the lanes.
#[derive(Debug)]
pub(crate) struct HeavyThreads {
    /// There until the drop.
    runtime: Option<Runtime>,
}

impl HeavyThreads {
    /// As many threads as a pass has workers.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub fn start(worker_count: usize) -> io::Result<Self> {
        let mut threads = Builder::new_multi_thread();
        threads.worker_threads(worker_count.max(1)).thread_name("braid-heavy").thread_stack_size(RUNTIME_STACK_BYTES);
        threads.on_thread_start(|| {
            if let Err(error) = give_way() {
                tracing::debug!(%error, "a thread of heavy queries does not give way");
            }
        });
        Ok(Self { runtime: Some(threads.enable_all().build()?) })
    }

    /// Runs a task on these threads.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.runtime {
            drop(runtime.spawn(task));
        }
    }

    /// Has what the caller spawns run on these threads, while the guard lives.
    pub fn enter(&self) -> Option<EnterGuard<'_>> {
        self.runtime.as_ref().map(Runtime::enter)
    }

    /// The runtime of these threads.
    pub fn handle(&self) -> Option<&Handle> {
        self.runtime.as_ref().map(Runtime::handle)
    }
}

impl Drop for HeavyThreads {
    /// Does not wait for tasks: a database may be dropped within one.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
