//! A worker's turn: its computation between two yields.
//!
//! A batch of a scan may become millions of rows in joins within one synchronous call, which cannot yield. When a turn takes
//! too long, the rest of it runs as a blocking section: the runtime moves the other tasks of this thread to another thread,
//! so that timers, the network and cancellation continue.

use std::sync::Arc;
use std::time::{Duration, Instant};

use braid_base::VECTOR_ROWS;
use parking_lot::Mutex;
use tokio::runtime::{Handle, RuntimeFlavor};

use super::stop::{Stop, StopFlag};
use crate::ExecError;

/// Maximum time that a worker computes before it yields: a tenth of the time that a cancelled query may take to stop.
pub const QUANTUM: Duration = Duration::from_millis(1);

/// Time after which the rest of a turn runs as a blocking section.
const OVERTIME: Duration = Duration::from_millis(2);

/// Rows from which a part of a turn is expected to take longer, at a microsecond a row.
const MANY_ROWS: usize = 2 * VECTOR_ROWS;

/// A worker's turn, with the query's cancellation.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// The start of the turn.
    since: Arc<Mutex<Instant>>,
    cancelled: StopFlag,
}

impl Turn {
    /// A turn that starts now.
    pub(crate) fn new(cancelled: StopFlag) -> Self {
        Self { since: Arc::new(Mutex::new(Instant::now())), cancelled }
    }

    /// Starts the next turn, after a yield.
    pub(crate) fn begin(&self) {
        *self.since.lock() = Instant::now();
    }

    fn elapsed(&self) -> Duration {
        self.since.lock().elapsed()
    }

    /// Whether the worker must yield.
    pub(crate) fn is_over(&self) -> bool {
        self.elapsed() >= QUANTUM
    }

    /// # Errors
    /// When the query was cancelled.
    pub(crate) fn check(&self) -> Result<(), ExecError> {
        if self.cancelled.is_raised() { Err(ExecError::Cancelled) } else { Ok(()) }
    }

    /// Runs a part of a turn, about a vector of rows.
    ///
    /// # Errors
    /// Those of the work, and when the query was cancelled before it.
    pub(crate) fn go_on<R>(&self, work: impl FnOnce() -> Result<R, Stop>) -> Result<R, Stop> {
        self.check()?;
        if self.elapsed() >= OVERTIME && has_other_threads() { tokio::task::block_in_place(work) } else { work() }
    }

    /// Runs a part of a turn over so many rows, which may be many vectors.
    ///
    /// # Errors
    /// As [`Self::go_on`].
    pub(crate) fn go_on_for<R>(
        &self,
        row_count: usize,
        work: impl FnOnce() -> Result<R, ExecError>,
    ) -> Result<R, ExecError> {
        self.check()?;
        if row_count >= MANY_ROWS && has_other_threads() { tokio::task::block_in_place(work) } else { work() }
    }
}

fn has_other_threads() -> bool {
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
