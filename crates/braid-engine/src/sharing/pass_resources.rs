//! What passes run with: the newest snapshot, memory, temporary files, workers.

use std::fmt;
use std::sync::Arc;

use braid_base::ByteSize;
use braid_exec::SpillSpace;
use braid_storage::Store;

use crate::memory::{QueryMemory, TotalMemory};

/// What passes run with.
pub(crate) struct PassResources {
    /// The tables.
    pub store: Arc<Store>,
    /// The total budget.
    pub memory: Arc<TotalMemory>,
    /// Where operators spill.
    pub spill: Arc<SpillSpace>,
    /// The budget of one query.
    pub query_memory: ByteSize,
    /// Number of workers of a pass.
    pub worker_count: usize,
}

impl fmt::Debug for PassResources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassResources").field("worker_count", &self.worker_count).finish_non_exhaustive()
    }
}

impl PassResources {
    /// Memory for a pass of so many distinct queries: that of each, at most half of the total budget, at least that of one.
    pub fn pass_memory(&self, distinct_count: usize) -> Arc<QueryMemory> {
        let of_all = self.query_memory.0.saturating_mul(distinct_count as u64);
        let bytes = of_all.min(self.memory.limit().0 / 2).max(self.query_memory.0);
        QueryMemory::new(ByteSize(bytes), self.memory.clone())
    }
}
