//! Integers of 128 bits in 64 bits, if their values fit.

use super::vector::Values;

/// The values in 64 bits, if all that are not null fit.
pub(crate) fn narrow(values: &[i128], valid: Option<&[bool]>) -> Option<Vec<i64>> {
    let narrowed = values.iter().enumerate().map(|(row, value)| match i64::try_from(*value) {
        Err(_) if valid.is_some_and(|valid| !valid[row]) => Some(0),
        narrowed => narrowed.ok(),
    });
    narrowed.collect()
}

/// Integers of 64 bits if all values fit, otherwise of 128 bits.
pub(crate) fn narrowest(values: Vec<i128>) -> Values {
    narrow(&values, None).map_or(Values::Int128(values), Values::Int)
}
