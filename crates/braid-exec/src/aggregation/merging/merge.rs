//! The groups of all workers, merged partition by partition.
//!
//! The groups of a single worker are not merged but split into ranges. Otherwise the hash of a key determines the partition of
//! its group, in all workers. The thread that requests a partition merges it from the workers in their order. Each worker's
//! groups are ordered by partition once, by the first thread that needs the order; threads start with different workers.
//!
//! In a shared pass, a worker has one group for each key and query set. Merging makes the sets of a key disjoint
//! (`atom_groups`), also for a single worker.
//!
//! Invariant: the workers' groups are immutable, so that threads share them without locks.

use std::ops::Range;
use std::sync::Arc;

use super::atom_groups::KeySets;
use super::worker_groups::{Accumulated, WorkerGroups};
use crate::aggregation::groups::group_table::{GroupTable, KeyOrder};
use crate::aggregation::states::aggregate_plan::AggregatePlan;
use crate::aggregation::states::aggregate_states::InputStates;
use crate::aggregation::states::foreign_groups::ForeignCalls;
use crate::aggregation::{AggregationWorker, OPERATOR};
use crate::plan::AggregationSpec;
use crate::query_sets::set_refinement::Refinements;
use crate::runtime::result_rows::ResultRows;
use crate::tuning::AggregationTuning;
use crate::values::vector::Vector;
use crate::{ExecError, Reservation};

/// Maximum number of partitions; a power of two.
const PARTITIONS_MAX: usize = 1 << 10;

/// The groups of all workers, in disjoint partitions that different threads can request.
#[derive(Debug)]
pub struct Aggregation {
    spec: Arc<AggregationSpec>,
    plan: AggregatePlan,
    tuning: AggregationTuning,
    workers: Vec<WorkerGroups>,
    partition_count: usize,
    /// The refinements of a shared pass.
    refinements: Option<Refinements>,
}

impl Aggregation {
    /// The groups of workers that have consumed all their rows. All workers have the same specification and the same use of
    /// sets.
    ///
    /// # Errors
    /// When a sum of distinct values goes out of range.
    pub fn of_workers(spec: Arc<AggregationSpec>, workers: Vec<AggregationWorker>) -> Result<Self, ExecError> {
        let tuning = workers.first().map_or_else(AggregationTuning::default, AggregationWorker::tuning);
        let refinements = workers.first().and_then(AggregationWorker::refinements);
        let foreign = workers.first().map_or_else(ForeignCalls::default, AggregationWorker::foreign);
        let plan = AggregatePlan::new(&spec, foreign, tuning);
        let workers = workers.into_iter().flat_map(AggregationWorker::into_groups);
        let mut workers: Vec<WorkerGroups> = workers.filter(|worker| worker.table.group_count() > 0).collect();
        workers.iter_mut().try_for_each(WorkerGroups::finish)?;
        let is_ready = workers.len() <= 1 && refinements.is_none();
        if let Some(worker) = workers.first_mut().filter(|_| is_ready) {
            worker.accumulate_distinct_values(&plan)?;
        }
        let group_count: usize = workers.iter().map(|worker| worker.table.group_count()).sum();
        let partitions = group_count.div_ceil(tuning.groups_per_partition).max(1);
        let partition_count = if is_ready { partitions } else { partitions.next_power_of_two().min(PARTITIONS_MAX) };
        // The only group is one partition.
        let partition_count = if spec.keys.is_empty() { 1 } else { partition_count };
        Ok(Self { spec, plan, tuning, workers, partition_count, refinements })
    }

    /// Number of partitions, at least one.
    pub fn partition_count(&self) -> usize {
        self.partition_count
    }

    /// The groups of a partition: key columns and results in the order of the specification, and last the set in a shared pass.
    /// The partition has any number of rows.
    ///
    /// # Errors
    /// When a result goes out of range, or memory is refused.
    pub fn partition(&self, partition: usize) -> Result<Vec<Vector>, ExecError> {
        assert!(partition < self.partition_count, "partition {partition} of {}", self.partition_count);
        if let Some(refinements) = &self.refinements {
            return self.refined_partition(partition, refinements);
        }
        match &self.workers[..] {
            [] => self.results_of_nothing(),
            [worker] => {
                let (group_count, each) = (worker.table.group_count(), self.tuning.groups_per_partition);
                let groups = if self.partition_count == 1 {
                    0..group_count
                } else {
                    partition * each..group_count.min((partition + 1) * each)
                };
                self.results(worker, groups)
            }
            workers => {
                self.order_workers(partition)?;
                let mut merged = self.merge_target();
                workers.iter().try_for_each(|worker| merged.merge(worker, partition, self.partition_count))?;
                merged.accumulate_distinct_values(&self.plan)?;
                self.results(&merged, 0..merged.table.group_count())
            }
        }
    }

    /// The rows of a partition. Results of foreign aggregates hold their memory.
    ///
    /// # Errors
    /// As [`Self::partition`].
    pub(crate) fn partition_rows(&self, partition: usize) -> Result<ResultRows, ExecError> {
        let columns = self.partition(partition)?;
        let row_count = columns.first().map_or(0, Vector::len);
        let budget = self.workers.first().map(|worker| worker.budget.clone());
        match budget.filter(|_| !self.plan.foreign.calls.is_empty()) {
            None => Ok(ResultRows::new(row_count, columns)),
            Some(budget) => {
                let mut memory = Reservation::new(budget, OPERATOR);
                memory.resize(columns.iter().map(Vector::bytes).sum())?;
                Ok(ResultRows::holding(row_count, columns, memory))
            }
        }
    }

    /// An empty target for merging the groups of an aggregation's workers.
    fn merge_target(&self) -> WorkerGroups {
        let table = match self.partition_count {
            1 => GroupTable::new(self.spec.keys.len(), KeyOrder::Any, self.tuning),
            _ => GroupTable::new(self.spec.keys.len(), KeyOrder::ByHash, self.tuning),
        };
        WorkerGroups::new(
            table,
            self.spec.keys.len(),
            KeyOrder::Any,
            &self.plan,
            self.tuning,
            self.workers[0].budget.clone(),
        )
    }

    /// Orders the groups of all workers, starting with a different worker for each partition.
    fn order_workers(&self, partition: usize) -> Result<(), ExecError> {
        let workers = &self.workers;
        (0..workers.len()).try_for_each(|at| {
            workers[(partition + at) % workers.len()].order(self.partition_count)?;
            Ok(())
        })
    }

    /// The groups of a partition, with disjoint sets for each key.
    fn refined_partition(&self, partition: usize, refinements: &Refinements) -> Result<Vec<Vector>, ExecError> {
        let partition_count = self.partition_count;
        self.order_workers(partition)?;
        let order = if partition_count > 1 { KeyOrder::ByHash } else { KeyOrder::Any };
        let mut met = KeySets::new(self.spec.keys.len(), order, self.tuning, refinements);
        for worker in &self.workers {
            let rows = worker.order(partition_count)?.groups.of_partition(partition);
            met.add(worker.table.keys(), rows)?;
        }
        let (mut groups, keys) = met.refine(refinements)?;
        let table = GroupTable::of_keys(keys, self.tuning);
        let budget = refinements.budget().clone();
        let mut merged = WorkerGroups::new(table, self.spec.keys.len(), KeyOrder::Any, &self.plan, self.tuning, budget);
        for (at, worker) in self.workers.iter().enumerate() {
            merged.merge_inputs(worker, worker.order(partition_count)?, partition, &groups.targets(at)?)?;
        }
        merged.accumulate_distinct_values(&self.plan)?;
        self.results(&merged, 0..merged.table.group_count())
    }

    /// The result without rows: no groups, or without keys one group.
    fn results_of_nothing(&self) -> Result<Vec<Vector>, ExecError> {
        let group_count = usize::from(self.spec.keys.is_empty());
        let keys = self.spec.keys.iter().map(|_| Ok(Vector::integers(Vec::new())));
        let results = self.plan.results.iter().map(|result| {
            let states = InputStates::new(&self.plan.inputs[result.input]);
            states.results(result.function, result.argument, 0..group_count)
        });
        let foreign = self.plan.foreign.states().map(|states| states.results(0..group_count));
        keys.chain(results).chain(foreign).collect()
    }

    fn results(&self, groups: &WorkerGroups, range: Range<usize>) -> Result<Vec<Vector>, ExecError> {
        let rows: Vec<u32> = (range.start as u32..range.end as u32).collect();
        let columns = groups.table.keys().iter().map(|key| Ok(key.take(&rows)));
        let (keys, sets) = (columns.clone().take(groups.key_count), columns.skip(groups.key_count));
        let results = self.plan.results.iter().map(|result| match &groups.inputs[result.input] {
            Accumulated::States(states) => states.results(result.function, result.argument, range.clone()),
            _ => unreachable!("distinct values were accumulated before"),
        });
        let foreign = groups.inputs.iter().filter_map(|input| match input {
            Accumulated::Foreign(states) => Some(states),
            _ => None,
        });
        let mut memory = Reservation::new(groups.budget.clone(), OPERATOR);
        memory.resize(foreign.clone().map(|states| states.results_bytes(range.clone())).sum())?;
        let foreign = foreign.map(|states| states.results(range.clone()));
        keys.chain(results).chain(foreign).chain(sets).collect()
    }
}
