//! Threads for planning, with stacks for deep trees.
//!
//! Statements are bound, planned and dropped by recursion, and planning is not interrupted. So a statement is planned on a
//! thread of its own kind while its session waits for it like for anything else:
//!
//! 1. The session answers in time. A cancel or a timeout ends its wait; the planner is *abandoned*, and what it makes is
//!    dropped on its thread.
//! 2. A statement that may take long ([`Lane::Large`]) is planned by the one thread for such statements. So at most one
//!    abandoned planner of a large statement is at work at any time; other large statements wait until it has ended, and can
//!    be cancelled while they wait. Small statements do not wait for it.
//! 3. Planners at work, abandoned ones included, are never more than the threads: a planner keeps its thread until it ends.
//! 4. A panic ends one statement, with XX000.
//! 5. A planner whose session has stopped waiting does not start.
//!
//! A statement whose planning takes no longer than a turn of its session's thread is planned there ([`plan_here`]): to wake another
//! thread and to be woken by it takes about a tenth of that time, and far longer on a busy machine. Rule 4 holds there, too.
//!
//! Threads start when there is work and end when there has been none for [`IDLE_MAX`], which gives back their stacks.
//!
//! Not here: what is too deep or too large to be planned at all ([`crate::statement_limits`]), and the evaluation of
//! expressions, which runs on the runtime's threads.

use std::any::Any;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::deep_stack::DEEP_STACK_BYTES;
use crate::{EngineError, SqlState};

/// How long a thread without work lives.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Which threads plan a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// One of several.
    Small,
    /// The one for what may take long.
    Large,
}

/// The threads of a database.
pub(crate) struct PlanningThreads {
    small: Arc<Pool>,
    large: Arc<Pool>,
}

impl PlanningThreads {
    /// At most `small_count` threads for small statements, and one for large ones.
    pub fn new(small_count: usize) -> Self {
        Self { small: Pool::new("braid-plan", small_count.max(1)), large: Pool::new("braid-plan-large", 1) }
    }

    /// Runs the future that `work` makes on a planning thread. Dropping the returned future abandons it.
    ///
    /// # Errors
    /// Those of the work; XX000 where it panics, 53200 where no thread can be started.
    pub async fn run<T, F, W>(&self, lane: Lane, work: W) -> Result<T, EngineError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, EngineError>>,
        W: FnOnce() -> F + Send + 'static,
    {
        let pool = match lane {
            Lane::Small => &self.small,
            Lane::Large => &self.large,
        };
        let (sender, result) = oneshot::channel();
        let abandoned = AbandonOnDrop::default();
        let (flag, runtime) = (Arc::clone(&abandoned.0), Handle::current());
        pool.submit(Box::new(move || {
            if flag.load(Ordering::Relaxed) {
                return;
            }
            let _context = runtime.enter();
            let planned = catch_unwind(AssertUnwindSafe(|| futures::executor::block_on(work())));
            // Of an abandoned planner: what it made is dropped here.
            let _ = sender.send(planned.unwrap_or_else(|panic| Err(panicked(&*panic))));
        }))?;
        result.await.unwrap_or_else(|_| Err(EngineError::internal("a planning thread ended without an answer")))
    }
}

/// Tells a planner that its session has stopped waiting.
#[derive(Default)]
struct AbandonOnDrop(Arc<AtomicBool>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs planning on this thread.
///
/// # Errors
/// Those of the work; XX000 where it panics.
pub(crate) fn plan_here<T>(work: impl FnOnce() -> Result<T, EngineError>) -> Result<T, EngineError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

fn panicked(panic: &(dyn Any + Send)) -> EngineError {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    let text = text.unwrap_or("no message");
    tracing::error!("planning a statement panicked: {text}");
    EngineError::internal(format!("internal error while planning: {text}"))
        .with_hint("This is a bug in Braid. The statement was stopped; the session can be used.")
}

type Job = Box<dyn FnOnce() + Send>;

/// Threads that take jobs from one queue.
struct Pool {
    thread_name: &'static str,
    thread_count_max: usize,
    queue: Mutex<Queue>,
    /// Signalled for each new job.
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    thread_count: usize,
    idle_count: usize,
}

impl Pool {
    fn new(thread_name: &'static str, thread_count_max: usize) -> Arc<Self> {
        Arc::new(Self { thread_name, thread_count_max, queue: Mutex::default(), changed: Condvar::new() })
    }

    fn submit(self: &Arc<Self>, job: Job) -> Result<(), EngineError> {
        let mut queue = self.queue.lock();
        if queue.idle_count <= queue.jobs.len() && queue.thread_count < self.thread_count_max {
            let started = self.start_thread();
            if let (Err(error), 0) = (&started, queue.thread_count) {
                let message = format!("cannot start a thread to plan the statement: {error}");
                return Err(EngineError::new(SqlState::OutOfMemory, message));
            }
            queue.thread_count += usize::from(started.is_ok());
        }
        queue.jobs.push_back(job);
        drop(queue);
        self.changed.notify_one();
        Ok(())
    }

    fn start_thread(self: &Arc<Self>) -> std::io::Result<()> {
        let pool = Arc::clone(self);
        let thread = std::thread::Builder::new().name(self.thread_name.to_owned()).stack_size(DEEP_STACK_BYTES);
        thread.spawn(move || pool.work()).map(|_| ())
    }

    fn work(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.queue.lock();
                continue;
            }
            queue.idle_count += 1;
            let timed_out = self.changed.wait_for(&mut queue, IDLE_MAX).timed_out();
            queue.idle_count -= 1;
            if timed_out && queue.jobs.is_empty() {
                queue.thread_count -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Instant;

    use super::*;

    #[tokio::test]
    async fn a_panic_ends_one_statement() {
        let threads = PlanningThreads::new(1);
        let failed: Result<(), _> = threads.run(Lane::Small, || async { panic!("a bug") }).await;
        assert_eq!(failed.unwrap_err().sqlstate(), "XX000");
        assert_eq!(threads.run(Lane::Small, || async { Ok(5) }).await.unwrap(), 5);
        let failed: Result<(), _> = plan_here(|| panic!("a bug"));
        assert_eq!(failed.unwrap_err().sqlstate(), "XX000");
    }

    #[tokio::test]
    async fn an_abandoned_planner_holds_up_its_lane_alone() {
        let threads = PlanningThreads::new(2);
        let (go, wait) = mpsc::channel::<()>();
        let stuck = threads.run(Lane::Large, move || async move {
            let _ = wait.recv();
            Ok(())
        });
        let began = Instant::now();
        assert!(tokio::time::timeout(Duration::from_millis(20), stuck).await.is_err());
        let waiting = threads.run(Lane::Large, || async { Ok(6) });
        assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err(), "one large planner at a time");
        assert_eq!(threads.run(Lane::Small, || async { Ok(7) }).await.unwrap(), 7);
        assert!(began.elapsed() < Duration::from_secs(5));
        go.send(()).unwrap();
        assert_eq!(threads.run(Lane::Large, || async { Ok(8) }).await.unwrap(), 8);
    }

    #[tokio::test]
    async fn nobody_waits_for_work_that_has_not_begun() {
        let threads = PlanningThreads::new(1);
        let (go, wait) = mpsc::channel::<()>();
        let first = threads.run(Lane::Large, move || async move {
            let _ = wait.recv();
            Ok(())
        });
        assert!(tokio::time::timeout(Duration::from_millis(5), first).await.is_err());
        let (began, has_begun) = mpsc::channel::<()>();
        let second = threads.run(Lane::Large, move || async move {
            let _ = began.send(());
            Ok(())
        });
        assert!(tokio::time::timeout(Duration::from_millis(5), second).await.is_err());
        go.send(()).unwrap();
        threads.run(Lane::Large, || async { Ok(()) }).await.unwrap();
        assert!(has_begun.try_recv().is_err());
    }
}
