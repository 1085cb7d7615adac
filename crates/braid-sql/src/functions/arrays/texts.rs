//! Arrays as text: `{1,NULL,"a b"}`, with dimensions before it if subscripts do not begin at 1; and texts joined and split.
//!
//! The elements of a text stand between commas, in quotes or not, with backslashes before characters that mean themselves
//! (manual, "Array Input and Output Syntax"). PostgreSQL 15 takes a few texts whose braces are nested unevenly, such as `{{1},{{2}}}`,
//! and reads something else from them. Here they are refused, as PostgreSQL 17 does.

use std::sync::Arc;

use super::elements::{Input, Output};
use super::making::{counted_elements, written_dimensions};
use crate::functions::{Call, Implementations};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::values::ArrayValue;
use crate::values::array_limits::{check_dimension_count, checked_count};
use crate::{SqlError, SqlState, Value};

/// Arrays from and to text.
pub const FUNCTIONS: Implementations = &[
    ("array_in", array_in),
    ("array_out", array_out),
    ("array_to_text", array_to_text),
    ("array_to_text_null", array_to_text),
    ("text_to_array", text_to_array),
    ("text_to_array_null", text_to_array),
];

/// Most bytes of a text (`MaxAllocSize`).
const BYTES_MAX: usize = 0x3fff_ffff;
/// Blanks around elements.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];

fn array_in(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (text, element) = (arguments[0].as_text(), TypeId(arguments[1].as_oid()));
    if pg_catalog().find_type(element).is_none() {
        return Err(SqlError::new(SqlState::InternalError, format!("cache lookup failed for type {}", element.0)));
    }
    let (written, contents) = explicit_dimensions(text)?;
    let mut contents = Contents::new(text, contents);
    contents.read()?;
    let lengths = std::mem::take(&mut contents.lengths);
    let dimensions: Vec<(usize, i32)> = match written {
        None => lengths.into_iter().map(|length| (length, 1)).collect(),
        Some(written) => {
            if !written.iter().map(|(length, _)| *length).eq(lengths.into_iter().map(|length| length as i64)) {
                return Err(malformed(text, "Specified array dimensions do not match array contents."));
            }
            written.into_iter().map(|(length, lower)| (length as usize, lower)).collect()
        }
    };
    checked_count(&dimensions)?;
    let input = Input::of(element, arguments[2].as_int4(), call)?;
    let value = |item: Option<String>| item.map_or(Ok(Value::Null), |item| input.value(&item));
    let values: Vec<Value> = contents.items.into_iter().map(value).collect::<Result<_, _>>()?;
    Ok(Value::Array(ArrayValue { element, dimensions, values }.into()))
}

fn malformed(text: &str, detail: &str) -> SqlError {
    SqlError::new(SqlState::InvalidTextRepresentation, format!("malformed array literal: \"{text}\""))
        .with_detail(detail)
}

/// `[1:2][0:4]=`: lengths and lower bounds of the dimensions, if they are written, and what follows them.
#[allow(clippy::type_complexity, reason = "a length that is checked later, and a bound")]
fn explicit_dimensions(text: &str) -> Result<(Option<Vec<(i64, i32)>>, &str), SqlError> {
    let mut rest = text.trim_start_matches(BLANKS);
    let mut dimensions = Vec::new();
    while let Some(inner) = rest.strip_prefix('[') {
        check_dimension_count(dimensions.len() + 1)?;
        let (dimension, after) = one_dimension(text, inner)?;
        dimensions.push(dimension);
        rest = after.trim_start_matches(BLANKS);
    }
    if dimensions.is_empty() {
        if rest.starts_with('{') {
            return Ok((None, rest));
        }
        return Err(malformed(text, "Array value must start with \"{\" or dimension information."));
    }
    let Some(contents) = rest.strip_prefix('=') else {
        return Err(malformed(text, "Missing \"=\" after array dimensions."));
    };
    let contents = contents.trim_start_matches(BLANKS);
    if !contents.starts_with('{') {
        return Err(malformed(text, "Array contents must start with \"{\"."));
    }
    Ok((Some(dimensions), contents))
}

/// `1:2]` or `2]`
fn one_dimension<'a>(text: &str, inner: &'a str) -> Result<((i64, i32), &'a str), SqlError> {
    let bound = |from: &'a str| {
        let end = from.find(|c: char| !c.is_ascii_digit() && c != '-' && c != '+').unwrap_or(from.len());
        from.split_at(end)
    };
    let (first, rest) = bound(inner);
    if first.is_empty() {
        return Err(malformed(text, "\"[\" must introduce explicitly-specified array dimensions."));
    }
    let (lower, upper, rest) = match rest.strip_prefix(':') {
        None => (1, first, rest),
        Some(second) => {
            let (upper, rest) = bound(second);
            if upper.is_empty() {
                return Err(malformed(text, "Missing array dimension value."));
            }
            (written_bound(first)?, upper, rest)
        }
    };
    let Some(rest) = rest.strip_prefix(']') else {
        return Err(malformed(text, "Missing \"]\" after array dimensions."));
    };
    let upper = written_bound(upper)?;
    if upper < lower {
        let message = "upper bound cannot be less than lower bound";
        return Err(SqlError::new(SqlState::ArraySubscriptError, message));
    }
    Ok(((i64::from(upper) - i64::from(lower) + 1, lower), rest))
}

/// PostgreSQL reads bounds that are no integers as something else, silently. They are refused here.
fn written_bound(bound: &str) -> Result<i32, SqlError> {
    bound.parse().map_err(|_| SqlError::unsupported(format!("array bound \"{bound}\" is no integer")))
}

/// What was read last within the braces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    LevelBegan,
    LevelEnded,
    LevelDelimiter,
    Unquoted,
    Quoted,
    ElementDelimiter,
}

/// The elements of a text and the lengths of its dimensions.
struct Contents<'a> {
    text: &'a str,
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    /// The elements so far; `None` for null.
    items: Vec<Option<String>>,
    /// The members so far of each level that is open.
    counts: Vec<usize>,
    /// The length of each level, where one has ended.
    known: Vec<Option<usize>>,
    /// How deep elements are.
    depth: Option<usize>,
    lengths: Vec<usize>,
}

impl<'a> Contents<'a> {
    fn new(text: &'a str, contents: &'a str) -> Self {
        let rest = contents.chars().peekable();
        Self { text, rest, items: Vec::new(), counts: Vec::new(), known: Vec::new(), depth: None, lengths: Vec::new() }
    }

    fn read(&mut self) -> Result<(), SqlError> {
        let mut last = Last::LevelDelimiter;
        loop {
            let Some(next) = self.rest.next() else { return Err(self.malformed("Unexpected end of input.")) };
            last = match next {
                '{' => self.begin_level(last)?,
                '}' => self.end_level(last)?,
                ',' => self.delimiter(last)?,
                '"' => self.quoted(last)?,
                blank if BLANKS.contains(&blank) => last,
                other => self.unquoted(other, last)?,
            };
            if self.counts.is_empty() {
                break;
            }
        }
        if self.rest.any(|c| !BLANKS.contains(&c)) {
            return Err(self.malformed("Junk after closing right brace."));
        }
        if !self.items.is_empty() {
            self.lengths = self.known.iter().map(|length| length.unwrap_or_default()).collect();
        }
        Ok(())
    }

    fn malformed(&self, detail: &str) -> SqlError {
        malformed(self.text, detail)
    }

    fn begin_level(&mut self, last: Last) -> Result<Last, SqlError> {
        if !matches!(last, Last::LevelBegan | Last::LevelDelimiter) {
            return Err(self.malformed("Unexpected \"{\" character."));
        }
        check_dimension_count(self.counts.len() + 1)?;
        self.counts.push(0);
        if self.known.len() < self.counts.len() {
            self.known.push(None);
        }
        Ok(Last::LevelBegan)
    }

    fn end_level(&mut self, last: Last) -> Result<Last, SqlError> {
        let is_empty_array = last == Last::LevelBegan && self.counts.len() == 1;
        if !matches!(last, Last::Unquoted | Last::Quoted | Last::LevelEnded) && !is_empty_array {
            return Err(self.malformed("Unexpected \"}\" character."));
        }
        let count = self.counts.pop().expect("a level is open until the last brace");
        let level = self.counts.len();
        if self.known[level].is_some_and(|known| known != count) {
            return Err(self.uneven());
        }
        self.known[level] = Some(count);
        if let Some(outer) = self.counts.last_mut() {
            *outer += 1;
        }
        Ok(Last::LevelEnded)
    }

    fn uneven(&self) -> SqlError {
        self.malformed("Multidimensional arrays must have sub-arrays with matching dimensions.")
    }

    fn delimiter(&mut self, last: Last) -> Result<Last, SqlError> {
        match last {
            Last::LevelEnded => Ok(Last::LevelDelimiter),
            Last::Unquoted | Last::Quoted => Ok(Last::ElementDelimiter),
            _ => Err(self.malformed("Unexpected \",\" character.")),
        }
    }

    fn quoted(&mut self, last: Last) -> Result<Last, SqlError> {
        if !matches!(last, Last::LevelBegan | Last::ElementDelimiter) {
            return Err(self.malformed("Unexpected array element."));
        }
        let mut item = String::new();
        loop {
            match self.rest.next() {
                Some('"') => break,
                Some('\\') => item.push(self.escaped()?),
                Some(other) => item.push(other),
                None => return Err(self.malformed("Unexpected end of input.")),
            }
        }
        self.push(Some(item))?;
        Ok(Last::Quoted)
    }

    fn escaped(&mut self) -> Result<char, SqlError> {
        self.rest.next().ok_or_else(|| malformed(self.text, "Unexpected end of input."))
    }

    /// An element without quotes: to the next comma or brace, without the blanks at its end. One of the word NULL is null, unless it has a
    /// backslash.
    fn unquoted(&mut self, first: char, last: Last) -> Result<Last, SqlError> {
        if !matches!(last, Last::LevelBegan | Last::ElementDelimiter) {
            let is_escape = first == '\\';
            return Err(self.malformed(if is_escape {
                "Unexpected \"\\\" character."
            } else {
                "Unexpected array element."
            }));
        }
        let (mut item, mut kept, mut is_escaped) = (String::new(), 0, false);
        let mut next = Some(first);
        while let Some(c) = next {
            match c {
                '\\' => {
                    item.push(self.escaped()?);
                    is_escaped = true;
                    kept = item.len();
                }
                '"' => return Err(self.malformed("Unexpected array element.")),
                '{' => return Err(self.malformed("Unexpected \"{\" character.")),
                c => {
                    item.push(c);
                    if !BLANKS.contains(&c) {
                        kept = item.len();
                    }
                }
            }
            next = self.rest.next_if(|c| !matches!(c, ',' | '}'));
        }
        item.truncate(kept);
        let is_null = !is_escaped && item.eq_ignore_ascii_case("null");
        self.push((!is_null).then_some(item))?;
        Ok(Last::Unquoted)
    }

    fn push(&mut self, item: Option<String>) -> Result<(), SqlError> {
        let depth = self.counts.len();
        if *self.depth.get_or_insert(depth) != depth {
            return Err(self.uneven());
        }
        *self.counts.last_mut().expect("an element is within braces") += 1;
        self.items.push(item);
        Ok(())
    }
}

fn array_out(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let array = arguments[0].as_array();
    if array.values.is_empty() {
        return Ok(Value::text("{}"));
    }
    let output = Output::of(array.element, call)?;
    let mut text = String::new();
    if array.dimensions.iter().any(|(_, lower)| *lower != 1) {
        text = written_dimensions(&array.dimensions) + "=";
    }
    // The number of elements in a part of each level: a brace begins or ends where an index is a multiple of it.
    let mut sizes: Vec<usize> = array.dimensions.iter().map(|(length, _)| *length).collect();
    for level in (1..sizes.len()).rev() {
        sizes[level - 1] *= sizes[level];
    }
    for (index, value) in array.values.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.extend(sizes.iter().filter(|size| index % **size == 0).map(|_| '{'));
        write_element(value, &output, &mut text)?;
        text.extend(sizes.iter().filter(|size| (index + 1) % **size == 0).map(|_| '}'));
        check_text_size(text.len())?;
    }
    Ok(Value::text(text))
}

fn check_text_size(bytes: usize) -> Result<(), SqlError> {
    if bytes > BYTES_MAX {
        let message = format!("array size exceeds the maximum allowed ({BYTES_MAX})");
        return Err(SqlError::new(SqlState::ProgramLimitExceeded, message));
    }
    Ok(())
}

fn write_element(value: &Value, output: &Output<'_>, text: &mut String) -> Result<(), SqlError> {
    if value.is_null() {
        text.push_str("NULL");
        return Ok(());
    }
    let element = output.text(value)?;
    let element = element.as_text();
    let is_special = |c: char| matches!(c, '"' | '\\' | '{' | '}' | ',') || BLANKS.contains(&c);
    if !element.is_empty() && !element.eq_ignore_ascii_case("null") && !element.contains(is_special) {
        text.push_str(element);
        return Ok(());
    }
    text.push('"');
    for c in element.chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
    Ok(())
}

/// `array_to_string(array, delimiter [, text of nulls])`
fn array_to_text(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let (Value::Array(array), Value::Text(delimiter)) = (&arguments[0], &arguments[1]) else { return Ok(Value::Null) };
    if array.values.is_empty() {
        return Ok(Value::text(""));
    }
    let for_null = arguments.get(2).filter(|text| !text.is_null());
    let output = Output::of(array.element, call)?;
    let (mut joined, mut memory) = (String::new(), call.growing_value());
    let mut is_first = true;
    for value in &array.values {
        let text = match (value, for_null) {
            (Value::Null, None) => continue,
            (Value::Null, Some(text)) => text.clone(),
            (value, _) => output.text(value)?,
        };
        let text = text.as_text();
        let separator = if is_first { "" } else { delimiter };
        let bytes = joined.len() + separator.len() + text.len();
        check_text_size(bytes)?;
        memory.reach(bytes)?;
        joined.push_str(separator);
        joined.push_str(text);
        is_first = false;
    }
    Ok(Value::text(joined))
}

/// `string_to_array(text, delimiter [, text of nulls])`
fn text_to_array(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let Some(parts) = TextParts::of(arguments) else { return Ok(Value::Null) };
    let array = ArrayValue::of(TypeId::TEXT, counted_elements(parts.map(Ok), call)?);
    checked_count(&array.dimensions)?;
    Ok(Value::Array(array.into()))
}

/// The parts of a text between delimiters: each character without one, the whole if it is empty. An empty text has no parts.
pub(in crate::functions) struct TextParts {
    text: Arc<str>,
    delimiter: Option<Arc<str>>,
    /// The part that stands for null.
    for_null: Option<Arc<str>>,
    /// Where the next part begins; `None` after the last.
    start: Option<usize>,
}

impl TextParts {
    /// The parts of the first argument between the second; `None` if it is null.
    pub(in crate::functions) fn of(arguments: &[Value]) -> Option<Self> {
        let shared = |at: usize| match arguments.get(at) {
            Some(Value::Text(text)) => Some(Arc::clone(text)),
            _ => None,
        };
        let text = shared(0)?;
        let start = (!text.is_empty()).then_some(0);
        Some(Self { text, delimiter: shared(1), for_null: shared(2), start })
    }
}

impl Iterator for TextParts {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let start = self.start?;
        let rest = &self.text[start..];
        let (end, after) = match self.delimiter.as_deref() {
            None => {
                let end = rest.chars().next().map_or(0, char::len_utf8);
                (end, Some(end).filter(|end| *end < rest.len()))
            }
            Some("") => (rest.len(), None),
            Some(delimiter) => match rest.find(delimiter) {
                Some(end) => (end, Some(end + delimiter.len())),
                None => (rest.len(), None),
            },
        };
        self.start = after.map(|after| start + after);
        let part = &rest[..end];
        Some(if self.for_null.as_deref() == Some(part) { Value::Null } else { Value::text(part) })
    }
}
