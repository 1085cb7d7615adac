//! The workers and the memory of a pass.

use std::sync::Arc;

use braid_base::ByteSize;
use braid_exec::executor::Executor;
use braid_exec::plan::SortSpec;
use braid_exec::sorting::SortWorker;
use braid_exec::{ExecError, FixedBudget};

use crate::BenchError;

/// Memory budget of a pass.
const PASS_MEMORY: ByteSize = ByteSize(2 << 30);

/// Workers and memory of a pass.
#[derive(Clone)]
pub struct PassRuntime {
    /// The memory of all its parts.
    pub budget: Arc<FixedBudget>,
}

impl PassRuntime {
    /// The runtime of a new pass.
    pub fn new() -> Self {
        Self { budget: FixedBudget::new(PASS_MEMORY) }
    }

    /// A run of a plan on all cores.
    pub fn executor(&self) -> Executor {
        Executor::new(std::thread::available_parallelism().map_or(1, usize::from), self.budget.clone())
    }

    /// Collects rows in the order of their arrival.
    pub fn collector(&self) -> SortWorker {
        SortWorker::new(Arc::new(SortSpec { keys: Vec::new(), limit: None }), self.budget.clone())
    }
}

/// Makes the error of an operator one of benchmarks.
pub fn failed(error: ExecError) -> BenchError {
    BenchError::other("running a plan", error)
}
