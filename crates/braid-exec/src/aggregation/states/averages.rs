//! Averages from sums and counts.

use super::aggregate_states::narrowest;
use crate::ExecError;
use crate::values::vector::{Values, Vector};

const NUMERIC_OUT_OF_RANGE: ExecError = ExecError::OutOfRange { type_name: "numeric" };

/// `sum * 10^digits / count`, truncated towards zero; null if the sum is null.
///
/// # Errors
/// When an average does not fit 128 bits.
pub(crate) fn numeric_averages(sums: &Vector, counts: &[i64], digits: u8) -> Result<Vector, ExecError> {
    let average = |(row, sum): (usize, i128)| match sums.is_valid(row) {
        true => numeric_average(sum, counts[row], digits),
        false => Ok(0),
    };
    let averages: Result<Vec<i128>, ExecError> = match sums.values() {
        Values::Int(sums) => sums.iter().copied().map(i128::from).enumerate().map(average).collect(),
        Values::Int128(sums) => sums.iter().copied().enumerate().map(average).collect(),
        _ => panic!("averages of numerics are of integers"),
    };
    Ok(Vector::new(narrowest(averages?), sums.valid().map(<[bool]>::to_vec)))
}

fn numeric_average(sum: i128, count: i64, digits: u8) -> Result<i128, ExecError> {
    let scaled = 10_i128.checked_pow(digits.into()).and_then(|power| sum.checked_mul(power));
    if let Some(scaled) = scaled {
        // A division of 128 bits takes several times as long as one of 64 bits.
        return Ok(match i64::try_from(scaled) {
            Ok(scaled) => i128::from(scaled) / i128::from(count),
            Err(_) => scaled / i128::from(count),
        });
    }
    let count = i128::from(count);
    let (mut average, mut rest) = (sum / count, sum % count);
    // Long division: the rest is below 2^63, and ten times it below 2^67.
    for _ in 0..digits {
        rest *= 10;
        let longer = average.checked_mul(10).and_then(|average| average.checked_add(rest / count));
        average = longer.ok_or(NUMERIC_OUT_OF_RANGE)?;
        rest %= count;
    }
    Ok(average)
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
    fn averages_overflow_only_when_they_must() {
        assert_eq!(numeric_average(-7, 2, 0).unwrap(), -3);
        assert_eq!(numeric_average(-20, 3, 2).unwrap(), -666);
        let large = i128::MAX / 10;
        assert_eq!(numeric_average(large, 1000, 3).unwrap(), large);
        assert_eq!(numeric_average(-large, 1000, 4).unwrap(), -large * 10);
        assert!(matches!(numeric_average(large, 1000, 6), Err(ExecError::OutOfRange { .. })));
    }
}
