//! Numerics as bytes of the front end, and as the integers that they are stored as.
//!
//! A numeric of at most 128 bits is 19 bytes in a column of encoded values:
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 1 | [`NUMERIC_TAG`] |
//! | 1 | 2 | digits after the point that it shows |
//! | 3 | 16 | the number without the point, two's complement |
//!
//! Where all numerics of a chunk show the same digits and have at most 38 of them, the chunk's segment is one of
//! `numeric(38, scale)`: integers, with their codecs, bounds and predicates. All others (NaN, infinities, more digits,
//! digits that differ) are stored as the bytes. Both ways lose nothing: the integers and the scale give the same bytes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, Decimal128Array};
use arrow::datatypes::Decimal128Type;

use crate::types::NUMERIC_PRECISION_MAX;
use crate::{ColumnType, CommonScale};

/// The tag of a numeric that is an integer of 128 bits and a scale.
pub const NUMERIC_TAG: u8 = 22;

/// Bytes of such a numeric.
const NUMERIC_BYTES: usize = 1 + 2 + 16;

/// The integers of a column of encoded numerics, and the scale that all of them have; `None` where they have not. Nulls
/// have any scale.
pub(crate) fn integers_of(array: &dyn Array) -> Option<(Decimal128Array, u8)> {
    let encoded = array.as_binary_view();
    let mut common = None;
    let mut integers = Vec::with_capacity(encoded.len());
    for bytes in encoded {
        let Some(bytes) = bytes else {
            integers.push(None);
            continue;
        };
        let (scale, integer) = integer_of(bytes)?;
        if *common.get_or_insert(scale) != scale {
            return None;
        }
        integers.push(Some(integer));
    }
    let scale = common.unwrap_or(0);
    let stored = CommonScale::stored_type(scale).arrow();
    Some((Decimal128Array::from(integers).with_data_type(stored), scale))
}

/// The scale and the integer of a numeric, if both fit `numeric(38, scale)`.
pub(super) fn integer_of(bytes: &[u8]) -> Option<(u8, i128)> {
    let bytes: &[u8; NUMERIC_BYTES] = bytes.try_into().ok()?;
    let (tag, rest) = bytes.split_first()?;
    let (scale, integer) = rest.split_first_chunk::<2>()?;
    let integer = i128::from_le_bytes(integer.try_into().ok()?);
    let scale = u8::try_from(u16::from_le_bytes(*scale)).ok()?;
    let fits = scale <= NUMERIC_PRECISION_MAX && integer.unsigned_abs() < 10_u128.pow(NUMERIC_PRECISION_MAX.into());
    (*tag == NUMERIC_TAG && fits).then_some((scale, integer))
}

/// An array as a column of this type has it: integers of a numeric that is declared without a precision as bytes.
pub(crate) fn as_declared(array: ArrayRef, declared: ColumnType) -> ArrayRef {
    match (declared, array.as_primitive_opt::<Decimal128Type>()) {
        (ColumnType::Encoded { .. }, Some(integers)) => Arc::new(encoded_numerics(integers)),
        _ => array,
    }
}

/// The bytes of numerics that show all digits of the array's scale, which is not negative.
pub fn encoded_numerics(integers: &Decimal128Array) -> BinaryViewArray {
    let mut bytes = [0; NUMERIC_BYTES];
    bytes[0] = NUMERIC_TAG;
    bytes[1..3].copy_from_slice(&i16::from(integers.scale()).to_le_bytes());
    let block_bytes = u32::try_from(integers.len().max(1) * NUMERIC_BYTES).unwrap_or(u32::MAX);
    let mut encoded = BinaryViewBuilder::with_capacity(integers.len()).with_fixed_block_size(block_bytes);
    for integer in integers {
        match integer {
            None => encoded.append_null(),
            Some(integer) => {
                bytes[3..].copy_from_slice(&integer.to_le_bytes());
                encoded.append_value(bytes);
            }
        }
    }
    encoded.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(scale: u16, integer: i128) -> Vec<u8> {
        [&[NUMERIC_TAG][..], &scale.to_le_bytes(), &integer.to_le_bytes()].concat()
    }

    fn integers(values: &[Option<Vec<u8>>]) -> Option<(Vec<Option<i128>>, u8)> {
        let array: BinaryViewArray = values.iter().map(Option::as_deref).collect();
        integers_of(&array).map(|(integers, scale)| (integers.iter().collect(), scale))
    }

    const DECLARED: ColumnType = ColumnType::Encoded { type_oid: 1700, modifier: -1 };

    #[test]
    fn numerics_of_one_scale_are_integers_and_come_back_as_the_same_bytes() {
        let most = 10_i128.pow(38) - 1;
        for (scale, values) in
            [(0, vec![Some(0), None, Some(-7)]), (2, vec![Some(most), Some(-most)]), (38, vec![Some(1)])]
        {
            let bytes: Vec<Option<Vec<u8>>> = values.iter().map(|v| v.map(|v| numeric(scale, v))).collect();
            assert_eq!(integers(&bytes), Some((values, scale as u8)));
            let array: BinaryViewArray = bytes.iter().map(Option::as_deref).collect();
            let (integers, _) = integers_of(&array).unwrap();
            let back = as_declared(Arc::new(integers), DECLARED);
            assert_eq!(back.as_binary_view(), &array);
        }
        assert_eq!(integers(&[None, None]), Some((vec![None, None], 0)));
    }

    #[test]
    fn other_bytes_and_other_scales_are_no_integers() {
        let one = || Some(numeric(2, 100));
        let text = Some(b"\x07\x03\0\0\0NaN".to_vec());
        let cut = Some(numeric(2, 100)[..18].to_vec());
        let wide = Some(numeric(2, 10_i128.pow(38)));
        let of_other_tag = Some([&[21][..], &numeric(2, 1)[1..]].concat());
        for other in [
            text,
            cut,
            wide,
            of_other_tag,
            Some(Vec::new()),
            Some(numeric(39, 1)),
            Some(numeric(258, 1)),
            Some(numeric(1, 10)),
        ] {
            assert_eq!(integers(&[one(), other.clone(), one()]), None, "{other:?}");
        }
        assert!(integers(&[one(), None, one()]).is_some());
    }
}
