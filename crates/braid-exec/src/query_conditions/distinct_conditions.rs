//! Conditions that no index covers: each distinct one is evaluated for the rows that its queries still want.

use std::collections::HashMap;

use super::{ParameterRow, PassParameters};
use crate::expression::Evaluator;
use crate::set_calculator::SetCalculator;
use crate::{Batch, ExecError, Expression, QueryBitmap, QueryNumber, SetNumber};

/// Conditions and the queries of each.
#[derive(Clone, Debug)]
pub(crate) struct DistinctConditions {
    conditions: Vec<(Expression, SetNumber)>,
}

/// One worker's evaluation of them.
#[derive(Debug)]
pub(crate) struct DistinctEvaluators {
    evaluators: Vec<(Evaluator, SetNumber)>,
}

/// The queries by the values of the parameters that some expressions read: queries with equal ones need the expressions
/// once. Each with any of its queries' rows.
pub(crate) fn queries_by_parameters<'a>(
    expressions: &[&Expression],
    rows: &'a [ParameterRow],
) -> Vec<(&'a ParameterRow, QueryBitmap)> {
    let mut parameters = Vec::new();
    expressions.iter().for_each(|expression| expression.parameters(&mut parameters));
    parameters.sort_unstable();
    parameters.dedup();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut found: Vec<(&ParameterRow, QueryBitmap)> = Vec::new();
    for (query, row) in rows.iter().enumerate() {
        // Text tells all values apart, zeros of either sign too.
        let key = format!("{:?}", parameters.iter().map(|parameter| &row[*parameter]).collect::<Vec<_>>());
        let at = *numbers.entry(key).or_insert(found.len());
        if at == found.len() {
            found.push((row, QueryBitmap::none(rows.len())));
        }
        found[at].1.insert(QueryNumber::at(query));
    }
    found
}

impl DistinctConditions {
    /// The conditions that a condition with parameters is for the queries.
    ///
    /// # Errors
    /// When there is not enough memory for the sets.
    pub(crate) fn new(condition: &Expression, parameters: PassParameters<'_>) -> Result<Self, ExecError> {
        let bound = |(row, queries): (&ParameterRow, QueryBitmap)| {
            let mut bound = condition.clone();
            bound.bind_parameters(row);
            Ok((bound, parameters.store.number_of(&queries)?))
        };
        let by_parameters = queries_by_parameters(&[condition], parameters.rows);
        Ok(Self { conditions: by_parameters.into_iter().map(bound).collect::<Result<_, ExecError>>()? })
    }

    /// Appends the columns that they read.
    pub(crate) fn columns(&self, columns: &mut Vec<usize>) {
        self.conditions.iter().for_each(|(condition, _)| condition.columns(columns));
    }

    pub(crate) fn evaluators(&self) -> DistinctEvaluators {
        let evaluator = |(condition, queries): &(Expression, SetNumber)| (Evaluator::new(condition.clone()), *queries);
        DistinctEvaluators { evaluators: self.conditions.iter().map(evaluator).collect() }
    }
}

impl DistinctEvaluators {
    /// For each row the queries of `wanted`, its set, for which their condition is true.
    pub(crate) fn sets(
        &mut self,
        batch: &mut Batch,
        wanted: &[SetNumber],
        calculator: &mut SetCalculator,
    ) -> Result<Vec<SetNumber>, ExecError> {
        let mut sets = vec![SetNumber::NOBODY; wanted.len()];
        for (evaluator, queries) in &mut self.evaluators {
            let mut rows = Vec::with_capacity(wanted.len());
            for (row, set) in (0u32..).zip(wanted) {
                if calculator.intersect(*set, *queries)? != SetNumber::NOBODY {
                    rows.push(row);
                }
            }
            if rows.is_empty() {
                continue;
            }
            let is_true = if rows.len() == wanted.len() {
                evaluator.select(batch)?
            } else {
                let mut some = batch.clone();
                some.take(&rows);
                evaluator.select(&mut some)?
            };
            for (row, _) in rows.iter().zip(is_true).filter(|(_, is_true)| *is_true) {
                let set = &mut sets[*row as usize];
                *set = calculator.unite(*set, *queries)?;
            }
        }
        Ok(sets)
    }
}
