//! Sizes in bytes as text, and back (`pg_size_pretty`, `pg_size_bytes`).

use crate::functions::Implementations;
use crate::functions::numbers::casts::numeric_int8;
use crate::value_text::is_space;
use crate::values::Numeric;
use crate::{SqlError, SqlState, Value};

/// Functions of sizes.
pub const FUNCTIONS: Implementations = &[
    ("pg_size_pretty", |arguments, _| Ok(Value::text(shown(arguments[0].as_int8())))),
    ("pg_size_pretty_numeric", |arguments, _| shown_numeric(arguments[0].as_numeric()).map(Value::text)),
    ("pg_size_bytes", |arguments, _| bytes(arguments[0].as_text())),
];

/// Units, each 1024 times the one before it.
const UNITS: [&str; 6] = ["bytes", "kB", "MB", "GB", "TB", "PB"];

/// Sizes of so many of a unit or more have the next one.
const UNIT_LIMIT: i64 = 10 * 1024;

/// The same for sizes in halves of a unit, which are rounded.
const HALVES_LIMIT: i64 = 2 * UNIT_LIMIT - 1;

/// From the second unit on, sizes are in halves of the unit, cut.
fn shown(size: i64) -> String {
    if size.unsigned_abs() < UNIT_LIMIT.unsigned_abs() {
        return format!("{size} bytes");
    }
    let mut halves = size / 512;
    for unit in &UNITS[1..UNITS.len() - 1] {
        if halves.abs() < HALVES_LIMIT {
            return format!("{} {unit}", rounded(halves));
        }
        halves /= 1024;
    }
    format!("{} {}", rounded(halves), UNITS[UNITS.len() - 1])
}

fn rounded(halves: i64) -> i64 {
    (halves + if halves < 0 { -1 } else { 1 }) / 2
}

fn shown_numeric(size: &Numeric) -> Result<String, SqlError> {
    let is_below = |size: &Numeric, limit: i64| size.abs().compare(&Numeric::from(limit)).is_lt();
    if is_below(size, UNIT_LIMIT) {
        return Ok(format!("{size} bytes"));
    }
    let mut halves = size.div_trunc(&Numeric::from(512))?;
    for (at, unit) in UNITS.iter().enumerate().skip(1) {
        if is_below(&halves, HALVES_LIMIT) || at + 1 == UNITS.len() {
            let step = Numeric::from(if halves.signum() < 0 { -1 } else { 1 });
            return Ok(format!("{} {unit}", halves.checked_add(&step)?.div_trunc(&Numeric::from(2))?));
        }
        halves = halves.div_trunc(&Numeric::from(1024))?;
    }
    unreachable!("the last unit has all sizes")
}

/// A number, and a unit in any case.
fn bytes(text: &str) -> Result<Value, SqlError> {
    let invalid = || SqlError::new(SqlState::InvalidParameterValue, format!("invalid size: \"{text}\""));
    let trimmed = text.trim_start_matches(is_space);
    let (number, rest) = trimmed.split_at(number_length(trimmed).ok_or_else(invalid)?);
    let number = Numeric::parse(number)?;
    let unit = rest.trim_matches(is_space);
    let power = match unit {
        "" => 0,
        unit => UNITS.iter().position(|known| known.eq_ignore_ascii_case(unit)).ok_or_else(|| {
            invalid()
                .with_detail(format!("Invalid size unit: \"{unit}\"."))
                .with_hint("Valid units are \"bytes\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".")
        })?,
    };
    let factor = Numeric::from(1_i64 << (10 * power));
    numeric_int8(&number.checked_mul(&factor)?)
}

/// The bytes of the number that a text begins with; `None` if it begins with none. An `e` without an exponent belongs to the unit.
fn number_length(text: &str) -> Option<usize> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let sign = |from: usize| usize::from(text[from..].starts_with(['+', '-']));
    let mut end = sign(0);
    let whole = digits(end);
    end += whole;
    if text[end..].starts_with('.') {
        let fraction = digits(end + 1);
        if whole + fraction == 0 {
            return None;
        }
        end += 1 + fraction;
    } else if whole == 0 {
        return None;
    }
    if text[end..].starts_with(['e', 'E']) {
        let start = end + 1 + sign(end + 1);
        let exponent = digits(start);
        if exponent > 0 {
            end = start + exponent;
        }
    }
    Some(end)
}
