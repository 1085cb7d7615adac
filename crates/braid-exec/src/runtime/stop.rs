//! Why rows go no further, and the flag that says so to all workers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ExecError;

/// The number of a join in its plan, in the order in which the plan lists its operators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "join {}", self.0)
    }
}

/// Why an operator or a sink takes no more rows.
#[derive(Debug)]
pub enum Stop {
    /// No more rows are wanted. The pipeline ends well.
    Enough,
    /// This join makes many more pairs than it has input rows. The operator that collects its rows restarts without this join.
    Restart(NodeId),
    /// The query failed.
    Failed(ExecError),
}

impl From<ExecError> for Stop {
    fn from(error: ExecError) -> Self {
        Self::Failed(error)
    }
}

impl Stop {
    /// Why the run of a whole plan failed. Panics on stops that end within it: pipelines end well when there are enough
    /// rows, and joins are watched only where their rows are collected.
    pub(crate) fn into_error(self) -> ExecError {
        match self {
            Self::Failed(error) => error,
            Self::Enough => panic!("a pipeline passed on that there are enough rows"),
            Self::Restart(join) => panic!("{join} was watched where its rows cannot be made again"),
        }
    }
}

/// A flag that workers look at: a limit is reached, or the query is cancelled. It stays raised.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Tells all workers to stop.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether workers are to stop.
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
