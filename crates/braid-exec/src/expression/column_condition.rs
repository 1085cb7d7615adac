//! Conditions on one column with constants, as predicates that scans and indexes evaluate.
//!
//! A translation is exact or absent: the predicate selects precisely the rows for which the condition is *true*. A negation
//! selects the rows for which the operand is *false*, which excludes nulls; the predicates exclude them as well.

use std::ops::Bound;

use braid_storage::{ColumnPredicate, Scalar};

use crate::Expression;
use crate::expression::Comparison;
use crate::expression::compilation::constant;

impl Comparison {
    /// The values for which a comparison with this constant is true. Nothing compares with null.
    pub(crate) fn with(self, constant: Option<Scalar>) -> ColumnPredicate {
        let Some(constant) = constant else { return ColumnPredicate::In(Vec::new()) };
        let (low, high) = match self {
            Self::Equal => return ColumnPredicate::In(vec![constant]),
            Self::NotEqual => return ColumnPredicate::NotEqual(constant),
            Self::Less => (Bound::Unbounded, Bound::Excluded(constant)),
            Self::LessOrEqual => (Bound::Unbounded, Bound::Included(constant)),
            Self::Greater => (Bound::Excluded(constant), Bound::Unbounded),
            Self::GreaterOrEqual => (Bound::Included(constant), Bound::Unbounded),
        };
        ColumnPredicate::Range { low, high }
    }
}

impl Expression {
    /// The column and the predicate of a condition on one column; `None` if it is no such condition. Constants have the type
    /// that the expression gives them, which may be narrower or wider than the column's.
    pub(crate) fn as_column_predicate(&self) -> Option<(usize, ColumnPredicate)> {
        column_predicate(self, true)
    }

    /// The value, if it is the same for all rows, queries and evaluations, and can be computed.
    pub(crate) fn as_constant(&self) -> Option<Option<Scalar>> {
        let depends = |part: &Self| matches!(part, Self::Column(_) | Self::Parameter(_) | Self::SubqueryValue(_));
        (!self.any(&depends)).then(|| constant(self)).flatten()
    }

    /// Whether a part of it, or all of it, is one of these.
    pub(crate) fn any(&self, is_wanted: &impl Fn(&Self) -> bool) -> bool {
        is_wanted(self) || self.children().into_iter().any(|child| child.any(is_wanted))
    }

    /// The parts of a conjunction, also of nested ones.
    pub(crate) fn conjuncts(&self) -> Vec<Self> {
        match self {
            Self::And(parts) => parts.iter().flat_map(Self::conjuncts).collect(),
            other => vec![other.clone()],
        }
    }

    /// The conjunction of some conditions; `None` without any.
    pub(crate) fn all(mut parts: Vec<Self>) -> Option<Self> {
        if parts.len() > 1 { Some(Self::And(parts)) } else { parts.pop() }
    }
}

/// The rows for which a condition is `truth`.
fn column_predicate(condition: &Expression, truth: bool) -> Option<(usize, ColumnPredicate)> {
    Some(match condition {
        Expression::Column(column) => (*column, Comparison::Equal.with(Some(Scalar::Bool(truth)))),
        Expression::Not(part) => column_predicate(part, !truth)?,
        Expression::Compare { comparison, left, right } => {
            let (column, comparison, constant) = match (left.as_column(), right.as_column()) {
                (Some(column), None) => (column, *comparison, right.as_constant()?),
                (None, Some(column)) => (column, comparison.mirrored(), left.as_constant()?),
                _ => return None,
            };
            (column, if truth { comparison } else { comparison.negated() }.with(constant))
        }
        Expression::In { value, list } if truth => (value.as_column()?, ColumnPredicate::In(list.clone())),
        Expression::In { value, list } => (value.as_column()?, ColumnPredicate::NotIn(list.clone())),
        Expression::IsNull(value) if truth => (value.as_column()?, ColumnPredicate::IsNull),
        Expression::IsNull(value) => (value.as_column()?, ColumnPredicate::IsNotNull),
        Expression::Or(parts) => listed(parts, truth, truth)?,
        Expression::And(parts) => listed(parts, truth, !truth)?,
        _ => return None,
    })
}

/// Alternatives (`a = 1 OR a = 2`) as one list, or exclusions (`a <> 1 AND a <> 2`).
fn listed(parts: &[Expression], truth: bool, are_alternatives: bool) -> Option<(usize, ColumnPredicate)> {
    let mut values = Vec::new();
    let mut column = None;
    for part in parts {
        let (of_part, predicate) = column_predicate(part, truth)?;
        match predicate {
            ColumnPredicate::In(more) if are_alternatives => values.extend(more),
            ColumnPredicate::NotIn(more) if !are_alternatives => values.extend(more),
            ColumnPredicate::NotEqual(value) if !are_alternatives => values.push(value),
            _ => return None,
        }
        if *column.get_or_insert(of_part) != of_part {
            return None;
        }
    }
    let predicate = if are_alternatives { ColumnPredicate::In(values) } else { ColumnPredicate::NotIn(values) };
    Some((column?, predicate))
}
