//! Sums, differences and products.
//!
//! Integers are combined in 64 bits, without a branch per row. The combined magnitudes of a vector show in advance whether an
//! overflow is possible, which is rare. If it is possible, the loop computes one overflow flag for the whole vector. Only a
//! flagged vector is computed again, row by row in 128 bits. That computation skips nulls, because the values under them
//! may have overflowed.
//!
//! Products of magnitudes below 2^31, such as most prices and quantities, use a vector instruction for 32-bit halves.

use braid_storage::Scalar;

use crate::Vector;
use crate::exec_error::ExecError;
use crate::expression::operand::{Operand, Side, both_valid, combine, nulls};
use crate::expression::{Arithmetic, NumberRange};
use crate::values::vector::Values;

/// Combines row by row.
///
/// # Errors
/// When the result of a row that is not null is out of `range`.
pub(super) fn arithmetic(
    operation: Arithmetic,
    range: NumberRange,
    left: &Operand,
    right: &Operand,
    row_count: usize,
) -> Result<Operand, ExecError> {
    if left.is_null() || right.is_null() {
        return Ok(nulls());
    }
    let valid = both_valid(left.valid(), right.valid());
    let values = match (Numbers::of(left), Numbers::of(right)) {
        (Some(Numbers::Float(left)), Some(Numbers::Float(right))) => {
            floats(operation, left, right, valid.as_deref(), row_count).map(Values::Float)
        }
        (Some(Numbers::Narrow(left)), Some(Numbers::Narrow(right))) => {
            narrow(operation, range, left, right, valid.as_deref(), row_count)
        }
        (Some(Numbers::Narrow(left)), Some(Numbers::Wide(right))) => {
            let left = widened(left);
            wide(operation, range, left.side(), right, valid.as_deref(), row_count)
        }
        (Some(Numbers::Wide(left)), Some(Numbers::Narrow(right))) => {
            let right = widened(right);
            wide(operation, range, left, right.side(), valid.as_deref(), row_count)
        }
        (Some(Numbers::Wide(left)), Some(Numbers::Wide(right))) => {
            wide(operation, range, left, right, valid.as_deref(), row_count)
        }
        _ => panic!("{left:?} and {right:?} are not numbers of one kind"),
    };
    let values = values.ok_or(ExecError::OutOfRange { type_name: range.type_name() })?;
    Ok(Vector::new(values, valid).into())
}

/// Integers times 10 to the power of `digits`.
///
/// # Errors
/// When a value that is not null does not fit 128 bits then.
pub(super) fn scale_up(value: &Operand, digits: u8, row_count: usize) -> Result<Operand, ExecError> {
    // From 39 digits on, the power exceeds 128 bits. Only zeros can be scaled that far, with any power.
    let power = 10_i128.checked_pow(digits.into()).unwrap_or(i128::MAX);
    let power = i64::try_from(power).map_or(Scalar::Int128(power), Scalar::Int);
    let power = Operand::Constant(Some(power.into()));
    match arithmetic(Arithmetic::Multiply, NumberRange::Numeric, value, &power, row_count)? {
        Operand::Vector(product) if digits > 38 => {
            let beyond = (0..row_count).any(|row| product.value(row).is_some_and(|value| value != Scalar::Int(0)));
            if beyond { Err(ExecError::OutOfRange { type_name: "numeric" }) } else { Ok(Operand::Vector(product)) }
        }
        product => Ok(product),
    }
}

impl NumberRange {
    fn type_name(self) -> &'static str {
        match self {
            Self::Int16 => "smallint",
            Self::Int32 => "integer",
            Self::Int64 => "bigint",
            Self::Numeric => "numeric",
            Self::Double => "double precision",
        }
    }

    /// Whether an exact result is in the range.
    fn contains(self, value: i128) -> bool {
        match self {
            Self::Int16 => i16::try_from(value).is_ok(),
            Self::Int32 => i32::try_from(value).is_ok(),
            Self::Int64 => i64::try_from(value).is_ok(),
            Self::Numeric | Self::Double => true,
        }
    }
}

/// An operand's numbers, by their width.
enum Numbers<'a> {
    Narrow(Side<'a, i64>),
    Wide(Side<'a, i128>),
    Float(Side<'a, f64>),
}

impl<'a> Numbers<'a> {
    fn of(operand: &'a Operand) -> Option<Self> {
        Some(match operand {
            Operand::Vector(vector) => match vector.values() {
                Values::Int(values) => Self::Narrow(Side::Each(values)),
                Values::Int128(values) => Self::Wide(Side::Each(values)),
                Values::Float(values) => Self::Float(Side::Each(values)),
                _ => return None,
            },
            Operand::Constant(constant) => match constant.as_deref()? {
                Scalar::Int(value) => Self::Narrow(Side::All(*value)),
                Scalar::Int128(value) => {
                    i64::try_from(*value).map_or(Self::Wide(Side::All(*value)), |value| Self::Narrow(Side::All(value)))
                }
                Scalar::Float(value) => Self::Float(Side::All(*value)),
                _ => return None,
            },
        })
    }
}

/// 64-bit integers in 128 bits.
enum Widened {
    Each(Vec<i128>),
    All(i128),
}

fn widened(side: Side<'_, i64>) -> Widened {
    match side {
        Side::Each(values) => Widened::Each(values.iter().copied().map(i128::from).collect()),
        Side::All(value) => Widened::All(value.into()),
    }
}

impl Widened {
    fn side(&self) -> Side<'_, i128> {
        match self {
            Self::Each(values) => Side::Each(values),
            Self::All(value) => Side::All(*value),
        }
    }
}

fn floats(
    operation: Arithmetic,
    left: Side<'_, f64>,
    right: Side<'_, f64>,
    valid: Option<&[bool]>,
    row_count: usize,
) -> Option<Vec<f64>> {
    let values = match operation {
        Arithmetic::Add => combine(left, right, row_count, |left, right| left + right),
        Arithmetic::Subtract => combine(left, right, row_count, |left, right| left - right),
        Arithmetic::Multiply => combine(left, right, row_count, |left, right| left * right),
    };
    let any_infinite = values.iter().fold(false, |any, value| any | value.is_infinite());
    if any_infinite {
        let from_finite = combine(left, right, row_count, |left, right| left.is_finite() & right.is_finite());
        let is_valid = |row: usize| valid.is_none_or(|valid| valid[row]);
        if (0..row_count).any(|row| values[row].is_infinite() && from_finite[row] && is_valid(row)) {
            return None;
        }
    }
    Some(values)
}

/// Combines integers in 64 bits, and again in 128 bits if one may have overflowed.
fn narrow(
    operation: Arithmetic,
    range: NumberRange,
    left: Side<'_, i64>,
    right: Side<'_, i64>,
    valid: Option<&[bool]>,
    row_count: usize,
) -> Option<Values> {
    let (values, overflows) = match operation {
        Arithmetic::Add => add(left, right, row_count),
        Arithmetic::Subtract => subtract(left, right, row_count),
        Arithmetic::Multiply => multiply(left, right, row_count),
    };
    let beyond = |bits: u32| !fits(Side::Each(&values), bits - 1);
    let doubtful = overflows
        || match range {
            NumberRange::Int16 => beyond(16),
            NumberRange::Int32 => beyond(32),
            NumberRange::Int64 | NumberRange::Numeric | NumberRange::Double => false,
        };
    if !doubtful {
        return Some(Values::Int(values));
    }
    let (left, right) = (widened(left), widened(right));
    wide(operation, range, left.side(), right.side(), valid, row_count)
}

/// The sums, and whether one overflowed.
fn add(left: Side<'_, i64>, right: Side<'_, i64>, row_count: usize) -> (Vec<i64>, bool) {
    if fits(left, 62) && fits(right, 62) {
        return (combine(left, right, row_count, i64::wrapping_add), false);
    }
    overflowing(left, right, row_count, i64::overflowing_add)
}

/// The differences, and whether one overflowed.
fn subtract(left: Side<'_, i64>, right: Side<'_, i64>, row_count: usize) -> (Vec<i64>, bool) {
    if fits(left, 62) && fits(right, 62) {
        return (combine(left, right, row_count, i64::wrapping_sub), false);
    }
    overflowing(left, right, row_count, i64::overflowing_sub)
}

/// The products, and whether one overflowed.
fn multiply(left: Side<'_, i64>, right: Side<'_, i64>, row_count: usize) -> (Vec<i64>, bool) {
    if fits(left, 31) && fits(right, 31) {
        let product = |left: i64, right: i64| i64::from(left as i32) * i64::from(right as i32);
        return (combine(left, right, row_count, product), false);
    }
    overflowing(left, right, row_count, i64::overflowing_mul)
}

/// Whether all magnitudes have at most `bits` bits.
fn fits(side: Side<'_, i64>, bits: u32) -> bool {
    let magnitude = |value: i64| value ^ (value >> 63);
    let magnitudes = match side {
        Side::Each(values) => values.iter().fold(0, |all, value| all | magnitude(*value)),
        Side::All(value) => magnitude(value),
    };
    magnitudes >> bits == 0
}

#[inline]
fn overflowing(
    left: Side<'_, i64>,
    right: Side<'_, i64>,
    row_count: usize,
    with: impl Fn(i64, i64) -> (i64, bool),
) -> (Vec<i64>, bool) {
    let mut any = false;
    let values = combine(left, right, row_count, |left, right| {
        let (value, overflows) = with(left, right);
        any |= overflows;
        value
    });
    (values, any)
}

/// Combines integers in 128 bits, row by row. Returns 64-bit integers if all results fit. Rows that are null become 0.
fn wide(
    operation: Arithmetic,
    range: NumberRange,
    left: Side<'_, i128>,
    right: Side<'_, i128>,
    valid: Option<&[bool]>,
    row_count: usize,
) -> Option<Values> {
    let results = match operation {
        Arithmetic::Add => combine(left, right, row_count, i128::checked_add),
        Arithmetic::Subtract => combine(left, right, row_count, i128::checked_sub),
        Arithmetic::Multiply => combine(left, right, row_count, i128::checked_mul),
    };
    let mut values = Vec::with_capacity(row_count);
    for (row, result) in results.into_iter().enumerate() {
        let in_range = result.filter(|value| range.contains(*value));
        if valid.is_none_or(|valid| valid[row]) {
            values.push(in_range?);
        } else {
            values.push(0);
        }
    }
    let narrow: Option<Vec<i64>> = values.iter().map(|value| i64::try_from(*value).ok()).collect();
    Some(narrow.map_or(Values::Int128(values), Values::Int))
}
