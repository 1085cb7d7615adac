//! Segments of one value, made without an array of its rows.

use arrow::datatypes::IntervalMonthDayNano;

use super::body::sixteen_bytes_of;
use super::bounds::zone_map;
use super::column_values::ColumnValues;
use super::encode::{EncodedSegment, Encoder};
use super::encoded_numerics::integer_of;
use crate::{ColumnType, CommonScale, PhysicalType, Scalar};

/// The segment of `row_count` rows of a column that all are `value`, or null: the same bytes that encoding the rows gives.
/// `None` if the column has no such values. There must be rows, and no more than a chunk's.
pub(crate) fn encode_constant(
    value: Option<&Scalar>,
    column_type: ColumnType,
    row_count: usize,
) -> Option<EncodedSegment> {
    if column_type.is_encoded_numeric() {
        let stored = match value {
            None => Some((0, None)),
            Some(Scalar::Bytes(bytes)) => {
                integer_of(bytes).map(|(scale, integer)| (scale, Some(Scalar::Int128(integer))))
            }
            Some(_) => return None,
        };
        if let Some((scale, integer)) = stored {
            let encoded = encode_rows(integer.as_ref(), CommonScale::stored_type(scale), row_count)?;
            return Some(EncodedSegment { scale: Some(scale), ..encoded });
        }
    }
    encode_rows(value, column_type, row_count)
}

fn encode_rows(value: Option<&Scalar>, column_type: ColumnType, row_count: usize) -> Option<EncodedSegment> {
    let physical = column_type.physical();
    let Some(value) = value else {
        let mut encoder = Encoder::new(row_count, row_count, physical);
        let zone_map = encoder.nulls();
        return Some(encoder.finish(zone_map));
    };
    let values = one_value(value, physical)?;
    let mut encoder = Encoder::new(row_count, 0, physical);
    encoder.encode(&values, column_type).ok()?;
    Some(encoder.finish(zone_map(&values, physical, 0)))
}

fn one_value(value: &Scalar, physical: PhysicalType) -> Option<ColumnValues<'_>> {
    Some(match (value, physical) {
        (Scalar::Bool(value), PhysicalType::Bool) => ColumnValues::Bits(vec![*value]),
        (Scalar::Int(value), PhysicalType::Int) => ColumnValues::Integers(vec![*value]),
        (Scalar::Int128(value), PhysicalType::Int128) => match i64::try_from(*value) {
            Ok(value) => ColumnValues::Integers(vec![value]),
            Err(_) => ColumnValues::SixteenBytes(vec![*value]),
        },
        (Scalar::Float(value), PhysicalType::Float32) => ColumnValues::Floats32(vec![*value as f32]),
        (Scalar::Float(value), PhysicalType::Float64) => ColumnValues::Floats64(vec![*value]),
        (Scalar::Bytes(value), PhysicalType::Bytes) => ColumnValues::Strings(vec![value]),
        (Scalar::Interval(months, days, nanoseconds), PhysicalType::Interval) => {
            let interval = IntervalMonthDayNano::new(*months, *days, *nanoseconds);
            ColumnValues::SixteenBytes(vec![sixteen_bytes_of(interval)])
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::encode_segment;
    use crate::{NUMERIC_OID, Segment, Selection};

    /// Values of every type, with the nulls.
    fn values() -> Vec<(ColumnType, Option<Scalar>)> {
        let bytes = |bytes: &[u8]| Some(Scalar::Bytes(bytes.to_vec()));
        let numeric = ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 };
        let wide = ColumnType::Numeric { precision: 38, scale: 2 };
        let encoded = |scale: u16, integer: i128| [&[22][..], &scale.to_le_bytes(), &integer.to_le_bytes()].concat();
        let some = vec![
            (ColumnType::Boolean, Some(Scalar::Bool(true))),
            (ColumnType::SmallInt, Some(Scalar::Int(-7))),
            (ColumnType::Integer, Some(Scalar::Int(70_000))),
            (ColumnType::BigInt, Some(Scalar::Int(i64::MIN))),
            (ColumnType::Date, Some(Scalar::Int(-1))),
            (ColumnType::Time, Some(Scalar::Int(3))),
            (ColumnType::TimestampTz, Some(Scalar::Int(1 << 50))),
            (ColumnType::Real, Some(Scalar::Float(0.5))),
            (ColumnType::Real, Some(Scalar::Float(f64::NAN))),
            (ColumnType::Double, Some(Scalar::Float(-0.0))),
            (ColumnType::Numeric { precision: 9, scale: 2 }, Some(Scalar::Int(1_250))),
            (wide, Some(Scalar::Int128(7))),
            (wide, Some(Scalar::Int128(-(10_i128.pow(37))))),
            (ColumnType::Text, bytes("ä".as_bytes())),
            (ColumnType::Varchar(5), bytes(b"")),
            (ColumnType::Text, bytes(&[b'x'; 100])),
            (ColumnType::Bytea, bytes(&[0xFF, 0])),
            (ColumnType::Uuid, bytes(&[9; 16])),
            (ColumnType::Interval, Some(Scalar::Interval(1, -2, 3))),
            (numeric, bytes(&encoded(2, 12_345))),
            (numeric, bytes(&encoded(50, 1))),
            (ColumnType::Encoded { type_oid: 3802, modifier: -1 }, bytes(b"anything")),
        ];
        let nulls: Vec<_> = some.iter().map(|(column_type, _)| (*column_type, None)).collect();
        some.into_iter().chain(nulls).collect()
    }

    #[test]
    fn a_constant_has_the_bytes_that_encoding_its_rows_gives() {
        for (column_type, value) in values() {
            let encoded = encode_constant(value.as_ref(), column_type, 2500).unwrap();
            let stored_type = encoded.scale.map_or(column_type, CommonScale::stored_type);
            let segment = Segment::open(encoded.bytes.clone().into(), stored_type).unwrap();
            let rows: Vec<Selection> =
                (0..segment.vector_count()).map(|vector| Selection::all(segment.vector_rows(vector))).collect();
            let array = segment.gather_declared(0..segment.vector_count(), &rows, column_type);
            assert_eq!(array.len(), 2500);
            let again = encode_segment(&array, column_type).unwrap();
            assert_eq!(again.bytes, encoded.bytes, "{column_type} {value:?}");
            assert_eq!((again.scale, again.codec, again.checksum), (encoded.scale, encoded.codec, encoded.checksum));
            assert_eq!((again.zone_map, again.distinct), (encoded.zone_map, encoded.distinct));
            if encoded.scale.is_none() {
                assert_eq!(segment.value(2499), value, "{column_type}");
            }
        }
    }

    #[test]
    fn a_value_of_another_type_makes_no_segment() {
        let text = Some(Scalar::Bytes(b"1".to_vec()));
        for column_type in [ColumnType::Integer, ColumnType::Boolean, ColumnType::Double, ColumnType::Interval] {
            assert!(encode_constant(text.as_ref(), column_type, 1).is_none(), "{column_type}");
        }
        assert!(encode_constant(Some(&Scalar::Int(1)), ColumnType::Text, 1).is_none());
        let numeric = ColumnType::Encoded { type_oid: NUMERIC_OID, modifier: -1 };
        assert!(encode_constant(Some(&Scalar::Int(1)), numeric, 1).is_none());
    }
}
