//! `SIMILAR TO`: patterns of the SQL standard as regular expressions.
//!
//! A pattern matches the whole text. `%` and `_` are LIKE's, the rest is a regular expression in which dot, caret and dollar mean
//! themselves and parentheses capture nothing. With two escaped double quotes, what is between them is the part to find: what comes
//! before it is as short as possible.

use crate::functions::call::Call;
use crate::functions::strings::patterns::invalid_escape;
use crate::{SqlError, SqlState, Value};

/// `similar_escape(pattern, escape)`, which takes nulls: no escape means a backslash.
pub(super) fn similar_escape(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    if args[0].is_null() {
        return Ok(Value::Null);
    }
    let escape = if args[1].is_null() { "\\" } else { args[1].as_text() };
    regular_expression(args[0].as_text(), escape).map(Value::text)
}

/// Where the translation stands within a bracket expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bracket {
    /// A closing bracket here means itself.
    Start,
    /// So it does after the caret at the start.
    AfterCaret,
    Inside,
}

/// The regular expression of a pattern with this escape character, or none if it is empty.
pub(super) fn regular_expression(pattern: &str, escape: &str) -> Result<String, SqlError> {
    let mut escapes = escape.chars();
    let (escape, None) = (escapes.next(), escapes.next()) else { return Err(invalid_escape()) };
    let mut out = String::with_capacity(pattern.len() + 16);
    out.push_str("^(?:");
    let mut separators = 0;
    let mut after_escape = false;
    let (mut depth, mut bracket) = (0_usize, Bracket::Start);
    for c in pattern.chars() {
        if after_escape {
            after_escape = false;
            if c == '"' && depth == 0 {
                out.push_str(separator(separators)?);
                separators += 1;
            } else {
                out.push('\\');
                out.push(c);
                bracket = Bracket::Inside;
            }
        } else if Some(c) == escape {
            after_escape = true;
        } else if depth > 0 {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            match c {
                ']' if bracket == Bracket::Inside => depth -= 1,
                '[' => depth += 1,
                _ => {}
            }
            bracket = if c == '^' && bracket == Bracket::Start { Bracket::AfterCaret } else { Bracket::Inside };
        } else {
            match c {
                '[' => {
                    out.push('[');
                    (depth, bracket) = (1, Bracket::Start);
                }
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => out.extend(['\\', c]),
                c => out.push(c),
            }
        }
    }
    out.push_str(")$");
    Ok(out)
}

/// What stands in place of an escaped double quote. The quantifiers that change nothing say which part is as short as possible.
fn separator(before: usize) -> Result<&'static str, SqlError> {
    match before {
        0 => Ok("){1,1}?("),
        1 => Ok("){1,1}(?:"),
        _ => {
            let message = "SQL regular expression may not contain more than two escape-double-quote separators";
            Err(SqlError::new(SqlState::InvalidUseOfEscapeCharacter, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_become_postgresqls_expressions() {
        for (pattern, escape, expected) in [
            ("a%", "\\", "^(?:a.*)$"),
            ("a_b[%_]#\"c", "#", "^(?:a.b[%_]){1,1}?(c)$"),
            ("a#\"b#\"c", "#", "^(?:a){1,1}?(b){1,1}(?:c)$"),
            ("a(b|c)*{2}?+.^$\\", "\\", "^(?:a(?:b|c)*{2}?+\\.\\^\\$)$"),
            ("ab", "", "^(?:ab)$"),
            ("a#", "#", "^(?:a)$"),
            ("a[^]b%]c%", "\\", "^(?:a[^]b%]c.*)$"),
            ("a[b#]%]c%", "#", "^(?:a[b\\]%]c.*)$"),
            ("a[[:alpha:]%]c%", "#", "^(?:a[[:alpha:]%]c.*)$"),
            ("[#]]%]", "#", "^(?:[\\]].*])$"),
            ("[#^]%]", "#", "^(?:[\\^].*])$"),
            ("[^^]%]", "#", "^(?:[^^].*])$"),
        ] {
            assert_eq!(regular_expression(pattern, escape).unwrap(), expected, "{pattern}");
        }
        assert_eq!(regular_expression("ab", "##").unwrap_err().sqlstate(), "22025");
        assert_eq!(regular_expression("#\"#\"#\"", "#").unwrap_err().sqlstate(), "2200C");
    }
}
