//! The reasons to stop a pipeline, and the flag that tells all workers to stop.

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

/// The reason of an operator or a sink to stop.
#[derive(Debug)]
pub enum Stop {
    /// No more rows are wanted. The pipeline ends without an error.
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
    /// The error of a run. Panics on the other reasons, which end within a run: pipelines with enough rows end without an error,
    /// and joins are watched only if the consumer of their rows can restart.
    pub(crate) fn into_error(self) -> ExecError {
        match self {
            Self::Failed(error) => error,
            Self::Enough => panic!("a pipeline with enough rows ended with an error"),
            Self::Restart(join) => panic!("{join} was watched although the consumer of its rows cannot restart"),
        }
    }
}

/// A flag that workers look at: a limit is reached, or the query is cancelled. It stays raised.
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    raised: Arc<AtomicBool>,
    /// Raised for all parts of a query.
    around: Option<Arc<Self>>,
}

impl StopFlag {
    /// A flag of a part, which stops when the whole is to stop, and alone.
    pub(crate) fn of_part(&self) -> Self {
        Self { raised: Arc::default(), around: Some(Arc::new(self.clone())) }
    }

    /// Tells all workers to stop.
    pub fn raise(&self) {
        self.raised.store(true, Ordering::Relaxed);
    }

    /// Whether workers are to stop.
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed) || self.around.as_ref().is_some_and(|around| around.is_raised())
    }
}
