//! Grouping and aggregation, of one query or of many in one pass: GROUP BY, aggregates without it, and DISTINCT.
//!
//! Each worker has its own groups and states, and shares nothing while it consumes rows. The key columns of a row are mapped
//! to a group number (`group_table`) by the cheapest method that the keys allow: without hashing if they have few values or
//! are densely numbered integers. Each argument is then accumulated into states by group number, with one loop per vector
//! (`aggregate_states`); aggregates of the same argument share states (`aggregate_plan`). DISTINCT aggregates collect pairs
//! of group and value, and are computed at the end (`distinct_values`). A worker in which nearly every row is a group of its
//! own starts an empty table from time to time (`generations`). At the end the workers' groups are merged, in partitions that
//! several threads process (`partition_order`, `merge`).
//!
//! Many queries can share one pass. Rows then carry their query set, groups are pairs of key and set, and at the end each
//! key's sets are made disjoint (`query_sets/set_refinement`, `atom_groups`).
//!
//! Aggregates that another crate computes keep states of their own beside the operator's (`foreign_groups`).
//!
//! Groups that exceed the memory spill to a file, with their accumulated states (`spilled_groups`).
//!
//! The plan decides about types: a sum of integers has the width that it needs, and an operator above checks the range of a
//! bigint.
//!
//! Sums of floats depend on the order of rows, as in other systems.

mod generations;
pub(crate) mod groups;
#[cfg(test)]
mod measurements;
mod merging;
pub(crate) mod source;
pub(crate) mod spilled_source;
mod states;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use merging::merge::Aggregation;
pub(crate) use merging::spilled_groups::{ReadGroups, SpilledGroups, SpillingGroups};

use generations::Generations;
use groups::group_table::{GroupTable, KeyOrder};
use merging::worker_groups::{Accumulated, WorkerGroups};
use states::aggregate_plan::{AggregatePlan, InputPlan};
pub(crate) use states::foreign_groups::ForeignCalls;

use crate::keys::key_hashes::KeyHasher;
use crate::plan::{AggregationSpec, ForeignCall, SetColumn};
use crate::query_sets::set_refinement::Refinements;
use crate::tuning::AggregationTuning;
use crate::values::vector::{Values, Vector};
use crate::{Batch, ExecError, MemoryBudget, Reservation, SetStore};

/// The operator's name in errors.
const OPERATOR: &str = "aggregation";

/// Number of groups that are looked up at a time when groups are merged.
const MERGED_ROWS: usize = 1024;

/// Bytes of a worker's memory per slot of a table by address. A slot has 4 bytes, so that the slots take a quarter.
const DIRECT_SLOT_SHARE: usize = 16;

/// The groups of one worker.
#[derive(Debug)]
pub struct AggregationWorker {
    /// The number of key columns, including the set column in a shared pass.
    keys: Vec<usize>,
    plan: AggregatePlan,
    tuning: AggregationTuning,
    sets: Option<Arc<SetStore>>,
    key_count: usize,
    budget: Arc<dyn MemoryBudget>,
    /// The order in which keys arrive.
    key_order: KeyOrder,
    groups: WorkerGroups,
    /// The groups of ended generations.
    ended: Vec<WorkerGroups>,
    generations: Generations,
    generation_memory: Reservation,
    /// The group of each row of the current batch.
    row_groups: Vec<u32>,
}

impl AggregationWorker {
    /// A worker without rows.
    pub fn new(spec: Arc<AggregationSpec>, budget: Arc<dyn MemoryBudget>) -> Self {
        Self::with_tuning(&spec, None, budget, AggregationTuning::default())
    }

    /// A worker without rows, for a shared pass: each row counts for the queries of its set.
    pub fn shared(spec: Arc<AggregationSpec>, sets: SetColumn, budget: Arc<dyn MemoryBudget>) -> Self {
        Self::with_tuning(&spec, Some(sets), budget, AggregationTuning::default())
    }

    pub(crate) fn with_tuning(
        spec: &AggregationSpec,
        sets: Option<SetColumn>,
        budget: Arc<dyn MemoryBudget>,
        tuning: AggregationTuning,
    ) -> Self {
        Self::of_plan(spec, AggregatePlan::new(spec, ForeignCalls::default(), tuning), sets, budget, tuning)
    }

    /// A worker without rows, with calls of foreign aggregates.
    pub(crate) fn with_foreign(
        spec: &AggregationSpec,
        foreign: ForeignCalls,
        sets: Option<SetColumn>,
        budget: Arc<dyn MemoryBudget>,
        tuning: AggregationTuning,
    ) -> Self {
        Self::of_plan(spec, AggregatePlan::new(spec, foreign, tuning), sets, budget, tuning)
    }

    fn of_plan(
        spec: &AggregationSpec,
        plan: AggregatePlan,
        sets: Option<SetColumn>,
        budget: Arc<dyn MemoryBudget>,
        tuning: AggregationTuning,
    ) -> Self {
        let mut keys = spec.keys.clone();
        keys.extend(sets.as_ref().map(|sets| sets.column));
        let key_count = spec.keys.len();
        let sets = sets.map(|sets| sets.store);
        let table = match &sets {
            Some(_) => GroupTable::with_sets(keys.len(), tuning),
            None => GroupTable::new(keys.len(), KeyOrder::Any, tuning),
        };
        let generation_memory = Reservation::new(budget.clone(), OPERATOR);
        let groups = WorkerGroups::new(table, key_count, KeyOrder::Any, &plan, tuning, budget.clone());
        Self {
            keys,
            plan,
            tuning,
            sets,
            key_count,
            budget,
            key_order: KeyOrder::Any,
            groups,
            ended: Vec::new(),
            generations: Generations::new(tuning.generation_groups),
            generation_memory,
            row_groups: Vec::new(),
        }
    }

    /// Enables spilling: the worker's groups are taken out with [`Self::take_groups`] when they hold about `bytes` bytes. Must
    /// be called before the first row.
    pub(crate) fn enable_spilling(&mut self, bytes: usize) {
        // Without this limit, the slots alone would exceed the memory again and again.
        self.tuning.direct_slots = self.tuning.direct_slots.min(bytes / DIRECT_SLOT_SHARE);
        self.groups = self.without_groups();
        self.groups.may_leave = true;
    }

    /// Prepares for spilled groups, which arrive by partitions of their hashes. A table by address would need a page for each
    /// of them. Must be called before the first row.
    pub(crate) fn expect_scattered_keys(&mut self) {
        self.key_order = KeyOrder::ByHash;
        self.groups = self.without_groups();
    }

    fn without_groups(&self) -> WorkerGroups {
        self.no_groups(self.key_order)
    }

    fn no_groups(&self, order: KeyOrder) -> WorkerGroups {
        let table = match (order, &self.sets) {
            (KeyOrder::Any, Some(_)) => GroupTable::with_sets(self.keys.len(), self.tuning),
            (order, _) => GroupTable::new(self.keys.len(), order, self.tuning),
        };
        WorkerGroups::new(table, self.key_count, order, &self.plan, self.tuning, self.budget.clone())
    }

    /// Whether the number of groups, or of the only group's distinct values, is unbounded.
    pub(crate) fn can_grow(&self) -> bool {
        self.key_count > 0 || self.has_only_group() && self.plan.inputs.iter().any(|input| input.distinct)
    }

    /// Whether there are neither keys nor query sets.
    pub(crate) fn has_only_group(&self) -> bool {
        self.keys.is_empty()
    }

    /// Accumulates the complete distinct values of the only group.
    ///
    /// # Errors
    /// When a sum goes out of range, or memory is refused.
    pub(crate) fn close(&mut self) -> Result<(), ExecError> {
        self.groups.close(&self.plan)
    }

    /// Adds the states of another closed worker, which are of other values.
    ///
    /// # Errors
    /// As [`Self::close`].
    pub(crate) fn add_closed(&mut self, other: &Self) -> Result<(), ExecError> {
        self.groups.add_closed(&other.groups)
    }

    /// Bytes held by the groups.
    pub(crate) fn bytes(&self) -> usize {
        self.ended.iter().chain([&self.groups]).map(|groups| groups.reservation.held()).sum()
    }

    /// Whether there are groups. Without keys, the only group counts from the first row on.
    pub(crate) fn has_groups(&self) -> bool {
        self.bytes() > 0
    }

    /// Takes out all groups, and starts with an empty table.
    pub(crate) fn take_groups(&mut self) -> SpillingGroups {
        let mut groups = self.without_groups();
        groups.may_leave = true;
        let mut all = std::mem::take(&mut self.ended);
        all.push(std::mem::replace(&mut self.groups, groups));
        self.generations = Generations::new(self.tuning.generation_groups);
        self.generation_memory = Reservation::new(self.budget.clone(), OPERATOR);
        SpillingGroups::new(all)
    }

    /// Reserves the memory of the groups, after a refusal.
    ///
    /// # Errors
    /// When memory is refused again.
    pub(crate) fn reserve(&mut self) -> Result<(), ExecError> {
        self.groups.reserve()
    }

    /// Adds groups that were spilled.
    ///
    /// # Errors
    /// When a sum goes out of range, or memory is refused.
    pub(crate) fn take_back(&mut self, read: &ReadGroups) -> Result<(), ExecError> {
        self.groups.merge_read(read)?;
        self.groups.reserve()
    }

    /// Adds rows. Reads the columns of keys, arguments and filters.
    ///
    /// # Errors
    /// When a sum goes out of range, or memory is refused.
    pub fn consume(&mut self, batch: &mut Batch) -> Result<(), ExecError> {
        let row_count = batch.row_count();
        if row_count == 0 {
            return Ok(());
        }
        let keys: Vec<Arc<Vector>> = self.keys.iter().map(|column| batch.column(*column)).collect();
        self.groups.table.find(&keys, row_count, &mut self.row_groups)?;
        let group_count = self.groups.table.group_count();
        for (input, plan) in self.groups.inputs.iter_mut().zip(&self.plan.inputs) {
            accumulate(input, plan, &self.row_groups, group_count, batch)?;
        }
        let of_foreign = &mut self.groups.inputs[self.plan.inputs.len()..];
        for (input, call) in of_foreign.iter_mut().zip(self.plan.foreign.calls.iter()) {
            accumulate_foreign(input, call, &self.row_groups, group_count, batch)?;
        }
        self.groups.reserve()?;
        self.end_generation(row_count)
    }

    /// Ends the generation after `row_count` more rows, if that is better.
    fn end_generation(&mut self, row_count: usize) -> Result<(), ExecError> {
        let Self { groups, generations, sets, .. } = &mut *self;
        let group_count = groups.table.group_count();
        // In a shared pass, the sets of a key should stay together.
        let is_due = generations.add_rows(row_count, group_count) && groups.table.is_hashed() && sets.is_none();
        if !is_due || !generations.ends(group_count, || hashes_of(groups.table.keys())) {
            return Ok(());
        }
        self.generation_memory.resize(self.generations.bytes())?;
        let groups = self.no_groups(KeyOrder::ByHash);
        let may_leave = self.groups.may_leave;
        let mut ended = std::mem::replace(&mut self.groups, groups);
        self.groups.may_leave = may_leave;
        ended.end()?;
        self.ended.push(ended);
        Ok(())
    }

    fn foreign(&self) -> ForeignCalls {
        self.plan.foreign.clone()
    }

    fn tuning(&self) -> AggregationTuning {
        self.tuning
    }

    /// The refinements for merging the groups of a shared pass.
    fn refinements(&self) -> Option<Refinements> {
        self.sets.as_ref().map(|store| Refinements::new(store.clone(), self.groups.budget.clone(), OPERATOR))
    }

    fn into_groups(self) -> impl Iterator<Item = WorkerGroups> {
        self.ended.into_iter().chain([self.groups])
    }
}

fn hashes_of(keys: &[Vector]) -> Vec<u64> {
    let mut hashes = Vec::new();
    KeyHasher::default().fill(keys, 0..keys[0].len(), &mut hashes);
    hashes
}

/// Accumulates the rows of one input.
fn accumulate(
    input: &mut Accumulated,
    plan: &InputPlan,
    groups: &[u32],
    group_count: usize,
    batch: &mut Batch,
) -> Result<(), ExecError> {
    let kept = plan.filter.map(|filter| rows_where_true(&batch.column(filter)));
    let kept = kept.filter(|kept| kept.len() < groups.len());
    let mut vectors: Vec<Arc<Vector>> = Vec::with_capacity(plan.arguments.len());
    vectors.extend(plan.arguments.iter().map(|argument| batch.column(argument.column)));
    let Some(kept) = kept else { return accumulate_rows(input, groups, group_count, &vectors) };
    let groups: Vec<u32> = kept.iter().map(|row| groups[*row as usize]).collect();
    vectors.iter_mut().for_each(|vector| *vector = Arc::new(vector.take(&kept)));
    accumulate_rows(input, &groups, group_count, &vectors)
}

fn accumulate_rows(
    input: &mut Accumulated,
    groups: &[u32],
    group_count: usize,
    vectors: &[Arc<Vector>],
) -> Result<(), ExecError> {
    match input {
        Accumulated::States(states) => states.update(groups, group_count, vectors),
        Accumulated::Distinct(values) => values.add(groups, &vectors[0]),
        Accumulated::Foreign(_) => unreachable!("foreign states come after those of the plan's inputs"),
    }
}

/// Accumulates the rows of a foreign call.
fn accumulate_foreign(
    input: &mut Accumulated,
    call: &ForeignCall,
    groups: &[u32],
    group_count: usize,
    batch: &mut Batch,
) -> Result<(), ExecError> {
    let Accumulated::Foreign(states) = input else { unreachable!("foreign states come after all others") };
    let kept = call.filter.map(|filter| rows_where_true(&batch.column(filter)));
    let mut vectors: Vec<Arc<Vector>> = call.arguments.iter().map(|(column, _)| batch.column(*column)).collect();
    let Some(kept) = kept.filter(|kept| kept.len() < groups.len()) else {
        return states.update(call, groups, group_count, &vectors);
    };
    let groups: Vec<u32> = kept.iter().map(|row| groups[*row as usize]).collect();
    vectors.iter_mut().for_each(|vector| *vector = Arc::new(vector.take(&kept)));
    states.update(call, &groups, group_count, &vectors)
}

/// The rows for which a filter is true. A vector of nulls may have any kind.
fn rows_where_true(filter: &Vector) -> Vec<u32> {
    let Values::Bool(values) = filter.values() else { return Vec::new() };
    (0..values.len() as u32).filter(|row| values[*row as usize] && filter.is_valid(*row as usize)).collect()
}
