//! The steps of shared plans on one batch at a time: conditions that depend on the query, and intersections of sets.
//!
//! Each step returns the set as the last column, and drops rows with an empty set.

use std::fmt;
use std::sync::Arc;

use crate::plan::SideWidths;
use crate::plan::shared_operator::SharedStep;
use crate::query_sets::set_calculator::{SetCalculator, SetOperation, drop_unwanted, set_column, sets_of};
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::Stop;
use crate::sharing::query_conditions::{ConditionEvaluator, QueryConditions};
use crate::sharing::remaining_queries::RemainingQueries;
use crate::{Batch, ExecError, SetNumber, SetStore};

/// A filter: narrows the set of each row to the queries for which all conditions are true. Adds a set column if the input has
/// none.
pub(crate) struct ConditionStep {
    pub(crate) store: Arc<SetStore>,
    pub(crate) conditions: Arc<[QueryConditions]>,
    /// Number of columns of the input without its set.
    pub(crate) column_count: usize,
    pub(crate) has_set: bool,
    /// The description for EXPLAIN.
    pub(crate) description: String,
}

struct ConditionOperator {
    conditions: Vec<ConditionEvaluator>,
    may_fail: bool,
    remaining: RemainingQueries,
    calculator: SetCalculator,
    set: Option<usize>,
    places: Vec<Option<usize>>,
}

impl SharedStep for ConditionStep {
    fn column_count(&self, _: usize) -> usize {
        self.column_count + 1
    }

    fn mark_read(&self, wanted: &[bool], read: &mut [bool]) {
        read[..self.column_count].copy_from_slice(&wanted[..self.column_count]);
        let mut columns = Vec::new();
        self.conditions.iter().for_each(|condition| condition.columns(&mut columns));
        columns.into_iter().for_each(|column| read[column] = true);
        read[self.column_count..].fill(true);
    }

    fn origin(&self, column: usize) -> Option<usize> {
        (column < self.column_count).then_some(column)
    }

    fn operator(&self, wanted: &[bool]) -> Box<dyn Operator> {
        let place = |column: usize| wanted[column].then_some(column);
        let set = self.has_set.then_some(self.column_count);
        // The narrowed set follows all columns of the input.
        let narrowed = self.column_count + usize::from(self.has_set);
        let places = (0..self.column_count).map(place).chain([Some(narrowed)]).collect();
        Box::new(ConditionOperator {
            conditions: self
                .conditions
                .iter()
                .map(|condition| ConditionEvaluator::new(condition, self.store.budget()))
                .collect(),
            may_fail: self.conditions.iter().any(QueryConditions::may_fail),
            remaining: RemainingQueries::new(self.store.clone()),
            calculator: SetCalculator::new(self.store.clone()),
            set,
            places,
        })
    }
}

impl Operator for ConditionOperator {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let mut sets = match self.set {
            Some(column) => sets_of(&batch.column(column)),
            None => vec![SetNumber::ALL; batch.row_count()],
        };
        let Self { conditions, may_fail, remaining, calculator, places, .. } = self;
        if *may_fail {
            let mut step = |batch: &mut Batch, sets: &mut Vec<SetNumber>, calculator: &mut SetCalculator| {
                narrow(conditions, batch, sets, calculator)
            };
            let mut pass_on = |batch, sets: Vec<SetNumber>| pass_on(batch, &sets, places, &mut *next);
            return remaining.apply(&batch, &sets, calculator, &mut step, &mut pass_on);
        }
        remaining.narrow(&mut batch, &mut sets, calculator)?;
        narrow(conditions, &mut batch, &mut sets, calculator)?;
        if sets.is_empty() { Ok(()) } else { pass_on(batch, &sets, places, next) }
    }
}

/// Narrows the sets to the queries for which all conditions are true, and drops the rows of no query.
fn narrow(
    conditions: &mut [ConditionEvaluator],
    batch: &mut Batch,
    sets: &mut Vec<SetNumber>,
    calculator: &mut SetCalculator,
) -> Result<(), ExecError> {
    for condition in conditions {
        if sets.is_empty() {
            break;
        }
        let wanted = condition.sets(batch, sets, calculator)?;
        calculator.apply(SetOperation::Intersect, sets, &wanted)?;
        drop_unwanted(batch, sets);
    }
    Ok(())
}

/// Passes on rows with these columns of the input, followed by the sets.
fn pass_on(mut batch: Batch, sets: &[SetNumber], places: &[Option<usize>], next: &mut Next<'_>) -> Result<(), Stop> {
    batch.push(Arc::new(set_column(sets)));
    batch.project(places);
    next(batch)
}

/// The intersection of sets above an inner join of two sides with sets: a pair belongs to the queries of both rows.
pub(crate) struct IntersectStep {
    pub(crate) store: Arc<SetStore>,
    /// Number of columns of each side without its set, which follows them.
    pub(crate) widths: SideWidths,
}

struct IntersectOperator {
    remaining: RemainingQueries,
    calculator: SetCalculator,
    sets: [usize; 2],
    places: Vec<Option<usize>>,
}

impl SharedStep for IntersectStep {
    fn column_count(&self, _: usize) -> usize {
        self.widths.probe + self.widths.build + 1
    }

    fn mark_read(&self, wanted: &[bool], read: &mut [bool]) {
        read[..self.widths.probe].copy_from_slice(&wanted[..self.widths.probe]);
        let build_end = self.widths.probe + self.widths.build;
        read[self.widths.probe + 1..=build_end].copy_from_slice(&wanted[self.widths.probe..build_end]);
        self.sets().into_iter().for_each(|set| read[set] = true);
    }

    fn origin(&self, column: usize) -> Option<usize> {
        if column < self.widths.probe {
            Some(column)
        } else {
            (column < self.widths.probe + self.widths.build).then_some(column + 1)
        }
    }

    fn operator(&self, wanted: &[bool]) -> Box<dyn Operator> {
        let column_count = self.widths.probe + self.widths.build;
        let place = |column: usize| self.origin(column).filter(|_| wanted[column]);
        let places = (0..column_count).map(place).chain([Some(column_count + 2)]).collect();
        let (remaining, calculator) =
            (RemainingQueries::new(self.store.clone()), SetCalculator::new(self.store.clone()));
        Box::new(IntersectOperator { remaining, calculator, sets: self.sets(), places })
    }
}

impl IntersectStep {
    fn sets(&self) -> [usize; 2] {
        [self.widths.probe, self.widths.probe + 1 + self.widths.build]
    }
}

impl Operator for IntersectOperator {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let [mut sets, others] = self.sets.map(|column| sets_of(&batch.column(column)));
        self.calculator.apply(SetOperation::Intersect, &mut sets, &others)?;
        drop_unwanted(&mut batch, &mut sets);
        self.remaining.narrow(&mut batch, &mut sets, &mut self.calculator)?;
        if sets.is_empty() { Ok(()) } else { pass_on(batch, &sets, &self.places, next) }
    }
}

/// Adds the set of all queries to rows without a set.
#[derive(Debug)]
pub(crate) struct AllQueriesStep {
    pub(crate) column_count: usize,
}

struct AllQueriesOperator;

impl SharedStep for AllQueriesStep {
    fn column_count(&self, _: usize) -> usize {
        self.column_count + 1
    }

    fn mark_read(&self, wanted: &[bool], read: &mut [bool]) {
        read.copy_from_slice(&wanted[..self.column_count]);
    }

    fn origin(&self, column: usize) -> Option<usize> {
        (column < self.column_count).then_some(column)
    }

    fn operator(&self, _: &[bool]) -> Box<dyn Operator> {
        Box::new(AllQueriesOperator)
    }
}

impl Operator for AllQueriesOperator {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        batch.push(Arc::new(set_column(&vec![SetNumber::ALL; batch.row_count()])));
        next(batch)
    }
}

impl fmt::Display for ConditionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedFilter: {}", self.description)
    }
}

impl fmt::Display for IntersectStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IntersectSets")
    }
}

impl fmt::Display for AllQueriesStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ForEverybody")
    }
}

macro_rules! debug_as_display {
    ($($step:ty),*) => {$(
        impl fmt::Debug for $step {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

debug_as_display!(ConditionStep, IntersectStep);
