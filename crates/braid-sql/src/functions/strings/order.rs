//! Comparisons of texts, by their bytes: with the locale C.UTF-8 that is the order of the characters' numbers.
//!
//! A `char(n)` is compared without its trailing blanks. The functions behind indexes (`bttextcmp`) tell how far apart the first bytes
//! are that differ, as the C library does.

use std::cmp::Ordering;

use super::text_types::without_blanks;
use crate::functions::Implementations;
use crate::{SqlError, Value};

/// Comparisons.
pub const FUNCTIONS: Implementations = &[
    ("texteq", |args, _| compare(args, text, text, Ordering::is_eq)),
    ("textne", |args, _| compare(args, text, text, Ordering::is_ne)),
    ("text_lt", |args, _| compare(args, text, text, Ordering::is_lt)),
    ("text_le", |args, _| compare(args, text, text, Ordering::is_le)),
    ("text_gt", |args, _| compare(args, text, text, Ordering::is_gt)),
    ("text_ge", |args, _| compare(args, text, text, Ordering::is_ge)),
    ("text_pattern_lt", |args, _| compare(args, text, text, Ordering::is_lt)),
    ("text_pattern_le", |args, _| compare(args, text, text, Ordering::is_le)),
    ("text_pattern_gt", |args, _| compare(args, text, text, Ordering::is_gt)),
    ("text_pattern_ge", |args, _| compare(args, text, text, Ordering::is_ge)),
    ("nameeq", |args, _| compare(args, text, text, Ordering::is_eq)),
    ("namene", |args, _| compare(args, text, text, Ordering::is_ne)),
    ("namelt", |args, _| compare(args, text, text, Ordering::is_lt)),
    ("namele", |args, _| compare(args, text, text, Ordering::is_le)),
    ("namegt", |args, _| compare(args, text, text, Ordering::is_gt)),
    ("namege", |args, _| compare(args, text, text, Ordering::is_ge)),
    ("nameeqtext", |args, _| compare(args, text, text, Ordering::is_eq)),
    ("namenetext", |args, _| compare(args, text, text, Ordering::is_ne)),
    ("namelttext", |args, _| compare(args, text, text, Ordering::is_lt)),
    ("nameletext", |args, _| compare(args, text, text, Ordering::is_le)),
    ("namegttext", |args, _| compare(args, text, text, Ordering::is_gt)),
    ("namegetext", |args, _| compare(args, text, text, Ordering::is_ge)),
    ("texteqname", |args, _| compare(args, text, text, Ordering::is_eq)),
    ("textnename", |args, _| compare(args, text, text, Ordering::is_ne)),
    ("textltname", |args, _| compare(args, text, text, Ordering::is_lt)),
    ("textlename", |args, _| compare(args, text, text, Ordering::is_le)),
    ("textgtname", |args, _| compare(args, text, text, Ordering::is_gt)),
    ("textgename", |args, _| compare(args, text, text, Ordering::is_ge)),
    ("bpchareq", |args, _| compare(args, padded, padded, Ordering::is_eq)),
    ("bpcharne", |args, _| compare(args, padded, padded, Ordering::is_ne)),
    ("bpcharlt", |args, _| compare(args, padded, padded, Ordering::is_lt)),
    ("bpcharle", |args, _| compare(args, padded, padded, Ordering::is_le)),
    ("bpchargt", |args, _| compare(args, padded, padded, Ordering::is_gt)),
    ("bpcharge", |args, _| compare(args, padded, padded, Ordering::is_ge)),
    ("bpchar_pattern_lt", |args, _| compare(args, padded, padded, Ordering::is_lt)),
    ("bpchar_pattern_le", |args, _| compare(args, padded, padded, Ordering::is_le)),
    ("bpchar_pattern_gt", |args, _| compare(args, padded, padded, Ordering::is_gt)),
    ("bpchar_pattern_ge", |args, _| compare(args, padded, padded, Ordering::is_ge)),
    ("chareq", |args, _| Ok(Value::Bool(args[0].as_char() == args[1].as_char()))),
    ("charne", |args, _| Ok(Value::Bool(args[0].as_char() != args[1].as_char()))),
    ("charlt", |args, _| Ok(Value::Bool(args[0].as_char() < args[1].as_char()))),
    ("charle", |args, _| Ok(Value::Bool(args[0].as_char() <= args[1].as_char()))),
    ("chargt", |args, _| Ok(Value::Bool(args[0].as_char() > args[1].as_char()))),
    ("charge", |args, _| Ok(Value::Bool(args[0].as_char() >= args[1].as_char()))),
    ("btcharcmp", |args, _| Ok(Value::Int4(i32::from(args[0].as_char()) - i32::from(args[1].as_char())))),
    ("text_larger", |args, _| larger(args, text, Ordering::is_gt)),
    ("text_smaller", |args, _| larger(args, text, Ordering::is_lt)),
    ("bpchar_larger", |args, _| larger(args, padded, Ordering::is_ge)),
    ("bpchar_smaller", |args, _| larger(args, padded, Ordering::is_le)),
    ("bttextcmp", |args, _| Ok(Value::Int4(string_difference(text(&args[0]), text(&args[1]))))),
    ("bpcharcmp", |args, _| Ok(Value::Int4(string_difference(padded(&args[0]), padded(&args[1]))))),
    ("btnamecmp", |args, _| Ok(Value::Int4(string_difference(text(&args[0]), text(&args[1]))))),
    ("btnametextcmp", |args, _| Ok(Value::Int4(bytes_difference(text(&args[0]), text(&args[1]))))),
    ("bttextnamecmp", |args, _| Ok(Value::Int4(bytes_difference(text(&args[0]), text(&args[1]))))),
    ("bttext_pattern_cmp", |args, _| Ok(Value::Int4(bytes_difference(text(&args[0]), text(&args[1]))))),
    ("btbpchar_pattern_cmp", |args, _| Ok(Value::Int4(bytes_difference(padded(&args[0]), padded(&args[1]))))),
];

fn text(value: &Value) -> &[u8] {
    value.as_text().as_bytes()
}

fn padded(value: &Value) -> &[u8] {
    without_blanks(value.as_text()).as_bytes()
}

type Compared = fn(&Value) -> &[u8];

fn compare(args: &[Value], left: Compared, right: Compared, holds: fn(Ordering) -> bool) -> Result<Value, SqlError> {
    Ok(Value::Bool(holds(left(&args[0]).cmp(right(&args[1])))))
}

/// The first argument if the comparison says so, otherwise the second.
fn larger(args: &[Value], compared: Compared, takes_first: fn(Ordering) -> bool) -> Result<Value, SqlError> {
    let first = takes_first(compared(&args[0]).cmp(compared(&args[1])));
    Ok(args[usize::from(!first)].clone())
}

/// The difference of the first bytes that differ, with a zero at the end of both (`strcmp`).
pub(in crate::functions) fn string_difference(left: &[u8], right: &[u8]) -> i32 {
    let at = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    let byte = |bytes: &[u8]| i32::from(bytes.get(at).copied().unwrap_or(0));
    byte(left) - byte(right)
}

/// The difference of the first bytes that differ; otherwise which is longer (`memcmp`).
pub(super) fn bytes_difference(left: &[u8], right: &[u8]) -> i32 {
    match left.iter().zip(right).find(|(a, b)| a != b) {
        Some((a, b)) => i32::from(*a) - i32::from(*b),
        None => left.len().cmp(&right.len()) as i32,
    }
}
