//! Values in binary format, as the send functions of PostgreSQL's types write them. Numbers are big-endian.
//!
//! | type | form |
//! |---|---|
//! | `numeric` | count of groups of four digits, weight of the first, sign, scale, groups; each two bytes |
//! | `interval` | microseconds, days, months |
//! | arrays | dimensions, 1 if there is a null, element type; length and lower bound of each dimension; values with their lengths |
//! | `record` | number of fields; of each its type and its value with its length |
//! | `jsonb` | 1, then the text |
//! | an enumerated type | the label |
//! | `bit` | number of bits, then the bits |

use crate::output::enums::label_of;
use crate::output::json::jsonb_text;
use crate::pg_catalog::TypeId;
use crate::values::{ArrayValue, Numeric, RecordValue, Value};
use crate::{SqlError, SqlState};

/// Days from 1970-01-01 to 2000-01-01, from which dates are counted.
const EPOCH_DAYS: i32 = 10_957;

/// The same in microseconds.
const EPOCH_US: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// What begins a jsonb: the version of what follows.
const JSONB_VERSION: u8 = 1;

/// Appends a value that is not null.
///
/// # Errors
/// For a type that has no binary format here.
pub fn send(value: &Value, id: TypeId, out: &mut Vec<u8>) -> Result<(), SqlError> {
    match value {
        Value::Bool(value) => out.push(u8::from(*value)),
        Value::Int2(value) => out.extend(value.to_be_bytes()),
        Value::Int4(value) => out.extend(value.to_be_bytes()),
        Value::Int8(value) => out.extend(value.to_be_bytes()),
        Value::Oid(value) => out.extend(value.to_be_bytes()),
        Value::Float4(value) => out.extend(value.to_be_bytes()),
        Value::Float8(value) => out.extend(value.to_be_bytes()),
        Value::Numeric(value) => numeric(value, out),
        Value::Text(bits) if [TypeId::BIT, TypeId::VARBIT].contains(&id) => bit_string(bits, out),
        Value::Text(text) => out.extend(text.as_bytes()),
        Value::Char(byte) => out.push(*byte),
        Value::Bytea(bytes) => out.extend(&bytes[..]),
        Value::Uuid(bytes) => out.extend(bytes),
        Value::Date(days @ (i32::MIN | i32::MAX)) => out.extend(days.to_be_bytes()),
        Value::Date(days) => out.extend((days - EPOCH_DAYS).to_be_bytes()),
        Value::Time(us) => out.extend(us.to_be_bytes()),
        Value::TimeTz(us, zone) => {
            out.extend(us.to_be_bytes());
            out.extend(zone.to_be_bytes());
        }
        Value::Timestamp(us @ (i64::MIN | i64::MAX)) | Value::TimestampTz(us @ (i64::MIN | i64::MAX)) => {
            out.extend(us.to_be_bytes());
        }
        Value::Timestamp(us) | Value::TimestampTz(us) => out.extend((us - EPOCH_US).to_be_bytes()),
        Value::Interval(value) => {
            out.extend(value.us.to_be_bytes());
            out.extend(value.days.to_be_bytes());
            out.extend(value.months.to_be_bytes());
        }
        Value::Enum(value) => out.extend(label_of(*value)?.as_bytes()),
        Value::Array(array) => array_of(array, out)?,
        Value::Record(record) => record_of(record, out)?,
        Value::Jsonb(tree) => {
            out.push(JSONB_VERSION);
            out.extend(jsonb_text(tree)?.as_bytes());
        }
        Value::JsonPath(_) | Value::Null => {
            return Err(SqlError::unsupported("this type has no binary format here"));
        }
    }
    Ok(())
}

fn array_of(array: &ArrayValue, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let too_long = || SqlError::new(SqlState::ProgramLimitExceeded, "an array is too long for its binary format");
    let count = |length: usize| i32::try_from(length).map_err(|_| too_long());
    out.extend(count(array.dimensions.len())?.to_be_bytes());
    out.extend(i32::from(array.values.iter().any(Value::is_null)).to_be_bytes());
    out.extend(array.element.oid().to_be_bytes());
    for (length, lower) in &array.dimensions {
        out.extend(count(*length)?.to_be_bytes());
        out.extend(lower.to_be_bytes());
    }
    for value in &array.values {
        if value.is_null() {
            out.extend((-1_i32).to_be_bytes());
            continue;
        }
        let start = out.len();
        out.extend([0; 4]);
        send(value, array.element, out)?;
        let length = count(out.len() - start - 4)?;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// The number of fields; of each its type and its value.
fn record_of(record: &RecordValue, out: &mut Vec<u8>) -> Result<(), SqlError> {
    let too_long = || SqlError::new(SqlState::ProgramLimitExceeded, "a record is too long for its binary format");
    let count = |length: usize| i32::try_from(length).map_err(|_| too_long());
    out.extend(count(record.values.len())?.to_be_bytes());
    for (value, sql_type) in record.typed_values() {
        out.extend(sql_type.id.oid().to_be_bytes());
        if value.is_null() {
            out.extend((-1_i32).to_be_bytes());
            continue;
        }
        let start = out.len();
        out.extend([0; 4]);
        send(value, sql_type.id, out)?;
        let length = count(out.len() - start - 4)?;
        out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// The number of bits, and the bits, the first one the highest of its byte.
fn bit_string(bits: &str, out: &mut Vec<u8>) {
    out.extend((bits.len() as i32).to_be_bytes());
    for byte in bits.as_bytes().chunks(8) {
        let bit = |at: usize| u8::from(byte.get(at) == Some(&b'1')) << (7 - at);
        out.push((0..8).map(bit).sum());
    }
}

fn numeric(value: &Numeric, out: &mut Vec<u8>) {
    const GROUP: usize = 4;
    const NEGATIVE: u16 = 0x4000;
    let text = value.to_string();
    let (is_negative, text) = text.strip_prefix('-').map_or((false, &*text), |rest| (true, rest));
    let special = match (text, is_negative) {
        ("NaN", _) => Some(0xC000_u16),
        ("Infinity", false) => Some(0xD000),
        ("Infinity", true) => Some(0xF000),
        _ => None,
    };
    if let Some(sign) = special {
        [0, 0, sign, 0].iter().for_each(|word| out.extend(word.to_be_bytes()));
        return;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    // Groups are cut at the point.
    let padded_whole = format!("{}{whole}", "0".repeat((GROUP - whole.len() % GROUP) % GROUP));
    let padded_fraction = format!("{fraction}{}", "0".repeat((GROUP - fraction.len() % GROUP) % GROUP));
    let digits: Vec<u8> = padded_whole.bytes().chain(padded_fraction.bytes()).collect();
    let groups: Vec<u16> = digits
        .chunks(GROUP)
        .map(|group| group.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')))
        .collect();
    let first = groups.iter().position(|group| *group != 0).unwrap_or(groups.len());
    let end = groups.iter().rposition(|group| *group != 0).map_or(first, |last| last + 1);
    let weight = if first == end { 0 } else { (padded_whole.len() / GROUP) as i32 - 1 - first as i32 };
    let header =
        [(end - first) as u16, weight as i16 as u16, if is_negative { NEGATIVE } else { 0 }, fraction.len() as u16];
    header.iter().chain(&groups[first..end]).for_each(|word| out.extend(word.to_be_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(value: &Value, id: TypeId) -> String {
        let mut out = Vec::new();
        send(value, id, &mut out).unwrap();
        out.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The answers are PostgreSQL's: `encode(numeric_send(…), 'hex')` and the like.
    #[test]
    fn values_are_sent_as_postgresql_sends_them() {
        let numeric = |text: &str| sent(&Value::Numeric(Numeric::parse(text).unwrap()), TypeId::NUMERIC);
        assert_eq!(numeric("0"), "0000000000000000");
        assert_eq!(numeric("0.00"), "0000000000000002");
        assert_eq!(numeric("-1234567.8901"), "0003000140000004007b11d722c5");
        assert_eq!(numeric("0.0001"), "0001ffff000000040001");
        assert_eq!(numeric("10000"), "00010001000000000001");
        assert_eq!(numeric("NaN"), "00000000c0000000");
        assert_eq!(sent(&Value::text("10101"), TypeId::BIT), "00000005a8");
        let array = ArrayValue::of(TypeId::INT4, vec![Value::Int4(7), Value::Null]);
        let array = sent(&Value::Array(array.into()), TypeId::INT4);
        assert_eq!(array, "00000001000000010000001700000002000000010000000400000007ffffffff");
    }
}
