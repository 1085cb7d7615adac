//! One worker's evaluator of the conditions of many queries.

use std::collections::HashMap;
use std::sync::Arc;

use super::distinct_conditions::DistinctEvaluators;
use super::{QueryConditions, QueryPatterns};
use crate::expression::Evaluator;
use crate::query_sets::index::indexed_predicates::{DictionarySets, IndexedPredicates};
use crate::query_sets::index::like_index::LikeMatcher;
use crate::query_sets::query_bitmap::words_for;
use crate::query_sets::set_calculator::{SetCalculator, SetOperation};
use crate::values::vector::Values;
use crate::{Batch, ExecError, MemoryBudget, SetNumber, Vector};

/// A condition, with its caches between batches.
#[derive(Debug)]
pub(crate) enum ConditionEvaluator {
    And(Vec<ConditionEvaluator>),
    Or(Vec<ConditionEvaluator>),
    Common(Evaluator),
    Indexed { value: Evaluator, predicates: Arc<IndexedPredicates>, remembered: DictionarySets },
    Like { text: Evaluator, patterns: PatternSets },
    Distinct(DistinctEvaluators),
}

/// Maps the patterns that a text matches to the queries for which the condition is true.
#[derive(Debug)]
pub(crate) struct PatternSets {
    patterns: Arc<QueryPatterns>,
    matcher: LikeMatcher,
    matched: Vec<u64>,
    /// The set of each combination of patterns. Few combinations occur.
    known: HashMap<Box<[u64]>, SetNumber>,
}

impl ConditionEvaluator {
    /// Prepares the evaluation of conditions, whose long values are counted under `budget`.
    pub(crate) fn new(conditions: &QueryConditions, budget: &Arc<dyn MemoryBudget>) -> Self {
        let all = |parts: &[QueryConditions]| parts.iter().map(|part| Self::new(part, budget)).collect();
        match conditions {
            QueryConditions::And(parts) => Self::And(all(parts)),
            QueryConditions::Or(parts) => Self::Or(all(parts)),
            QueryConditions::Common(condition) => Self::Common(Evaluator::new(condition.clone(), budget)),
            QueryConditions::Indexed { value, predicates } => Self::Indexed {
                value: Evaluator::new(value.clone(), budget),
                predicates: predicates.clone(),
                remembered: DictionarySets::default(),
            },
            QueryConditions::Like { text, patterns } => {
                Self::Like { text: Evaluator::new(text.clone(), budget), patterns: PatternSets::new(patterns.clone()) }
            }
            QueryConditions::Distinct(conditions) => Self::Distinct(conditions.evaluators(budget)),
        }
    }

    /// For each row, a set of queries for which the condition is true. It includes at least those of the row's set in
    /// `wanted`.
    ///
    /// # Errors
    /// When the evaluation fails, or memory for the sets is refused.
    pub(crate) fn sets(
        &mut self,
        batch: &mut Batch,
        wanted: &[SetNumber],
        calculator: &mut SetCalculator,
    ) -> Result<Vec<SetNumber>, ExecError> {
        match self {
            Self::And(parts) => {
                let mut sets = wanted.to_vec();
                for part in parts {
                    let more = part.sets(batch, &sets, calculator)?;
                    calculator.apply(SetOperation::Intersect, &mut sets, &more)?;
                }
                Ok(sets)
            }
            Self::Or(parts) => {
                let mut sets = vec![SetNumber::EMPTY; wanted.len()];
                for part in parts {
                    let more = part.sets(batch, wanted, calculator)?;
                    calculator.apply(SetOperation::Unite, &mut sets, &more)?;
                }
                Ok(sets)
            }
            Self::Common(condition) => {
                let set = |is_true: bool| if is_true { SetNumber::ALL } else { SetNumber::EMPTY };
                Ok(condition.select(batch)?.into_iter().map(set).collect())
            }
            Self::Indexed { value, predicates, remembered } => {
                Ok(predicates.sets_of(&*value.evaluate(batch)?, remembered))
            }
            Self::Like { text, patterns } => patterns.sets(&*text.evaluate(batch)?, calculator),
            Self::Distinct(conditions) => conditions.sets(batch, wanted, calculator.store()),
        }
    }
}

impl PatternSets {
    fn new(patterns: Arc<QueryPatterns>) -> Self {
        let matched = vec![0; words_for(patterns.index.pattern_count())];
        Self { matcher: patterns.index.matcher(), patterns, matched, known: HashMap::new() }
    }

    fn sets(&mut self, texts: &Vector, calculator: &mut SetCalculator) -> Result<Vec<SetNumber>, ExecError> {
        let nothing = if self.patterns.negated { self.patterns.all } else { SetNumber::EMPTY };
        let mut sets = Vec::with_capacity(texts.len());
        for row in 0..texts.len() {
            sets.push(match texts.values() {
                _ if !texts.is_valid(row) => SetNumber::EMPTY,
                Values::Bytes(_) | Values::Coded(_) => {
                    if self.matcher.matches(texts.values().string(row), &mut self.matched) {
                        self.set_of_matched(calculator)?
                    } else {
                        nothing
                    }
                }
                other => panic!("LIKE of {other:?}"),
            });
        }
        Ok(sets)
    }

    fn set_of_matched(&mut self, calculator: &mut SetCalculator) -> Result<SetNumber, ExecError> {
        if let Some(set) = self.known.get(self.matched.as_slice()) {
            return Ok(*set);
        }
        // Only the final set is interned, because the pass would keep intermediate sets.
        let store = calculator.store();
        let mut words = vec![0; words_for(store.query_count())];
        for pattern in (0..self.patterns.queries.len()).filter(|p| self.matched[p / 64] >> (p % 64) & 1 == 1) {
            let queries = store.words(self.patterns.queries[pattern]);
            words.iter_mut().zip(queries.iter()).for_each(|(word, queries)| *word |= queries);
        }
        let mut set = store.intern(&words)?;
        if self.patterns.negated {
            set = calculator.subtract(self.patterns.all, set)?;
        }
        self.known.insert(self.matched.as_slice().into(), set);
        Ok(set)
    }
}
