//! Quotients of numerics as integers.
//!
//! PostgreSQL gives a quotient sixteen digits that count, in groups of four, so that rows have different scales (`select_div_scale` in
//! numeric.c). The integers are at the largest scale that operands of these forms can give; a second expression is the scale of each row.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Builder, Int64Builder};
use arrow::datatypes::Decimal128Type;
use braid_exec::expression::ForeignExpression;
use braid_exec::{ExecError, Expression as Lowered};
use braid_sql::relation::ColumnId;
use braid_sql::values::Numeric;
use braid_sql::{Expression, SqlError};
use braid_storage::Scalar;

use super::numerics::{FixedPoint, Shown, both_nullable};
use super::query::Lowering;
use crate::values::Form;
use crate::values::form::DIGITS_MAX;

/// Quotients: `(dividends, divisors)`, of integers at these scales.
#[derive(Clone, Copy, Debug)]
struct Quotient {
    scales: [u8; 2],
    part: Part,
}

/// What of a quotient is returned.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// An integer at this scale.
    Value { scale: u8 },
    /// The digits after the point that it shows.
    Digits,
}

impl Quotient {
    /// The operands of a row, if none is null.
    fn operands(self, arguments: &[ArrayRef], row: usize) -> Option<[Numeric; 2]> {
        let [dividends, divisors] = [0, 1].map(|at| arguments[at].as_primitive::<Decimal128Type>());
        let is_null = dividends.is_null(row) || divisors.is_null(row);
        let [dividend, divisor] = self.scales.map(u16::from);
        (!is_null).then(|| {
            [
                Numeric::from_unscaled(dividends.value(row), dividend),
                Numeric::from_unscaled(divisors.value(row), divisor),
            ]
        })
    }
}

/// A quotient as an integer at a scale that is not below its own.
fn at_scale(quotient: &Numeric, scale: u8) -> Result<i128, ExecError> {
    let unscaled = quotient.unscaled().and_then(|(unscaled, own)| {
        let zeros = u32::from(scale).checked_sub(own.into())?;
        unscaled.checked_mul(10_i128.checked_pow(zeros)?)
    });
    unscaled.ok_or(ExecError::OutOfRange { type_name: "numeric" })
}

impl ForeignExpression for Quotient {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let operands = (0..row_count).map(|row| self.operands(arguments, row));
        match self.part {
            Part::Value { scale } => {
                let mut values = Decimal128Builder::with_capacity(row_count);
                for operands in operands {
                    let quotient = operands.map(|[dividend, divisor]| dividend.checked_div(&divisor)).transpose()?;
                    values.append_option(quotient.map(|quotient| at_scale(&quotient, scale)).transpose()?);
                }
                let form = Form::Fixed { digits: DIGITS_MAX, scale };
                Ok(Arc::new(values.finish().with_data_type(form.data_type())))
            }
            Part::Digits => {
                let mut digits = Int64Builder::with_capacity(row_count);
                for operands in operands {
                    let scale = operands.map(|[dividend, divisor]| dividend.scale_of_quotient(&divisor)).transpose()?;
                    digits.append_option(scale.map(i64::from));
                }
                Ok(Arc::new(digits.finish()))
            }
        }
    }
}

impl fmt::Display for Quotient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.part {
            Part::Value { .. } => "quotient",
            Part::Digits => "digits of the quotient",
        })
    }
}

/// Magnitudes of the integers of an operand other than 0: the least and the greatest, at its scale.
fn magnitudes(operand: &FixedPoint) -> Option<[Numeric; 2]> {
    if let Lowered::Constant(Some(constant)) = &operand.value {
        let unscaled = match constant {
            Scalar::Int(unscaled) => i128::from(*unscaled),
            Scalar::Int128(unscaled) => *unscaled,
            _ => return None,
        };
        let magnitude = unscaled.checked_abs().filter(|magnitude| *magnitude > 0)?;
        return Some([magnitude; 2].map(|unscaled| Numeric::from_unscaled(unscaled, operand.scale.into())));
    }
    let greatest = 10_i128.checked_pow(operand.digits.into())?.checked_sub(1)?;
    Some([1, greatest.max(1)].map(|unscaled| Numeric::from_unscaled(unscaled, operand.scale.into())))
}

/// The largest scale of a quotient, and most digits of it at this scale; `None` if they are not known, or the scale is none of integers.
fn largest(dividend: &FixedPoint, divisor: &FixedPoint) -> Option<(u8, u32)> {
    let ([least, greatest], [least_divisor, greatest_divisor]) = (magnitudes(dividend)?, magnitudes(divisor)?);
    // The scale is the larger, the less the quotient is. That of 0 is estimated from the divisor.
    let zero = Numeric::from_unscaled(0, dividend.scale.into());
    let scales = [zero, least].map(|dividend| dividend.scale_of_quotient(&greatest_divisor));
    let scale = scales.into_iter().flatten().max().and_then(|scale| u8::try_from(scale).ok())?;
    if scale > DIGITS_MAX {
        return None;
    }
    // Rounding may carry into the whole digits: 99.9 becomes 100.
    let whole_max = greatest.checked_div(&least_divisor).ok()?.trunc(0).ok()?.unscaled()?.0 + 1;
    let whole_digits = whole_max.checked_ilog10().map_or(0, |log| log + 1);
    Some((scale, whole_digits + u32::from(scale)))
}

impl Lowering<'_> {
    /// A quotient.
    pub(super) fn fixed_quotient(
        &self,
        left: &Expression,
        right: &Expression,
        input: &[ColumnId],
    ) -> Result<Option<FixedPoint>, SqlError> {
        let Some((left, right)) = self.fixed_operands(left, right, input)? else { return Ok(None) };
        if left.shown.is_some() || right.shown.is_some() {
            return Ok(None);
        }
        let Some((scale, digits)) = largest(&left, &right) else { return Ok(None) };
        let Some(digits) = self.digits(digits) else { return Ok(None) };
        let part = |part| {
            let of = |side: &FixedPoint| {
                (side.value.clone(), Form::Fixed { digits: side.digits, scale: side.scale }.data_type())
            };
            let function = Arc::new(Quotient { scales: [left.scale, right.scale], part });
            Lowered::Foreign { function, arguments: vec![of(&left), of(&right)] }
        };
        let nullable = both_nullable(&left, &right);
        let shown = Some(Shown::of(part(Part::Digits)));
        Ok(Some(FixedPoint { value: part(Part::Value { scale }), digits, scale, shown, nullable }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(digits: u8, scale: u8) -> FixedPoint {
        FixedPoint::of(Lowered::Column(0), digits, scale)
    }

    /// No quotient of operands of these forms has a larger scale or more digits.
    #[test]
    fn scales_and_digits_are_the_largest() {
        for (digits, scale, divisor_digits, divisor_scale) in
            [(3, 0, 3, 0), (3, 2, 2, 0), (2, 1, 3, 2), (4, 4, 1, 0), (1, 0, 5, 1), (3, 3, 3, 3)]
        {
            let (dividend, divisor) = (form(digits, scale), form(divisor_digits, divisor_scale));
            let (scale_max, digits_max) = largest(&dividend, &divisor).unwrap();
            let mut greatest_scale = 0;
            for dividend in 0..10_i128.pow(digits.into()) {
                for divisor in (1..10_i128.pow(divisor_digits.into())).rev().step_by(7) {
                    let [dividend, divisor] = [(dividend, scale), (divisor, divisor_scale)]
                        .map(|(n, scale)| Numeric::from_unscaled(n, scale.into()));
                    let quotient = dividend.checked_div(&divisor).unwrap();
                    assert_eq!(quotient.scale(), Some(dividend.scale_of_quotient(&divisor).unwrap()));
                    greatest_scale = greatest_scale.max(quotient.scale().unwrap());
                    let unscaled = at_scale(&quotient, scale_max).unwrap();
                    assert!(unscaled < 10_i128.pow(digits_max), "{dividend} / {divisor}");
                }
            }
            assert_eq!(greatest_scale, scale_max.into(), "{dividend:?} / {divisor:?}");
        }
    }

    #[test]
    fn constants_need_fewer_digits() {
        let constant = FixedPoint { value: Lowered::Constant(Some(Scalar::Int(2))), ..form(1, 0) };
        assert_eq!(largest(&form(10, 2), &constant), Some((20, 28)));
        assert_eq!(largest(&form(10, 2), &form(10, 0)), Some((28, 37)));
        let zero = FixedPoint { value: Lowered::Constant(Some(Scalar::Int(0))), ..form(1, 0) };
        assert_eq!(largest(&form(10, 2), &zero), None);
    }
}
