//! Comparisons of a value with a constant of each query, before they become an index.
//!
//! Comparisons of one column are combined: all of a conjunction, and lists of alternatives of a disjunction.

use std::ops::Bound;

use braid_storage::{ColumnPredicate, Scalar};

use super::{PassParameters, Sign, constant_of, has_parameters};
use crate::expression::Comparison;
use crate::{ExecError, Expression, QueryNumber};

/// Comparisons before indexing. Comparisons of one column are combined into one index.
pub(super) struct Comparisons {
    pub(super) value: Expression,
    pub(super) predicates: Vec<(QueryNumber, ColumnPredicate)>,
}

/// What connects the parts of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Junction {
    And,
    Or,
}

impl Junction {
    /// What connects the parts after the negation is pushed down to them.
    pub(super) fn with(self, sign: Sign) -> Self {
        match (self, sign) {
            (junction, Sign::Plain) => junction,
            (Self::And, Sign::Negated) => Self::Or,
            (Self::Or, Sign::Negated) => Self::And,
        }
    }
}

/// Comparisons of a value with a constant of each query; `None` if the constants have no common order.
pub(super) fn comparisons(
    comparison: Comparison,
    value: &Expression,
    constant: &Expression,
    parameters: PassParameters<'_>,
) -> Result<Option<Comparisons>, ExecError> {
    if has_parameters(value) {
        return Ok(None);
    }
    let constants: Vec<Option<Scalar>> = parameters
        .rows
        .iter()
        .map(|row| constant_of(constant, row, parameters.store.budget()))
        .collect::<Result<_, _>>()?;
    if !have_an_order(&constants) {
        return Ok(None);
    }
    let predicate = |(query, constant)| (QueryNumber::at(query), comparison.with(constant));
    let predicates = constants.into_iter().enumerate().map(predicate).collect();
    Ok(Some(Comparisons { value: value.clone(), predicates }))
}

/// The comparisons of a condition on one column that is the same for all queries.
pub(super) fn common_comparisons(condition: &Expression, parameters: PassParameters<'_>) -> Option<Comparisons> {
    let (column, predicate) = condition.as_column_predicate()?;
    let predicates = (0..parameters.rows.len()).map(|query| (QueryNumber::at(query), predicate.clone()));
    let comparisons = Comparisons { value: Expression::Column(column), predicates: predicates.collect() };
    comparisons.same_kind(&comparisons).then_some(comparisons)
}

fn have_an_order(constants: &[Option<Scalar>]) -> bool {
    let mut constants = constants.iter().flatten();
    let Some(first) = constants.next() else { return true };
    // Numbers beyond 64 bits are rare, and are compared one by one.
    let has_order = |constant: &Scalar| !matches!(constant, Scalar::Interval(..) | Scalar::Int128(_));
    has_order(first) && constants.all(|constant| has_order(constant) && first.compare(constant).is_some())
}

impl Comparisons {
    /// Whether one index can evaluate both: all comparisons must hold, or they are lists of alternatives.
    pub(super) fn can_take(&self, other: &Self, junction: Junction) -> bool {
        let same_column = self.value.as_column().is_some() && self.value.as_column() == other.value.as_column();
        let are_lists = |predicates: &[(QueryNumber, ColumnPredicate)]| {
            let mut lists = predicates.iter().map(|(_, predicate)| matches!(predicate, ColumnPredicate::In(_)));
            lists.all(|is_list| is_list)
        };
        // In a conjunction a query has several predicates, which are no list of alternatives.
        let one_each = self.predicates.len() == other.predicates.len() && self.is_one_each() && other.is_one_each();
        let may_unite = one_each && are_lists(&self.predicates) && are_lists(&other.predicates);
        same_column && self.same_kind(other) && (junction == Junction::And || may_unite)
    }

    fn is_one_each(&self) -> bool {
        self.predicates.is_sorted_by(|a, b| a.0 < b.0)
    }

    fn same_kind(&self, other: &Self) -> bool {
        let constants: Vec<Option<Scalar>> = [self, other]
            .iter()
            .flat_map(|c| c.predicates.iter().map(|(_, predicate)| some_constant(predicate)))
            .collect();
        have_an_order(&constants)
    }

    /// Adds the other comparisons, so that one index evaluates both.
    pub(super) fn take(&mut self, other: Self, junction: Junction) {
        if junction == Junction::And {
            return self.predicates.extend(other.predicates);
        }
        for ((query, predicate), (other_query, other)) in self.predicates.iter_mut().zip(other.predicates) {
            assert_eq!(*query, other_query, "each comparison has a predicate for each query, in order");
            if let (ColumnPredicate::In(values), ColumnPredicate::In(more)) = (predicate, other) {
                values.extend(more);
                values.sort_by(|a, b| a.compare(b).expect("constants of one index have an order"));
                values.dedup();
            }
        }
    }
}

/// A constant of a predicate. All its constants have one kind.
fn some_constant(predicate: &ColumnPredicate) -> Option<Scalar> {
    match predicate {
        ColumnPredicate::Range { low, high } => [low, high].into_iter().find_map(|bound| match bound {
            Bound::Unbounded => None,
            Bound::Included(value) | Bound::Excluded(value) => Some(value.clone()),
        }),
        ColumnPredicate::NotEqual(value) => Some(value.clone()),
        ColumnPredicate::In(values) | ColumnPredicate::NotIn(values) => values.first().cloned(),
        ColumnPredicate::IsNull | ColumnPredicate::IsNotNull => None,
    }
}
