//! `bytea`: input, output, comparisons, parts, bits, and digests.

use std::cmp::Ordering;

use md5::Md5;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::order::bytes_difference;
use super::results::check_allocation;
use super::substrings::{overlay_places, part_places};
use crate::functions::Call;
use crate::functions::Implementations;
use crate::input::bytes::parse_bytea;
use crate::output::bytes::{write_bytea, write_hexadecimal};
use crate::{SqlError, SqlState, Value};

/// Functions of byte strings.
pub const FUNCTIONS: Implementations = &[
    ("byteain", |args, _| Ok(bytea(parse_bytea(args[0].as_text())?))),
    ("byteaout", |args, call| {
        let mut text = String::new();
        write_bytea(args[0].as_bytea(), call.session.formats().bytea, &mut text);
        Ok(Value::text(text))
    }),
    ("byteaeq", |args, _| compare(args, Ordering::is_eq)),
    ("byteane", |args, _| compare(args, Ordering::is_ne)),
    ("bytealt", |args, _| compare(args, Ordering::is_lt)),
    ("byteale", |args, _| compare(args, Ordering::is_le)),
    ("byteagt", |args, _| compare(args, Ordering::is_gt)),
    ("byteage", |args, _| compare(args, Ordering::is_ge)),
    ("byteacmp", |args, _| Ok(Value::Int4(bytes_difference(args[0].as_bytea(), args[1].as_bytea())))),
    ("byteacat", |args, _| concatenated(&[args[0].as_bytea(), args[1].as_bytea()])),
    ("byteaoctetlen", |args, _| Ok(Value::Int4(args[0].as_bytea().len() as i32))),
    ("byteapos", byteapos),
    ("bytea_substr", |args, _| substring(&args[0], args[1].as_int4(), Some(args[2].as_int4())).map(bytea)),
    ("bytea_substr_no_len", |args, _| substring(&args[0], args[1].as_int4(), None).map(bytea)),
    ("byteaoverlay", |args, _| overlay(args, args[3].as_int4())),
    ("byteaoverlay_no_len", |args, _| overlay(args, args[1].as_bytea().len() as i32)),
    ("byteatrim", |args, _| Ok(bytea(trim_start(trim_end(args[0].as_bytea(), &args[1]), &args[1])))),
    ("bytealtrim", |args, _| Ok(bytea(trim_start(args[0].as_bytea(), &args[1])))),
    ("byteartrim", |args, _| Ok(bytea(trim_end(args[0].as_bytea(), &args[1])))),
    ("byteaGetByte", get_byte),
    ("byteaSetByte", set_byte),
    ("byteaGetBit", get_bit),
    ("byteaSetBit", set_bit),
    ("bytea_bit_count", bit_count),
    ("md5_text", |args, _| Ok(Value::text(hexadecimal(&Md5::digest(args[0].as_text()))))),
    ("md5_bytea", |args, _| Ok(Value::text(hexadecimal(&Md5::digest(args[0].as_bytea()))))),
    ("sha224_bytea", |args, _| Ok(bytea(&Sha224::digest(args[0].as_bytea())[..]))),
    ("sha256_bytea", |args, _| Ok(bytea(&Sha256::digest(args[0].as_bytea())[..]))),
    ("sha384_bytea", |args, _| Ok(bytea(&Sha384::digest(args[0].as_bytea())[..]))),
    ("sha512_bytea", |args, _| Ok(bytea(&Sha512::digest(args[0].as_bytea())[..]))),
];

/// A byte string.
pub(super) fn bytea(bytes: impl AsRef<[u8]>) -> Value {
    Value::Bytea(bytes.as_ref().into())
}

/// Two digits for each byte.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    let mut out = String::new();
    write_hexadecimal(bytes, &mut out);
    out
}

fn compare(args: &[Value], holds: fn(Ordering) -> bool) -> Result<Value, SqlError> {
    Ok(Value::Bool(holds(args[0].as_bytea().cmp(args[1].as_bytea()))))
}

fn concatenated(parts: &[&[u8]]) -> Result<Value, SqlError> {
    check_allocation(parts.iter().map(|part| part.len()).sum())?;
    Ok(bytea(parts.concat()))
}

/// The place of a byte string in another; 0 if it is not there.
fn byteapos(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (bytes, sought) = (args[0].as_bytea(), args[1].as_bytea());
    Ok(Value::Int4(memchr::memmem::find(bytes, sought).map_or(0, |at| at as i32 + 1)))
}

fn substring(value: &Value, start: i32, length: Option<i32>) -> Result<&[u8], SqlError> {
    let (skipped, length) = part_places(start, length)?;
    let bytes = value.as_bytea();
    let rest = &bytes[skipped.min(bytes.len())..];
    Ok(length.map_or(rest, |length| &rest[..length.min(rest.len())]))
}

fn overlay(args: &[Value], length: i32) -> Result<Value, SqlError> {
    let (before, after) = overlay_places(args[2].as_int4(), length)?;
    concatenated(&[substring(&args[0], 1, Some(before))?, args[1].as_bytea(), substring(&args[0], after, None)?])
}

fn trim_start<'a>(bytes: &'a [u8], set: &Value) -> &'a [u8] {
    let trimmed = bytes.iter().take_while(|byte| set.as_bytea().contains(byte)).count();
    &bytes[trimmed..]
}

fn trim_end<'a>(bytes: &'a [u8], set: &Value) -> &'a [u8] {
    let trimmed = bytes.iter().rev().take_while(|byte| set.as_bytea().contains(byte)).count();
    &bytes[..bytes.len() - trimmed]
}

/// An index into `count` things.
fn index(index: i64, count: usize) -> Result<usize, SqlError> {
    if let Some(index) = usize::try_from(index).ok().filter(|index| *index < count) {
        return Ok(index);
    }
    let message = format!("index {index} out of valid range, 0..{}", count as i64 - 1);
    Err(SqlError::new(SqlState::ArraySubscriptError, message))
}

fn get_byte(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let bytes = args[0].as_bytea();
    Ok(Value::Int4(i32::from(bytes[index(args[1].as_int4().into(), bytes.len())?])))
}

/// A byte becomes the lowest eight bits of a number.
fn set_byte(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let mut bytes = args[0].as_bytea().to_vec();
    let at = index(args[1].as_int4().into(), bytes.len())?;
    bytes[at] = args[2].as_int4() as u8;
    Ok(bytea(bytes))
}

/// Bits count from the lowest of the first byte.
fn get_bit(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let bytes = args[0].as_bytea();
    let at = index(args[1].as_int8(), bytes.len() * 8)?;
    Ok(Value::Int4(i32::from(bytes[at / 8] >> (at % 8) & 1)))
}

fn set_bit(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let mut bytes = args[0].as_bytea().to_vec();
    let at = index(args[1].as_int8(), bytes.len() * 8)?;
    match args[2].as_int4() {
        0 => bytes[at / 8] &= !(1 << (at % 8)),
        1 => bytes[at / 8] |= 1 << (at % 8),
        _ => return Err(SqlError::new(SqlState::InvalidParameterValue, "new bit must be 0 or 1")),
    }
    Ok(bytea(bytes))
}

fn bit_count(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::Int8(args[0].as_bytea().iter().map(|byte| i64::from(byte.count_ones())).sum()))
}
