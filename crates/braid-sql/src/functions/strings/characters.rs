//! Characters: their classes and their case, as PostgreSQL has them with the locale C.UTF-8, and the functions of single characters.
//!
//! The classes and the case mappings are the C library's, which are not Unicode's: `postgres/characters.tsv` was read from
//! PostgreSQL. A character has one character as its other case: `upper('ß')` is `ß`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::functions::Call;
use crate::functions::Implementations;
use crate::{SqlError, SqlState, Value};

/// Functions of characters and of their case.
pub const FUNCTIONS: Implementations = &[
    ("lower", |args, _| Ok(Value::text(lower(args[0].as_text())))),
    ("upper", |args, _| Ok(Value::text(upper(args[0].as_text())))),
    ("initcap", |args, _| Ok(Value::text(initcap(args[0].as_text())))),
    ("ascii", ascii),
    ("chr", chr),
    ("translate", translate),
    ("text_reverse", |args, _| Ok(Value::text(args[0].as_text().chars().rev().collect::<String>()))),
    ("unistr", unistr),
];

/// Ranges of characters, ascending, apart.
pub type Ranges = Vec<(u32, u32)>;

#[derive(Debug)]
struct Characters {
    classes: HashMap<&'static str, Ranges>,
    lower: HashMap<char, char>,
    upper: HashMap<char, char>,
}

static CHARACTERS: LazyLock<Characters> = LazyLock::new(|| {
    let mut read = Characters { classes: HashMap::new(), lower: HashMap::new(), upper: HashMap::new() };
    for line in include_str!("../../../postgres/characters.tsv").lines().skip(1) {
        let (kind, pairs) = line.split_once('\t').expect("a line has two fields");
        let pairs = pairs.split(' ').map(|pair| {
            let (first, second) = pair.split_once('-').expect("a pair has two numbers");
            let number = |text| u32::from_str_radix(text, 16).expect("a number is hexadecimal");
            (number(first), number(second))
        });
        let character = |code| char::from_u32(code).expect("a code in the table is a character");
        let mapping = |pairs: &mut dyn Iterator<Item = (u32, u32)>| {
            pairs.map(|(from, to)| (character(from), character(to))).collect::<HashMap<char, char>>()
        };
        let mut pairs = pairs;
        match kind {
            "to_lower" => read.lower = mapping(&mut pairs),
            "to_upper" => read.upper = mapping(&mut pairs),
            class => {
                read.classes.insert(class, pairs.collect());
            }
        }
    }
    read
});

/// The characters of a class such as `alpha`; `None` if there is no such class.
pub fn class(name: &str) -> Option<&'static Ranges> {
    CHARACTERS.classes.get(name)
}

/// Whether a character is a letter or a digit.
pub fn is_alphanumeric(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric();
    }
    is_in_class("alnum", c)
}

/// Whether a character belongs to a class; to none that does not exist.
pub fn is_in_class(name: &str, c: char) -> bool {
    let Some(ranges) = class(name) else { return false };
    let at = ranges.partition_point(|(_, last)| *last < u32::from(c));
    ranges.get(at).is_some_and(|(first, _)| *first <= u32::from(c))
}

/// A character's small letter, or the character itself.
pub fn to_lower(c: char) -> char {
    if c.is_ascii() { c.to_ascii_lowercase() } else { CHARACTERS.lower.get(&c).copied().unwrap_or(c) }
}

/// A character's capital letter, or the character itself.
pub fn to_upper(c: char) -> char {
    if c.is_ascii() { c.to_ascii_uppercase() } else { CHARACTERS.upper.get(&c).copied().unwrap_or(c) }
}

/// A text in small letters.
pub fn lower(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(to_lower).collect() }
}

/// A text in capital letters.
pub fn upper(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_uppercase() } else { text.chars().map(to_upper).collect() }
}

/// Each word begins with a capital letter. A word is a run of letters and digits.
fn initcap(text: &str) -> String {
    let mut within_word = false;
    let capitalized = text.chars().map(|c| {
        let c = if within_word { to_lower(c) } else { to_upper(c) };
        within_word = is_alphanumeric(c);
        c
    });
    capitalized.collect()
}

/// The number of the first character; 0 for an empty text.
fn ascii(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let code = args[0].as_text().chars().next().map_or(0, u32::from);
    Ok(Value::Int4(code as i32))
}

/// The character of a number.
fn chr(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let code = args[0].as_int4();
    let limit = |message: String| Err(SqlError::new(SqlState::ProgramLimitExceeded, message));
    if code < 0 {
        return Err(SqlError::new(SqlState::InvalidParameterValue, "character number must be positive"));
    }
    match char::from_u32(code as u32) {
        Some('\0') => limit("null character not permitted".to_owned()),
        Some(c) => Ok(Value::text(c.to_string())),
        None if code > 0x10_FFFF => limit(format!("requested character too large for encoding: {code}")),
        None => limit(format!("requested character not valid for encoding: {code}")),
    }
}

/// Each character of `from` becomes the one at its place in `to`, or nothing.
fn translate(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (text, from, to) = (args[0].as_text(), args[1].as_text(), args[2].as_text());
    let mut replacements = HashMap::new();
    let mut to = to.chars();
    for c in from.chars() {
        let replacement = to.next();
        replacements.entry(c).or_insert(replacement);
    }
    let translated = text.chars().filter_map(|c| replacements.get(&c).copied().unwrap_or(Some(c)));
    Ok(Value::text(translated.collect::<String>()))
}

/// `\` or `\u` before four hexadecimal digits, `\+` before six and `\U` before eight become characters; `\\` a backslash.
fn unistr(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let mut rest = args[0].as_text();
    let mut out = String::with_capacity(rest.len());
    // The first half of a character that is written as two.
    let mut high: Option<u32> = None;
    let unpaired = || SqlError::new(SqlState::SyntaxError, "invalid Unicode surrogate pair");
    while let Some(c) = rest.chars().next() {
        let escape = rest.strip_prefix('\\');
        let plain = match escape {
            None => Some(c),
            Some(after) if after.starts_with('\\') => Some('\\'),
            Some(_) => None,
        };
        if let Some(c) = plain {
            if high.is_some() {
                return Err(unpaired());
            }
            out.push(c);
            rest = &rest[if escape.is_some() { 2 } else { c.len_utf8() }..];
            continue;
        }
        let (digits, after) = unicode_escape(&rest[1..]).ok_or_else(invalid_escape)?;
        rest = after;
        let mut code = u32::from_str_radix(digits, 16).map_err(|_| invalid_escape())?;
        if code == 0 || code > 0x10_FFFF {
            let message = format!("invalid Unicode code point: {}", shown_code(code));
            return Err(SqlError::new(SqlState::InvalidParameterValue, message));
        }
        match (high.take(), code) {
            (Some(first), 0xDC00..=0xDFFF) => code = 0x1_0000 + ((first & 0x3FF) << 10) + (code & 0x3FF),
            (None, 0xD800..=0xDBFF) => {
                high = Some(code);
                continue;
            }
            (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(unpaired()),
            (None, _) => {}
        }
        out.push(char::from_u32(code).ok_or_else(unpaired)?);
    }
    if high.is_some() { Err(unpaired()) } else { Ok(Value::text(out)) }
}

/// PostgreSQL writes the number with four digits at least.
fn shown_code(code: u32) -> String {
    format!("{code:04X}")
}

fn invalid_escape() -> SqlError {
    SqlError::new(SqlState::SyntaxError, "invalid Unicode escape")
        .with_hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
}

/// The digits of an escape after its backslash, and what follows.
fn unicode_escape(text: &str) -> Option<(&str, &str)> {
    let (text, count) = match text.as_bytes().first()? {
        b'+' => (&text[1..], 6),
        b'u' => (&text[1..], 4),
        b'U' => (&text[1..], 8),
        _ => (text, 4),
    };
    let digits = text.get(..count).filter(|digits| digits.bytes().all(|c| c.is_ascii_hexdigit()))?;
    Some((digits, &text[count..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_the_c_librarys() {
        assert_eq!(upper("äßıſéǆ"), "ÄßIſÉǄ".replace('ſ', &to_upper('ſ').to_string()));
        assert_eq!(lower("ÄİẞK"), "äißk");
        assert_eq!(initcap("a1b c_d é'x ǆx"), "A1b C_D É'X Ǆx");
        assert!(is_alphanumeric('é') && is_alphanumeric('z') && !is_alphanumeric('_') && !is_alphanumeric('\u{301}'));
    }
}
