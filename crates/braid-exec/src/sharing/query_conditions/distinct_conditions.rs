//! Conditions that no index covers: each distinct one is evaluated for the rows that its queries still want.

use std::collections::HashMap;
use std::hash::Hash;

use braid_storage::scalar::ScalarKey;

use super::{ParameterRow, PassParameters};
use crate::expression::Evaluator;
use crate::keys::multiplicative_hasher::NumberMap;
use crate::query_sets::query_bitmap::words_for;
use crate::{Batch, ExecError, Expression, QueryBitmap, QueryNumber, SetNumber, SetStore};

/// Conditions and the queries of each.
#[derive(Clone, Debug)]
pub(crate) struct DistinctConditions {
    conditions: Vec<(Expression, SetNumber)>,
}

/// One worker's evaluation of them.
#[derive(Debug)]
pub(crate) struct DistinctEvaluators {
    conditions: Vec<ConditionOfQueries>,
    /// By row, the queries for which their condition is true, while a batch is evaluated.
    words: Vec<u64>,
}

/// A condition, whose it is, and what sets were found to have one of these queries.
#[derive(Debug)]
struct ConditionOfQueries {
    evaluator: Evaluator,
    queries: SetNumber,
    concerned: NumberMap<bool>,
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
        let prepared = |(condition, queries): &(Expression, SetNumber)| ConditionOfQueries {
            evaluator: Evaluator::new(condition.clone()),
            queries: *queries,
            concerned: NumberMap::default(),
        };
        DistinctEvaluators { conditions: self.conditions.iter().map(prepared).collect(), words: Vec::new() }
    }
}

impl DistinctEvaluators {
    /// For each row the queries of `wanted`, its set, for which their condition is true. Sets on the way to these are not
    /// numbered: the pass would keep them.
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
                condition.evaluator.select(batch)?
            } else {
                let mut some = batch.clone();
                some.take(&rows);
                condition.evaluator.select(&mut some)?
            };
            let queries = store.words(condition.queries);
            for (row, _) in rows.iter().zip(is_true).filter(|(_, is_true)| *is_true) {
                let of_row = self.words[*row as usize * width..][..width].iter_mut();
                of_row.zip(queries.iter()).for_each(|(word, queries)| *word |= queries);
            }
        }
        self.words.chunks_exact(width).map(|words| store.intern(words)).collect()
    }
}

impl ConditionOfQueries {
    /// The rows whose sets have one of the condition's queries.
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
