//! Texts: their types' input, output, casts and lengths.
//!
//! `text`, `varchar`, `name` and `char(n)` are all texts. A `char(n)` has its trailing blanks in its value; they do not count in
//! comparisons and lengths, and casts to other types drop them.

use super::results::check_allocation;
use crate::functions::Call;
use crate::functions::Implementations;
use crate::input::bytes::fit_name;
use crate::pg_catalog::TypeId;
use crate::types::SqlType;
use crate::{SqlError, SqlState, Value};

/// Input, output, casts and lengths.
pub const FUNCTIONS: Implementations = &[
    ("textin", same),
    ("textout", same),
    ("unknownin", same),
    ("unknownout", same),
    ("cstring_in", same),
    ("cstring_out", same),
    ("varcharin", |args, _| fit(args[0].as_text(), modifier(args), TypeId::VARCHAR, false)),
    ("varcharout", same),
    ("bpcharin", |args, _| fit(args[0].as_text(), modifier(args), TypeId::BPCHAR, false)),
    ("bpcharout", same),
    ("varchar", |args, _| fit(args[0].as_text(), args[1].as_int4(), TypeId::VARCHAR, args[2].as_bool())),
    ("bpchar", |args, _| fit(args[0].as_text(), args[1].as_int4(), TypeId::BPCHAR, args[2].as_bool())),
    ("namein", to_name),
    ("nameout", same),
    ("name_text", same),
    ("text_name", to_name),
    ("name_bpchar", same),
    ("bpchar_name", |args, _| Ok(Value::text(without_blanks(fit_name(args[0].as_text()))))),
    ("charin", |args, _| Ok(first_byte(&args[0]))),
    ("charout", char_text),
    ("text_char", |args, _| Ok(first_byte(&args[0]))),
    ("char_text", char_text),
    ("char_bpchar", char_bpchar),
    ("chartoi4", |args, _| Ok(Value::Int4(i32::from(args[0].as_char() as i8)))),
    ("i4tochar", i4tochar),
    ("textlen", |args, _| Ok(characters(args[0].as_text()))),
    ("bpcharlen", |args, _| Ok(characters(without_blanks(args[0].as_text())))),
    ("textoctetlen", |args, _| Ok(Value::Int4(args[0].as_text().len() as i32))),
    ("bpcharoctetlen", |args, _| Ok(Value::Int4(args[0].as_text().len() as i32))),
    ("bit_length(text)", |args, _| bits(args[0].as_text().len())),
    ("bit_length(bytea)", |args, _| bits(args[0].as_bytea().len())),
];

/// A text without its trailing blanks: what of a `char(n)` counts.
pub fn without_blanks(text: &str) -> &str {
    text.trim_end_matches(' ')
}

fn same(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    Ok(args[0].clone())
}

fn to_name(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::text(fit_name(args[0].as_text())))
}

/// The modifier among an input function's arguments: the text, the element type, the modifier.
fn modifier(args: &[Value]) -> i32 {
    match args.get(2) {
        Some(Value::Int4(modifier)) => *modifier,
        _ => -1,
    }
}

/// A text as `varchar(n)` or `char(n)`. What is too long is cut where the cast is written, and where only blanks are cut.
fn fit(text: &str, modifier: i32, id: TypeId, is_explicit: bool) -> Result<Value, SqlError> {
    let sql_type = SqlType { id, modifier };
    let Some(length) = sql_type.length() else { return Ok(Value::text(text)) };
    let length = usize::try_from(length).unwrap_or(0);
    let is_char = id == TypeId::BPCHAR;
    let Some((end, _)) = text.char_indices().nth(length) else {
        return if is_char { pad(text, length) } else { Ok(Value::text(text)) };
    };
    if !is_explicit && !text[end..].bytes().all(|c| c == b' ') {
        let name = if is_char { "character" } else { "character varying" };
        let message = format!("value too long for type {name}({length})");
        return Err(SqlError::new(SqlState::StringRightTruncation, message));
    }
    Ok(Value::text(&text[..end]))
}

fn pad(text: &str, length: usize) -> Result<Value, SqlError> {
    let blanks = length.saturating_sub(text.chars().count());
    check_allocation(text.len().saturating_add(blanks))?;
    Ok(Value::text(text.to_owned() + &" ".repeat(blanks)))
}

/// The byte that a backslash and three octal digits are, else the first byte of a text; 0 if it is empty.
fn first_byte(text: &Value) -> Value {
    let is_octal = |digit: u8| (b'0'..=b'7').contains(&digit);
    Value::Char(match *text.as_text().as_bytes() {
        [b'\\', high, middle, low] if [high, middle, low].into_iter().all(is_octal) => {
            // The highest digit may not fit; its upper bit is lost.
            (high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0')
        }
        [first, ..] => first,
        [] => 0,
    })
}

/// A byte as text: nothing for 0, octal digits for what is no text by itself.
fn char_text(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    Ok(match args[0].as_char() {
        0 => Value::text(""),
        byte @ 1..=127 => Value::text(char::from(byte).to_string()),
        byte => Value::text(format!("\\{byte:03o}")),
    })
}

/// PostgreSQL makes texts of the bytes that are none.
fn char_bpchar(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    match args[0].as_char() {
        1..=127 => char_text(args, call),
        byte => Err(SqlError::unsupported(format!("the byte {byte} of type \"char\" as character is not supported"))),
    }
}

fn i4tochar(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let number = i8::try_from(args[0].as_int4());
    let number = number.map_err(|_| SqlError::new(SqlState::NumericOutOfRange, "\"char\" out of range"))?;
    Ok(Value::Char(number as u8))
}

fn characters(text: &str) -> Value {
    Value::Int4(text.chars().count() as i32)
}

/// Eight for each byte. PostgreSQL multiplies as integers.
fn bits(bytes: usize) -> Result<Value, SqlError> {
    let bits = i32::try_from(bytes).ok().and_then(|bytes| bytes.checked_mul(8));
    bits.map(Value::Int4).ok_or_else(|| SqlError::new(SqlState::NumericOutOfRange, "integer out of range"))
}
