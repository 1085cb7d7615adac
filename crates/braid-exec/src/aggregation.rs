//! Grouping and aggregation, of one query or of many in one pass: GROUP BY, aggregates without it, and DISTINCT.
//!
//! Each worker has groups and states of its own and shares nothing while it consumes rows. A row's key columns become a
//! group number (`group_table`), the cheapest way that the keys allow: without hashing where they have few values or are
//! densely numbered integers. Then each argument is accumulated into states by group number, one loop for a vector
//! (`aggregate_states`); aggregates of the same argument share what they can (`aggregate_plan`). DISTINCT aggregates
//! keep pairs of group and value, and are computed at the end (`distinct_values`). A worker whose rows are nearly all
//! groups of their own begins with an empty table from time to time (`generations`). At last the workers' groups are merged,
//! in partitions that several threads can work on (`partition_order`, `merge`).
//!
//! Many queries can share one pass: then rows carry the set of the queries that want them, groups are those of key and
//! set, and at the end each key's sets are made disjoint (`set_refinement`, `atom_groups`).
//!
//! Groups that do not fit into memory go to a file, with what was accumulated so far (`spilled_groups`).
//!
//! Types are the plan's business: a sum of integers comes out at whatever width it needs, and whoever wants a bigint
//! checks the range.
//!
//! Sums of floats depend on the order of rows, as they do everywhere.

mod generations;
mod groups;
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
use groups::group_table::GroupTable;
use merging::merge::{Accumulated, MetGroups};
use merging::set_refinement::Refinements;
use states::aggregate_plan::{AggregatePlan, InputPlan};

use crate::keys::key_hashes::KeyHasher;
use crate::plan::{AggregateCall, AggregateFunction, AggregationSpec, AverageKind, SetColumn};
use crate::tuning::AggregationTuning;
use crate::values::vector::{Values, Vector};
use crate::{Batch, ExecError, MemoryBudget, Reservation, SetStore};

/// Who asks for memory.
const OPERATOR: &str = "aggregation";

/// Of the bytes that groups may take before they leave, one slot by address for so many: 4 bytes each, a quarter together.
const DIRECT_SLOT_SHARE: usize = 16;

/// The groups that one worker has met so far.
#[derive(Debug)]
pub struct AggregationWorker {
    /// Key columns; last the set, when many queries share the groups.
    keys: Vec<usize>,
    plan: AggregatePlan,
    tuning: AggregationTuning,
    sets: Option<Arc<SetStore>>,
    key_count: usize,
    budget: Arc<dyn MemoryBudget>,
    /// Whether keys come as their hashes have scattered them.
    is_scattered: bool,
    groups: WorkerGroups,
    /// The groups of generations that have ended.
    ended: Vec<WorkerGroups>,
    generations: Generations,
    generation_memory: Reservation,
    /// Of the rows of the batch at hand.
    row_groups: Vec<u32>,
}

impl AggregationWorker {
    /// No rows yet.
    pub fn new(spec: Arc<AggregationSpec>, budget: Arc<dyn MemoryBudget>) -> Self {
        Self::with_tuning(&spec, None, budget, AggregationTuning::default())
    }

    /// No rows yet. Each row counts for the queries of its set.
    pub fn shared(spec: Arc<AggregationSpec>, sets: SetColumn, budget: Arc<dyn MemoryBudget>) -> Self {
        Self::with_tuning(&spec, Some(sets), budget, AggregationTuning::default())
    }

    pub(crate) fn with_tuning(
        spec: &AggregationSpec,
        sets: Option<SetColumn>,
        budget: Arc<dyn MemoryBudget>,
        tuning: AggregationTuning,
    ) -> Self {
        let plan = AggregatePlan::new(spec, tuning);
        let mut keys = spec.keys.clone();
        keys.extend(sets.as_ref().map(|sets| sets.column));
        let key_count = spec.keys.len();
        let sets = sets.map(|sets| sets.store);
        let table = GroupTable::with_sets(keys.len(), sets.is_some(), tuning);
        let is_scattered = false;
        let generation_memory = Reservation::new(budget.clone(), OPERATOR);
        let groups = MetGroups::new(table, key_count, is_scattered, &plan, tuning, budget.clone());
        Self {
            keys,
            plan,
            tuning,
            sets,
            key_count,
            budget,
            is_scattered,
            groups,
            ended: Vec::new(),
            generations: Generations::new(tuning.generation_groups),
            generation_memory,
            row_groups: Vec::new(),
        }
    }

    /// Lets groups leave memory for a file when they take about so many bytes: see [`Self::leave`]. Before the first row.
    pub(crate) fn enable_spilling(&mut self, bytes: usize) {
        // Otherwise the slots alone would be too many, again and again.
        self.tuning.direct_slots = self.tuning.direct_slots.min(bytes / DIRECT_SLOT_SHARE);
        self.groups = self.without_groups();
        self.groups.may_leave = true;
    }

    /// For groups that had left, by partitions of their hashes: an address for each would take a page for each. Before the
    /// first row.
    pub(crate) fn expect_scattered_keys(&mut self) {
        self.is_scattered = true;
        self.groups = self.without_groups();
    }

    fn without_groups(&self) -> WorkerGroups {
        self.no_groups(self.is_scattered)
    }

    fn no_groups(&self, is_hashed: bool) -> WorkerGroups {
        let table = match is_hashed {
            true => GroupTable::hashed(self.keys.len(), self.tuning),
            false => GroupTable::with_sets(self.keys.len(), self.sets.is_some(), self.tuning),
        };
        MetGroups::new(table, self.key_count, is_hashed, &self.plan, self.tuning, self.budget.clone())
    }

    /// Whether groups may become too many, or the distinct values of the only one.
    pub(crate) fn can_grow(&self) -> bool {
        self.key_count > 0 || self.has_only_group() && self.plan.inputs.iter().any(|input| input.distinct)
    }

    /// Whether there are no keys, nor sets of queries.
    pub(crate) fn has_only_group(&self) -> bool {
        self.keys.is_empty()
    }

    /// Accumulates the distinct values of the only group, of which no more come.
    ///
    /// # Errors
    /// When a sum goes out of range, or what is accumulated takes more memory than there is.
    pub(crate) fn close(&mut self) -> Result<(), ExecError> {
        self.groups.close(&self.plan)
    }

    /// Adds what another that was closed has accumulated from other values.
    ///
    /// # Errors
    /// The same.
    pub(crate) fn add_closed(&mut self, other: &Self) -> Result<(), ExecError> {
        self.groups.add_closed(&other.groups)
    }

    /// Bytes that the groups hold.
    pub(crate) fn bytes(&self) -> usize {
        self.ended.iter().chain([&self.groups]).map(|groups| groups.reservation.held()).sum()
    }

    /// Whether any groups were met; without keys the only one counts from the first row on.
    pub(crate) fn has_groups(&self) -> bool {
        self.bytes() > 0
    }

    /// Gives away what was met, and begins anew.
    pub(crate) fn take_groups(&mut self) -> SpillingGroups {
        let mut groups = self.without_groups();
        groups.may_leave = true;
        let mut all = std::mem::take(&mut self.ended);
        all.push(std::mem::replace(&mut self.groups, groups));
        self.generations = Generations::new(self.tuning.generation_groups);
        self.generation_memory = Reservation::new(self.budget.clone(), OPERATOR);
        SpillingGroups::new(all)
    }

    /// Holds as much memory as the groups take, after it was refused.
    ///
    /// # Errors
    /// When it is refused again.
    pub(crate) fn reserve(&mut self) -> Result<(), ExecError> {
        self.groups.reserve()
    }

    /// Adds groups that had left.
    ///
    /// # Errors
    /// When a sum goes out of range, or the groups take more memory than there is.
    pub(crate) fn take_back(&mut self, read: &ReadGroups) -> Result<(), ExecError> {
        self.groups.merge_read(read)?;
        self.groups.reserve()
    }

    /// Adds rows. Reads the batch's columns that keys, arguments and filters are.
    ///
    /// # Errors
    /// When a sum goes out of range, or the groups take more memory than there is.
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
        self.groups.reserve()?;
        self.end_generation(row_count)
    }

    /// Begins with no groups again, behind so many rows, if that is better.
    fn end_generation(&mut self, row_count: usize) -> Result<(), ExecError> {
        let Self { groups, generations, sets, .. } = &mut *self;
        let group_count = groups.table.group_count();
        // The sets of a key are better together.
        let is_due = generations.add_rows(row_count, group_count) && groups.table.is_hashed() && sets.is_none();
        if !is_due || !generations.ends(group_count, || hashes_of(groups.table.keys())) {
            return Ok(());
        }
        self.generation_memory.resize(self.generations.bytes())?;
        let groups = self.no_groups(true);
        let may_leave = self.groups.may_leave;
        let mut ended = std::mem::replace(&mut self.groups, groups);
        self.groups.may_leave = may_leave;
        ended.end()?;
        self.ended.push(ended);
        Ok(())
    }

    fn tuning(&self) -> AggregationTuning {
        self.tuning
    }

    /// For what the worker's groups are merged with, if many queries share them.
    fn refinements(&self) -> Option<Refinements> {
        self.sets.as_ref().map(|store| Refinements::new(store.clone(), self.groups.budget.clone()))
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
    }
}

/// Null is not true, and a vector of nulls may be of any kind.
fn rows_where_true(filter: &Vector) -> Vec<u32> {
    let Values::Bool(values) = filter.values() else { return Vec::new() };
    (0..values.len() as u32).filter(|row| values[*row as usize] && filter.is_valid(*row as usize)).collect()
}
