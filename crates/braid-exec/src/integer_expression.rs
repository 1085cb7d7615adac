//! Arithmetic on 64-bit integers, a vector at a time: what numerics of up to 18 digits, integers and dates compute with.
//! Scales are the planner's business.
//!
//! Results stay 64 bits wide as long as they fit. The first operation of a vector that overflows is done again in 128
//! bits, and what follows from it as well; beyond 128 bits it is an error. So the common case pays one overflow flag for
//! each operation and no answer is ever wrong.

use std::fmt;

/// An expression over the columns of one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntegerExpression {
    /// The column at this position among the chunk's segments.
    Column(usize),
    /// A constant.
    Constant(i64),
    /// Left and right, combined.
    Binary(IntegerOperation, Box<IntegerExpression>, Box<IntegerExpression>),
}

/// How two integers are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerOperation {
    /// Sum.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
}

/// The values of an expression for some rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IntegerVector {
    /// All fit 64 bits.
    Narrow(Vec<i64>),
    /// Some may not.
    Wide(Vec<i128>),
}

/// A value of more than 128 bits: PostgreSQL's "numeric value out of range" (22003).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerOverflow;

impl fmt::Display for IntegerOverflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value does not fit 128 bits")
    }
}

impl std::error::Error for IntegerOverflow {}

impl IntegerExpression {
    /// `left` and `right`, combined.
    pub fn binary(operation: IntegerOperation, left: Self, right: Self) -> Self {
        Self::Binary(operation, Box::new(left), Box::new(right))
    }

    /// Appends the columns it reads.
    pub fn columns(&self, columns: &mut Vec<usize>) {
        match self {
            Self::Column(column) => columns.push(*column),
            Self::Constant(_) => {}
            Self::Binary(_, left, right) => {
                left.columns(columns);
                right.columns(columns);
            }
        }
    }

    /// Its values for `row_count` rows, given the values of its columns.
    ///
    /// # Errors
    /// When a value does not fit 128 bits.
    pub fn evaluate<'a>(
        &self,
        row_count: usize,
        column: &impl Fn(usize) -> &'a [i64],
    ) -> Result<IntegerVector, IntegerOverflow> {
        Ok(match self {
            Self::Column(at) => IntegerVector::Narrow(column(*at).to_vec()),
            Self::Constant(value) => IntegerVector::Narrow(vec![*value; row_count]),
            Self::Binary(operation, left, right) => match (left.as_ref(), right.as_ref()) {
                // The common shapes, without copies of columns.
                (Self::Column(a), Self::Column(b)) => operation.narrow(column(*a), column(*b))?,
                (Self::Constant(a), Self::Column(b)) => operation.narrow(&vec![*a; row_count], column(*b))?,
                _ => operation.apply(left.evaluate(row_count, column)?, right.evaluate(row_count, column)?)?,
            },
        })
    }
}

impl IntegerOperation {
    fn apply(self, left: IntegerVector, right: IntegerVector) -> Result<IntegerVector, IntegerOverflow> {
        match (left, right) {
            (IntegerVector::Narrow(left), IntegerVector::Narrow(right)) => self.narrow(&left, &right),
            (left, right) => self.wide(left.widened().into_iter(), right.widened().into_iter()),
        }
    }

    fn narrow(self, left: &[i64], right: &[i64]) -> Result<IntegerVector, IntegerOverflow> {
        let combined = match self {
            Self::Add => overflowing(left, right, i64::overflowing_add),
            Self::Subtract => overflowing(left, right, i64::overflowing_sub),
            Self::Multiply => overflowing(left, right, i64::overflowing_mul),
        };
        match combined {
            Some(values) => Ok(IntegerVector::Narrow(values)),
            None => self.wide(left.iter().copied().map(i128::from), right.iter().copied().map(i128::from)),
        }
    }

    fn wide(
        self,
        left: impl Iterator<Item = i128>,
        right: impl Iterator<Item = i128>,
    ) -> Result<IntegerVector, IntegerOverflow> {
        let combine = match self {
            Self::Add => i128::checked_add,
            Self::Subtract => i128::checked_sub,
            Self::Multiply => i128::checked_mul,
        };
        let values: Option<Vec<i128>> = left.zip(right).map(|(a, b)| combine(a, b)).collect();
        values.map(IntegerVector::Wide).ok_or(IntegerOverflow)
    }
}

/// The results, unless one overflowed; without a branch for each row.
#[inline]
fn overflowing(left: &[i64], right: &[i64], combine: impl Fn(i64, i64) -> (i64, bool)) -> Option<Vec<i64>> {
    let mut any = false;
    let values = left.iter().zip(right).map(|(a, b)| {
        let (value, overflows) = combine(*a, *b);
        any |= overflows;
        value
    });
    let values = values.collect();
    (!any).then_some(values)
}

impl IntegerVector {
    /// The values, 128 bits wide.
    pub fn widened(self) -> Vec<i128> {
        match self {
            Self::Narrow(values) => values.into_iter().map(i128::from).collect(),
            Self::Wide(values) => values,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expression() -> impl Strategy<Value = IntegerExpression> {
        let leaf = prop_oneof![
            (0usize..2).prop_map(IntegerExpression::Column),
            any::<i64>().prop_map(IntegerExpression::Constant),
            (-100i64..100).prop_map(IntegerExpression::Constant)
        ];
        leaf.prop_recursive(4, 16, 2, |inner| {
            let operation = prop_oneof![
                Just(IntegerOperation::Add),
                Just(IntegerOperation::Subtract),
                Just(IntegerOperation::Multiply)
            ];
            (operation, inner.clone(), inner).prop_map(|(op, a, b)| IntegerExpression::binary(op, a, b))
        })
    }

    /// The definition: one row, in 128 bits from the start.
    fn value(expression: &IntegerExpression, row: [i64; 2]) -> Option<i128> {
        match expression {
            IntegerExpression::Column(column) => Some(row[*column].into()),
            IntegerExpression::Constant(value) => Some((*value).into()),
            IntegerExpression::Binary(operation, a, b) => {
                let (a, b) = (value(a, row)?, value(b, row)?);
                match operation {
                    IntegerOperation::Add => a.checked_add(b),
                    IntegerOperation::Subtract => a.checked_sub(b),
                    IntegerOperation::Multiply => a.checked_mul(b),
                }
            }
        }
    }

    proptest! {
        #[test]
        fn vectors_are_as_rows_in_128_bits(
            expression in expression(),
            rows in prop::collection::vec((prop_oneof![any::<i64>(), -9i64..9], -1000i64..1000), 1..20),
        ) {
            let columns: [Vec<i64>; 2] = [rows.iter().map(|r| r.0).collect(), rows.iter().map(|r| r.1).collect()];
            let expected: Option<Vec<i128>> = rows.iter().map(|(a, b)| value(&expression, [*a, *b])).collect();
            let found = expression.evaluate(rows.len(), &|column: usize| columns[column].as_slice());
            prop_assert_eq!(found.ok().map(IntegerVector::widened), expected);
        }
    }

    #[test]
    fn what_fits_stays_narrow() {
        let product = IntegerExpression::binary(
            IntegerOperation::Multiply,
            IntegerExpression::Column(0),
            IntegerExpression::Constant(3),
        );
        let of = |value: i64| product.evaluate(1, &|_: usize| std::slice::from_ref(Box::leak(Box::new(value))));
        assert_eq!(of(5), Ok(IntegerVector::Narrow(vec![15])));
        assert_eq!(of(i64::MAX), Ok(IntegerVector::Wide(vec![3 * i128::from(i64::MAX)])));
    }
}
