//! A condition with parameters, evaluated for many queries at once: from a row to the set of queries for which it is true.
//!
//! Each query has a parameter row. Parts without parameters are evaluated once for all queries. A comparison of a value with
//! parameters becomes a [`PredicateIndex`] over the constants of all queries, and LIKE with patterns becomes a
//! [`LikeIndex`]. Other parts are evaluated once for each distinct combination of the parameters that they read. AND and OR
//! are intersections and unions of sets. NOT is pushed down to its operands, because a set holds exactly the queries for
//! which a condition is true and does not distinguish null from false.
//!
//! If indexes cover the condition, the time for a row does not depend on the number of queries (ClockScan's query-data join:
//! SharedDB, VLDB 2012, section 4.4), also for disjunctions.
//!
//! An evaluation may fail although the query alone would not have made it. The queries of the failing row then run alone
//! ([`RemainingQueries`](crate::sharing::remaining_queries::RemainingQueries)).

mod comparisons;
mod condition_evaluator;
mod distinct_conditions;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use braid_storage::Scalar;

use comparisons::{Comparisons, Junction, common_comparisons, comparisons};
pub(crate) use condition_evaluator::ConditionEvaluator;
use distinct_conditions::DistinctConditions;
pub(crate) use distinct_conditions::{distinct_values, queries_by_parameters};

use crate::expression::Evaluator;
use crate::query_sets::index::indexed_predicates::IndexedPredicates;
use crate::query_sets::index::like_index::LikeIndex;
use crate::{Batch, ExecError, Expression, MemoryBudget, QueryBitmap, QueryNumber, Reservation, SetNumber, SetStore};

/// The constants of one query, by parameter number.
pub type ParameterRow = Vec<Option<Scalar>>;

/// The parameters of all queries of a pass, and their sets.
#[derive(Clone, Copy)]
pub(crate) struct PassParameters<'a> {
    pub(crate) rows: &'a [ParameterRow],
    pub(crate) store: &'a Arc<SetStore>,
}

/// A condition of many queries.
#[derive(Debug)]
pub(crate) enum QueryConditions {
    /// All conditions must be true.
    And(Vec<QueryConditions>),
    /// At least one condition must be true.
    Or(Vec<QueryConditions>),
    /// True for all queries, or for none.
    Common(Expression),
    /// Predicates with the queries' constants on a value.
    Indexed { value: Expression, predicates: Arc<IndexedPredicates> },
    /// The queries' patterns on a text.
    Like { text: Expression, patterns: Arc<QueryPatterns> },
    /// Distinct conditions, each of some queries.
    Distinct(DistinctConditions),
}

/// LIKE, or NOT LIKE, with a pattern of each query.
#[derive(Debug)]
pub(crate) struct QueryPatterns {
    pub(crate) index: Arc<LikeIndex>,
    /// The queries of each pattern.
    pub(crate) queries: Vec<SetNumber>,
    /// All queries with a pattern that is not null.
    pub(crate) all: SetNumber,
    /// NOT LIKE.
    pub(crate) negated: bool,
    _reservation: Reservation,
}

/// A condition during preparation.
enum Draft {
    Comparisons(Comparisons),
    Finished(QueryConditions),
}

/// Whether a condition is negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Plain,
    Negated,
}

impl Sign {
    fn negated(self) -> Self {
        match self {
            Self::Plain => Self::Negated,
            Self::Negated => Self::Plain,
        }
    }
}

impl QueryConditions {
    /// Prepares a condition.
    ///
    /// # Errors
    /// When memory for the sets is refused, or the evaluation of a constant fails.
    pub(crate) fn new(condition: &Expression, parameters: PassParameters<'_>) -> Result<Self, ExecError> {
        draft(condition, Sign::Plain, parameters)?.finish(parameters.store)
    }

    /// The conjuncts, in ascending order of cost.
    pub(crate) fn into_conjuncts(self) -> Vec<Self> {
        let mut conjuncts = match self {
            Self::And(parts) => parts.into_iter().flat_map(Self::into_conjuncts).collect(),
            other => vec![other],
        };
        conjuncts.sort_by_key(Self::rank);
        conjuncts
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Indexed { .. } => 0,
            Self::Common(_) => 1,
            Self::Or(_) | Self::And(_) => 2,
            Self::Like { .. } => 3,
            Self::Distinct(_) => 4,
        }
    }

    /// Whether the evaluation can fail for some rows.
    pub(crate) fn may_fail(&self) -> bool {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::may_fail),
            Self::Common(value) | Self::Indexed { value, .. } | Self::Like { text: value, .. } => value.may_fail(),
            Self::Distinct(conditions) => conditions.may_fail(),
        }
    }

    /// Appends the columns it reads.
    pub(crate) fn columns(&self, columns: &mut Vec<usize>) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.columns(columns)),
            Self::Common(value) | Self::Indexed { value, .. } | Self::Like { text: value, .. } => {
                value.columns(columns)
            }
            Self::Distinct(conditions) => conditions.columns(columns),
        }
    }
}

/// Whether an expression depends on the query.
pub(crate) fn has_parameters(expression: &Expression) -> bool {
    let mut parameters = Vec::new();
    expression.parameters(&mut parameters);
    !parameters.is_empty()
}

fn draft(condition: &Expression, sign: Sign, parameters: PassParameters<'_>) -> Result<Draft, ExecError> {
    if !has_parameters(condition) {
        return Ok(Draft::Finished(QueryConditions::Common(with_sign(condition.clone(), sign))));
    }
    match condition {
        Expression::Not(part) => draft(part, sign.negated(), parameters),
        Expression::And(parts) => junction(parts, Junction::And.with(sign), sign, parameters),
        Expression::Or(parts) => junction(parts, Junction::Or.with(sign), sign, parameters),
        Expression::Compare { comparison, left, right } => {
            let comparison = if sign == Sign::Negated { comparison.negated() } else { *comparison };
            let comparisons = match (is_constant(left), is_constant(right)) {
                (false, true) => comparisons(comparison, left, right, parameters)?,
                (true, false) => comparisons(comparison.mirrored(), right, left, parameters)?,
                _ => None,
            };
            comparisons.map_or_else(|| distinct(condition, sign, parameters), |c| Ok(Draft::Comparisons(c)))
        }
        Expression::Like { value, pattern } if !has_parameters(value) => like(value, pattern, sign, parameters),
        _ => distinct(condition, sign, parameters),
    }
}

fn with_sign(condition: Expression, sign: Sign) -> Expression {
    match sign {
        Sign::Plain => condition,
        Sign::Negated => Expression::Not(Box::new(condition)),
    }
}

/// Whether it is independent of the row. It may depend on the query.
fn is_constant(expression: &Expression) -> bool {
    let mut columns = Vec::new();
    expression.columns(&mut columns);
    columns.is_empty()
}

fn junction(
    parts: &[Expression],
    junction: Junction,
    sign: Sign,
    parameters: PassParameters<'_>,
) -> Result<Draft, ExecError> {
    // Constants join a list that has parameters.
    let is_in_list = |part: &&Expression| junction == Junction::Or && !has_parameters(part);
    let mut drafts: Vec<Draft> = Vec::with_capacity(parts.len());
    for part in parts.iter().filter(|part| !is_in_list(part)) {
        match draft(part, sign, parameters)? {
            Draft::Comparisons(added) => add_comparisons(&mut drafts, added, junction),
            finished => drafts.push(finished),
        }
    }
    for part in parts.iter().filter(is_in_list) {
        let listed = common_comparisons(&with_sign(part.clone(), sign), parameters);
        if listed.and_then(|listed| united(&mut drafts, listed, junction)).is_none() {
            drafts.push(draft(part, sign, parameters)?);
        }
    }
    if drafts.len() == 1 {
        return Ok(drafts.remove(0));
    }
    let parts = drafts.into_iter().map(|draft| draft.finish(parameters.store)).collect::<Result<_, _>>()?;
    Ok(Draft::Finished(match junction {
        Junction::And => QueryConditions::And(parts),
        Junction::Or => QueryConditions::Or(parts),
    }))
}

fn add_comparisons(drafts: &mut Vec<Draft>, added: Comparisons, junction: Junction) {
    match same_index(drafts, &added, junction) {
        Some(other) => other.take(added, junction),
        None => drafts.push(Draft::Comparisons(added)),
    }
}

/// Adds the comparisons to those of the same index; `None` if there are none.
fn united(drafts: &mut [Draft], added: Comparisons, junction: Junction) -> Option<()> {
    same_index(drafts, &added, junction).map(|other| other.take(added, junction))
}

/// The comparisons whose index can also evaluate the others.
fn same_index<'a>(drafts: &'a mut [Draft], added: &Comparisons, junction: Junction) -> Option<&'a mut Comparisons> {
    drafts.iter_mut().find_map(|draft| match draft {
        Draft::Comparisons(other) if other.can_take(added, junction) => Some(other),
        _ => None,
    })
}

fn distinct(condition: &Expression, sign: Sign, parameters: PassParameters<'_>) -> Result<Draft, ExecError> {
    let conditions = DistinctConditions::new(&with_sign(condition.clone(), sign), parameters)?;
    Ok(Draft::Finished(QueryConditions::Distinct(conditions)))
}

/// An expression without columns, for one query.
fn constant_of(
    expression: &Expression,
    row: &ParameterRow,
    budget: &Arc<dyn MemoryBudget>,
) -> Result<Option<Scalar>, ExecError> {
    let mut bound = expression.clone();
    bound.bind_parameters(row);
    let value = Evaluator::new(bound, budget).evaluate(&mut Batch::new(1))?;
    Ok(value.value(0))
}

fn like(
    text: &Expression,
    pattern: &Expression,
    sign: Sign,
    parameters: PassParameters<'_>,
) -> Result<Draft, ExecError> {
    let mut asked: Vec<(QueryNumber, Vec<u8>)> = Vec::new();
    for (query, row) in parameters.rows.iter().enumerate() {
        match constant_of(pattern, row, parameters.store.budget())? {
            Some(Scalar::Bytes(pattern)) => asked.push((QueryNumber::at(query), pattern)),
            Some(other) => panic!("{other:?} as a pattern of LIKE"),
            None => {}
        }
    }
    let (firsts, numbers) = distinct_values(asked.iter().map(|(_, pattern)| pattern));
    let mut queries = vec![QueryBitmap::none(parameters.rows.len()); firsts.len()];
    let mut all = QueryBitmap::none(parameters.rows.len());
    for ((query, _), number) in asked.iter().zip(numbers) {
        queries[number].insert(*query);
        all.insert(*query);
    }
    let queries = queries.iter().map(|queries| parameters.store.number_of(queries)).collect::<Result<_, _>>()?;
    let patterns: Vec<&[u8]> = firsts.into_iter().map(|first| asked[first].1.as_slice()).collect();
    let index = Arc::new(LikeIndex::new(&patterns));
    let mut reservation = Reservation::new(parameters.store.budget().clone(), "LIKE index");
    reservation.resize(index.bytes())?;
    let all = parameters.store.number_of(&all)?;
    let patterns = QueryPatterns { index, queries, all, negated: sign == Sign::Negated, _reservation: reservation };
    Ok(Draft::Finished(QueryConditions::Like { text: text.clone(), patterns: Arc::new(patterns) }))
}

impl Draft {
    fn finish(self, store: &Arc<SetStore>) -> Result<QueryConditions, ExecError> {
        match self {
            Self::Finished(conditions) => Ok(conditions),
            Self::Comparisons(Comparisons { value, predicates }) => {
                Ok(QueryConditions::Indexed { value, predicates: IndexedPredicates::new(&predicates, store)? })
            }
        }
    }
}
