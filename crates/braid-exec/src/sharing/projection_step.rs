//! The projection of a pass, for columns that depend on the query or that may fail for a row.
//!
//! It returns a row once for each distinct combination of the parameters that its columns read, with the queries that have
//! this combination. The set is the last column. An expression that fails for a row ends the queries of the row
//! ([`RemainingQueries`]); an ordinary projection would end the pass.

use std::fmt;
use std::sync::Arc;

use crate::plan::shared_operator::SharedStep;
use crate::query_sets::set_calculator::{SetCalculator, SetOperation, drop_unwanted, set_column, sets_of};
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::row_operators::Projection;
use crate::runtime::stop::Stop;
use crate::sharing::remaining_queries::RemainingQueries;
use crate::{Batch, Expression, SetNumber, SetStore};

/// A projection, perhaps with several variants.
pub(crate) struct ProjectionStep {
    pub(crate) store: Arc<SetStore>,
    /// The variants of the columns, with the set of queries of each. Each query is in one of the sets.
    pub(crate) variants: Arc<[(Vec<Expression>, SetNumber)]>,
    /// Position of the input's set.
    pub(crate) set: Option<usize>,
}

struct ProjectionOperator {
    variants: Vec<Variant>,
    calculator: SetCalculator,
    set: Option<usize>,
}

struct Variant {
    /// The columns that are read, followed by the set of the input, if it has one.
    projection: Projection,
    column_count: usize,
    may_fail: bool,
    queries: SetNumber,
    remaining: RemainingQueries,
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

    fn keeps_order(&self) -> bool {
        self.variants.len() == 1
    }

    fn operator(&self, wanted: &[bool]) -> Box<dyn Operator> {
        let variants = self.variants.iter().map(|(expressions, queries)| {
            let mut columns = expressions.clone();
            let mut needed = wanted[..expressions.len()].to_vec();
            columns.extend(self.set.map(Expression::Column));
            needed.extend(self.set.map(|_| true));
            Variant {
                may_fail: columns.iter().zip(&needed).any(|(column, needed)| *needed && column.may_fail()),
                projection: Projection::new(&columns, &needed, self.store.budget()),
                column_count: expressions.len(),
                queries: *queries,
                remaining: RemainingQueries::new(self.store.clone()),
            }
        });
        let calculator = SetCalculator::new(self.store.clone());
        Box::new(ProjectionOperator { variants: variants.collect(), calculator, set: self.set })
    }
}

impl Operator for ProjectionOperator {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        if let ([only], true) = (&mut *self.variants, self.set.is_some())
            && let Some(projected) = only.with_all_sets(&batch)
        {
            return next(projected);
        }
        let sets = match self.set {
            Some(column) => sets_of(&batch.column(column)),
            None => vec![SetNumber::ALL; batch.row_count()],
        };
        for variant in &mut self.variants {
            variant.push(&batch, &sets, &mut self.calculator, next)?;
        }
        Ok(())
    }
}

impl Variant {
    /// The rows with the sets that they have, if all belong to queries of this variant that need them, and nothing fails.
    fn with_all_sets(&mut self, batch: &Batch) -> Option<Batch> {
        if self.queries != SetNumber::ALL || !self.remaining.are_all() || self.projection.is_foreign() {
            return None;
        }
        let mut projected = batch.clone();
        self.projection.project(&mut projected).is_ok().then_some(projected)
    }

    fn push(
        &mut self,
        batch: &Batch,
        sets: &[SetNumber],
        calculator: &mut SetCalculator,
        next: &mut Next<'_>,
    ) -> Result<(), Stop> {
        let Self { projection, column_count, may_fail, queries, remaining } = self;
        let (mut rows, mut sets) = (batch.clone(), sets.to_vec());
        calculator.apply(SetOperation::Intersect, &mut sets, &vec![*queries; batch.row_count()])?;
        drop_unwanted(&mut rows, &mut sets);
        let mut pass_on = |mut projected: Batch, sets: Vec<SetNumber>| {
            let set = Arc::new(set_column(&sets));
            match projected.column_count() == *column_count {
                true => projected.push(set),
                false => projected.replace(*column_count, set),
            }
            next(projected)
        };
        if *may_fail {
            let mut step = |piece: &mut Batch, _: &mut Vec<SetNumber>, _: &mut SetCalculator| {
                piece.set_divisible(projection.is_foreign());
                let projected = projection.project(piece);
                piece.set_divisible(false);
                projected
            };
            return remaining.apply(&rows, &sets, calculator, &mut step, &mut pass_on);
        }
        remaining.narrow(&mut rows, &mut sets, calculator)?;
        if sets.is_empty() {
            return Ok(());
        }
        projection.project(&mut rows)?;
        pass_on(rows, sets)
    }
}

impl fmt::Display for ProjectionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text: Vec<String> = self.variants[0].0.iter().map(ToString::to_string).collect();
        write!(f, "SharedProject: {}", text.join(", "))?;
        if self.variants.len() > 1 { write!(f, " in {} variants", self.variants.len()) } else { Ok(()) }
    }
}

impl fmt::Debug for ProjectionStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
