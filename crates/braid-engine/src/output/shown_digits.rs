//! How many digits after the point a quotient or an average is shown with.
//!
//! PostgreSQL's numerics carry that number with each value; ours have the scale of their type. Columns of quotients say so in
//! their metadata, with the digits of their operands, and who writes them cuts the zeros that PostgreSQL would not show.

use arrow::datatypes::{DataType, Field, FieldRef};
use braid_exec::values::numeric_quotient::{Numeric, shown_digits};
use std::collections::HashMap;
use std::sync::Arc;

/// Metadata of a column of quotients: the most digits after the point that an operand has.
const LEAST_DIGITS_KEY: &str = "braid.least_digits";

/// A field of quotients, whose operands have at most `least_digits` after the point.
pub(crate) fn quotient_field(name: &str, scale: u8, least_digits: u8) -> FieldRef {
    let metadata = HashMap::from([(LEAST_DIGITS_KEY.to_owned(), least_digits.to_string())]);
    Arc::new(Field::new(name, DataType::Decimal128(38, scale as i8), true).with_metadata(metadata))
}

/// Fewest digits that a quotient of this column is shown with; `None` of a column of other values.
pub fn least_digits(field: &Field) -> Option<u8> {
    field.metadata().get(LEAST_DIGITS_KEY).and_then(|digits| digits.parse().ok())
}

/// A quotient without the zeros that are not shown, and its digits after the point.
pub fn as_shown(unscaled: i128, scale: i8, least_digits: u8) -> (i128, i8) {
    let Ok(positive) = u8::try_from(scale) else { return (unscaled, scale) };
    let shown = shown_digits(Numeric { unscaled, scale: positive }, least_digits);
    (unscaled / 10_i128.pow(u32::from(positive - shown)), shown as i8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zeros_are_cut() {
        assert_eq!(as_shown(250_000_000_000_000_000_000, 20, 1), (25_000_000_000_000_000, 16));
        assert_eq!(as_shown(33_333_333_333_333_333_333, 20, 1), (33_333_333_333_333_333_333, 20));
        assert_eq!(as_shown(3_333_333_333_333_333_300_000_000, 20, 1), (33_333_333_333_333_333, 12));
        assert_eq!(least_digits(&quotient_field("q", 20, 2)), Some(2));
    }
}
