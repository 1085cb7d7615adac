//! Prefixes of sort keys as numbers, so that most comparisons are of adjacent integers.
//!
//! Prefixes never contradict the order of rows. If they are equal, the rows' values decide.

use crate::plan::SortKey;
use crate::values::byte_strings::order_prefix;
use crate::values::vector::{Values, Vector};

/// The prefix of each row's value. Rows with smaller prefixes are first.
pub(super) fn prefixes(vector: &Vector, key: SortKey) -> Vec<u64> {
    let mut prefixes: Vec<u64> = match vector.values() {
        Values::Bool(values) => values.iter().map(|value| u64::from(*value)).collect(),
        Values::Int(values) => values.iter().map(|value| of_integer(*value)).collect(),
        Values::Int128(values) => values.iter().map(|value| of_integer(saturated(*value))).collect(),
        Values::Float(values) => values.iter().map(|value| of_float(*value)).collect(),
        Values::Bytes(strings) => (0..strings.len()).map(|row| order_prefix(strings.get(row))).collect(),
        Values::Coded(coded) => {
            let of_codes: Vec<u64> =
                (0..coded.dictionary.len()).map(|code| order_prefix(coded.dictionary.get(code))).collect();
            // The value under a null may be out of the range of the dictionary.
            coded.codes.iter().map(|code| of_codes.get(*code as usize).copied().unwrap_or(0)).collect()
        }
    };
    if key.descending {
        prefixes.iter_mut().for_each(|prefix| *prefix = !*prefix);
    }
    let null = if key.nulls_first { 0 } else { u64::MAX };
    if let Some(valid) = vector.valid() {
        let nulls = prefixes.iter_mut().zip(valid).filter(|(_, valid)| !**valid);
        nulls.for_each(|(prefix, _)| *prefix = null);
    }
    prefixes
}

fn saturated(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

fn of_integer(value: i64) -> u64 {
    value as u64 ^ 1 << 63
}

/// A NaN is above all numbers, and zeros are equal.
fn of_float(value: f64) -> u64 {
    if value.is_nan() {
        return u64::MAX;
    }
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use braid_testing::properties;
    use braid_testing::proptest::prelude::*;

    use super::*;
    use crate::ByteStrings;
    use crate::sorting::compare_rows;

    fn vectors() -> impl Strategy<Value = Vector> {
        let valid = prop::collection::vec(any::<bool>(), 2);
        let floats =
            prop::sample::select(vec![0.0, -0.0, 1.5, -1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-300]);
        let values = prop_oneof![
            prop::collection::vec(any::<bool>(), 2).prop_map(Values::Bool),
            prop::collection::vec(any::<i64>(), 2).prop_map(Values::Int),
            prop::collection::vec(any::<i128>().prop_map(|value| value >> (value as u32 % 100)), 2)
                .prop_map(Values::Int128),
            prop::collection::vec(floats, 2).prop_map(Values::Float),
            prop::collection::vec(prop::collection::vec(0u8..3, 0..12), 2)
                .prop_map(|strings| Values::Bytes(ByteStrings::from_strings(strings.iter().map(Vec::as_slice)))),
        ];
        (values, valid, any::<bool>())
            .prop_map(|(values, valid, has_nulls)| Vector::new(values, has_nulls.then_some(valid)))
    }

    properties! {
        256 cases;

        #[test]
        fn prefixes_follow_the_order_of_rows(vector in vectors(), descending: bool, nulls_first: bool) {
            let key = SortKey { column: 0, descending, nulls_first };
            let prefixes = prefixes(&vector, key);
            let order = compare_rows(&vector, 0, &vector, 1, key);
            prop_assert!(prefixes[0] == prefixes[1] || prefixes[0].cmp(&prefixes[1]) == order, "{prefixes:?} {order:?}");
        }
    }
}
