//! The groups of all workers, merged partition by partition.
//!
//! What one worker has alone needs no merging: its groups are cut into ranges. Otherwise the hash of a key says to which
//! partition its group belongs, whichever worker has met it, and a partition is merged by whoever asks for it, from the
//! workers in their order. Each worker's groups are put in the order of partitions once, by the first thread that needs
//! it; threads begin with different workers.
//!
//! When many queries share the groups, a worker has one for each key and set of queries, and merging makes the sets of a
//! key disjoint (`atom_groups`), also of what one worker has alone.
//!
//! Invariant: the workers' groups do not change any more, so threads share them without locks.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::atom_groups::{MetSets, Targets};
use super::partition_order::PartitionOrder;
use super::set_refinement::Refinements;
use crate::aggregation::groups::group_table::GroupTable;
use crate::aggregation::states::aggregate_plan::AggregatePlan;
use crate::aggregation::states::aggregate_states::InputStates;
use crate::aggregation::states::distinct_values::DistinctValues;
use crate::aggregation::{AggregationWorker, OPERATOR};
use crate::exec_error::{ExecError, MemoryExceeded};
use crate::plan::AggregationSpec;
use crate::tuning::AggregationTuning;
use crate::values::vector::Vector;
use crate::{MemoryBudget, Reservation};

/// Partitions, at most; a power of two.
const PARTITIONS_MAX: usize = 1 << 10;

/// Groups that are looked up at once.
pub(crate) const MERGED_ROWS: usize = 1024;

/// All workers' groups, in disjoint partitions that different threads can ask for.
#[derive(Debug)]
pub struct Aggregation {
    spec: Arc<AggregationSpec>,
    plan: AggregatePlan,
    tuning: AggregationTuning,
    workers: Vec<MetGroups>,
    partition_count: usize,
    /// When many queries share the groups.
    refinements: Option<Refinements>,
}

/// What one worker has met.
#[derive(Debug)]
pub(crate) struct WorkerGroups {
    pub(crate) table: GroupTable,
    /// Key columns without that of the sets.
    key_count: usize,
    pub(crate) inputs: Vec<Accumulated>,
    pub(crate) budget: Arc<dyn MemoryBudget>,
    pub(crate) reservation: Reservation,
    /// Whether memory is held for the order in which groups are written.
    pub(crate) may_leave: bool,
    order: OnceLock<Result<PartitionOrder, MemoryExceeded>>,
}

/// What is accumulated of one input's rows.
#[derive(Debug)]
pub(crate) enum Accumulated {
    States(InputStates),
    Distinct(Box<DistinctValues>),
}

impl Aggregation {
    /// The groups of workers that have consumed all their rows. Those of one aggregation share its spec, and whether
    /// they look at sets.
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
        // The only group is in one piece.
        let partition_count = if spec.keys.is_empty() { 1 } else { partition_count };
        Ok(Self { spec, plan, tuning, workers, partition_count, refinements })
    }

    /// Number of partitions, at least one.
    pub fn partition_count(&self) -> usize {
        self.partition_count
    }

    /// The groups of a partition: key columns, then results, in the spec's order; the set last, if many queries share the
    /// groups. Any number of rows.
    ///
    /// # Errors
    /// When a result goes out of range, or merging takes more memory than there is.
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

    /// Puts all workers' groups in order, beginning with another worker for each partition.
    fn order_workers(&self, partition: usize) -> Result<(), ExecError> {
        let workers = &self.workers;
        (0..workers.len()).try_for_each(|at| {
            workers[(partition + at) % workers.len()].order(self.partition_count)?;
            Ok(())
        })
    }

    /// The groups of a partition, of each key for disjoint sets.
    fn refined_partition(&self, partition: usize, refinements: &Refinements) -> Result<Vec<Vector>, ExecError> {
        let partition_count = self.partition_count;
        self.order_workers(partition)?;
        let mut met = MetSets::new(self.spec.keys.len(), partition_count > 1, self.tuning, refinements);
        for worker in &self.workers {
            let rows = worker.order(partition_count)?.groups.of_partition(partition);
            met.add(worker.table.keys(), rows)?;
        }
        let (mut groups, keys) = met.refine(refinements)?;
        let table = GroupTable::of_keys(keys, self.tuning);
        let budget = refinements.budget().clone();
        let mut merged = MetGroups::new(table, self.spec.keys.len(), false, &self.plan, self.tuning, budget);
        for (at, worker) in self.workers.iter().enumerate() {
            merged.merge_inputs(worker, worker.order(partition_count)?, partition, &groups.targets(at)?)?;
        }
        merged.accumulate_distinct_values(&self.plan)?;
        self.results(&merged, 0..merged.table.group_count())
    }

    /// Without rows there are no groups; without keys there is one all the same.
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
    /// Nothing accumulated yet. `key_count`: of the table's key columns those that are not the set; `is_scattered`: whether
    /// keys and values come as their hashes have scattered them.
    pub(crate) fn new(
        table: GroupTable,
        key_count: usize,
        is_scattered: bool,
        plan: &AggregatePlan,
        tuning: AggregationTuning,
        budget: Arc<dyn MemoryBudget>,
    ) -> Self {
        let has_keys = !table.keys().is_empty();
        let inputs = plan.inputs.iter().map(|input| match input.distinct {
            true => Accumulated::Distinct(Box::new(DistinctValues::new(has_keys, is_scattered, tuning))),
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

    /// No groups yet, to merge those of an aggregation's workers into.
    fn to_merge(spec: &AggregationSpec, plan: &AggregatePlan, all: &Aggregation) -> Self {
        let table = match all.partition_count {
            1 => GroupTable::new(spec.keys.len(), all.tuning),
            _ => GroupTable::hashed(spec.keys.len(), all.tuning),
        };
        Self::new(table, spec.keys.len(), false, plan, all.tuning, all.workers[0].budget.clone())
    }

    /// Nothing is looked up any more, and nobody is going to write the groups.
    fn finish(&mut self) -> Result<(), ExecError> {
        self.may_leave = false;
        self.end()
    }

    /// Nothing is looked up any more.
    pub(crate) fn end(&mut self) -> Result<(), ExecError> {
        self.table.finish();
        for input in &mut self.inputs {
            if let Accumulated::Distinct(values) = input {
                values.finish();
            }
        }
        self.reserve()
    }

    /// Holds as much as there is.
    pub(crate) fn reserve(&mut self) -> Result<(), ExecError> {
        let input = |input: &Accumulated| match input {
            Accumulated::States(states) => states.bytes(),
            Accumulated::Distinct(values) => values.bytes(),
        };
        let order = if self.may_leave { PartitionOrder::bytes(self) } else { 0 };
        self.reservation.resize(self.table.bytes() + self.inputs.iter().map(input).sum::<usize>() + order)
    }

    /// Accumulates the values of the only group, of which no more come.
    pub(crate) fn close(&mut self, plan: &AggregatePlan) -> Result<(), ExecError> {
        self.finish()?;
        self.accumulate_distinct_values(plan)
    }

    /// Adds what was accumulated for the only group from other values.
    pub(crate) fn add_closed(&mut self, other: &Self) -> Result<(), ExecError> {
        for (to, from) in self.inputs.iter_mut().zip(&other.inputs) {
            let (Accumulated::States(to), Accumulated::States(from)) = (to, from) else {
                unreachable!("both were closed")
            };
            to.merge(from, &[0], &[0], 1)?;
        }
        self.reserve()
    }

    fn accumulate_distinct_values(&mut self, plan: &AggregatePlan) -> Result<(), ExecError> {
        let group_count = self.table.group_count();
        for (input, plan) in self.inputs.iter_mut().zip(&plan.inputs) {
            if let Accumulated::Distinct(values) = input {
                let mut states = InputStates::new(plan);
                // Of no values not even the kind is known.
                if values.count() > 0 {
                    states.update(&values.groups(), group_count, &[values.values()])?;
                }
                *input = Accumulated::States(states);
            }
        }
        self.reserve()
    }

    /// The key columns that say to which partition a group belongs.
    pub(crate) fn partitioning_keys(&self) -> &[Vector] {
        &self.table.keys()[..self.key_count]
    }

    /// This worker's groups in the order of partitions.
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

    /// Adds what a worker has accumulated for its groups of a partition to the groups that they go to.
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
                    to.merge(from, &rows, targets.groups(), group_count)?;
                }
                (Accumulated::Distinct(to), Accumulated::Distinct(from)) => {
                    let pairs = pairs.as_ref().expect("pairs were ordered with the groups").of_partition(partition);
                    for pairs in pairs.chunks(MERGED_ROWS) {
                        let places = from.groups_at(pairs).map(|group| order.places[group as usize]);
                        let (groups, pairs) = targets.follow(places, pairs);
                        let before = to.bytes();
                        to.merge(&groups, from.values(), &pairs)?;
                        // A pair goes to each atom of its set, so that there may be many times as many as workers held.
                        reservation.resize(reservation.held() + to.bytes().saturating_sub(before))?;
                    }
                }
                _ => unreachable!("workers of one aggregation accumulate the same"),
            }
        }
        self.reserve()
    }
}
