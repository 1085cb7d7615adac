//! What the zone maps of a plan's tables say of its columns: bounds of integers, by interval arithmetic, and columns without nulls.
//!
//! Sums have 128 bits. A sum of integers of 64 bits therefore never goes out of range: it would need 2^64 rows. Rules use
//! this to move sums to where they are computed for more rows, or for other groups, than the plan asks for.

use braid_storage::Scalar;

use super::{AggregateFunction, JoinKind, Plan};
use crate::Expression;
use crate::expression::{Arithmetic, DatePart, NumberRange};
use crate::values::integer_bounds::IntegerBounds;

impl Plan {
    /// Bounds of a column's values, nulls aside; `None` if they are no integers, or nothing is known of them.
    pub fn integer_bounds(&self, column: usize) -> Option<IntegerBounds> {
        match self {
            Self::Source { source, .. } => source.integer_bounds(column),
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Peers { input, .. }
            | Self::WithScalars { input, .. } => input.integer_bounds(column),
            Self::Project { input, expressions } => expressions[column].integer_bounds(&|of| input.integer_bounds(of)),
            Self::Join { build, probe, condition, .. } => {
                let columns = condition.kind.columns();
                let probe_count = if columns.probe { probe.column_count() } else { 0 };
                match column.checked_sub(probe_count) {
                    None => probe.integer_bounds(column),
                    Some(_) if columns.mark => None,
                    Some(column) => build.integer_bounds(column),
                }
            }
            Self::Aggregate { input, spec } => match column.checked_sub(spec.keys.len()) {
                None => input.integer_bounds(spec.keys[column]),
                Some(call) => match &spec.aggregates[call] {
                    call if matches!(call.function, AggregateFunction::Minimum | AggregateFunction::Maximum) => {
                        input.integer_bounds(call.argument?)
                    }
                    call if matches!(call.function, AggregateFunction::Count | AggregateFunction::CountRows) => {
                        Some(IntegerBounds { low: 0, high: i64::MAX.into() })
                    }
                    _ => None,
                },
            },
            Self::Expand { input, lists } => {
                let columns = lists.iter().filter_map(|list| list.get(column).copied().flatten());
                let bounds: Option<Vec<IntegerBounds>> = columns.map(|column| input.integer_bounds(column)).collect();
                bounds?.into_iter().reduce(IntegerBounds::or)
            }
            // Of the results nothing is known.
            Self::Window { input, .. } => {
                (column < input.column_count()).then(|| input.integer_bounds(column)).flatten()
            }
            Self::Union(plans) => {
                let bounds: Option<Vec<IntegerBounds>> = plans.iter().map(|plan| plan.integer_bounds(column)).collect();
                bounds?.into_iter().reduce(IntegerBounds::or)
            }
            Self::ProjectSet { input, .. } if column < input.column_count() => input.integer_bounds(column),
            // Of foreign functions nothing is known.
            Self::ProjectSet { .. } => None,
            Self::Accumulate { input, spec, .. } => spec.keys.get(column).and_then(|key| input.integer_bounds(*key)),
            Self::With { body, .. } | Self::Recursion { body, .. } => body.integer_bounds(column),
            // The scan does not know the definition.
            Self::CteScan { .. } => None,
            Self::Shared(_) => None,
        }
    }
}

impl Plan {
    /// Whether a column is known to have no nulls.
    pub fn is_null_free(&self, column: usize) -> bool {
        match self {
            Self::Source { source, .. } => source.is_null_free(column),
            Self::Filter { input, .. }
            | Self::Sort { input, .. }
            | Self::Limit { input, .. }
            | Self::Peers { input, .. } => input.is_null_free(column),
            Self::Project { input, expressions } => expressions[column].is_null_free(&|of| input.is_null_free(of)),
            Self::Join { build, probe, condition, .. } if condition.kind == JoinKind::Inner => {
                match column.checked_sub(probe.column_count()) {
                    None => probe.is_null_free(column),
                    Some(column) => build.is_null_free(column),
                }
            }
            _ => false,
        }
    }
}

impl Expression {
    /// Bounds of the values, nulls aside, from those of the columns; `None` if they are no integers, or nothing is known of them.
    pub fn integer_bounds(&self, of_column: &dyn Fn(usize) -> Option<IntegerBounds>) -> Option<IntegerBounds> {
        let of = |expression: &Self| expression.integer_bounds(of_column);
        match self {
            Self::Column(column) => of_column(*column),
            // A null has no value, and every bounds hold for it.
            Self::Constant(None) => Some(IntegerBounds::only(0)),
            Self::Constant(Some(Scalar::Int(value))) => Some(IntegerBounds::only((*value).into())),
            Self::Constant(Some(Scalar::Int128(value))) => Some(IntegerBounds::only(*value)),
            Self::Arithmetic { range: NumberRange::Double, .. } => None,
            Self::Arithmetic { operation, left, right, .. } => combined(*operation, of(left)?, of(right)?),
            Self::ScaleUp { value, digits } => {
                let factor = 10_i128.checked_pow((*digits).into())?;
                combined(Arithmetic::Multiply, of(value)?, IntegerBounds::only(factor))
            }
            Self::Case { branches, otherwise } => {
                let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
                let bounds: Option<Vec<IntegerBounds>> = results.map(of).collect();
                bounds?.into_iter().reduce(IntegerBounds::or)
            }
            Self::DatePart { part, value } => Some(match part {
                DatePart::Year => years(of(value)),
                DatePart::Quarter => IntegerBounds { low: 1, high: 4 },
                DatePart::Month => IntegerBounds { low: 1, high: 12 },
                DatePart::Day => IntegerBounds { low: 1, high: 31 },
            }),
            _ => None,
        }
    }

    /// Whether it is known to be null for no row, from what is known of the columns.
    pub(crate) fn is_null_free(&self, of_column: &dyn Fn(usize) -> bool) -> bool {
        match self {
            Self::Column(column) => of_column(*column),
            Self::Constant(constant) => constant.is_some(),
            Self::Arithmetic { .. } | Self::ScaleUp { .. } | Self::DatePart { .. } => {
                self.children().into_iter().all(|child| child.is_null_free(of_column))
            }
            _ => false,
        }
    }

    /// Whether bounds show that it can be evaluated for all values within them.
    pub(crate) fn is_in_range(&self, of_column: &dyn Fn(usize) -> Option<IntegerBounds>) -> bool {
        let range = match self {
            Self::Foreign { .. } => return false,
            Self::Arithmetic { range: NumberRange::Double, .. } => return false,
            Self::Arithmetic { range: NumberRange::Int16, .. } => Some((i16::MIN.into(), i16::MAX.into())),
            Self::Arithmetic { range: NumberRange::Int32, .. } => Some((i32::MIN.into(), i32::MAX.into())),
            // Numerics are of more digits. These are enough for what can be summed.
            Self::Arithmetic { .. } | Self::ScaleUp { .. } => Some((i64::MIN, i64::MAX)),
            _ => None,
        };
        let is_within = |(low, high): (i64, i64)| {
            let all = IntegerBounds { low: low.into(), high: high.into() };
            self.integer_bounds(of_column).is_some_and(|bounds| all.or(bounds) == all)
        };
        range.is_none_or(is_within) && self.children().into_iter().all(|child| child.is_in_range(of_column))
    }
}

/// Years that days since 1970 are in, or that are next to these: 400 years have 146 097 days. Days have 32 bits.
fn years(days: Option<IntegerBounds>) -> IntegerBounds {
    let all = IntegerBounds { low: i32::MIN.into(), high: i32::MAX.into() };
    let days = days.filter(|days| days.or(all) == all).unwrap_or(all);
    let year = |days: i128| 1970 + (days * 400).div_euclid(146_097);
    IntegerBounds { low: year(days.low) - 1, high: year(days.high) + 1 }
}

/// The results of an operation; `None` if some need more than 128 bits.
fn combined(operation: Arithmetic, left: IntegerBounds, right: IntegerBounds) -> Option<IntegerBounds> {
    left.of_corners(right, |a, b| match operation {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Vector;
    use crate::runtime::result_rows::{ResultRows, ResultSource};

    fn column(at: usize) -> Box<Expression> {
        Box::new(Expression::Column(at))
    }

    fn integer(value: i64) -> Expression {
        Expression::Constant(Some(Scalar::Int(value)))
    }

    fn arithmetic(operation: Arithmetic, left: Box<Expression>, right: Box<Expression>) -> Expression {
        Expression::Arithmetic { operation, left, right, range: NumberRange::Numeric }
    }

    /// The bounds of an expression over a column from -3 to 5 and one from 10 to 20.
    fn bounds(expression: &Expression) -> Option<(i128, i128)> {
        let of_column = |column: usize| {
            [IntegerBounds { low: -3, high: 5 }, IntegerBounds { low: 10, high: 20 }].get(column).copied()
        };
        expression.integer_bounds(&of_column).map(|bounds| (bounds.low, bounds.high))
    }

    #[test]
    fn bounds_are_those_of_the_corners() {
        for (operation, expected) in
            [(Arithmetic::Add, (7, 25)), (Arithmetic::Subtract, (-23, -5)), (Arithmetic::Multiply, (-60, 100))]
        {
            assert_eq!(bounds(&arithmetic(operation, column(0), column(1))), Some(expected), "{operation:?}");
        }
        assert_eq!(bounds(&Expression::ScaleUp { value: column(0), digits: 2 }), Some((-300, 500)));
        let branches = vec![(Expression::IsNull(column(0)), integer(-7))];
        let case = |otherwise| Expression::Case { branches: branches.clone(), otherwise };
        assert_eq!(bounds(&case(Some(column(1)))), Some((-7, 20)));
        assert_eq!(bounds(&case(None)), Some((-7, -7)));
        assert_eq!(bounds(&case(Some(column(2)))), None);
        let year = |value| Expression::DatePart { part: DatePart::Year, value };
        assert_eq!(bounds(&year(column(0))), Some((1968, 1971)));
        assert_eq!(bounds(&year(column(2))), Some((-5_877_642, 5_881_581)));
        let huge = Expression::Constant(Some(Scalar::Int128(i128::MAX)));
        assert_eq!(bounds(&arithmetic(Arithmetic::Add, column(0), Box::new(huge))), None);
    }

    #[test]
    fn what_is_in_range_cannot_fail() {
        let in_range = |expression: &Expression| {
            let of_column = |column: usize| (column == 0).then_some(IntegerBounds { low: -3, high: 30_000 });
            expression.is_in_range(&of_column)
        };
        let sum = |range, right| {
            let (left, right) = (column(0), Box::new(right));
            Expression::Arithmetic { operation: Arithmetic::Add, left, right, range }
        };
        assert!(in_range(&Expression::Column(7)));
        assert!(in_range(&sum(NumberRange::Int16, integer(2_767))));
        assert!(!in_range(&sum(NumberRange::Int16, integer(2_768))));
        assert!(in_range(&sum(NumberRange::Int32, integer(2_768))));
        assert!(in_range(&sum(NumberRange::Numeric, integer(i64::MAX - 30_000))));
        assert!(!in_range(&sum(NumberRange::Numeric, integer(i64::MAX - 29_999))));
        assert!(!in_range(&sum(NumberRange::Double, integer(0))));
        assert!(!in_range(&sum(NumberRange::Int64, Expression::Column(1))));
        // A part may fail although the whole is in range.
        let inner = sum(NumberRange::Int16, integer(30_000));
        let whole =
            Expression::Case { branches: vec![(Expression::IsNull(inner.into()), integer(1))], otherwise: None };
        assert!(!in_range(&whole));
    }

    #[test]
    fn sources_without_zone_maps_have_no_bounds() {
        let rows = Arc::new(ResultRows::new(1, vec![Vector::integers(vec![7])]));
        let plan = Plan::Source { source: Arc::new(ResultSource::new(vec![rows])), column_count: 1 };
        assert_eq!(plan.integer_bounds(0), None);
        let expressions = vec![integer(4), Expression::Column(0)];
        let plan = Plan::Project { input: plan.into(), expressions };
        assert_eq!(plan.integer_bounds(0), Some(IntegerBounds { low: 4, high: 4 }));
        assert_eq!(plan.integer_bounds(1), None);
    }
}
