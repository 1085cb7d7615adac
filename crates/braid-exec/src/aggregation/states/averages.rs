//! Averages from sums and counts.

use crate::ExecError;
use crate::values::narrow_integers::narrowest;
use crate::values::numeric_quotient::{Numeric, numeric_quotient};
use crate::values::vector::{Values, Vector};

const NUMERIC_OUT_OF_RANGE: ExecError = ExecError::OutOfRange { type_name: "numeric" };

/// Averages of numerics with `scale` digits after the point, at `result_scale` of them: quotients, as PostgreSQL rounds them
/// (`numeric_quotient`). Null if the sum is null.
///
/// # Errors
/// When an average does not fit 38 digits.
pub(crate) fn numeric_averages(
    sums: &Vector,
    counts: &[i64],
    scale: u8,
    result_scale: u8,
) -> Result<Vector, ExecError> {
    let average = |(row, unscaled): (usize, i128)| {
        if !sums.is_valid(row) {
            return Ok(0);
        }
        let count = Numeric { unscaled: counts[row].into(), scale: 0 };
        numeric_quotient(Numeric { unscaled, scale }, count, result_scale).ok_or(NUMERIC_OUT_OF_RANGE)
    };
    let averages: Result<Vec<i128>, ExecError> = match sums.values() {
        Values::Int(sums) => sums.iter().copied().map(i128::from).enumerate().map(average).collect(),
        Values::Int128(sums) => sums.iter().copied().enumerate().map(average).collect(),
        _ => panic!("averages of numerics are of integers"),
    };
    Ok(Vector::new(narrowest(averages?), sums.valid().map(<[bool]>::to_vec)))
}

/// `sum / count` in double precision; null if the sum is null.
pub(crate) fn float_averages(sums: &Vector, counts: &[i64]) -> Vector {
    let averages = match sums.values() {
        Values::Int(sums) => sums.iter().zip(counts).map(|(sum, count)| *sum as f64 / *count as f64).collect(),
        Values::Int128(sums) => sums.iter().zip(counts).map(|(sum, count)| *sum as f64 / *count as f64).collect(),
        Values::Float(sums) => sums.iter().zip(counts).map(|(sum, count)| sum / *count as f64).collect(),
        _ => panic!("averages are of numbers"),
    };
    Vector::new(Values::Float(averages), sums.valid().map(<[bool]>::to_vec))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_rounded_and_overflow_only_when_they_must() {
        let average = |sum: i128, count, scale, result_scale| {
            let sums = Vector::new(Values::Int128(vec![sum]), None);
            let average = numeric_averages(&sums, &[count], scale, result_scale)?;
            Ok(match average.values() {
                Values::Int(values) => i128::from(values[0]),
                Values::Int128(values) => values[0],
                values => panic!("{values:?} are no integers"),
            })
        };
        let is_out_of_range = |result: Result<i128, ExecError>| matches!(result, Err(ExecError::OutOfRange { .. }));
        assert_eq!(average(-7, 2, 0, 0).unwrap(), -4);
        assert_eq!(average(5, 3, 0, 16).unwrap(), 16_666_666_666_666_667);
        let large = 10_i128.pow(37);
        assert_eq!(average(large, 1000, 0, 3).unwrap(), large);
        assert!(is_out_of_range(average(large, 1000, 0, 6)));
    }
}
