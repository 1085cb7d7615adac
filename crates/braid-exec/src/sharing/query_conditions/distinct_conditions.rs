//! Conditions that no index covers. Each distinct condition is evaluated for the rows that belong to one of its queries.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use braid_storage::scalar::ScalarKey;

use super::{ParameterRow, PassParameters};
use crate::expression::Evaluator;
use crate::keys::number_map::NumberMap;
use crate::query_sets::query_bitmap::words_for;
use crate::{Batch, ExecError, Expression, MemoryBudget, QueryBitmap, QueryNumber, SetNumber, SetStore};

/// Distinct conditions, with the queries of each.
#[derive(Clone, Debug)]
pub(crate) struct DistinctConditions {
    conditions: Vec<(Expression, SetNumber)>,
}

/// One worker's evaluators of these conditions.
#[derive(Debug)]
pub(crate) struct DistinctEvaluators {
    conditions: Vec<ConditionOfQueries>,
    /// For each row of the current batch, the queries whose condition is true.
    words: Vec<u64>,
}

/// A condition, its queries, and a cache of whether a set contains one of them.
#[derive(Debug)]
struct ConditionOfQueries {
    evaluator: Evaluator,
    queries: SetNumber,
    concerned: NumberMap<bool>,
}

/// Groups the queries by the values of the parameters that some expressions read. Queries with equal values evaluate the
/// expressions once. Returns each group with the parameter row of one of its queries.
pub(crate) fn queries_by_parameters<'a>(
    expressions: &[&Expression],
    rows: &'a [ParameterRow],
) -> Vec<(&'a ParameterRow, QueryBitmap)> {
    let mut parameters = Vec::new();
    expressions.iter().for_each(|expression| expression.parameters(&mut parameters));
    parameters.sort_unstable();
    parameters.dedup();
    let key = |row: &'a ParameterRow| parameters.iter().map(|at| ScalarKey::of(&row[*at])).collect::<Vec<_>>();
    let (firsts, numbers) = distinct_values(rows.iter().map(key));
    let mut found: Vec<(&ParameterRow, QueryBitmap)> =
        firsts.into_iter().map(|first| (&rows[first], QueryBitmap::none(rows.len()))).collect();
    numbers.into_iter().enumerate().for_each(|(query, number)| found[number].1.insert(QueryNumber::at(query)));
    found
}

/// Where each distinct value comes first, and for each value its number among the distinct ones.
pub(crate) fn distinct_values<T: Eq + Hash>(values: impl Iterator<Item = T>) -> (Vec<usize>, Vec<usize>) {
    let mut known: HashMap<T, usize> = HashMap::new();
    let mut firsts = Vec::new();
    let number = |(at, value)| {
        *known.entry(value).or_insert_with(|| {
            firsts.push(at);
            firsts.len() - 1
        })
    };
    let numbers = values.enumerate().map(number).collect();
    (firsts, numbers)
}

impl DistinctConditions {
    /// The distinct conditions that a condition with parameters makes for the queries.
    ///
    /// # Errors
    /// When memory for the sets is refused.
    pub(crate) fn new(condition: &Expression, parameters: PassParameters<'_>) -> Result<Self, ExecError> {
        let bound = |(row, queries): (&ParameterRow, QueryBitmap)| {
            let mut bound = condition.clone();
            bound.bind_parameters(row);
            Ok((bound, parameters.store.number_of(&queries)?))
        };
        let by_parameters = queries_by_parameters(&[condition], parameters.rows);
        Ok(Self { conditions: by_parameters.into_iter().map(bound).collect::<Result<_, ExecError>>()? })
    }

    /// Whether the evaluation of a condition can fail.
    pub(crate) fn may_fail(&self) -> bool {
        self.conditions.iter().any(|(condition, _)| condition.may_fail())
    }

    /// Appends the columns that they read.
    pub(crate) fn columns(&self, columns: &mut Vec<usize>) {
        self.conditions.iter().for_each(|(condition, _)| condition.columns(columns));
    }

    pub(crate) fn evaluators(&self, budget: &Arc<dyn MemoryBudget>) -> DistinctEvaluators {
        let prepared = |(condition, queries): &(Expression, SetNumber)| ConditionOfQueries {
            evaluator: Evaluator::new(condition.clone(), budget),
            queries: *queries,
            concerned: NumberMap::default(),
        };
        DistinctEvaluators { conditions: self.conditions.iter().map(prepared).collect(), words: Vec::new() }
    }
}

impl DistinctEvaluators {
    /// For each row, the queries of its set in `wanted` whose condition is true. If there is one row, a condition that fails
    /// ends its queries, and is not true. Intermediate sets are not interned, because
    /// the pass would keep them.
    pub(crate) fn sets(
        &mut self,
        batch: &mut Batch,
        wanted: &[SetNumber],
        store: &SetStore,
    ) -> Result<Vec<SetNumber>, ExecError> {
        let width = words_for(store.query_count());
        self.words.clear();
        self.words.resize(wanted.len() * width, 0);
        for condition in &mut self.conditions {
            let rows = condition.concerned_rows(wanted, store);
            if rows.is_empty() {
                continue;
            }
            let is_true = if rows.len() == wanted.len() {
                condition.evaluator.select(batch)
            } else {
                let mut some = batch.clone();
                some.take(&rows);
                condition.evaluator.select(&mut some)
            };
            let queries = store.words(condition.queries);
            let is_true = match is_true {
                // Only the queries with this condition fail.
                Err(error) if wanted.len() == 1 && error.is_of_evaluation() => {
                    store.gone().fail(&common(&queries, &store.words(wanted[0])), error);
                    continue;
                }
                is_true => is_true?,
            };
            for (row, _) in rows.iter().zip(is_true).filter(|(_, is_true)| *is_true) {
                let of_row = self.words[*row as usize * width..][..width].iter_mut();
                of_row.zip(queries.iter()).for_each(|(word, queries)| *word |= queries);
            }
        }
        self.words.chunks_exact(width).map(|words| store.intern(words)).collect()
    }
}

/// The queries that are in both sets.
fn common(a: &[u64], b: &[u64]) -> Vec<u64> {
    a.iter().zip(b).map(|(a, b)| a & b).collect()
}

impl ConditionOfQueries {
    /// The rows whose sets contain one of the condition's queries.
    fn concerned_rows(&mut self, wanted: &[SetNumber], store: &SetStore) -> Vec<u32> {
        let Self { queries, concerned, .. } = self;
        let mut is_concerned = |set: &SetNumber| {
            *concerned.entry(set.index() as u64).or_insert_with(|| {
                let (set, queries) = (store.words(*set), store.words(*queries));
                set.iter().zip(queries.iter()).any(|(a, b)| a & b != 0)
            })
        };
        (0u32..).zip(wanted).filter(|(_, set)| is_concerned(set)).map(|(row, _)| row).collect()
    }
}
