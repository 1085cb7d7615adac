//! A worker's turn: what it computes between two places where it gives way.
//!
//! A batch of a scan may become millions of rows in joins, all of them in one call. Nobody can give way in there. So when
//! a turn takes too long the rest of it is done as what blocks: the runtime hands this thread's other tasks to another
//! thread, and timers, the network and whoever cancels the query go on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::stop::{Stop, StopFlag};
use crate::ExecError;

/// Longest time that a worker computes before it gives way: a tenth of what a cancelled query may take to stop.
pub const QUANTUM: Duration = Duration::from_millis(1);

/// A turn of so long will be over when its batch is done; a longer one may take any time.
const OVERTIME: Duration = Duration::from_millis(2);

/// A worker's turn, and whether anybody still wants what it does.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// When it began.
    since: Arc<Mutex<Instant>>,
    cancelled: StopFlag,
}

impl Turn {
    /// One that begins now.
    pub(crate) fn new(cancelled: StopFlag) -> Self {
        Self { since: Arc::new(Mutex::new(Instant::now())), cancelled }
    }

    /// The worker has given way.
    pub(crate) fn begin(&self) {
        *self.since.lock() = Instant::now();
    }

    fn elapsed(&self) -> Duration {
        self.since.lock().elapsed()
    }

    /// Whether it is time to give way.
    pub(crate) fn is_over(&self) -> bool {
        self.elapsed() >= QUANTUM
    }

    /// # Errors
    /// When the query was cancelled.
    pub(crate) fn check(&self) -> Result<(), ExecError> {
        if self.cancelled.is_raised() { Err(ExecError::Cancelled) } else { Ok(()) }
    }

    /// Does a part of a turn's work, of about a vector of rows.
    ///
    /// # Errors
    /// Those of the work, and when the query was cancelled before it.
    pub(crate) fn go_on<R>(&self, work: impl FnOnce() -> Result<R, Stop>) -> Result<R, Stop> {
        self.check()?;
        let has_other_threads =
            || Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        if self.elapsed() >= OVERTIME && has_other_threads() { tokio::task::block_in_place(work) } else { work() }
    }
}
