//! Comparisons of numerics as integers.
//!
//! Integers at different scales are compared at the larger one, if they have room for its digits. A constant is compared at the scale of
//! the other side: one between two of its numbers like a bound, one beyond all of them like any that is.

use braid_exec::Expression as Lowered;
use braid_exec::expression::Comparison;
use braid_sql::expression::Expression;
use braid_sql::relation::ColumnId;
use braid_sql::values::Numeric;
use braid_sql::{SqlError, Value};

use super::numerics::FixedPoint;
use super::parameters::Reading;
use super::query::Lowering;
use crate::values::arrays::integer_scalar;
use crate::values::form::DIGITS_MAX;

/// An integer that no number of at most 38 digits is: such numbers are below 10^38, this is 1.7 * 10^38.
const BEYOND: i128 = i128::MAX;

/// Where a constant is among the numbers at a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Among {
    /// It is this one.
    One(i128),
    /// Between this one and the next.
    After(i128),
    /// Above all of them, as NaN is.
    Above,
    /// Below all of them.
    Below,
}

/// Where a constant is among the numbers of at most 38 digits at a scale.
fn place(constant: &Numeric, scale: u8) -> Result<Among, SqlError> {
    if constant.is_nan() {
        return Ok(Among::Above);
    }
    let beyond = if constant.signum() > 0 { Among::Above } else { Among::Below };
    if constant.is_infinite() {
        return Ok(beyond);
    }
    let cut = constant.trunc(scale.into())?;
    Ok(match cut.unscaled() {
        Some((unscaled, _)) if unscaled.unsigned_abs() < 10_u128.pow(DIGITS_MAX.into()) => {
            match cut.compare(constant) {
                std::cmp::Ordering::Equal => Among::One(unscaled),
                std::cmp::Ordering::Less => Among::After(unscaled),
                std::cmp::Ordering::Greater => Among::After(unscaled - 1),
            }
        }
        _ => beyond,
    })
}

/// The integer that integers at a scale are compared with in place of a number.
pub(super) fn place_for(number: &Numeric, scale: u8, comparison: Comparison) -> Result<i128, SqlError> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    Ok(match (place(number, scale)?, comparison) {
        (Among::One(integer), _) => integer,
        (_, Equal | NotEqual) => BEYOND,
        (Among::After(floor), LessOrEqual | Greater) => floor,
        (Among::After(floor), Less | GreaterOrEqual) => floor + 1,
        (Among::Above, _) => BEYOND,
        (Among::Below, _) => -BEYOND,
    })
}

/// The integers compared with one.
fn compared(comparison: Comparison, value: Lowered, with: i128) -> Lowered {
    let right = Box::new(Lowered::Constant(Some(integer_scalar(with))));
    Lowered::Compare { comparison, left: Box::new(value), right }
}

/// Integers of at most 38 digits, compared with a constant.
fn compared_with(comparison: Comparison, value: Lowered, constant: Among) -> Lowered {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    match (constant, comparison) {
        (Among::One(constant), comparison) => compared(comparison, value, constant),
        (_, Equal | NotEqual) => compared(comparison, value, BEYOND),
        (Among::After(floor), Less | LessOrEqual) => compared(LessOrEqual, value, floor),
        (Among::After(floor), Greater | GreaterOrEqual) => compared(Greater, value, floor),
        // True of all that are not null, or false.
        (Among::Above, Less | LessOrEqual) | (Among::Below, Greater | GreaterOrEqual) => {
            compared(NotEqual, value, BEYOND)
        }
        (Among::Above, Greater | GreaterOrEqual) | (Among::Below, Less | LessOrEqual) => compared(Equal, value, BEYOND),
    }
}

impl Lowering<'_> {
    /// A comparison of numerics, if integers can be compared instead.
    pub(super) fn fixed_comparison(
        &self,
        comparison: Comparison,
        left: &Expression,
        right: &Expression,
        input: &[ColumnId],
    ) -> Result<Option<Lowered>, SqlError> {
        if let Some(with_parameter) = self.fixed_comparison_with_parameter(comparison, left, right, input)? {
            return Ok(Some(with_parameter));
        }
        let (comparison, value, constant) = match (self.constant_numeric(left), self.constant_numeric(right)) {
            (None, None) => {
                let Some(left) = self.fixed(left, input)? else { return Ok(None) };
                let Some(right) = self.fixed(right, input)? else { return Ok(None) };
                return Ok(self.aligned(&left, &right).map(|(left, right)| Lowered::Compare {
                    comparison,
                    left: Box::new(left),
                    right: Box::new(right),
                }));
            }
            (None, Some(constant)) => (comparison, left, constant),
            (Some(constant), None) => (comparison.mirrored(), right, constant),
            (Some(_), Some(_)) => return Ok(None),
        };
        let Value::Numeric(constant) = constant else { return Ok(None) };
        let Some(value) = self.fixed(value, input)? else { return Ok(None) };
        let place = place(&constant, value.scale)?;
        let is_of_bounds = !matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        let needs_none_beyond = match place {
            Among::One(_) => false,
            Among::After(_) => !is_of_bounds,
            Among::Above | Among::Below => true,
        };
        if needs_none_beyond && value.digits > DIGITS_MAX {
            return Ok(None);
        }
        Ok(Some(compared_with(comparison, value.value, place)))
    }

    /// A comparison of a numeric with a parameter, which may show any digits.
    fn fixed_comparison_with_parameter(
        &self,
        comparison: Comparison,
        left: &Expression,
        right: &Expression,
        input: &[ColumnId],
    ) -> Result<Option<Lowered>, SqlError> {
        let (comparison, value, parameter) = match (self.is_parameter(left), self.is_parameter(right)) {
            (false, true) => (comparison, left, right),
            (true, false) => (comparison.mirrored(), right, left),
            _ => return Ok(None),
        };
        let Some(value) = self.fixed(value, input)?.filter(|value| value.digits <= DIGITS_MAX) else {
            return Ok(None);
        };
        let place = self.parameter(parameter, Reading::Place { scale: value.scale, comparison });
        Ok(Some(Lowered::Compare { comparison, left: Box::new(value.value), right: Box::new(place) }))
    }

    /// Whether a numeric is one of these values, none of which is null, if integers can be looked up instead.
    pub(super) fn fixed_membership(
        &self,
        operand: &Expression,
        values: &[Value],
        input: &[ColumnId],
    ) -> Result<Option<Lowered>, SqlError> {
        let Some(operand) = self.fixed(operand, input)? else { return Ok(None) };
        if operand.digits > DIGITS_MAX {
            return Ok(None);
        }
        let mut list = Vec::with_capacity(values.len());
        for value in values {
            let Value::Numeric(constant) = value else { return Ok(None) };
            if let Among::One(integer) = place(constant, operand.scale)? {
                list.push(integer_scalar(integer));
            }
        }
        if list.is_empty() {
            return Ok(Some(compared(Comparison::Equal, operand.value, BEYOND)));
        }
        Ok(Some(Lowered::In { value: Box::new(operand.value), list }))
    }

    /// Both integers at the larger scale, if it leaves them room.
    fn aligned(&self, left: &FixedPoint, right: &FixedPoint) -> Option<(Lowered, Lowered)> {
        let scale = left.scale.max(right.scale);
        let has_room = |side: &FixedPoint| side.scale == scale || self.digits(side.digits_at(scale)).is_some();
        (has_room(left) && has_room(right)).then(|| (left.at_scale(scale), right.at_scale(scale)))
    }

    /// Two expressions of one type over two inputs, or integers or bytes that are equal where their values are.
    pub(super) fn comparable_sides(
        &self,
        left: (&Expression, &[ColumnId]),
        right: (&Expression, &[ColumnId]),
    ) -> Result<(Lowered, Lowered), SqlError> {
        if let Some(of_left) = self.fixed(left.0, left.1)?
            && let Some(of_right) = self.fixed(right.0, right.1)?
            && let Some(aligned) = self.aligned(&of_left, &of_right)
        {
            return Ok(aligned);
        }
        Ok((self.comparison_key(left.0, left.1)?, self.comparison_key(right.0, right.1)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_their_place_among_numbers() {
        for (constant, expected) in [
            ("1.5", Among::One(150)),
            ("1.5000", Among::One(150)),
            ("-1.505", Among::After(-151)),
            ("1.505", Among::After(150)),
            ("0.001", Among::After(0)),
            ("-0.001", Among::After(-1)),
            ("1e36", Among::Above),
            ("-1e40", Among::Below),
            ("NaN", Among::Above),
            ("-Infinity", Among::Below),
            ("999999999999999999999999999999999999.99", Among::One(10_i128.pow(38) - 1)),
        ] {
            assert_eq!(place(&Numeric::parse(constant).unwrap(), 2).unwrap(), expected, "{constant}");
        }
    }
}
