//! The states of one input, by group: the count of its rows, and the states of its arguments.
//!
//! The number of an argument's values is the number of rows minus the number of its nulls, so that an argument without nulls
//! needs no count. A group without values has an arbitrary sum or extreme, and the count makes its result null.

use std::borrow::Borrow;
use std::ops::Range;

use super::aggregate_plan::{ArgumentPlan, InputPlan};
use super::averages::{float_averages, numeric_averages};
use super::extremes::{End, ExtremeRows, Extremes};
use super::sums::{RowGroups, Sums, count_rows, of_rows};
use crate::ExecError;
use crate::plan::{AggregateFunction, AverageKind};
use crate::values::narrow_integers::narrowest;
use crate::values::vector::{Values, Vector};

/// States by group.
#[derive(Debug)]
pub(crate) struct InputStates {
    row_counts: Vec<i64>,
    arguments: Vec<ArgumentStates>,
}

#[derive(Debug)]
struct ArgumentStates {
    /// The number of nulls of each group; empty without nulls.
    null_counts: Vec<i64>,
    sums: Option<Sums>,
    least: Option<Extremes>,
    greatest: Option<Extremes>,
}

impl InputStates {
    /// States of no groups.
    pub(crate) fn new(plan: &InputPlan) -> Self {
        let arguments = plan.arguments.iter().map(ArgumentStates::new).collect();
        Self { row_counts: Vec::new(), arguments }
    }

    /// Accumulates rows, given by their groups and one vector per argument.
    ///
    /// # Errors
    /// When a sum goes out of range.
    pub(crate) fn update<V: Borrow<Vector>>(
        &mut self,
        groups: &[u32],
        group_count: usize,
        vectors: &[V],
    ) -> Result<(), ExecError> {
        for (argument, vector) in self.arguments.iter_mut().zip(vectors) {
            argument.update(groups, group_count, vector.borrow(), &self.row_counts)?;
        }
        count_rows(&mut self.row_counts, groups, group_count);
        Ok(())
    }

    /// Merges the states of rows, which are groups of `other`, into those of their groups.
    ///
    /// # Errors
    /// When a sum goes out of range.
    pub(crate) fn merge(&mut self, other: &Self, merged: RowGroups<'_>, group_count: usize) -> Result<(), ExecError> {
        for (argument, from) in self.arguments.iter_mut().zip(&other.arguments) {
            let known = |group: usize| argument_count(&other.row_counts, &from.null_counts, group) > 0;
            argument.merge(from, known, merged, group_count, &self.row_counts)?;
        }
        merge_counts(&mut self.row_counts, &other.row_counts, merged, group_count);
        Ok(())
    }

    /// The states of some groups as columns: the row counts, then for each argument its null counts and its planned states.
    pub(crate) fn columns(&self, groups: &[u32]) -> Vec<Vector> {
        let mut columns = vec![Vector::integers(of_rows(&self.row_counts, groups, 0))];
        for argument in &self.arguments {
            let known = |group: usize| argument_count(&self.row_counts, &argument.null_counts, group) > 0;
            columns.push(Vector::integers(of_rows(&argument.null_counts, groups, 0)));
            columns.extend(argument.sums.as_ref().map(|sums| sums.of_groups(groups)));
            let groups = groups.iter().map(|group| *group as usize);
            let extremes = argument.least.iter().chain(&argument.greatest);
            columns.extend(extremes.map(|extremes| extremes.of_groups(groups.clone(), known)));
        }
        columns
    }

    /// Number of these columns.
    pub(crate) fn column_count(&self) -> usize {
        let of_argument = |argument: &ArgumentStates| {
            let kept = [argument.sums.is_some(), argument.least.is_some(), argument.greatest.is_some()];
            1 + kept.into_iter().filter(|kept| *kept).count()
        };
        1 + self.arguments.iter().map(of_argument).sum::<usize>()
    }

    /// Merges such columns into `groups`.
    ///
    /// # Errors
    /// When a sum goes out of range.
    pub(crate) fn merge_columns(
        &mut self,
        columns: &[Vector],
        groups: &[u32],
        group_count: usize,
    ) -> Result<(), ExecError> {
        let mut columns = columns.iter();
        let mut next = || columns.next().expect("there are as many columns as were written");
        let row_counts = next();
        for argument in &mut self.arguments {
            let null_counts = next();
            if let Some(sums) = &mut argument.sums {
                let added = next();
                if !added.is_all_null() {
                    sums.add(groups, group_count, added)?;
                }
            }
            let known = |group: usize| argument_count(&self.row_counts, &argument.null_counts, group) > 0;
            let rows = ExtremeRows { groups, group_count, known };
            for extremes in argument.least.iter_mut().chain(&mut argument.greatest) {
                let met = next();
                if !met.is_all_null() {
                    extremes.update(&rows, met);
                }
            }
            add_counts(&mut argument.null_counts, null_counts, groups, group_count);
        }
        add_counts(&mut self.row_counts, row_counts, groups, group_count);
        Ok(())
    }

    /// The results of an aggregate for some groups.
    ///
    /// # Errors
    /// When an average goes out of range.
    pub(crate) fn results(
        &self,
        function: AggregateFunction,
        argument: usize,
        groups: Range<usize>,
    ) -> Result<Vector, ExecError> {
        use AggregateFunction as F;
        if function == F::CountRows {
            return Ok(Vector::integers(of_range(&self.row_counts, groups, 0)));
        }
        let states = &self.arguments[argument];
        let count = |group: usize| argument_count(&self.row_counts, &states.null_counts, group);
        let known = |group: usize| count(group) > 0;
        let sums = || states.sums.as_ref().expect("the plan asked for a sum");
        Ok(match function {
            F::CountRows | F::Count => Vector::integers(groups.map(count).collect()),
            F::Sum => sums_of_range(sums(), groups, known),
            F::Minimum | F::BoolAnd => states.least.as_ref().expect("the plan asked for it").of_groups(groups, known),
            F::Maximum | F::BoolOr => states.greatest.as_ref().expect("the plan asked for it").of_groups(groups, known),
            F::Average(kind) => {
                let counts: Vec<i64> = groups.clone().map(count).collect();
                let sums = sums_of_range(sums(), groups, known);
                match kind {
                    AverageKind::Numeric { scale, result_scale } => {
                        numeric_averages(&sums, &counts, scale, result_scale)?
                    }
                    AverageKind::Float => float_averages(&sums, &counts),
                }
            }
        })
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.row_counts.capacity() * 8 + self.arguments.iter().map(ArgumentStates::bytes).sum::<usize>()
    }
}

impl ArgumentStates {
    fn new(plan: &ArgumentPlan) -> Self {
        Self {
            null_counts: Vec::new(),
            sums: plan.sum.then(Sums::default),
            least: plan.least.then(|| Extremes::new(End::Least, plan.unused_bytes_min)),
            greatest: plan.greatest.then(|| Extremes::new(End::Greatest, plan.unused_bytes_min)),
        }
    }

    fn update(
        &mut self,
        groups: &[u32],
        group_count: usize,
        vector: &Vector,
        row_counts: &[i64],
    ) -> Result<(), ExecError> {
        // The kind of a vector of nulls has no meaning.
        if vector.valid().is_none_or(|valid| valid.contains(&true)) {
            if let Some(sums) = &mut self.sums {
                sums.add(groups, group_count, vector)?;
            }
            let known = |group: usize| argument_count(row_counts, &self.null_counts, group) > 0;
            let rows = ExtremeRows { groups, group_count, known };
            for extremes in self.least.iter_mut().chain(&mut self.greatest) {
                extremes.update(&rows, vector);
            }
        }
        if let Some(valid) = vector.valid().filter(|valid| valid.contains(&false)) {
            self.null_counts.resize(group_count, 0);
            groups.iter().zip(valid).for_each(|(group, valid)| {
                self.null_counts[*group as usize] += i64::from(!*valid);
            });
        }
        Ok(())
    }

    fn merge(
        &mut self,
        other: &Self,
        other_known: impl Fn(usize) -> bool + Copy,
        merged: RowGroups<'_>,
        group_count: usize,
        row_counts: &[i64],
    ) -> Result<(), ExecError> {
        if let (Some(to), Some(from)) = (&mut self.sums, &other.sums) {
            to.merge(from, merged, group_count)?;
        }
        let known = |group: usize| argument_count(row_counts, &self.null_counts, group) > 0;
        let into = ExtremeRows { groups: merged.groups, group_count, known };
        for (to, from) in [(&mut self.least, &other.least), (&mut self.greatest, &other.greatest)] {
            if let (Some(to), Some(from)) = (to, from) {
                to.merge(from, merged.rows, other_known, &into);
            }
        }
        if !other.null_counts.is_empty() {
            merge_counts(&mut self.null_counts, &other.null_counts, merged, group_count);
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.null_counts.capacity() * 8
            + self.sums.as_ref().map_or(0, Sums::bytes)
            + self.least.iter().chain(&self.greatest).map(Extremes::bytes).sum::<usize>()
    }
}

/// The number of an argument's values that are not null.
#[inline]
fn argument_count(row_counts: &[i64], null_counts: &[i64], group: usize) -> i64 {
    let count = |counts: &[i64]| counts.get(group).copied().unwrap_or(0);
    count(row_counts) - count(null_counts)
}

fn add_counts(counts: &mut Vec<i64>, added: &Vector, groups: &[u32], group_count: usize) {
    let Values::Int(added) = added.values() else { unreachable!("counts are integers") };
    if added.iter().any(|count| *count != 0) {
        counts.resize(group_count, 0);
        groups.iter().zip(added).for_each(|(group, count)| counts[*group as usize] += count);
    }
}

fn merge_counts(counts: &mut Vec<i64>, other: &[i64], RowGroups { rows, groups }: RowGroups<'_>, group_count: usize) {
    counts.resize(group_count, 0);
    let added = of_rows(other, rows, 0);
    groups.iter().zip(added).for_each(|(group, count)| counts[*group as usize] += count);
}

/// The entries of a range of groups; `neutral` for missing entries.
fn of_range<T: Copy>(values: &[T], groups: Range<usize>, neutral: T) -> Vec<T> {
    let mut entries = values[groups.start.min(values.len())..groups.end.min(values.len())].to_vec();
    entries.resize(groups.len(), neutral);
    entries
}

/// The resulting sums: of the least width, and null for a group without values.
fn sums_of_range(sums: &Sums, groups: Range<usize>, known: impl Fn(usize) -> bool) -> Vector {
    let valid: Vec<bool> = groups.clone().map(known).collect();
    let values = match sums {
        Sums::Nothing => return Vector::repeat(None, groups.len()),
        Sums::Int(sums) => Values::Int(of_range(sums, groups, 0)),
        Sums::Int128(sums) => narrowest(of_range(sums, groups, 0)),
        Sums::Float(sums) => Values::Float(of_range(sums, groups, 0.0)),
    };
    Vector::new(values, valid.contains(&false).then_some(valid))
}
