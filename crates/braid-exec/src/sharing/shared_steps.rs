//! The steps of shared plans on one batch at a time: conditions and columns that depend on the query, and intersections of sets.
//!
//! Each step returns the set as the last column, and drops rows with an empty set.

use std::fmt;
use std::sync::Arc;

use crate::expression::Evaluator;
use crate::plan::SideWidths;
use crate::plan::shared_operator::SharedStep;
use crate::query_sets::set_calculator::{SetCalculator, SetOperation, drop_unwanted, set_column, sets_of};
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::Stop;
use crate::sharing::query_conditions::{ConditionEvaluator, QueryConditions};
use crate::{Batch, Expression, SetNumber, SetStore};

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
        let conditions = self.conditions.iter().map(ConditionEvaluator::new).collect();
        Box::new(ConditionOperator { conditions, calculator: SetCalculator::new(self.store.clone()), set, places })
    }
}

impl Operator for ConditionOperator {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let mut sets = match self.set {
            Some(column) => sets_of(&batch.column(column)),
            None => vec![SetNumber::ALL; batch.row_count()],
        };
        for condition in &mut self.conditions {
            let wanted = condition.sets(&mut batch, &sets, &mut self.calculator)?;
            self.calculator.apply(SetOperation::Intersect, &mut sets, &wanted)?;
            drop_unwanted(&mut batch, &mut sets);
            if sets.is_empty() {
                return Ok(());
            }
        }
        pass_on(batch, &sets, &self.places, next)
    }
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
        Box::new(IntersectOperator { calculator: SetCalculator::new(self.store.clone()), sets: self.sets(), places })
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
        if sets.is_empty() { Ok(()) } else { pass_on(batch, &sets, &self.places, next) }
    }
}

/// A projection with columns that depend on the query. It returns a row once for each distinct combination of the parameters
/// that the columns read, with the queries that have this combination.
pub(crate) struct ProjectionStep {
    pub(crate) store: Arc<SetStore>,
    /// The variants of the columns, with the set of queries of each. Each query is in one of the sets.
    pub(crate) variants: Arc<[(Vec<Expression>, SetNumber)]>,
    /// Position of the input's set.
    pub(crate) set: Option<usize>,
}

struct ProjectionOperator {
    /// Only the columns that are read.
    variants: Vec<(Vec<Option<Evaluator>>, SetNumber)>,
    calculator: SetCalculator,
    set: Option<usize>,
}

impl SharedStep for ProjectionStep {
    fn column_count(&self, _: usize) -> usize {
        self.variants[0].0.len() + 1
    }

    fn mark_read(&self, wanted: &[bool], read: &mut [bool]) {
        let mut columns = Vec::new();
        for (expressions, _) in self.variants.iter() {
            let expressions = expressions.iter().zip(wanted).filter(|(_, wanted)| **wanted);
            expressions.for_each(|(expression, _)| expression.columns(&mut columns));
        }
        columns.extend(self.set);
        columns.into_iter().for_each(|column| read[column] = true);
    }

    fn origin(&self, column: usize) -> Option<usize> {
        let mut variants = self.variants.iter().map(|(expressions, _)| expressions.get(column)?.as_column());
        let first = variants.next().flatten()?;
        variants.all(|column| column == Some(first)).then_some(first)
    }

    fn operator(&self, wanted: &[bool]) -> Box<dyn Operator> {
        let evaluator = |(expression, wanted): (&Expression, &bool)| wanted.then(|| Evaluator::new(expression.clone()));
        let variant = |(expressions, queries): &(Vec<Expression>, SetNumber)| {
            (expressions.iter().zip(wanted).map(evaluator).collect(), *queries)
        };
        let variants = self.variants.iter().map(variant).collect();
        Box::new(ProjectionOperator { variants, calculator: SetCalculator::new(self.store.clone()), set: self.set })
    }
}

impl Operator for ProjectionOperator {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let sets = match self.set {
            Some(column) => sets_of(&batch.column(column)),
            None => vec![SetNumber::ALL; batch.row_count()],
        };
        for (columns, queries) in &mut self.variants {
            let others = vec![*queries; sets.len()];
            let (mut rows, mut sets) = (batch.clone(), sets.clone());
            self.calculator.apply(SetOperation::Intersect, &mut sets, &others)?;
            drop_unwanted(&mut rows, &mut sets);
            if sets.is_empty() {
                continue;
            }
            let mut projected = Batch::new(sets.len());
            let mut places = Vec::with_capacity(columns.len() + 1);
            for column in columns.iter_mut() {
                let Some(column) = column else {
                    places.push(None);
                    continue;
                };
                places.push(Some(projected.column_count()));
                projected.push(column.evaluate(&mut rows)?);
            }
            places.push(Some(projected.column_count()));
            projected.push(Arc::new(set_column(&sets)));
            projected.project(&places);
            next(projected)?;
        }
        Ok(())
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

impl fmt::Display for ProjectionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: Vec<String> = self.variants[0].0.iter().map(ToString::to_string).collect();
        write!(f, "SharedProject: {} in {} variants", text.join(", "), self.variants.len())
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

debug_as_display!(ConditionStep, IntersectStep, ProjectionStep);
