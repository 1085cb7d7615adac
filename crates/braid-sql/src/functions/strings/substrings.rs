//! Parts of texts: substring, overlay, left, right, padding, trimming, replacing, splitting. Places count characters from 1.

use super::results::{HEADER_BYTES, VALUE_BYTES_MAX, append, append_counted, cast_to_text, check_allocation};
use crate::functions::Call;
use crate::functions::Implementations;
use crate::values::exact_text::ExactText;
use crate::{SqlError, SqlState, Value};

/// Functions of parts of texts.
pub const FUNCTIONS: Implementations = &[
    ("text_substr", |args, call| {
        part_of(substring(args[0].as_text(), args[1].as_int4(), Some(args[2].as_int4()))?, call)
    }),
    ("text_substr_no_len", |args, call| part_of(substring(args[0].as_text(), args[1].as_int4(), None)?, call)),
    ("textoverlay", |args, _| overlay(args, args[3].as_int4())),
    ("textoverlay_no_len", |args, _| overlay(args, args[1].as_text().chars().count() as i32)),
    ("textpos", textpos),
    ("text_starts_with", |args, _| Ok(Value::Bool(args[0].as_text().starts_with(args[1].as_text())))),
    ("text_left", |args, call| part_of(left(args[0].as_text(), args[1].as_int4()), call)),
    ("text_right", |args, call| part_of(right(args[0].as_text(), args[1].as_int4()), call)),
    ("lpad", |args, call| pad(args, args[2].as_text(), Side::Left, call)),
    ("rpad", |args, call| pad(args, args[2].as_text(), Side::Right, call)),
    ("lpad(text int4)", |args, call| pad(args, " ", Side::Left, call)),
    ("rpad(text int4)", |args, call| pad(args, " ", Side::Right, call)),
    ("btrim", |args, call| part_of(args[0].as_text().trim_matches(any_of(&args[1])), call)),
    ("ltrim", |args, call| part_of(args[0].as_text().trim_start_matches(any_of(&args[1])), call)),
    ("rtrim", |args, call| part_of(args[0].as_text().trim_end_matches(any_of(&args[1])), call)),
    ("btrim1", |args, call| part_of(args[0].as_text().trim_matches(' '), call)),
    ("ltrim1", |args, call| part_of(args[0].as_text().trim_start_matches(' '), call)),
    ("rtrim1", |args, call| part_of(args[0].as_text().trim_end_matches(' '), call)),
    ("repeat", repeat),
    ("replace_text", replace),
    ("split_part", split_part),
    ("textcat", |args, call| concatenated(args[0].as_text(), args[1].as_text(), call)),
    ("textanycat(text anynonarray)", |args, call| {
        concatenated(args[0].as_text(), &cast_to_text(&args[1], call.argument_types[1], call)?, call)
    }),
    ("anytextcat(anynonarray text)", |args, call| {
        concatenated(&cast_to_text(&args[0], call.argument_types[0], call)?, args[1].as_text(), call)
    }),
];

/// The C functions of this file that reserve all that they need, and which need less than their arguments have, or much more.
const SELF_COUNTING: &[&str] = &[
    "text_substr",
    "text_substr_no_len",
    "text_left",
    "text_right",
    "lpad",
    "rpad",
    "btrim",
    "ltrim",
    "rtrim",
    "btrim1",
    "ltrim1",
    "rtrim1",
    "repeat",
    "replace_text",
    "split_part",
    "textcat",
];

/// Whether a C function reserves all that it needs.
pub fn counts_itself(symbol: &str) -> bool {
    SELF_COUNTING.contains(&symbol)
}

/// A part of a text as a value of its own.
fn part_of(text: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    call.reserve(text.len())?;
    Ok(Value::text(text))
}

fn negative_length() -> SqlError {
    SqlError::new(SqlState::SubstringError, "negative substring length not allowed")
}

/// The places of a part within a thing of any length: what is skipped, and how much is taken, everything for `None`. The part
/// may begin before the thing does.
pub(super) fn part_places(start: i32, length: Option<i32>) -> Result<(usize, Option<usize>), SqlError> {
    let skipped = start.max(1) as usize - 1;
    let Some(length) = length else { return Ok((skipped, None)) };
    if length < 0 {
        return Err(negative_length());
    }
    // A length that goes beyond all integers means the rest.
    let Some(end) = start.checked_add(length) else { return Ok((skipped, None)) };
    Ok((skipped, Some((end.max(1) as usize - 1).saturating_sub(skipped))))
}

/// Where an overlay replaces: the length of what stays before it, and where what stays after it begins (from 1).
pub(super) fn overlay_places(start: i32, length: i32) -> Result<(i32, i32), SqlError> {
    if start <= 0 {
        return Err(negative_length());
    }
    let after = start.checked_add(length);
    let after = after.ok_or_else(|| SqlError::new(SqlState::NumericOutOfRange, "integer out of range"))?;
    Ok((start - 1, after))
}

/// Where the character at a place begins, the places counted from 0; the end if there are fewer.
fn offset(text: &str, place: usize) -> usize {
    // No character is shorter than a byte.
    if place >= text.len() {
        return text.len();
    }
    text.char_indices().nth(place).map_or(text.len(), |(at, _)| at)
}

/// A part of a text.
pub(super) fn substring(text: &str, start: i32, length: Option<i32>) -> Result<&str, SqlError> {
    let (skipped, length) = part_places(start, length)?;
    let rest = &text[offset(text, skipped)..];
    Ok(length.map_or(rest, |length| &rest[..offset(rest, length)]))
}

/// A text with a part replaced: text, replacement and start are the arguments.
pub(super) fn overlay(args: &[Value], length: i32) -> Result<Value, SqlError> {
    let text = args[0].as_text();
    let (before, after) = overlay_places(args[2].as_int4(), length)?;
    let mut out = substring(text, 1, Some(before))?.to_owned();
    append(&mut out, args[1].as_text())?;
    append(&mut out, substring(text, after, None)?)?;
    Ok(Value::text(out))
}

/// The place of a text in another; 0 if it is not there.
fn textpos(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let text = args[0].as_text();
    let place = text.find(args[1].as_text()).map_or(0, |at| text[..at].chars().count() + 1);
    Ok(Value::Int4(place as i32))
}

/// The first characters; for a negative number all but the last.
fn left(text: &str, count: i32) -> &str {
    let count = match usize::try_from(count) {
        Ok(count) => count,
        Err(_) => text.chars().count().saturating_sub(count.unsigned_abs() as usize),
    };
    &text[..offset(text, count)]
}

/// The last characters; for a negative number all but the first. The smallest integer has no opposite, and takes all.
fn right(text: &str, count: i32) -> &str {
    let skipped = match usize::try_from(count) {
        Ok(count) => text.chars().count().saturating_sub(count),
        Err(_) => count.checked_neg().unwrap_or(0) as usize,
    };
    &text[offset(text, skipped)..]
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

fn too_large() -> SqlError {
    SqlError::new(SqlState::ProgramLimitExceeded, "requested length too large")
}

/// A text of a length: cut at its end, or filled with another text again and again.
fn pad(args: &[Value], fill: &str, side: Side, call: &Call<'_>) -> Result<Value, SqlError> {
    let (text, length) = (args[0].as_text(), args[1].as_int4().max(0) as usize);
    let characters = text.chars().count().min(length);
    let length = if fill.is_empty() { characters } else { length };
    // PostgreSQL reserves the most bytes that so many characters have.
    if length * 4 + HEADER_BYTES > VALUE_BYTES_MAX {
        return Err(too_large());
    }
    let kept = &text[..offset(text, characters)];
    let missing = length - characters;
    let fill_characters = fill.chars().count().max(1);
    let (times, part) = (missing / fill_characters, &fill[..offset(fill, missing % fill_characters)]);
    let bytes = kept.len() + times * fill.len() + part.len();
    call.reserve(bytes)?;
    let mut out = ExactText::new(bytes);
    if let Side::Right = side {
        out.push(kept);
    }
    out.push_repeated(fill, times);
    out.push(part);
    if let Side::Left = side {
        out.push(kept);
    }
    Ok(Value::text(out.finish()))
}

fn any_of(set: &Value) -> impl Fn(char) -> bool + '_ {
    |c| set.as_text().contains(c)
}

fn repeat(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (text, count) = (args[0].as_text(), args[1].as_int4().max(0) as usize);
    if text.len().saturating_mul(count).saturating_add(HEADER_BYTES) > VALUE_BYTES_MAX {
        return Err(too_large());
    }
    call.reserve(text.len() * count)?;
    let mut repeated = ExactText::new(text.len() * count);
    repeated.push_repeated(text, count);
    Ok(Value::text(repeated.finish()))
}

fn replace(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (text, from, to) = (args[0].as_text(), args[1].as_text(), args[2].as_text());
    if from.is_empty() {
        return Ok(args[0].clone());
    }
    let (mut out, mut memory) = (String::new(), call.growing_value());
    let mut end = 0;
    for (at, found) in text.match_indices(from) {
        append_counted(&mut out, &text[end..at], &mut memory)?;
        append_counted(&mut out, to, &mut memory)?;
        end = at + found.len();
    }
    append_counted(&mut out, &text[end..], &mut memory)?;
    Ok(Value::text(out))
}

/// A field of a text with separators; a negative number counts from the last. There is nothing outside the text.
fn split_part(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (text, separator, number) = (args[0].as_text(), args[1].as_text(), args[2].as_int4());
    if number == 0 {
        return Err(SqlError::new(SqlState::InvalidParameterValue, "field position must not be zero"));
    }
    if separator.is_empty() {
        return part_of(if number.abs_diff(0) == 1 { text } else { "" }, call);
    }
    let place = number.unsigned_abs() as usize - 1;
    let field = if number > 0 {
        text.split(separator).nth(place)
    } else {
        let fields = text.matches(separator).count() + 1;
        fields.checked_sub(place + 1).and_then(|place| text.split(separator).nth(place))
    };
    part_of(field.unwrap_or_default(), call)
}

fn concatenated(left: &str, right: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    let bytes = left.len() + right.len();
    check_allocation(bytes)?;
    call.reserve(bytes)?;
    let mut text = ExactText::new(bytes);
    text.push(left);
    text.push(right);
    Ok(Value::text(text.finish()))
}
