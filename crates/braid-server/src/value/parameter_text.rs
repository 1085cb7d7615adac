//! Parameters in text form, read as PostgreSQL's input functions read them.

use arrow::datatypes::IntervalMonthDayNano;
use braid_base::{one_nan, one_nan_real};
use datafusion::common::ScalarValue;

use super::ValueError;
use super::calendar::{self, CalendarFault};
use super::numeric::{self, NumericFault};
use super::parameter::numeric_scalar;
use super::pg_type::*;
use super::{interval, interval::Interval};

/// Reads `text` as a value of `pg_type`.
pub(crate) fn parse(pg_type: PgType, text: &str) -> Result<ScalarValue, ValueError> {
    let syntax = || ValueError::Syntax { pg_type: pg_type.name, text: shortened(text) };
    Ok(match pg_type {
        BOOL => ScalarValue::Boolean(Some(parse_bool(text).ok_or_else(syntax)?)),
        INT2 => ScalarValue::Int16(Some(parse_integer(pg_type, text)?)),
        INT4 => ScalarValue::Int32(Some(parse_integer(pg_type, text)?)),
        INT8 | OID => ScalarValue::Int64(Some(parse_integer(pg_type, text)?)),
        FLOAT4 => ScalarValue::Float32(Some(one_nan_real(parse_float(pg_type, text, f32::is_infinite)?))),
        FLOAT8 => ScalarValue::Float64(Some(one_nan(parse_float(pg_type, text, f64::is_infinite)?))),
        NUMERIC => numeric_scalar(numeric::parse_text(text).map_err(|fault| numeric_error(fault, text))?),
        CHAR | NAME | TEXT | BPCHAR | VARCHAR | UNKNOWN => ScalarValue::Utf8(Some(text.to_owned())),
        BYTEA => ScalarValue::Binary(Some(parse_bytea(text).ok_or_else(syntax)?)),
        UUID => ScalarValue::FixedSizeBinary(16, Some(parse_uuid(text).ok_or_else(syntax)?)),
        INTERVAL => interval_scalar(interval::parse(text).ok_or_else(syntax)?)?,
        DATE | TIMESTAMP | TIMESTAMPTZ | TIME => parse_datetime(pg_type, text).map_err(|fault| match fault {
            CalendarFault::Malformed => syntax(),
            CalendarFault::OutOfRange => ValueError::DatetimeOutOfRange { text: shortened(text) },
        })?,
        _ => return Err(ValueError::UnsupportedParameter { name: pg_type.name.to_owned() }),
    })
}

/// A text, shortened for an error message.
fn shortened(text: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn parse_datetime(pg_type: PgType, text: &str) -> Result<ScalarValue, CalendarFault> {
    let beyond = CalendarFault::OutOfRange;
    Ok(match pg_type {
        TIME => ScalarValue::Time64Microsecond(Some(calendar::parse_time(text)?)),
        DATE => ScalarValue::Date32(Some(calendar::parse_timestamp(text)?.days)),
        TIMESTAMP => {
            ScalarValue::TimestampMicrosecond(Some(calendar::parse_timestamp(text)?.local_us().ok_or(beyond)?), None)
        }
        _ => {
            let written = calendar::parse_timestamp(text)?;
            if written.offset_seconds.is_none() {
                // Local time in the session's time zone, which the engine knows: it reads the text.
                return Ok(ScalarValue::Utf8(Some(text.to_owned())));
            }
            let micros = written.utc_us().ok_or(beyond)?;
            ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into()))
        }
    })
}

/// Any unambiguous beginning of true, false, yes, no, on, off; 1 and 0.
fn parse_bool(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if begins("true", 1) || begins("yes", 1) || text == "on" || text == "1" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || text == "0" {
        Some(false)
    } else {
        None
    }
}

fn parse_integer<T: TryFrom<i64>>(pg_type: PgType, text: &str) -> Result<T, ValueError> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let out_of_range = || ValueError::OutOfRange { pg_type: pg_type.name, text: shortened(text) };
    match text.trim().parse::<i64>() {
        Ok(value) => T::try_from(value).map_err(|_| out_of_range()),
        Err(error) if matches!(error.kind(), PosOverflow | NegOverflow) => Err(out_of_range()),
        Err(_) => Err(ValueError::Syntax { pg_type: pg_type.name, text: shortened(text) }),
    }
}

fn parse_float<T: std::str::FromStr + Copy>(
    pg_type: PgType,
    text: &str,
    is_infinite: impl Fn(T) -> bool,
) -> Result<T, ValueError> {
    let trimmed = text.trim();
    let value: T = trimmed.parse().map_err(|_| ValueError::Syntax { pg_type: pg_type.name, text: shortened(text) })?;
    if is_infinite(value) && trimmed.bytes().any(|b| b.is_ascii_digit()) {
        return Err(ValueError::OutOfRange { pg_type: pg_type.name, text: shortened(text) });
    }
    Ok(value)
}

/// The error for a numeric that could not be read.
fn numeric_error(fault: NumericFault, text: &str) -> ValueError {
    match fault {
        NumericFault::Malformed => ValueError::Syntax { pg_type: NUMERIC.name, text: shortened(text) },
        NumericFault::NotFinite => ValueError::NotFinite { text: shortened(text) },
        NumericFault::TooLong => ValueError::OutOfRange { pg_type: "numeric(38)", text: shortened(text) },
    }
}

/// `\x` and hexadecimal digits, or text with `\\` and `\ooo`.
fn parse_bytea(text: &str) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        return parse_hex(&digits.bytes().filter(|b| !b.is_ascii_whitespace()).collect::<Vec<u8>>());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    loop {
        match rest {
            [] => return Some(bytes),
            [b'\\', b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..] => {
                bytes.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = after;
            }
            [b'\\', ..] => return None,
            [byte, after @ ..] => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
}

fn parse_hex(digits: &[u8]) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some((value(*high)? * 16 + value(*low)?) as u8),
        _ => None,
    });
    pairs.collect()
}

/// 32 hexadecimal digits, with hyphens after any group of four, optionally in braces.
fn parse_uuid(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_prefix('{').map_or(Some(text), |rest| rest.strip_suffix('}'))?;
    let mut digits = Vec::with_capacity(32);
    for byte in text.bytes() {
        match byte {
            b'-' if digits.len() % 4 == 0 && !digits.is_empty() && digits.len() < 32 => {}
            _ => digits.push(byte),
        }
    }
    if digits.len() == 32 { parse_hex(&digits) } else { None }
}

pub(crate) fn interval_scalar(value: Interval) -> Result<ScalarValue, ValueError> {
    let nanoseconds = value.micros.checked_mul(1000).ok_or_else(|| ValueError::OutOfRange {
        pg_type: INTERVAL.name,
        text: format!("{} microseconds", value.micros),
    })?;
    Ok(ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(value.months, value.days, nanoseconds))))
}

/// Reads `{1,NULL,"a b"}`: one dimension, no explicit bounds.
pub(crate) fn parse_array(element: PgType, text: &str) -> Result<Vec<ScalarValue>, ValueError> {
    let malformed = || ValueError::Syntax { pg_type: "array", text: shortened(text) };
    let inner = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(malformed)?;
    let mut values = Vec::new();
    let mut characters = inner.chars().peekable();
    let null =
        || ScalarValue::try_from(&element.parameter_type().unwrap_or(arrow::datatypes::DataType::Decimal128(1, 0)));
    while characters.peek().is_some() || !values.is_empty() {
        while characters.next_if(|c| c.is_ascii_whitespace()).is_some() {}
        if values.is_empty() && characters.peek().is_none() {
            break;
        }
        let (word, quoted) = array_word(&mut characters).ok_or_else(malformed)?;
        if !quoted && word.eq_ignore_ascii_case("null") {
            values.push(null().map_err(|_| malformed())?);
        } else if word.is_empty() && !quoted {
            return Err(malformed());
        } else {
            values.push(parse(element, &word)?);
        }
        match characters.next() {
            None => break,
            Some(',') if characters.peek().is_some() => {}
            Some(_) => return Err(malformed()),
        }
    }
    Ok(values)
}

/// One element up to its comma, and whether it was quoted.
fn array_word(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<(String, bool)> {
    let mut word = String::new();
    if characters.next_if_eq(&'"').is_some() {
        loop {
            match characters.next()? {
                '"' => break,
                '\\' => word.push(characters.next()?),
                c => word.push(c),
            }
        }
        while characters.next_if(|c| c.is_ascii_whitespace()).is_some() {}
        return Some((word, true));
    }
    while let Some(c) = characters.next_if(|c| *c != ',') {
        match c {
            '{' | '}' | '"' => return None,
            '\\' => word.push(characters.next()?),
            c => word.push(c),
        }
    }
    Some((word.trim_end().to_owned(), false))
}
