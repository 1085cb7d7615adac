//! JSON as text: strings with their escapes, and values of `jsonb` in one line or in several.

use std::fmt::Write;

use super::datetime_text::{date_text, iso_timestamp_text, iso_timestamptz_text, time_text, timetz_text};
use crate::SqlError;
use crate::value_memory::GrowingValue;
use crate::value_text::check_growth;
use crate::values::json::Jsonb;
use crate::values::json_datetime::JsonDatetime;

/// What each level is indented by.
const INDENT: usize = 4;

/// Writes a string with its quotes and escapes.
pub fn write_json_string(text: &str, out: &mut String) -> Result<(), SqlError> {
    check_growth(out.len(), text.len())?;
    out.push('"');
    for c in text.chars() {
        match c {
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\0'..='\x1f' => write!(out, "\\u{:04x}", c as u32).expect("a String takes everything"),
            c => out.push(c),
        }
    }
    out.push('"');
    check_growth(out.len(), 0)
}

/// A value of `jsonb` in one line.
pub fn jsonb_text(value: &Jsonb) -> Result<String, SqlError> {
    let mut out = String::new();
    write_jsonb(value, None, &mut out, &mut |bytes| check_growth(bytes, 0))?;
    Ok(out)
}

/// A value of `jsonb` with a line for each element and field. The indents of all levels may be much longer than the value.
pub fn pretty_jsonb_text(value: &Jsonb, memory: &mut GrowingValue<'_>) -> Result<String, SqlError> {
    let mut out = String::new();
    write_jsonb(value, Some(0), &mut out, &mut |bytes| {
        check_growth(bytes, 0)?;
        memory.reach(bytes)
    })?;
    Ok(out)
}

/// Checks the number of bytes that a text has.
type Check<'a> = dyn FnMut(usize) -> Result<(), SqlError> + 'a;

/// Writes a value, in lines at a level if there is one. `check` looks at the text after each value.
fn write_jsonb(value: &Jsonb, level: Option<usize>, out: &mut String, check: &mut Check<'_>) -> Result<(), SqlError> {
    match value {
        Jsonb::Null => out.push_str("null"),
        Jsonb::Bool(true) => out.push_str("true"),
        Jsonb::Bool(false) => out.push_str("false"),
        Jsonb::Number(number) => write!(out, "{number}").expect("a String takes everything"),
        Jsonb::String(string) => write_json_string(string, out)?,
        Jsonb::Datetime(datetime) => write_json_string(&datetime_text(*datetime), out)?,
        Jsonb::Array(elements) => {
            out.push('[');
            for (at, element) in elements.iter().enumerate() {
                begin_member(at, level, out);
                write_jsonb(element, level.map(|level| level + 1), out, check)?;
            }
            begin_line(level, out);
            out.push(']');
        }
        Jsonb::Object(fields) => {
            out.push('{');
            for (at, (key, value)) in fields.iter().enumerate() {
                begin_member(at, level, out);
                write_json_string(key, out)?;
                out.push_str(": ");
                write_jsonb(value, level.map(|level| level + 1), out, check)?;
            }
            begin_line(level, out);
            out.push('}');
        }
    }
    check(out.len())
}

/// A date or a time in ISO 8601's form, with hours and minutes of its zone.
pub fn datetime_text(datetime: JsonDatetime) -> String {
    match datetime {
        JsonDatetime::Date(days) => date_text(days),
        JsonDatetime::Time(us) => time_text(us),
        JsonDatetime::TimeTz(us, west_s) => {
            let text = timetz_text(us, west_s);
            if west_s % 3600 == 0 { text + ":00" } else { text }
        }
        JsonDatetime::Timestamp(us) => iso_timestamp_text(us),
        JsonDatetime::TimestampTz(us, east_s) => iso_timestamptz_text(us, east_s),
    }
}

fn begin_member(at: usize, level: Option<usize>, out: &mut String) {
    if at > 0 {
        out.push_str(if level.is_some() { "," } else { ", " });
    }
    begin_line(level.map(|level| level + 1), out);
}

fn begin_line(level: Option<usize>, out: &mut String) {
    if let Some(level) = level {
        out.push('\n');
        out.extend(std::iter::repeat_n(' ', level * INDENT));
    }
}
