//! Parameters in binary form: what PostgreSQL's `…recv` functions read. All integers are big-endian.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, new_null_array};
use arrow::datatypes::{Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType};
use braid_base::{one_nan, one_nan_real};

use super::ValueError;
use super::calendar::{POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_US};
use super::interval::Interval;
use super::numeric::{self, NumericFault};
use super::parameter::{null_type, one, one_numeric, one_text, utf8};
use super::parameter_text::{one_interval, one_timestamp};
use super::pg_type::*;

/// Reads `bytes` as a value of `pg_type`: an array of one.
pub(crate) fn parse(pg_type: PgType, bytes: &[u8]) -> Result<ArrayRef, ValueError> {
    let malformed = || ValueError::Binary { pg_type: pg_type.name, length: bytes.len() };
    let out_of_range = || ValueError::OutOfRange { pg_type: pg_type.name, text: "above the largest".to_owned() };
    Ok(match pg_type {
        BOOL => match bytes {
            [byte] => Arc::new(BooleanArray::from(vec![*byte != 0])),
            _ => return Err(malformed()),
        },
        INT2 => one::<Int16Type>(i16::from_be_bytes(exactly(bytes).ok_or_else(malformed)?)),
        INT4 => one::<Int32Type>(int4(bytes).ok_or_else(malformed)?),
        INT8 => one::<Int64Type>(int8(bytes).ok_or_else(malformed)?),
        OID => one::<Int64Type>(i64::from(int4(bytes).ok_or_else(malformed)? as u32)),
        FLOAT4 => one::<Float32Type>(one_nan_real(f32::from_be_bytes(exactly(bytes).ok_or_else(malformed)?))),
        FLOAT8 => one::<Float64Type>(one_nan(f64::from_be_bytes(exactly(bytes).ok_or_else(malformed)?))),
        NUMERIC => one_numeric(numeric::parse_binary(bytes).map_err(|fault| match fault {
            NumericFault::Malformed => malformed(),
            NumericFault::NotFinite => ValueError::NotFinite { text: "NaN or infinity".to_owned() },
            NumericFault::TooLong => {
                ValueError::OutOfRange { pg_type: "numeric(38)", text: "too many digits".to_owned() }
            }
        })?)?,
        CHAR | NAME | TEXT | BPCHAR | VARCHAR | UNKNOWN => one_text(utf8(bytes)?),
        BYTEA => Arc::new(BinaryArray::from_vec(vec![bytes])),
        UUID if bytes.len() == 16 => Arc::new(FixedSizeBinaryArray::try_from_iter([bytes].into_iter())?),
        DATE => {
            let days = int4(bytes).ok_or_else(malformed)?;
            one::<Date32Type>(days.checked_add(POSTGRES_EPOCH_DAYS).ok_or_else(out_of_range)?)
        }
        TIME => one::<Time64MicrosecondType>(int8(bytes).ok_or_else(malformed)?),
        TIMESTAMP | TIMESTAMPTZ => {
            let micros = int8(bytes).ok_or_else(malformed)?.checked_add(POSTGRES_EPOCH_US).ok_or_else(out_of_range)?;
            one_timestamp(pg_type, micros)
        }
        INTERVAL if bytes.len() == 16 => one_interval(Interval {
            micros: int8(&bytes[..8]).ok_or_else(malformed)?,
            days: int4(&bytes[8..12]).ok_or_else(malformed)?,
            months: int4(&bytes[12..]).ok_or_else(malformed)?,
        })?,
        UUID | INTERVAL => return Err(malformed()),
        _ => return Err(ValueError::UnsupportedParameter { name: pg_type.name.to_owned() }),
    })
}

/// Reads the elements of an array of one dimension; its form is in [`super::nested`].
pub(crate) fn parse_array(element: PgType, bytes: &[u8]) -> Result<Vec<ArrayRef>, ValueError> {
    let malformed = || ValueError::Binary { pg_type: "array", length: bytes.len() };
    let mut rest = bytes;
    let mut word = || take(&mut rest, 4).and_then(int4).ok_or_else(malformed);
    let (dimensions, _has_nulls, element_oid) = (word()?, word()?, word()?);
    if element_oid as u32 != element.oid {
        return Err(malformed());
    }
    let count = match dimensions {
        0 => 0,
        1 => (word()?, word()?).0,
        _ => return Err(ValueError::UnsupportedParameter { name: "array of several dimensions".to_owned() }),
    };
    let null_type = null_type(element);
    let mut values = Vec::new();
    for _ in 0..count {
        match take(&mut rest, 4).and_then(int4).ok_or_else(malformed)? {
            -1 => values.push(new_null_array(&null_type, 1)),
            length => {
                let length = usize::try_from(length).map_err(|_| malformed())?;
                values.push(parse(element, take(&mut rest, length).ok_or_else(malformed)?)?);
            }
        }
    }
    if rest.is_empty() { Ok(values) } else { Err(malformed()) }
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (head, tail) = rest.split_at_checked(length)?;
    *rest = tail;
    Some(head)
}

fn exactly<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn int4(bytes: &[u8]) -> Option<i32> {
    exactly(bytes).map(i32::from_be_bytes)
}

fn int8(bytes: &[u8]) -> Option<i64> {
    exactly(bytes).map(i64::from_be_bytes)
}
