//! Parameters in text form, read as PostgreSQL's input functions read them.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, TimestampMicrosecondArray, new_null_array,
};
use arrow::datatypes::{
    Date32Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, Time64MicrosecondType,
};
use braid_base::{one_nan, one_nan_real};

use super::ValueError;
use super::calendar::{self, CalendarFault};
use super::numeric::{self, NumericFault};
use super::parameter::{null_type, one, one_numeric, one_text};
use super::pg_type::*;
use super::{interval, interval::Interval};

/// Reads `text` as a value of `pg_type`: an array of one.
pub(crate) fn parse(pg_type: PgType, text: &str) -> Result<ArrayRef, ValueError> {
    let syntax = || ValueError::Syntax { pg_type: pg_type.name, text: shortened(text) };
    Ok(match pg_type {
        BOOL => Arc::new(BooleanArray::from(vec![parse_bool(text).ok_or_else(syntax)?])),
        INT2 => one::<Int16Type>(parse_integer(pg_type, text)?),
        INT4 => one::<Int32Type>(parse_integer(pg_type, text)?),
        INT8 | OID => one::<Int64Type>(parse_integer(pg_type, text)?),
        FLOAT4 => one::<Float32Type>(one_nan_real(parse_float(pg_type, text, f32::is_infinite)?)),
        FLOAT8 => one::<Float64Type>(one_nan(parse_float(pg_type, text, f64::is_infinite)?)),
        NUMERIC => one_numeric(numeric::parse_text(text).map_err(|fault| numeric_error(fault, text))?)?,
        CHAR | NAME | TEXT | BPCHAR | VARCHAR | UNKNOWN => one_text(text),
        BYTEA => Arc::new(BinaryArray::from_vec(vec![&parse_bytea(text).ok_or_else(syntax)?])),
        UUID => Arc::new(FixedSizeBinaryArray::try_from_iter([parse_uuid(text).ok_or_else(syntax)?].into_iter())?),
        INTERVAL => one_interval(interval::parse(text).ok_or_else(syntax)?)?,
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

fn parse_datetime(pg_type: PgType, text: &str) -> Result<ArrayRef, CalendarFault> {
    let beyond = CalendarFault::OutOfRange;
    Ok(match pg_type {
        TIME => one::<Time64MicrosecondType>(calendar::parse_time(text)?),
        DATE => one::<Date32Type>(calendar::parse_timestamp(text)?.days),
        TIMESTAMP => one_timestamp(pg_type, calendar::parse_timestamp(text)?.local_us().ok_or(beyond)?),
        _ => {
            let written = calendar::parse_timestamp(text)?;
            if written.offset_seconds.is_none() {
                // Local time in the session's time zone, which the engine knows: it reads the text.
                return Ok(one_text(text));
            }
            one_timestamp(pg_type, written.utc_us().ok_or(beyond)?)
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

/// An array of one point in time, a [`TIMESTAMP`] or a [`TIMESTAMPTZ`].
pub(crate) fn one_timestamp(pg_type: PgType, micros: i64) -> ArrayRef {
    let array = TimestampMicrosecondArray::from(vec![micros]);
    Arc::new(if pg_type == TIMESTAMPTZ { array.with_timezone("UTC") } else { array })
}

/// An array of one interval.
pub(crate) fn one_interval(value: Interval) -> Result<ArrayRef, ValueError> {
    let nanoseconds = value.micros.checked_mul(1000).ok_or_else(|| ValueError::OutOfRange {
        pg_type: INTERVAL.name,
        text: format!("{} microseconds", value.micros),
    })?;
    Ok(one::<IntervalMonthDayNanoType>(IntervalMonthDayNano::new(value.months, value.days, nanoseconds)))
}

/// Reads the elements of `{1,NULL,"a b"}`: one dimension, no explicit bounds.
pub(crate) fn parse_array(element: PgType, text: &str) -> Result<Vec<ArrayRef>, ValueError> {
    let malformed = || ValueError::Syntax { pg_type: "array", text: shortened(text) };
    let inner = text.trim().strip_prefix('{').and_then(|t| t.strip_suffix('}')).ok_or_else(malformed)?;
    let mut values = Vec::new();
    let mut characters = inner.chars().peekable();
    while characters.peek().is_some() || !values.is_empty() {
        while characters.next_if(|c| c.is_ascii_whitespace()).is_some() {}
        if values.is_empty() && characters.peek().is_none() {
            break;
        }
        let (word, quoted) = array_word(&mut characters).ok_or_else(malformed)?;
        if !quoted && word.eq_ignore_ascii_case("null") {
            values.push(new_null_array(&null_type(element), 1));
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
