//! The functions of regular expressions.

use std::ops::Range;
use std::rc::Rc;

use super::matches::{Matches, Search, Split, groups, part};
use super::pattern::Pattern;
use super::similar_to::{regular_expression, similar_escape};
use super::syntax::Flags;
use crate::functions::arrays::making::counted_elements;
use crate::functions::call::Call;
use crate::functions::strings::results::append_counted;
use crate::functions::{Implementations, Rows};
use crate::pg_catalog::TypeId;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// Operators and functions of regular expressions.
pub const FUNCTIONS: Implementations = &[
    ("textregexeq", |args, _| Ok(Value::Bool(operator(args, false)?))),
    ("textregexne", |args, _| Ok(Value::Bool(!operator(args, false)?))),
    ("texticregexeq", |args, _| Ok(Value::Bool(operator(args, true)?))),
    ("texticregexne", |args, _| Ok(Value::Bool(!operator(args, true)?))),
    ("nameregexeq", |args, _| Ok(Value::Bool(operator(args, false)?))),
    ("nameregexne", |args, _| Ok(Value::Bool(!operator(args, false)?))),
    ("nameicregexeq", |args, _| Ok(Value::Bool(operator(args, true)?))),
    ("nameicregexne", |args, _| Ok(Value::Bool(!operator(args, true)?))),
    ("textregexsubstr", |args, _| first_part(args[0].as_text(), args[1].as_text())),
    ("substring(text text text)", |args, _| {
        first_part(args[0].as_text(), &regular_expression(args[1].as_text(), args[2].as_text())?)
    }),
    ("similar_to_escape_1", |args, _| regular_expression(args[0].as_text(), "\\").map(Value::text)),
    ("similar_to_escape_2", |args, _| regular_expression(args[0].as_text(), args[1].as_text()).map(Value::text)),
    ("similar_escape", similar_escape),
    ("regexp_like_no_flags", regexp_like),
    ("regexp_like", regexp_like),
    ("regexp_match_no_flags", regexp_match),
    ("regexp_match", regexp_match),
    ("regexp_count_no_start", regexp_count),
    ("regexp_count_no_flags", regexp_count),
    ("regexp_count", regexp_count),
    ("regexp_instr_no_start", regexp_instr),
    ("regexp_instr_no_n", regexp_instr),
    ("regexp_instr_no_endoption", regexp_instr),
    ("regexp_instr_no_flags", regexp_instr),
    ("regexp_instr_no_subexpr", regexp_instr),
    ("regexp_instr", regexp_instr),
    ("regexp_substr_no_start", regexp_substr),
    ("regexp_substr_no_n", regexp_substr),
    ("regexp_substr_no_flags", regexp_substr),
    ("regexp_substr_no_subexpr", regexp_substr),
    ("regexp_substr", regexp_substr),
    ("textregexreplace_noopt", |args, call| replaced(args, &*pattern(args, "")?, (1, 1), call)),
    ("textregexreplace", regexp_replace_with_flags),
    ("textregexreplace_extended_no_n", regexp_replace_from),
    ("textregexreplace_extended_no_flags", regexp_replace_from),
    ("textregexreplace_extended", regexp_replace_from),
    ("regexp_split_to_array_no_flags", regexp_split_to_array),
    ("regexp_split_to_array", regexp_split_to_array),
];

fn operator(args: &[Value], ignores_case: bool) -> Result<bool, SqlError> {
    let flags = Flags { ignores_case, ..Flags::default() };
    Pattern::of(args[1].as_text(), flags)?.is_match(args[0].as_text())
}

/// A function's flags, and whether `g` is among them.
fn flags(letters: &str) -> Result<(Flags, bool), SqlError> {
    let (mut flags, mut is_global) = (Flags::default(), false);
    for letter in letters.chars() {
        if letter == 'g' {
            is_global = true;
            continue;
        }
        flags.apply(letter).ok_or_else(|| invalid(format!("invalid regular expression option: \"{letter}\"")))??;
    }
    Ok((flags, is_global))
}

fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::InvalidParameterValue, message)
}

/// The pattern in the second argument with flags that do not include `g`.
fn pattern_without_global(args: &[Value], at: usize, function: &str) -> Result<Rc<Pattern>, SqlError> {
    Pattern::of(args[1].as_text(), flags_without_global(args, at, function)?)
}

/// Flags that do not include `g`.
fn flags_without_global(args: &[Value], at: usize, function: &str) -> Result<Flags, SqlError> {
    let (flags, is_global) = flags(args.get(at).map_or("", Value::as_text))?;
    if is_global {
        let error = invalid(format!("{function}() does not support the \"global\" option"));
        return Err(match function {
            "regexp_match" => error.with_hint("Use the regexp_matches function instead."),
            _ => error,
        });
    }
    Ok(flags)
}

fn pattern(args: &[Value], letters: &str) -> Result<Rc<Pattern>, SqlError> {
    Pattern::of(args[1].as_text(), flags(letters)?.0)
}

/// An argument that must not be below a least value, or 1.
fn parameter(args: &[Value], at: usize, name: &str, min: i32) -> Result<i32, SqlError> {
    let value = args.get(at).map_or(1, Value::as_int4);
    if value < min { Err(invalid(format!("invalid value for parameter \"{name}\": {value}"))) } else { Ok(value) }
}

/// The group that is meant by a part of a text: the first, or without groups the whole.
fn first_part(text: &str, expression: &str) -> Result<Value, SqlError> {
    let pattern = Pattern::of(expression, Flags::default())?;
    let Some(captures) = pattern.captures(text, 0)? else { return Ok(Value::Null) };
    Ok(part(text, captures[usize::from(pattern.groups > 0)].as_ref()))
}

fn regexp_like(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    Ok(Value::Bool(pattern_without_global(args, 2, "regexp_like")?.is_match(args[0].as_text())?))
}

fn regexp_match(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let pattern = pattern_without_global(args, 2, "regexp_match")?;
    let text = args[0].as_text();
    let Some(captures) = pattern.captures(text, 0)? else { return Ok(Value::Null) };
    Ok(texts(groups(text, &captures)))
}

fn texts(values: Vec<Value>) -> Value {
    Value::Array(ArrayValue::of(TypeId::TEXT, values).into())
}

fn regexp_count(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let start = parameter(args, 2, "start", 1)?;
    let pattern = pattern_without_global(args, 3, "regexp_count")?;
    let mut matches = Matches::new(&pattern, args[0].as_text(), start);
    let mut count = 0;
    while matches.next()?.is_some() {
        count += 1;
    }
    Ok(Value::Int4(count))
}

/// A group of a match by its number; the whole for 0, and for 1 if there are no groups.
fn subexpression(
    pattern: &Pattern,
    text: &str,
    found: Option<Range<usize>>,
    number: i32,
) -> Result<Option<Range<usize>>, SqlError> {
    let Some(found) = found else { return Ok(None) };
    let number = number as usize;
    if number == 0 || number == 1 && pattern.groups == 0 {
        return Ok(Some(found));
    }
    if number > pattern.groups {
        return Ok(None);
    }
    Ok(pattern.groups_of(text, found)?.swap_remove(number))
}

fn regexp_instr(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let text = args[0].as_text();
    let start = parameter(args, 2, "start", 1)?;
    let number = parameter(args, 3, "n", 1)?;
    let end_option = args.get(4).map_or(0, Value::as_int4);
    if !(0..=1).contains(&end_option) {
        return Err(invalid(format!("invalid value for parameter \"endoption\": {end_option}")));
    }
    let group = if args.len() > 6 { parameter(args, 6, "subexpr", 0)? } else { 0 };
    let pattern = pattern_without_global(args, 5, "regexp_instr")?;
    let found = Matches::new(&pattern, text, start).nth(number)?;
    let found = subexpression(&pattern, text, found, group)?;
    let place = found.map_or(0, |range| {
        let offset = if end_option == 1 { range.end } else { range.start };
        text[..offset].chars().count() + 1
    });
    Ok(Value::Int4(place as i32))
}

fn regexp_substr(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let text = args[0].as_text();
    let start = parameter(args, 2, "start", 1)?;
    let number = parameter(args, 3, "n", 1)?;
    let group = if args.len() > 5 { parameter(args, 5, "subexpr", 0)? } else { 0 };
    let pattern = pattern_without_global(args, 4, "regexp_substr")?;
    let found = Matches::new(&pattern, text, start).nth(number)?;
    Ok(part(text, subexpression(&pattern, text, found, group)?.as_ref()))
}

fn regexp_replace_with_flags(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let letters = args[3].as_text();
    let (flags, is_global) = flags(letters).map_err(|error| {
        let is_number = letters.starts_with(|c: char| c.is_ascii_digit());
        let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.";
        if is_number { error.with_hint(hint) } else { error }
    })?;
    replaced(args, &*Pattern::of(args[1].as_text(), flags)?, (1, i32::from(!is_global)), call)
}

fn regexp_replace_from(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let start = parameter(args, 3, "start", 1)?;
    let number = parameter(args, 4, "n", 0)?;
    let (flags, _) = flags(args.get(5).map_or("", Value::as_text))?;
    replaced(args, &*Pattern::of(args[1].as_text(), flags)?, (start, number), call)
}

/// Replaces the match of a number, or all for 0.
fn replaced(
    args: &[Value],
    pattern: &Pattern,
    (start, number): (i32, i32),
    call: &Call<'_>,
) -> Result<Value, SqlError> {
    let (text, replacement) = (args[0].as_text(), Replacement::new(args[2].as_text()));
    let mut matches = Matches::new(pattern, text, start);
    let (mut out, mut memory) = (String::new(), call.growing_value());
    let (mut end, mut count) = (0, 0);
    while let Some(found) = matches.next()? {
        count += 1;
        if number > 0 && count != number {
            continue;
        }
        append_counted(&mut out, &text[end..found.start], &mut memory)?;
        end = found.end;
        replacement.append(pattern, text, found, &mut |part| append_counted(&mut out, part, &mut memory))?;
        if number > 0 {
            break;
        }
    }
    append_counted(&mut out, &text[end..], &mut memory)?;
    Ok(Value::text(out))
}

/// What comes in place of a match: `\1` to `\9` are groups, `\&` is the match, `\\` a backslash.
struct Replacement<'a> {
    /// Texts, and the group after each.
    parts: Vec<(&'a str, Option<usize>)>,
}

impl<'a> Replacement<'a> {
    fn new(replacement: &'a str) -> Self {
        let mut parts = Vec::new();
        let (mut rest, mut searched) = (replacement, 0);
        while let Some(at) = rest[searched..].find('\\').map(|at| at + searched) {
            let group = match rest.as_bytes().get(at + 1) {
                Some(digit @ b'1'..=b'9') => Some(usize::from(digit - b'0')),
                Some(b'&') => Some(0),
                Some(b'\\') => None,
                // Another character, and the end of the text, leave the backslash as it is.
                _ => {
                    searched = at + 1;
                    continue;
                }
            };
            parts.push((if group.is_some() { &rest[..at] } else { &rest[..=at] }, group));
            (rest, searched) = (&rest[at + 2..], 0);
        }
        parts.push((rest, None));
        Self { parts }
    }

    /// Gives `add` what comes in place of a match, part by part.
    fn append(
        &self,
        pattern: &Pattern,
        text: &str,
        found: Range<usize>,
        add: &mut dyn FnMut(&str) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let needs_groups = self.parts.iter().any(|(_, group)| group.is_some_and(|group| group > 0));
        let captures = if needs_groups { pattern.groups_of(text, found)? } else { vec![Some(found)] };
        for (part, group) in &self.parts {
            add(part)?;
            if let Some(range) = group.and_then(|group| captures.get(group)?.clone()) {
                add(&text[range])?;
            }
        }
        Ok(())
    }
}

fn regexp_split_to_array(args: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let split = Split::new(args, flags_without_global(args, 2, "regexp_split_to_array")?)?;
    Ok(texts(counted_elements(split, call)?))
}

/// `regexp_matches(text, pattern [, flags])`: the groups of the first match, or of all.
pub(in crate::functions) fn regexp_matches(args: &[Value]) -> Result<Rows, SqlError> {
    let (flags, is_global) = flags(args.get(2).map_or("", Value::as_text))?;
    let groups = Search::new(args, flags)?.map(|groups| groups.map(|groups| vec![texts(groups)]));
    if is_global { Ok(Box::new(groups)) } else { Ok(Box::new(groups.take(1))) }
}

/// `regexp_split_to_table(text, pattern [, flags])`
pub(in crate::functions) fn regexp_split_to_table(args: &[Value]) -> Result<Rows, SqlError> {
    let split = Split::new(args, flags_without_global(args, 2, "regexp_split_to_table")?)?;
    Ok(Box::new(split.map(|part| part.map(|part| vec![part]))))
}
