//! Bit strings: input, output, lengths, comparisons, operators, parts, integers.
//!
//! A value of `bit` and `varbit` is a text of `0` and `1`: the order of such texts is PostgreSQL's order of bit strings.

use std::cmp::Ordering;

use super::results::check_allocation;
use super::substrings::{overlay, substring};
use crate::functions::{Call, Implementations};
use crate::{SqlError, SqlState, Value};

/// Functions of bit strings.
pub const FUNCTIONS: Implementations = &[
    ("bit_in", |args, _| fixed(&parsed(args[0].as_text())?, args[2].as_int4(), false)),
    ("varbit_in", |args, _| varying(&parsed(args[0].as_text())?, args[2].as_int4(), false)),
    ("bit_out", |args, _| Ok(args[0].clone())),
    ("varbit_out", |args, _| Ok(args[0].clone())),
    ("bit", |args, _| fixed(args[0].as_text(), args[1].as_int4(), args[2].as_bool())),
    ("varbit", |args, _| varying(args[0].as_text(), args[1].as_int4(), args[2].as_bool())),
    ("biteq", |args, _| compare(args, Ordering::is_eq)),
    ("bitne", |args, _| compare(args, Ordering::is_ne)),
    ("bitlt", |args, _| compare(args, Ordering::is_lt)),
    ("bitle", |args, _| compare(args, Ordering::is_le)),
    ("bitgt", |args, _| compare(args, Ordering::is_gt)),
    ("bitge", |args, _| compare(args, Ordering::is_ge)),
    ("bitcmp", |args, _| Ok(Value::Int4(difference(args[0].as_text(), args[1].as_text())))),
    ("bit_and", |args, _| combined(args, "AND", |left, right| left & right)),
    ("bit_or", |args, _| combined(args, "OR", |left, right| left | right)),
    ("bitxor", |args, _| combined(args, "XOR", |left, right| left ^ right)),
    ("bitnot", |args, _| Ok(text_of(args[0].as_text().bytes().map(|bit| bit == b'0')))),
    ("bitshiftleft", |args, _| Ok(shifted(args[0].as_text(), args[1].as_int4().into()))),
    ("bitshiftright", |args, _| Ok(shifted(args[0].as_text(), -i64::from(args[1].as_int4())))),
    ("bitcat", bitcat),
    ("bitsubstr", |args, _| substring(args[0].as_text(), args[1].as_int4(), Some(args[2].as_int4())).map(Value::text)),
    ("bitsubstr_no_len", |args, _| substring(args[0].as_text(), args[1].as_int4(), None).map(Value::text)),
    ("bitoverlay", |args, _| overlay(args, args[3].as_int4())),
    ("bitoverlay_no_len", |args, _| overlay(args, bit_count(&args[1]))),
    ("bitposition", bitposition),
    ("bitlength", |args, _| Ok(Value::Int4(bit_count(&args[0])))),
    ("bit_length(bit)", |args, _| Ok(Value::Int4(bit_count(&args[0])))),
    ("bitoctetlength", |args, _| Ok(Value::Int4((bit_count(&args[0]) + 7) / 8))),
    ("bit_bit_count", |args, _| Ok(Value::Int8(args[0].as_text().bytes().filter(|bit| *bit == b'1').count() as i64))),
    ("bitgetbit", |args, _| {
        let at = index(args[0].as_text(), args[1].as_int4())?;
        Ok(Value::Int4(i32::from(args[0].as_text().as_bytes()[at] == b'1')))
    }),
    ("bitsetbit", bitsetbit),
    ("bitfromint4", |args, _| bits_of(args[0].as_int4().into(), args[1].as_int4())),
    ("bitfromint8", |args, _| bits_of(args[0].as_int8(), args[1].as_int4())),
    ("bittoint4", |args, _| Ok(Value::Int4(integer(args[0].as_text(), 32, "integer")? as i32))),
    ("bittoint8", |args, _| Ok(Value::Int8(integer(args[0].as_text(), 64, "bigint")? as i64))),
];

/// Most bits that `bit(n)` and `varbit(n)` have.
const LENGTH_MAX: usize = 10 * 1024 * 1024 * 8;

/// The bits of a text: binary digits, which `b` may precede, or hexadecimal ones after `x`.
pub fn parsed(text: &str) -> Result<String, SqlError> {
    match text.strip_prefix(['x', 'X']) {
        Some(digits) => {
            check_bits(digits.len().saturating_mul(4))?;
            let mut bits = String::with_capacity(digits.len() * 4);
            for digit in digits.chars() {
                let value = digit.to_digit(16).ok_or_else(|| no_digit(digit, "hexadecimal"))?;
                bits.push_str(&format!("{value:04b}"));
            }
            Ok(bits)
        }
        None => {
            let digits = text.strip_prefix(['b', 'B']).unwrap_or(text);
            match digits.chars().find(|digit| !matches!(digit, '0' | '1')) {
                Some(digit) => Err(no_digit(digit, "binary")),
                None => Ok(digits.to_owned()),
            }
        }
    }
}

/// Refuses more bits than a text has characters; PostgreSQL has up to 2^31 - 8.
fn check_bits(count: usize) -> Result<(), SqlError> {
    check_allocation(count).map_err(|_| SqlError::unsupported(format!("bit strings of {count} bits are not supported")))
}

fn no_digit(digit: char, kind: &str) -> SqlError {
    let message = format!("\"{digit}\" is not a valid {kind} digit");
    SqlError::new(SqlState::InvalidTextRepresentation, message)
}

/// The length in a modifier, if it is one.
fn length_of(modifier: i32) -> Option<usize> {
    usize::try_from(modifier).ok().filter(|length| (1..=LENGTH_MAX).contains(length))
}

/// Bits as `bit(n)`: another length is an error, or if the cast is written, the end is cut or filled with 0.
fn fixed(bits: &str, modifier: i32, is_explicit: bool) -> Result<Value, SqlError> {
    match length_of(modifier) {
        Some(length) if length != bits.len() && !is_explicit => {
            let message = format!("bit string length {} does not match type bit({length})", bits.len());
            Err(SqlError::new(SqlState::StringLengthMismatch, message))
        }
        Some(length) => {
            let zeros = "0".repeat(length.saturating_sub(bits.len()));
            Ok(Value::text(bits[..length.min(bits.len())].to_owned() + &zeros))
        }
        None => Ok(Value::text(bits)),
    }
}

/// Bits as `bit varying(n)`: more are an error, or cut if the cast is written.
fn varying(bits: &str, modifier: i32, is_explicit: bool) -> Result<Value, SqlError> {
    match length_of(modifier) {
        Some(length) if length < bits.len() && !is_explicit => {
            let message = format!("bit string too long for type bit varying({length})");
            Err(SqlError::new(SqlState::StringRightTruncation, message))
        }
        Some(length) => Ok(Value::text(&bits[..length.min(bits.len())])),
        None => Ok(Value::text(bits)),
    }
}

fn text_of(bits: impl Iterator<Item = bool>) -> Value {
    Value::text(bits.map(|bit| if bit { '1' } else { '0' }).collect::<String>())
}

fn bit_count(bits: &Value) -> i32 {
    bits.as_text().len() as i32
}

fn compare(args: &[Value], holds: fn(Ordering) -> bool) -> Result<Value, SqlError> {
    Ok(Value::Bool(holds(args[0].as_text().cmp(args[1].as_text()))))
}

/// The difference of the first bytes that differ, of bits that are packed into bytes; otherwise which has more bits.
fn difference(left: &str, right: &str) -> i32 {
    let byte = |bits: &[u8]| (0..8).fold(0, |byte, at| byte << 1 | i32::from(bits.get(at) == Some(&b'1')));
    let bytes = left.as_bytes().chunks(8).zip(right.as_bytes().chunks(8));
    let different = bytes.map(|(left, right)| byte(left) - byte(right)).find(|difference| *difference != 0);
    different.unwrap_or_else(|| left.len().cmp(&right.len()) as i32)
}

fn combined(args: &[Value], name: &str, combine: fn(bool, bool) -> bool) -> Result<Value, SqlError> {
    let (left, right) = (args[0].as_text(), args[1].as_text());
    if left.len() != right.len() {
        let message = format!("cannot {name} bit strings of different sizes");
        return Err(SqlError::new(SqlState::StringLengthMismatch, message));
    }
    Ok(text_of(left.bytes().zip(right.bytes()).map(|(left, right)| combine(left == b'1', right == b'1'))))
}

/// Bits moved to the left, or to the right for a negative number. The length stays, and 0 fills it.
fn shifted(bits: &str, by: i64) -> Value {
    let length = bits.len();
    let count = usize::try_from(by.unsigned_abs()).unwrap_or(length).min(length);
    let zeros = "0".repeat(count);
    Value::text(if by >= 0 { bits[count..].to_owned() + &zeros } else { zeros + &bits[..length - count] })
}

fn bitcat(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (left, right) = (args[0].as_text(), args[1].as_text());
    check_bits(left.len() + right.len())?;
    Ok(Value::text([left, right].concat()))
}

/// The place of bits in others; 0 if they are not there, and in none.
fn bitposition(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (bits, sought) = (args[0].as_text(), args[1].as_text());
    let at = if bits.is_empty() { None } else { bits.find(sought) };
    Ok(Value::Int4(at.map_or(0, |at| at as i32 + 1)))
}

/// An index into bits: the first is 0.
fn index(bits: &str, index: i32) -> Result<usize, SqlError> {
    usize::try_from(index).ok().filter(|index| *index < bits.len()).ok_or_else(|| {
        let message = format!("bit index {index} out of valid range (0..{})", bits.len() as i64 - 1);
        SqlError::new(SqlState::ArraySubscriptError, message)
    })
}

fn bitsetbit(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let bits = args[0].as_text();
    let at = index(bits, args[1].as_int4())?;
    let bit = match args[2].as_int4() {
        0 => "0",
        1 => "1",
        _ => return Err(SqlError::new(SqlState::InvalidParameterValue, "new bit must be 0 or 1")),
    };
    Ok(Value::text([&bits[..at], bit, &bits[at + 1..]].concat()))
}

/// The lowest bits of an integer; those before it have its sign. Without a length it is one.
fn bits_of(value: i64, modifier: i32) -> Result<Value, SqlError> {
    let length = length_of(modifier).unwrap_or(1);
    let bit = |place: usize| value >> place.min(63) & 1 == 1;
    Ok(text_of((0..length).rev().map(bit)))
}

/// The integer of some bits, which may have this many.
fn integer(bits: &str, bits_max: usize, type_name: &str) -> Result<u64, SqlError> {
    if bits.len() > bits_max {
        return Err(SqlError::new(SqlState::NumericOutOfRange, format!("{type_name} out of range")));
    }
    Ok(bits.bytes().fold(0, |value, bit| value << 1 | u64::from(bit == b'1')))
}
