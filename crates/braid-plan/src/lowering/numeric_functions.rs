//! Functions of numerics as integers that have no kernel. Their arguments are arrays of decimals.

use std::error::Error;
use std::fmt;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{Decimal128Type, Int64Type};
use braid_exec::ExecError;
use braid_exec::expression::ForeignExpression;
use braid_sql::values::Numeric;
use braid_sql::values::numeric::sums::{NumericSum, Spread, variance};
use braid_sql::{SqlError, Value};

use crate::values::Form;
use crate::values::arrays::ArrayBuilder;

type Evaluated = Result<ArrayRef, Box<dyn Error + Send + Sync>>;

/// What 128 bits are too narrow for.
const TOO_NARROW: ExecError = ExecError::OutOfRange { type_name: "numeric" };

/// Numbers of integers at a scale as values: `(integers)`, or `(integers, digits that are shown)`, which are at most `scale`.
#[derive(Debug)]
pub(super) struct AsEncoded {
    pub scale: u8,
}

impl ForeignExpression for AsEncoded {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Evaluated {
        let mut results = ArrayBuilder::new(Form::Encoded);
        let numbers = arguments[0].as_primitive::<Decimal128Type>();
        for row in 0..row_count {
            let value = match numbers.is_null(row) {
                true => Value::Null,
                false => Value::Numeric(shown(numbers.value(row), self.scale, shown_at(arguments.get(1), row))?),
            };
            results.add(&value)?;
        }
        Ok(results.finish())
    }
}

impl fmt::Display for AsEncoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "numeric of scale {}", self.scale)
    }
}

/// The digits after the point that are shown in a row, if they are given.
fn shown_at(digits: Option<&ArrayRef>, row: usize) -> Option<i64> {
    digits.map(|digits| digits.as_primitive::<Int64Type>().value(row))
}

/// A number of an integer at a scale, with only some of its digits after the point: the others are zeros.
fn shown(unscaled: i128, scale: u8, digits: Option<i64>) -> Result<Numeric, SqlError> {
    let number = Numeric::from_unscaled(unscaled, scale.into());
    match digits.and_then(|digits| i32::try_from(digits).ok()) {
        Some(digits) if digits < i32::from(scale) => number.trunc(digits),
        _ => Ok(number),
    }
}

/// Averages: `(sums, counts)` or `(sums, counts, digits of the sums that are shown)`, of sums at a scale.
#[derive(Debug)]
pub(super) struct Quotients {
    pub scale: u8,
}

impl ForeignExpression for Quotients {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Evaluated {
        let mut results = ArrayBuilder::new(Form::Encoded);
        let sums = arguments[0].as_primitive::<Decimal128Type>();
        let counts = arguments[1].as_primitive::<Int64Type>();
        for row in 0..row_count {
            if sums.is_null(row) {
                results.add(&Value::Null)?;
                continue;
            }
            let sum = shown(sums.value(row), self.scale, shown_at(arguments.get(2), row))?;
            results.add(&Value::Numeric(sum.checked_div(&Numeric::from(counts.value(row)))?))?;
        }
        Ok(results.finish())
    }
}

impl fmt::Display for Quotients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("average")
    }
}

/// Variances of numbers as integers at a scale, or their roots: `(sums, sums of squares, counts)`.
#[derive(Debug)]
pub(super) struct Variances {
    /// Digits after the point of the numbers; their squares have twice as many.
    pub scale: u8,
    /// What they are of.
    pub spread: Spread,
    /// Whether the root is taken.
    pub is_deviation: bool,
}

impl ForeignExpression for Variances {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Evaluated {
        let mut results = ArrayBuilder::new(Form::Encoded);
        let [sums, squares] = [0, 1].map(|at| arguments[at].as_primitive::<Decimal128Type>());
        let counts = arguments[2].as_primitive::<Int64Type>();
        let count_min = if self.spread == Spread::Sample { 2 } else { 1 };
        for row in 0..row_count {
            let count = counts.value(row);
            if count < count_min {
                results.add(&Value::Null)?;
                continue;
            }
            let scale = u16::from(self.scale);
            let [sum, squares] = [(sums, scale), (squares, 2 * scale)].map(|(sums, scale)| {
                let mut sum = NumericSum::default();
                sum.add(&Numeric::from_unscaled(sums.value(row), scale));
                sum
            });
            results.add(&Value::Numeric(variance(&sum, &squares, count, self.spread, self.is_deviation)?))?;
        }
        Ok(results.finish())
    }
}

impl fmt::Display for Variances {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_deviation { "deviation" } else { "variance" })
    }
}

/// What numbers and the digits that they show become as one integer: the number times this, and the digits.
pub(super) const SHOWN_DIGITS_BASE: i128 = 100;

/// Numbers of integers with the digits that they show: [`SHOWN_DIGITS_BASE`].
#[derive(Debug)]
pub(super) struct WithShownDigits {
    pub scale: u8,
}

impl ForeignExpression for WithShownDigits {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Evaluated {
        let mut results = ArrayBuilder::new(Form::Encoded);
        let numbers = arguments[0].as_primitive::<Decimal128Type>();
        for row in 0..row_count {
            let value = match numbers.is_null(row) {
                true => Value::Null,
                false => {
                    let both = numbers.value(row);
                    let (unscaled, digits) = (both.div_euclid(SHOWN_DIGITS_BASE), both.rem_euclid(SHOWN_DIGITS_BASE));
                    Value::Numeric(shown(unscaled, self.scale, Some(digits as i64))?)
                }
            };
            results.add(&value)?;
        }
        Ok(results.finish())
    }
}

impl fmt::Display for WithShownDigits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("with shown digits")
    }
}

/// How digits after the point are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    /// To the nearest number, half away from zero.
    Nearest,
    /// Towards zero.
    Cut,
    /// To the next number below.
    Down,
    /// To the next number above.
    Up,
}

impl Rounding {
    /// `unscaled / divisor`, which is a power of ten.
    fn divided(self, unscaled: i128, divisor: i128) -> i128 {
        let (quotient, rest) = (unscaled / divisor, unscaled % divisor);
        let sign = unscaled.signum();
        match self {
            Self::Nearest if rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2) && rest != 0 => quotient + sign,
            Self::Down if rest < 0 => quotient - 1,
            Self::Up if rest > 0 => quotient + 1,
            _ => quotient,
        }
    }
}

/// Numbers at another scale.
#[derive(Debug)]
pub(super) struct AtScale {
    pub from: u8,
    pub to: u8,
    pub rounding: Rounding,
    /// Precision and scale of a modifier: a number with more digits is an error.
    pub modifier: Option<(i32, i32)>,
}

impl AtScale {
    fn computed(&self, unscaled: i128) -> Result<i128, Box<dyn Error + Send + Sync>> {
        let power = 10_i128.pow(self.from.abs_diff(self.to).into());
        let rescaled = match self.from <= self.to {
            true => unscaled.checked_mul(power),
            false => Some(self.rounding.divided(unscaled, power)),
        };
        let Some((precision, scale)) = self.modifier else { return Ok(rescaled.ok_or(TOO_NARROW)?) };
        let limit = u32::try_from(precision).ok().and_then(|precision| 10_u128.checked_pow(precision));
        match rescaled.filter(|value| limit.is_none_or(|limit| value.unsigned_abs() < limit)) {
            Some(value) => Ok(value),
            None => {
                Numeric::from_unscaled(unscaled, self.from.into()).with_modifier(precision, scale)?;
                Err(Box::new(TOO_NARROW))
            }
        }
    }
}

impl ForeignExpression for AtScale {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Evaluated {
        of_each(&arguments[0], row_count, self.to, |unscaled| self.computed(unscaled))
    }
}

impl fmt::Display for AtScale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at scale {}", self.rounding, self.to)
    }
}

/// What becomes of each number's sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfSign {
    /// The number without its sign.
    Magnitude { scale: u8 },
    /// -1, 0 or 1.
    Sign,
}

impl ForeignExpression for OfSign {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Evaluated {
        match *self {
            Self::Magnitude { scale } => {
                of_each(&arguments[0], row_count, scale, |unscaled| Ok(unscaled.checked_abs().ok_or(TOO_NARROW)?))
            }
            Self::Sign => of_each(&arguments[0], row_count, 0, |unscaled| Ok(unscaled.signum())),
        }
    }
}

impl fmt::Display for OfSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Sign { "sign" } else { "abs" })
    }
}

/// A function of each number that is not null, with results at a scale.
fn of_each(
    numbers: &ArrayRef,
    row_count: usize,
    scale: u8,
    compute: impl Fn(i128) -> Result<i128, Box<dyn Error + Send + Sync>>,
) -> Evaluated {
    let numbers = numbers.as_primitive::<Decimal128Type>();
    let mut results = arrow::array::Decimal128Builder::with_capacity(row_count);
    for row in 0..row_count {
        match numbers.is_null(row) {
            true => results.append_null(),
            false => results.append_value(compute(numbers.value(row))?),
        }
    }
    let form = Form::Fixed { digits: crate::values::form::DIGITS_MAX, scale };
    Ok(std::sync::Arc::new(results.finish().with_data_type(form.data_type())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_as_values_are() {
        for unscaled in -1251_i128..=1251 {
            let number = Numeric::from_unscaled(unscaled, 2);
            for (rounding, to, expected) in [
                (Rounding::Nearest, 1, number.round(1)),
                (Rounding::Nearest, 0, number.round(0)),
                (Rounding::Cut, 1, number.trunc(1)),
                (Rounding::Down, 0, number.floor()),
                (Rounding::Up, 0, number.ceil()),
                (Rounding::Nearest, 4, number.round(4)),
            ] {
                let function = AtScale { from: 2, to, rounding, modifier: None };
                let computed = Numeric::from_unscaled(function.computed(unscaled).unwrap(), to.into());
                assert_eq!(computed, expected.unwrap(), "{number} {rounding:?} {to}");
            }
            let function = AtScale { from: 2, to: 1, rounding: Rounding::Nearest, modifier: Some((2, 1)) };
            let computed = function.computed(unscaled).map_err(|error| *error.downcast::<SqlError>().unwrap());
            let computed = computed.map(|unscaled| Numeric::from_unscaled(unscaled, 1));
            assert_eq!(computed, number.with_modifier(2, 1), "{number}");
        }
    }
}
