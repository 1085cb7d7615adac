//! Values of any type as bytes that say what they are: a tag, then what `docs/format.md` says ("Encoded values"). Columns are stored so.

use std::sync::Arc;

use braid_base::EnumTypeId;
use braid_sql::input::json::parse_jsonb;
use braid_sql::input::json_path::parse_json_path;
use braid_sql::output::json::jsonb_text;
use braid_sql::output::json_path::json_path_text;
use braid_sql::pg_catalog::TypeId;
use braid_sql::values::{ArrayValue, EnumValue, Interval, Numeric, RecordField, RecordType, RecordValue};
use braid_sql::{SqlError, SqlState, SqlType, Value};

/// Arrays and records within each other that are read. PostgreSQL's arrays hold no arrays, but records hold records.
const DEPTH_MAX: usize = 256;

/// Digits that a numeric may have after its point.
const NUMERIC_SCALE_MAX: u16 = 16_383;

/// The tags, by the variants of values. Stored columns have them: none ever gets another meaning.
mod tag {
    pub const NULL: u8 = 0;
    pub const BOOL: u8 = 1;
    pub const INT2: u8 = 2;
    pub const INT4: u8 = 3;
    pub const INT8: u8 = 4;
    pub const FLOAT4: u8 = 5;
    pub const FLOAT8: u8 = 6;
    pub const NUMERIC: u8 = 7;
    pub const TEXT: u8 = 8;
    pub const CHAR: u8 = 9;
    pub const BYTEA: u8 = 10;
    pub const DATE: u8 = 11;
    pub const TIME: u8 = 12;
    pub const TIME_TZ: u8 = 13;
    pub const TIMESTAMP: u8 = 14;
    pub const TIMESTAMP_TZ: u8 = 15;
    pub const INTERVAL: u8 = 16;
    pub const UUID: u8 = 17;
    pub const OID: u8 = 18;
    pub const ARRAY: u8 = 19;
    pub const JSONB: u8 = 20;
    pub const JSON_PATH: u8 = 21;
    /// A numeric of an integer of 128 bits: that, after its scale.
    pub const NARROW_NUMERIC: u8 = braid_storage::NUMERIC_TAG;
    /// The number of fields; of each its name, its type with its modifier, and its value.
    pub const RECORD: u8 = 23;
    /// The number of an enumerated type within the process, and a key. Such values are in plans and temporary files only.
    pub const ENUM: u8 = 24;
}

/// Appends a value.
///
/// # Errors
/// When a jsonb has no text, because it is nested too deeply.
pub fn encode(value: &Value, to: &mut Vec<u8>) -> Result<(), SqlError> {
    match value {
        Value::Null => to.push(tag::NULL),
        Value::Bool(value) => to.extend([tag::BOOL, u8::from(*value)]),
        Value::Int2(value) => put(to, tag::INT2, &value.to_le_bytes()),
        Value::Int4(value) => put(to, tag::INT4, &value.to_le_bytes()),
        Value::Int8(value) => put(to, tag::INT8, &value.to_le_bytes()),
        Value::Float4(value) => put(to, tag::FLOAT4, &value.to_le_bytes()),
        Value::Float8(value) => put(to, tag::FLOAT8, &value.to_le_bytes()),
        Value::Numeric(value) => match value.unscaled() {
            Some((unscaled, scale)) => {
                put(to, tag::NARROW_NUMERIC, &scale.to_le_bytes());
                to.extend(unscaled.to_le_bytes());
            }
            None => put_long(to, tag::NUMERIC, value.to_string().as_bytes()),
        },
        Value::Text(value) => put_long(to, tag::TEXT, value.as_bytes()),
        Value::Char(value) => to.extend([tag::CHAR, *value]),
        Value::Bytea(value) => put_long(to, tag::BYTEA, value),
        Value::Date(value) => put(to, tag::DATE, &value.to_le_bytes()),
        Value::Time(value) => put(to, tag::TIME, &value.to_le_bytes()),
        Value::TimeTz(time, zone) => {
            put(to, tag::TIME_TZ, &time.to_le_bytes());
            to.extend(zone.to_le_bytes());
        }
        Value::Timestamp(value) => put(to, tag::TIMESTAMP, &value.to_le_bytes()),
        Value::TimestampTz(value) => put(to, tag::TIMESTAMP_TZ, &value.to_le_bytes()),
        Value::Interval(value) => {
            put(to, tag::INTERVAL, &value.months.to_le_bytes());
            to.extend(value.days.to_le_bytes());
            to.extend(value.us.to_le_bytes());
        }
        Value::Uuid(value) => put(to, tag::UUID, value),
        Value::Oid(value) => put(to, tag::OID, &value.to_le_bytes()),
        Value::Enum(value) => {
            put(to, tag::ENUM, &value.enum_type.number().to_le_bytes());
            to.extend(value.key.to_le_bytes());
        }
        Value::Array(array) => {
            put(to, tag::ARRAY, &array.element.0.to_le_bytes());
            to.extend(length(array.dimensions.len()));
            for (count, lower) in &array.dimensions {
                to.extend(length(*count));
                to.extend(lower.to_le_bytes());
            }
            to.extend(length(array.values.len()));
            array.values.iter().try_for_each(|value| encode(value, to))?;
        }
        Value::Record(record) => {
            put(to, tag::RECORD, &length(record.values.len()));
            for (field, value) in record.record_type.fields.iter().zip(&record.values) {
                to.extend(length(field.name.len()));
                to.extend(field.name.as_bytes());
                to.extend(field.sql_type.id.0.to_le_bytes());
                to.extend(field.sql_type.modifier.to_le_bytes());
                encode(value, to)?;
            }
        }
        Value::Jsonb(value) => put_long(to, tag::JSONB, jsonb_text(value)?.as_bytes()),
        Value::JsonPath(value) => put_long(to, tag::JSON_PATH, json_path_text(value)?.as_bytes()),
    }
    Ok(())
}

fn put(to: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    to.push(tag);
    to.extend_from_slice(bytes);
}

fn put_long(to: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    to.push(tag);
    to.extend(length(bytes.len()));
    to.extend_from_slice(bytes);
}

/// A value has at most 1 GiB, so that its length fits.
fn length(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes()
}

/// The value of all bytes.
///
/// # Errors
/// When the bytes are none that [`encode`] wrote.
pub fn decode(bytes: &[u8]) -> Result<Value, SqlError> {
    let mut rest = bytes;
    let value = next(&mut rest, DEPTH_MAX)?;
    if rest.is_empty() { Ok(value) } else { Err(broken()) }
}

/// The values of all bytes, one after the other.
///
/// # Errors
/// As [`decode`].
pub fn decode_all(bytes: &[u8]) -> Result<Vec<Value>, SqlError> {
    let (mut rest, mut values) = (bytes, Vec::new());
    while !rest.is_empty() {
        values.push(next(&mut rest, DEPTH_MAX)?);
    }
    Ok(values)
}

fn next(rest: &mut &[u8], depth: usize) -> Result<Value, SqlError> {
    let [tag] = take(rest)?;
    Ok(match tag {
        tag::NULL => Value::Null,
        tag::BOOL => Value::Bool(take::<1>(rest)? != [0]),
        tag::INT2 => Value::Int2(i16::from_le_bytes(take(rest)?)),
        tag::INT4 => Value::Int4(i32::from_le_bytes(take(rest)?)),
        tag::INT8 => Value::Int8(i64::from_le_bytes(take(rest)?)),
        tag::FLOAT4 => Value::Float4(f32::from_le_bytes(take(rest)?)),
        tag::FLOAT8 => Value::Float8(f64::from_le_bytes(take(rest)?)),
        tag::NUMERIC => Value::Numeric(Numeric::parse(text(take_long(rest)?)?)?),
        tag::NARROW_NUMERIC => {
            let scale = u16::from_le_bytes(take(rest)?);
            let unscaled = i128::from_le_bytes(take(rest)?);
            if scale > NUMERIC_SCALE_MAX {
                return Err(broken());
            }
            Value::Numeric(Numeric::from_unscaled(unscaled, scale))
        }
        tag::TEXT => Value::text(text(take_long(rest)?)?),
        tag::CHAR => Value::Char(take::<1>(rest)?[0]),
        tag::BYTEA => Value::Bytea(take_long(rest)?.into()),
        tag::DATE => Value::Date(i32::from_le_bytes(take(rest)?)),
        tag::TIME => Value::Time(i64::from_le_bytes(take(rest)?)),
        tag::TIME_TZ => Value::TimeTz(i64::from_le_bytes(take(rest)?), i32::from_le_bytes(take(rest)?)),
        tag::TIMESTAMP => Value::Timestamp(i64::from_le_bytes(take(rest)?)),
        tag::TIMESTAMP_TZ => Value::TimestampTz(i64::from_le_bytes(take(rest)?)),
        tag::INTERVAL => {
            let (months, days) = (i32::from_le_bytes(take(rest)?), i32::from_le_bytes(take(rest)?));
            Value::Interval(Interval::new(months, days, i64::from_le_bytes(take(rest)?)))
        }
        tag::UUID => Value::Uuid(take(rest)?),
        tag::OID => Value::Oid(u32::from_le_bytes(take(rest)?)),
        tag::ENUM => {
            let enum_type = EnumTypeId::of_number(u32::from_le_bytes(take(rest)?)).ok_or_else(broken)?;
            Value::Enum(EnumValue { enum_type, key: i64::from_le_bytes(take(rest)?) })
        }
        tag::ARRAY if depth > 0 => {
            let element = TypeId(u32::from_le_bytes(take(rest)?));
            let dimensions = (0..take_length(rest)?)
                .map(|_| Ok((take_length(rest)?, i32::from_le_bytes(take(rest)?))))
                .collect::<Result<Vec<_>, SqlError>>()?;
            let count = take_length(rest)?;
            let values = (0..count).map(|_| next(rest, depth - 1)).collect::<Result<Vec<_>, _>>()?;
            let product = dimensions.iter().try_fold(1usize, |product, (length, _)| product.checked_mul(*length));
            if product.filter(|_| !dimensions.is_empty()).unwrap_or(0) != count {
                return Err(broken());
            }
            Value::Array(Arc::new(ArrayValue { element, dimensions, values }))
        }
        tag::RECORD if depth > 0 => {
            let (mut fields, mut values) = (Vec::new(), Vec::new());
            for _ in 0..take_length(rest)? {
                let name = text(take_long(rest)?)?.into();
                let id = TypeId(u32::from_le_bytes(take(rest)?));
                fields.push(RecordField { name, sql_type: SqlType { id, modifier: i32::from_le_bytes(take(rest)?) } });
                values.push(next(rest, depth - 1)?);
            }
            Value::Record(Arc::new(RecordValue { record_type: Arc::new(RecordType { fields }), values }))
        }
        tag::JSONB => Value::jsonb(parse_jsonb(text(take_long(rest)?)?)?),
        tag::JSON_PATH => Value::JsonPath(parse_json_path(text(take_long(rest)?)?)?.into()),
        _ => return Err(broken()),
    })
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], SqlError> {
    let (taken, after) = rest.split_first_chunk().ok_or_else(broken)?;
    *rest = after;
    Ok(*taken)
}

fn take_length(rest: &mut &[u8]) -> Result<usize, SqlError> {
    Ok(u32::from_le_bytes(take(rest)?) as usize)
}

fn take_long<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], SqlError> {
    let length = take_length(rest)?;
    let (taken, after) = rest.split_at_checked(length).ok_or_else(broken)?;
    *rest = after;
    Ok(taken)
}

fn text(bytes: &[u8]) -> Result<&str, SqlError> {
    std::str::from_utf8(bytes).map_err(|_| broken())
}

fn broken() -> SqlError {
    SqlError::new(SqlState::InternalError, "a value within a plan has bytes that mean nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<Value> {
        let numeric = |text: &str| Value::Numeric(Numeric::parse(text).unwrap());
        let array = ArrayValue {
            element: TypeId::NUMERIC,
            dimensions: vec![(2, -1), (1, 3)],
            values: vec![numeric("1.50"), Value::Null],
        };
        vec![
            Value::Null,
            Value::Bool(true),
            Value::Int2(-2),
            Value::Int4(i32::MIN),
            Value::Int8(i64::MAX),
            Value::Float4(1.5),
            Value::Float8(-0.25),
            numeric("0.00"),
            numeric("-12345678901234567890123456789012345678901234567890.5"),
            numeric("Infinity"),
            Value::text("blau – bleu"),
            Value::Char(200),
            Value::Bytea(Arc::from(&[0_u8, 255][..])),
            Value::Date(i32::MAX),
            Value::Time(1),
            Value::TimeTz(5, -3600),
            Value::Timestamp(i64::MIN),
            Value::TimestampTz(7),
            Value::Interval(Interval::new(1, -2, 3)),
            Value::Uuid([7; 16]),
            Value::Oid(u32::MAX),
            Value::Array(Arc::new(array)),
            Value::Record(Arc::new(RecordValue {
                record_type: Arc::new(RecordType::unnamed([SqlType::of(TypeId::INT4), SqlType::numeric(5, 2)])),
                values: vec![Value::Int4(1), Value::Null],
            })),
            Value::jsonb(parse_jsonb(r#"{"a": [1.50, null, "x"], "b": {}}"#).unwrap()),
            Value::JsonPath(parse_json_path("$.a[*] ? (@ > 1)").unwrap().into()),
        ]
    }

    fn encoded(value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(value, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn values_read_back() {
        for value in values() {
            assert_eq!(decode(&encoded(&value)).unwrap(), value);
        }
        let all: Vec<u8> = values().iter().flat_map(encoded).collect();
        assert_eq!(decode_all(&all).unwrap(), values());
    }

    #[test]
    fn other_bytes_are_an_error() {
        for value in values() {
            let bytes = encoded(&value);
            for length in 0..bytes.len() {
                assert!(decode(&bytes[..length]).is_err(), "{value:?} cut to {length} bytes");
            }
            assert!(decode(&[&bytes[..], &[0]].concat()).is_err(), "{value:?} and more");
        }
        assert!(decode(&[99]).is_err());
    }
}
