//! The groups of one worker, with the states of its aggregates.

use std::sync::{Arc, OnceLock};

use super::atom_groups::Targets;
use super::partition_order::{GroupsToOrder, PartitionOrder};
use crate::aggregation::groups::group_table::{GroupTable, KeyOrder};
use crate::aggregation::states::aggregate_plan::AggregatePlan;
use crate::aggregation::states::aggregate_states::InputStates;
use crate::aggregation::states::distinct_values::DistinctValues;
use crate::aggregation::states::foreign_groups::ForeignGroups;
use crate::aggregation::states::sums::RowGroups;
use crate::aggregation::{MERGED_ROWS, OPERATOR};
use crate::exec_error::{ExecError, MemoryExceeded};
use crate::tuning::AggregationTuning;
use crate::values::vector::Vector;
use crate::{MemoryBudget, Reservation};

/// The groups of one worker, with their states.
#[derive(Debug)]
pub(crate) struct WorkerGroups {
    pub(crate) table: GroupTable,
    /// Number of key columns without the set column.
    pub(crate) key_count: usize,
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
    /// Those of a foreign call, after all others.
    Foreign(ForeignGroups),
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
        let foreign = plan.foreign.states().map(Accumulated::Foreign);
        let inputs = inputs.chain(foreign).collect();
        let reservation = Reservation::new(budget.clone(), OPERATOR);
        Self { table, key_count, inputs, budget, reservation, may_leave: false, order: OnceLock::new() }
    }

    /// Ends the lookups of groups that will not be written.
    pub(crate) fn finish(&mut self) -> Result<(), ExecError> {
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
            Accumulated::Foreign(states) => states.bytes(),
        };
        let order = if self.may_leave { self.to_order().bytes() } else { 0 };
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
            let only = RowGroups { rows: &[0], groups: &[0] };
            match (to, from) {
                (Accumulated::States(to), Accumulated::States(from)) => to.merge(from, only, 1)?,
                (Accumulated::Foreign(to), Accumulated::Foreign(from)) => to.merge(from, only, 1, |_| Ok(()))?,
                _ => unreachable!("both were closed"),
            }
        }
        self.reserve()
    }

    pub(crate) fn accumulate_distinct_values(&mut self, plan: &AggregatePlan) -> Result<(), ExecError> {
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

    /// What determines the order of these groups by partition.
    pub(crate) fn to_order(&self) -> GroupsToOrder<'_> {
        let distinct = |input| match input {
            &(Accumulated::States(_) | Accumulated::Foreign(_)) => None,
            Accumulated::Distinct(values) => Some(&**values),
        };
        GroupsToOrder {
            keys: self.partitioning_keys(),
            group_count: self.table.group_count(),
            distinct: self.inputs.iter().map(distinct).collect(),
        }
    }

    /// The order of this worker's groups by partition.
    pub(crate) fn order(&self, partition_count: usize) -> Result<&PartitionOrder, ExecError> {
        let order =
            self.order.get_or_init(|| PartitionOrder::new(&self.to_order(), self.budget.clone(), partition_count));
        order.as_ref().map_err(|exceeded| ExecError::Memory(exceeded.clone()))
    }

    /// Merges a partition of a worker's groups into these.
    pub(crate) fn merge(&mut self, worker: &Self, partition: usize, partition_count: usize) -> Result<(), ExecError> {
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
    pub(crate) fn merge_inputs(
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
                (Accumulated::Foreign(to), Accumulated::Foreign(from)) => {
                    let merged = RowGroups { rows: &rows, groups: targets.groups() };
                    to.merge(from, merged, group_count, |grown| reservation.resize(reservation.held() + grown))?;
                }
                _ => unreachable!("workers of one aggregation accumulate the same"),
            }
        }
        self.reserve()
    }
}
