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
use std::sync::{Arc, OnceLock};

use super::atom_groups::{KeySets, Targets};
use super::partition_order::PartitionOrder;
use super::set_refinement::Refinements;
use crate::aggregation::groups::group_table::{GroupTable, KeyOrder};
use crate::aggregation::states::aggregate_plan::AggregatePlan;
use crate::aggregation::states::aggregate_states::InputStates;
use crate::aggregation::states::distinct_values::DistinctValues;
use crate::aggregation::states::sums::RowGroups;
use crate::aggregation::{AggregationWorker, OPERATOR};
use crate::exec_error::{ExecError, MemoryExceeded};
use crate::plan::AggregationSpec;
use crate::tuning::AggregationTuning;
use crate::values::vector::Vector;
use crate::{MemoryBudget, Reservation};

/// Maximum number of partitions; a power of two.
const PARTITIONS_MAX: usize = 1 << 10;

/// Number of groups that are looked up at a time.
pub(crate) const MERGED_ROWS: usize = 1024;

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

/// The groups of one worker, with their states.
#[derive(Debug)]
pub(crate) struct WorkerGroups {
    pub(crate) table: GroupTable,
    /// Number of key columns without the set column.
    key_count: usize,
    pub(crate) inputs: Vec<Accumulated>,
    pub(crate) budget: Arc<dyn MemoryBudget>,
    pub(crate) reservation: Reservation,
    /// Whether the reservation includes the order in which groups are written.
    pub(crate) may_leave: bool,
    order: OnceLock<Result<PartitionOrder, MemoryExceeded>>,
}

/// The states of one input.
#[derive(Debug)]
pub(crate) enum Accumulated {
    States(InputStates),
    Distinct(Box<DistinctValues>),
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
        let plan = AggregatePlan::new(&spec, tuning);
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
                let mut merged = WorkerGroups::to_merge(&self.spec, &self.plan, self);
                workers.iter().try_for_each(|worker| merged.merge(worker, partition, self.partition_count))?;
                merged.accumulate_distinct_values(&self.plan)?;
                self.results(&merged, 0..merged.table.group_count())
            }
        }
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
        keys.chain(results).collect()
    }

    fn results(&self, groups: &WorkerGroups, range: Range<usize>) -> Result<Vec<Vector>, ExecError> {
        let rows: Vec<u32> = (range.start as u32..range.end as u32).collect();
        let columns = groups.table.keys().iter().map(|key| Ok(key.take(&rows)));
        let (keys, sets) = (columns.clone().take(groups.key_count), columns.skip(groups.key_count));
        let results = self.plan.results.iter().map(|result| match &groups.inputs[result.input] {
            Accumulated::States(states) => states.results(result.function, result.argument, range.clone()),
            Accumulated::Distinct(_) => unreachable!("distinct values were accumulated before"),
        });
        keys.chain(results).chain(sets).collect()
    }
}

impl WorkerGroups {
    /// Groups without states. `key_count` is the number of the table's key columns without the set. `order` is that of keys and
    /// values.
    pub(crate) fn new(
        table: GroupTable,
        key_count: usize,
        order: KeyOrder,
        plan: &AggregatePlan,
        tuning: AggregationTuning,
        budget: Arc<dyn MemoryBudget>,
    ) -> Self {
        let has_keys = !table.keys().is_empty();
        let inputs = plan.inputs.iter().map(|input| match input.distinct {
            true if has_keys => Accumulated::Distinct(Box::new(DistinctValues::of_groups(order, tuning))),
            true => Accumulated::Distinct(Box::new(DistinctValues::of_one_group(order, tuning))),
            false => Accumulated::States(InputStates::new(input)),
        });
        let reservation = Reservation::new(budget.clone(), OPERATOR);
        Self {
            table,
            key_count,
            inputs: inputs.collect(),
            budget,
            reservation,
            may_leave: false,
            order: OnceLock::new(),
        }
    }

    /// An empty target for merging the groups of an aggregation's workers.
    fn to_merge(spec: &AggregationSpec, plan: &AggregatePlan, all: &Aggregation) -> Self {
        let table = match all.partition_count {
            1 => GroupTable::new(spec.keys.len(), KeyOrder::Any, all.tuning),
            _ => GroupTable::new(spec.keys.len(), KeyOrder::ByHash, all.tuning),
        };
        Self::new(table, spec.keys.len(), KeyOrder::Any, plan, all.tuning, all.workers[0].budget.clone())
    }

    /// Ends the lookups of groups that will not be written.
    fn finish(&mut self) -> Result<(), ExecError> {
        self.may_leave = false;
        self.end()
    }

    /// Ends the lookups.
    pub(crate) fn end(&mut self) -> Result<(), ExecError> {
        self.table.finish();
        for input in &mut self.inputs {
            if let Accumulated::Distinct(values) = input {
                values.finish();
            }
        }
        self.reserve()
    }

    /// Reserves the memory of the groups.
    pub(crate) fn reserve(&mut self) -> Result<(), ExecError> {
        let input = |input: &Accumulated| match input {
            Accumulated::States(states) => states.bytes(),
            Accumulated::Distinct(values) => values.bytes(),
        };
        let order = if self.may_leave { PartitionOrder::bytes(self) } else { 0 };
        self.reservation.resize(self.table.bytes() + self.inputs.iter().map(input).sum::<usize>() + order)
    }

    /// Accumulates the complete distinct values of the only group.
    pub(crate) fn close(&mut self, plan: &AggregatePlan) -> Result<(), ExecError> {
        self.finish()?;
        self.accumulate_distinct_values(plan)
    }

    /// Adds states of the only group, which are of other values.
    pub(crate) fn add_closed(&mut self, other: &Self) -> Result<(), ExecError> {
        for (to, from) in self.inputs.iter_mut().zip(&other.inputs) {
            let (Accumulated::States(to), Accumulated::States(from)) = (to, from) else {
                unreachable!("both were closed")
            };
            to.merge(from, RowGroups { rows: &[0], groups: &[0] }, 1)?;
        }
        self.reserve()
    }

    fn accumulate_distinct_values(&mut self, plan: &AggregatePlan) -> Result<(), ExecError> {
        let group_count = self.table.group_count();
        for (input, plan) in self.inputs.iter_mut().zip(&plan.inputs) {
            if let Accumulated::Distinct(values) = input {
                let mut states = InputStates::new(plan);
                // Without values, the kind is unknown.
                if values.count() > 0 {
                    states.update(&values.groups(), group_count, &[values.values()])?;
                }
                *input = Accumulated::States(states);
            }
        }
        self.reserve()
    }

    /// The key columns that determine the partition of a group.
    pub(crate) fn partitioning_keys(&self) -> &[Vector] {
        &self.table.keys()[..self.key_count]
    }

    /// The order of this worker's groups by partition.
    fn order(&self, partition_count: usize) -> Result<&PartitionOrder, ExecError> {
        let order = self.order.get_or_init(|| PartitionOrder::new(self, partition_count));
        order.as_ref().map_err(|exceeded| ExecError::Memory(exceeded.clone()))
    }

    fn merge(&mut self, worker: &Self, partition: usize, partition_count: usize) -> Result<(), ExecError> {
        let order = worker.order(partition_count)?;
        let rows = order.groups.of_partition(partition);
        let mut groups = Vec::with_capacity(rows.len());
        let mut found = Vec::new();
        for rows in rows.chunks(MERGED_ROWS) {
            let keys: Vec<Arc<Vector>> = worker.table.keys().iter().map(|key| Arc::new(key.take(rows))).collect();
            self.table.find(&keys, rows.len(), &mut found)?;
            groups.extend_from_slice(&found);
        }
        self.merge_inputs(worker, order, partition, &Targets::one_each(groups))
    }

    /// Merges a worker's states of a partition into the target groups.
    fn merge_inputs(
        &mut self,
        worker: &Self,
        order: &PartitionOrder,
        partition: usize,
        targets: &Targets,
    ) -> Result<(), ExecError> {
        let group_count = self.table.group_count();
        let rows = targets.rows(order.groups.of_partition(partition));
        let Self { inputs, reservation, .. } = &mut *self;
        for ((to, from), pairs) in inputs.iter_mut().zip(&worker.inputs).zip(&order.pairs) {
            match (to, from) {
                (Accumulated::States(to), Accumulated::States(from)) => {
                    to.merge(from, RowGroups { rows: &rows, groups: targets.groups() }, group_count)?;
                }
                (Accumulated::Distinct(to), Accumulated::Distinct(from)) => {
                    let pairs = pairs.as_ref().expect("pairs were ordered with the groups").of_partition(partition);
                    for pairs in pairs.chunks(MERGED_ROWS) {
                        let places = from.groups_at(pairs).map(|group| order.places[group as usize]);
                        let (groups, pairs) = targets.follow(places, pairs);
                        let before = to.bytes();
                        to.merge(from.values(), RowGroups { rows: &pairs, groups: &groups })?;
                        // A pair goes to each atom of its set, so that there may be many times the pairs of the workers.
                        reservation.resize(reservation.held() + to.bytes().saturating_sub(before))?;
                    }
                }
                _ => unreachable!("workers of one aggregation accumulate the same"),
            }
        }
        self.reserve()
    }
}
