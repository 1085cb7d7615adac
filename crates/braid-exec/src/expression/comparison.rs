//! The six comparisons of two columns, or of a column with a constant, for each kind of values.
//!
//! Each vector is dispatched once by kind and shape. The comparisons are composed of few primitive loops that compilers
//! turn into vector instructions. Integers of different widths are compared in 128 bits. Floats follow
//! [`Scalar::compare`].

use std::cmp::Ordering;
use std::sync::Arc;

use braid_storage::Scalar;

use crate::expression::Comparison;
use crate::expression::operand::{Operand, Side, booleans, both_valid, combine, nulls};
use crate::expression::string_predicate::{DictionaryCache, select_strings};
use crate::values::vector::{CodedStrings, Values};

/// The address of the empty string.
static SOMEWHERE: [u8; 32] = [0; 32];

impl Comparison {
    /// The comparison that holds with the sides swapped.
    fn swapped(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    /// Whether it holds for two values in this order.
    #[inline]
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// Compares row by row.
pub(super) fn compare(
    comparison: Comparison,
    left: &Operand,
    right: &Operand,
    row_count: usize,
    cache: &mut DictionaryCache<Vec<bool>>,
) -> Operand {
    if left.is_null() || right.is_null() {
        return nulls();
    }
    let values = match (left, right) {
        (Operand::Vector(left), Operand::Vector(right)) => compare_vectors(comparison, left.values(), right.values()),
        (Operand::Vector(left), Operand::Constant(Some(right))) => {
            compare_with(comparison, left.values(), right, row_count, cache)
        }
        (Operand::Constant(Some(left)), Operand::Vector(right)) => {
            compare_with(comparison.swapped(), right.values(), left, row_count, cache)
        }
        (Operand::Constant(left), Operand::Constant(right)) => {
            let order = left.as_deref().zip(right.as_deref()).and_then(|(left, right)| order(left, right));
            order.map(|order| vec![comparison.holds(order); row_count])
        }
        _ => None,
    };
    let Some(values) = values else { panic!("{left:?} and {right:?} are not of one kind") };
    booleans(values, both_valid(left.valid(), right.valid()))
}

fn order(left: &Scalar, right: &Scalar) -> Option<Ordering> {
    match (left, right) {
        (Scalar::Int(left), Scalar::Int128(right)) => Some(i128::from(*left).cmp(right)),
        (Scalar::Int128(left), Scalar::Int(right)) => Some(left.cmp(&i128::from(*right))),
        _ => left.compare(right),
    }
}

fn compare_with(
    comparison: Comparison,
    values: &Values,
    constant: &Scalar,
    row_count: usize,
    cache: &mut DictionaryCache<Vec<bool>>,
) -> Option<Vec<bool>> {
    Some(match (values, constant) {
        (Values::Int(values), Scalar::Int(constant)) => {
            ordered(comparison, Side::Each(values), Side::All(*constant), row_count)
        }
        (Values::Int(values), Scalar::Int128(constant)) => match i64::try_from(*constant) {
            Ok(constant) => ordered(comparison, Side::Each(values), Side::All(constant), row_count),
            // All 64-bit values are on one side of a constant beyond 64 bits.
            Err(_) => vec![comparison.holds(0.cmp(constant)); row_count],
        },
        (Values::Int128(values), Scalar::Int(constant)) => {
            ordered(comparison, Side::Each(values), Side::All(i128::from(*constant)), row_count)
        }
        (Values::Int128(values), Scalar::Int128(constant)) => {
            ordered(comparison, Side::Each(values), Side::All(*constant), row_count)
        }
        (Values::Float(values), Scalar::Float(constant)) => {
            floats(comparison, Side::Each(values), Side::All(*constant), row_count)
        }
        (Values::Bool(values), Scalar::Bool(constant)) => {
            ordered(comparison, Side::Each(values), Side::All(*constant), row_count)
        }
        (Values::Bytes(_) | Values::Coded(_), Scalar::Bytes(constant)) => {
            // An empty vector has a dangling pointer, for which the C library's comparison of 0 bytes may take 40 ns.
            let constant = if constant.is_empty() { &SOMEWHERE[..0] } else { constant.as_slice() };
            match comparison {
                // Equality usually ends at the length; an order comparison does not.
                Comparison::Equal => select_strings(values, cache, |string| string == constant)?,
                Comparison::NotEqual => select_strings(values, cache, |string| string != constant)?,
                _ => select_strings(values, cache, |string| comparison.holds(string.cmp(constant)))?,
            }
        }
        _ => return None,
    })
}

fn compare_vectors(comparison: Comparison, left: &Values, right: &Values) -> Option<Vec<bool>> {
    let row_count = left.len();
    Some(match (left, right) {
        (Values::Int(left), Values::Int(right)) => ordered(comparison, Side::Each(left), Side::Each(right), row_count),
        (Values::Int128(left), Values::Int128(right)) => {
            ordered(comparison, Side::Each(left), Side::Each(right), row_count)
        }
        (Values::Int(left), Values::Int128(right)) => {
            let orders = left.iter().zip(right).map(|(left, right)| i128::from(*left).cmp(right));
            orders.map(|order| comparison.holds(order)).collect()
        }
        (Values::Int128(_), Values::Int(_)) => return compare_vectors(comparison.swapped(), right, left),
        (Values::Float(left), Values::Float(right)) => {
            floats(comparison, Side::Each(left), Side::Each(right), row_count)
        }
        (Values::Bool(left), Values::Bool(right)) => {
            ordered(comparison, Side::Each(left), Side::Each(right), row_count)
        }
        (Values::Bytes(left), Values::Bytes(right)) => match comparison {
            Comparison::Equal => (0..row_count).map(|row| left.equal(row, right, row)).collect(),
            Comparison::NotEqual => (0..row_count).map(|row| !left.equal(row, right, row)).collect(),
            _ => strings(comparison, row_count, |row| left.get(row), |row| right.get(row)),
        },
        (Values::Bytes(left), Values::Coded(right)) => {
            strings(comparison, row_count, |row| left.get(row), |row| right.get(row))
        }
        (Values::Coded(_), Values::Bytes(_)) => return compare_vectors(comparison.swapped(), right, left),
        (Values::Coded(left), Values::Coded(right)) => coded(comparison, left, right),
        _ => return None,
    })
}

#[inline]
fn ordered<T: Copy + Ord>(
    comparison: Comparison,
    left: Side<'_, T>,
    right: Side<'_, T>,
    row_count: usize,
) -> Vec<bool> {
    match comparison {
        Comparison::Equal => combine(left, right, row_count, |left, right| left == right),
        Comparison::NotEqual => combine(left, right, row_count, |left, right| left != right),
        Comparison::Less => combine(left, right, row_count, |left, right| left < right),
        Comparison::LessOrEqual => combine(left, right, row_count, |left, right| left <= right),
        Comparison::Greater => combine(left, right, row_count, |left, right| left > right),
        Comparison::GreaterOrEqual => combine(left, right, row_count, |left, right| left >= right),
    }
}

fn floats(comparison: Comparison, left: Side<'_, f64>, right: Side<'_, f64>, row_count: usize) -> Vec<bool> {
    // NaN is the greatest value and equals itself. The loop has no branches.
    let equal = |left: f64, right: f64| (left == right) | (left.is_nan() & right.is_nan());
    let at_most = |left: f64, right: f64| (left <= right) | right.is_nan();
    match comparison {
        Comparison::Equal => combine(left, right, row_count, equal),
        Comparison::NotEqual => combine(left, right, row_count, |left, right| !equal(left, right)),
        Comparison::Less => combine(left, right, row_count, |left, right| !at_most(right, left)),
        Comparison::LessOrEqual => combine(left, right, row_count, at_most),
        Comparison::Greater => combine(left, right, row_count, |left, right| !at_most(left, right)),
        Comparison::GreaterOrEqual => combine(left, right, row_count, |left, right| at_most(right, left)),
    }
}

#[inline]
fn strings<'a>(
    comparison: Comparison,
    row_count: usize,
    left: impl Fn(usize) -> &'a [u8],
    right: impl Fn(usize) -> &'a [u8],
) -> Vec<bool> {
    match comparison {
        Comparison::Equal => (0..row_count).map(|row| left(row) == right(row)).collect(),
        Comparison::NotEqual => (0..row_count).map(|row| left(row) != right(row)).collect(),
        _ => (0..row_count).map(|row| comparison.holds(left(row).cmp(right(row)))).collect(),
    }
}

fn coded(comparison: Comparison, left: &CodedStrings, right: &CodedStrings) -> Vec<bool> {
    let (left_codes, right_codes) = (Side::Each(left.codes.as_slice()), Side::Each(right.codes.as_slice()));
    // The strings of a dictionary are distinct but not sorted.
    match comparison {
        Comparison::Equal | Comparison::NotEqual if Arc::ptr_eq(&left.dictionary, &right.dictionary) => {
            ordered(comparison, left_codes, right_codes, left.codes.len())
        }
        _ => strings(comparison, left.codes.len(), |row| left.get(row), |row| right.get(row)),
    }
}
