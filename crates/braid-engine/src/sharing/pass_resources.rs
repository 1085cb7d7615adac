//! What passes run with: the newest snapshot, memory, temporary files, workers.

use std::fmt;
use std::sync::Arc;

use braid_base::ByteSize;
use braid_exec::SpillSpace;
use braid_exec::executor::Executor;
use braid_exec::plan::Plan;
use braid_plan::optimization::{OrderedPlan, UniqueKeys, observe_and_order_joins, order_joins};
use braid_storage::Store;

use crate::memory::{QueryMemory, TotalMemory};
use crate::sharing::result_memory::ResultMemory;
use crate::templates::plan_template::ParameterRow;

/// What passes run with.
pub(crate) struct PassResources {
    /// The tables.
    pub store: Arc<Store>,
    /// The total budget.
    pub memory: Arc<TotalMemory>,
    /// The memory of results that wait for their readers.
    pub results: Arc<ResultMemory>,
    /// Where operators spill.
    pub spill: Arc<SpillSpace>,
    /// The budget of one query.
    pub query_memory: ByteSize,
    /// Number of workers of a pass.
    pub worker_count: usize,
    /// The keys that were found to be unique.
    pub unique_keys: UniqueKeys,
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

    /// The plan with its joins ordered for these queries, after the keys of its tables have been observed that matter.
    pub async fn order_joins(&self, plan: &Plan, queries: &[ParameterRow]) -> OrderedPlan {
        let executor = || Executor::new(self.worker_count, self.pass_memory(1)).with_spill_space(self.spill.clone());
        observe_and_order_joins(plan, queries, &self.unique_keys, executor).await
    }

    /// As [`Self::order_joins`] for the queries of a pass, whose joins are not predicted to explode, and which of the queries have
    /// such joins. Each query is looked at only if joins for all of them explode.
    pub async fn order_pass(&self, plan: &Plan, queries: &[ParameterRow]) -> (OrderedPlan, Vec<bool>) {
        let ordered = self.order_joins(plan, queries).await;
        let mut explode = vec![false; queries.len()];
        if !ordered.explodes {
            return (ordered, explode);
        }
        for (query, explodes) in queries.iter().zip(&mut explode) {
            *explodes = order_joins(plan, std::slice::from_ref(query), &self.unique_keys).explodes;
            tokio::task::yield_now().await;
        }
        let others = queries.iter().zip(&explode).filter(|(_, explodes)| !**explodes);
        let others: Vec<ParameterRow> = others.map(|(query, _)| query.clone()).collect();
        if others.is_empty() || others.len() == queries.len() {
            return (ordered, explode);
        }
        (self.order_joins(plan, &others).await, explode)
    }
}
