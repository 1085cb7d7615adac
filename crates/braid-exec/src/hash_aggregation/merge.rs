//! The groups of all workers, merged partition by partition.
//!
//! What one worker has alone needs no merging: its groups are cut into ranges. Otherwise the hash of a key says to which
//! partition its group belongs, whichever worker has met it, and a partition is merged by whoever asks for it, from the
//! workers in their order. Each worker's groups are put in the order of partitions once, by the first thread that needs
//! it; threads begin with different workers.
//!
//! Invariant: the workers' groups do not change any more, so threads share them without locks.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::aggregate_plan::AggregatePlan;
use super::aggregate_states::InputStates;
use super::distinct_values::DistinctValues;
use super::group_table::{GroupTable, Thresholds};
use super::{AggregationSpec, AggregationWorker, OPERATOR};
use crate::exec_error::{ExecError, MemoryExceeded};
use crate::key_hashes::KeyHasher;
use crate::vector::Vector;
use crate::{MemoryBudget, Reservation};

/// Partitions, at most; a power of two.
const PARTITIONS_MAX: usize = 1 << 10;

/// Groups that are looked up at once.
const MERGED_ROWS: usize = 1024;

/// All workers' groups, in disjoint partitions that different threads can ask for.
#[derive(Debug)]
pub struct Aggregation {
    spec: Arc<AggregationSpec>,
    plan: AggregatePlan,
    thresholds: Thresholds,
    workers: Vec<MetGroups>,
    partition_count: usize,
}

/// What one worker has met.
#[derive(Debug)]
pub(super) struct MetGroups {
    pub(super) table: GroupTable,
    pub(super) inputs: Vec<Accumulated>,
    pub(super) budget: Arc<dyn MemoryBudget>,
    pub(super) reservation: Reservation,
    order: OnceLock<Result<PartitionOrder, MemoryExceeded>>,
}

/// What is accumulated of one input's rows.
#[derive(Debug)]
pub(super) enum Accumulated {
    States(InputStates),
    Distinct(Box<DistinctValues>),
}

/// A worker's groups in the order of partitions.
#[derive(Debug)]
struct PartitionOrder {
    groups: Ordered,
    /// A group's place within its partition; needed for distinct values only.
    places: Vec<u32>,
    /// The pairs of each input with distinct values.
    pairs: Vec<Option<Ordered>>,
    _reservation: Reservation,
}

/// Rows in the order of partitions.
#[derive(Debug, Default)]
struct Ordered {
    rows: Vec<u32>,
    /// Where each partition's rows end.
    ends: Vec<usize>,
}

impl Aggregation {
    /// The groups of workers that have consumed all their rows. Those of one aggregation share its spec.
    ///
    /// # Errors
    /// When a sum of distinct values goes out of range.
    pub fn of_workers(spec: Arc<AggregationSpec>, workers: Vec<AggregationWorker>) -> Result<Self, ExecError> {
        let thresholds = workers.first().map_or_else(Thresholds::default, AggregationWorker::thresholds);
        let plan = AggregatePlan::new(&spec);
        let workers = workers.into_iter().map(AggregationWorker::into_groups);
        let mut workers: Vec<MetGroups> = workers.filter(|worker| worker.table.group_count() > 0).collect();
        workers.iter_mut().try_for_each(MetGroups::finish)?;
        if let [worker] = &mut workers[..] {
            worker.accumulate_distinct_values(&plan)?;
        }
        let group_count: usize = workers.iter().map(|worker| worker.table.group_count()).sum();
        let partitions = group_count.div_ceil(thresholds.groups_per_partition).max(1);
        let partition_count =
            if workers.len() <= 1 { partitions } else { partitions.next_power_of_two().min(PARTITIONS_MAX) };
        // The only group is in one piece.
        let partition_count = if spec.keys.is_empty() { 1 } else { partition_count };
        Ok(Self { spec, plan, thresholds, workers, partition_count })
    }

    /// Number of partitions, at least one.
    pub fn partition_count(&self) -> usize {
        self.partition_count
    }

    /// The groups of a partition: key columns, then results, in the spec's order. Any number of rows.
    ///
    /// # Errors
    /// When a result goes out of range, or merging takes more memory than there is.
    pub fn partition(&self, partition: usize) -> Result<Vec<Vector>, ExecError> {
        assert!(partition < self.partition_count, "partition {partition} of {}", self.partition_count);
        match &self.workers[..] {
            [] => self.results_of_nothing(),
            [worker] => {
                let (group_count, each) = (worker.table.group_count(), self.thresholds.groups_per_partition);
                let groups = if self.partition_count == 1 {
                    0..group_count
                } else {
                    partition * each..group_count.min((partition + 1) * each)
                };
                self.results(worker, groups)
            }
            workers => {
                for at in 0..workers.len() {
                    workers[(partition + at) % workers.len()].order(self.partition_count)?;
                }
                let mut merged = MetGroups::to_merge(&self.spec, &self.plan, self);
                workers.iter().try_for_each(|worker| merged.merge(worker, partition, self.partition_count))?;
                merged.accumulate_distinct_values(&self.plan)?;
                self.results(&merged, 0..merged.table.group_count())
            }
        }
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

    fn results(&self, groups: &MetGroups, range: Range<usize>) -> Result<Vec<Vector>, ExecError> {
        let rows: Vec<u32> = (range.start as u32..range.end as u32).collect();
        let keys = groups.table.keys().iter().map(|key| Ok(key.take(&rows)));
        let results = self.plan.results.iter().map(|result| match &groups.inputs[result.input] {
            Accumulated::States(states) => states.results(result.function, result.argument, range.clone()),
            Accumulated::Distinct(_) => unreachable!("distinct values were accumulated before"),
        });
        keys.chain(results).collect()
    }
}

impl MetGroups {
    /// No groups yet.
    pub(super) fn new(
        table: GroupTable,
        plan: &AggregatePlan,
        has_keys: bool,
        thresholds: Thresholds,
        budget: Arc<dyn MemoryBudget>,
    ) -> Self {
        let inputs = plan.inputs.iter().map(|input| match input.distinct {
            true => Accumulated::Distinct(Box::new(DistinctValues::new(has_keys, thresholds))),
            false => Accumulated::States(InputStates::new(input)),
        });
        let reservation = Reservation::new(budget.clone(), OPERATOR);
        Self { table, inputs: inputs.collect(), budget, reservation, order: OnceLock::new() }
    }

    /// No groups yet, to merge those of an aggregation's workers into.
    fn to_merge(spec: &AggregationSpec, plan: &AggregatePlan, all: &Aggregation) -> Self {
        let table = match all.partition_count {
            1 => GroupTable::new(spec.keys.len(), all.thresholds),
            _ => GroupTable::hashed(spec.keys.len(), all.thresholds),
        };
        Self::new(table, plan, !spec.keys.is_empty(), all.thresholds, all.workers[0].budget.clone())
    }

    /// Nothing is looked up any more.
    fn finish(&mut self) -> Result<(), ExecError> {
        self.table.finish();
        for input in &mut self.inputs {
            if let Accumulated::Distinct(values) = input {
                values.finish();
            }
        }
        self.reserve()
    }

    /// Holds as much as there is.
    pub(super) fn reserve(&mut self) -> Result<(), ExecError> {
        let input = |input: &Accumulated| match input {
            Accumulated::States(states) => states.bytes(),
            Accumulated::Distinct(values) => values.bytes(),
        };
        self.reservation.resize(self.table.bytes() + self.inputs.iter().map(input).sum::<usize>())
    }

    fn accumulate_distinct_values(&mut self, plan: &AggregatePlan) -> Result<(), ExecError> {
        let group_count = self.table.group_count();
        for (input, plan) in self.inputs.iter_mut().zip(&plan.inputs) {
            if let Accumulated::Distinct(values) = input {
                let mut states = InputStates::new(plan);
                states.update(&values.groups(), group_count, &[values.values()])?;
                *input = Accumulated::States(states);
            }
        }
        self.reserve()
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
        let group_count = self.table.group_count();
        for ((to, from), pairs) in self.inputs.iter_mut().zip(&worker.inputs).zip(&order.pairs) {
            match (to, from) {
                (Accumulated::States(to), Accumulated::States(from)) => to.merge(from, rows, &groups, group_count)?,
                (Accumulated::Distinct(to), Accumulated::Distinct(from)) => {
                    let pairs = pairs.as_ref().expect("pairs were ordered with the groups").of_partition(partition);
                    let pair_groups = from.groups_at(pairs);
                    let pair_groups = pair_groups.map(|group| groups[order.places[group as usize] as usize]);
                    to.merge(&pair_groups.collect::<Vec<u32>>(), from.values(), pairs)?;
                }
                _ => unreachable!("workers of one aggregation accumulate the same"),
            }
        }
        self.reserve()
    }
}

impl PartitionOrder {
    fn new(worker: &MetGroups, partition_count: usize) -> Result<Self, MemoryExceeded> {
        let group_count = worker.table.group_count();
        let pair_count = |input: &Accumulated| match input {
            Accumulated::States(_) => 0,
            Accumulated::Distinct(values) => values.count(),
        };
        let pair_counts: usize = worker.inputs.iter().map(pair_count).sum();
        let mut reservation = Reservation::new(worker.budget.clone(), OPERATOR);
        // A hash, a partition, a row and a place for each group; a partition, a row and a group for each pair.
        match reservation.resize(group_count * (8 + 4 + 4 + 4) + pair_counts * (4 + 4 + 4)) {
            Err(ExecError::Memory(exceeded)) => return Err(exceeded),
            resized => resized.expect("a reservation fails for memory only"),
        }
        let mut hashes = Vec::new();
        KeyHasher::default().fill(worker.table.keys(), 0..group_count, &mut hashes);
        // Tables take the upper bits of the hash, and these must not be the same for all groups of a partition.
        let partition = |hash: &u64| (*hash as usize & (partition_count - 1)) as u32;
        let partitions: Vec<u32> = hashes.iter().map(partition).collect();
        let groups = Ordered::by_partition(&partitions, partition_count);
        let places = if pair_counts > 0 { groups.places() } else { Vec::new() };
        let pairs = worker.inputs.iter().map(|input| match input {
            Accumulated::States(_) => None,
            Accumulated::Distinct(values) => {
                let pairs: Vec<u32> = values.groups().iter().map(|group| partitions[*group as usize]).collect();
                Some(Ordered::by_partition(&pairs, partition_count))
            }
        });
        Ok(Self { pairs: pairs.collect(), groups, places, _reservation: reservation })
    }
}

impl Ordered {
    /// Rows, each with its partition, in the order of partitions and within them as they were.
    fn by_partition(partitions: &[u32], partition_count: usize) -> Self {
        let mut counts = vec![0; partition_count];
        partitions.iter().for_each(|partition| counts[*partition as usize] += 1);
        let mut ends = Vec::with_capacity(partition_count);
        let mut begin = 0;
        for count in &mut counts {
            begin += *count;
            ends.push(begin);
            *count = begin - *count;
        }
        let mut rows = vec![0; partitions.len()];
        for (row, partition) in (0..).zip(partitions) {
            let next = &mut counts[*partition as usize];
            rows[*next] = row;
            *next += 1;
        }
        Self { rows, ends }
    }

    fn of_partition(&self, partition: usize) -> &[u32] {
        let begin = if partition == 0 { 0 } else { self.ends[partition - 1] };
        &self.rows[begin..self.ends[partition]]
    }

    /// For each row, its place within its partition.
    fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.rows.len()];
        for partition in 0..self.ends.len() {
            let rows = self.of_partition(partition).iter();
            (0..).zip(rows).for_each(|(place, row)| places[*row as usize] = place);
        }
        places
    }
}
