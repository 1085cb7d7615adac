//! SIMILAR TO and regular expressions, as the regular expressions that DataFusion runs.
//!
//! `SIMILAR TO` matches the whole text, with `%` and `_` as LIKE has them (`similar_escape` in PostgreSQL's regexp.c). In
//! PostgreSQL's own expressions a dot matches a newline too, which DataFusion has to be told. Where functions find texts and
//! not only whether there is one, PostgreSQL takes the longest of several alternatives and DataFusion the first; there,
//! expressions with alternatives or reluctant quantifiers are refused.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
};

use super::rewrite::string;
use crate::{EngineError, SqlState};

/// What `SIMILAR TO` becomes.
pub(super) fn similar_to(
    value: &Expr,
    pattern: &Expr,
    escape: Option<&Value>,
    negated: bool,
) -> Result<Expr, EngineError> {
    let escape = match escape {
        None => Some('\\'),
        Some(Value::SingleQuotedString(text)) => {
            let mut characters = text.chars();
            match (characters.next(), characters.next()) {
                (escape, None) => escape,
                _ => {
                    let message = "invalid escape string";
                    return Err(EngineError::new(SqlState::InvalidEscapeSequence, message)
                        .with_hint("Escape string must be empty or one character."));
                }
            }
        }
        Some(_) => return Err(EngineError::unsupported("ESCAPE of anything but a text is not supported")),
    };
    let pattern = match literal(pattern) {
        Some(text) => string(&whole_text(text, escape)?),
        None if is_null(pattern) => pattern.clone(),
        None => {
            return Err(EngineError::unsupported("SIMILAR TO a pattern that is not a literal is not supported"));
        }
    };
    let op = if negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
    let left = Box::new(Expr::Nested(Box::new(value.clone())));
    Ok(Expr::Nested(Box::new(Expr::BinaryOp { left, op, right: Box::new(pattern) })))
}

/// The regular expression of a pattern of SIMILAR TO.
fn whole_text(pattern: &str, escape: Option<char>) -> Result<String, EngineError> {
    let mut out = String::from("(?s)^(?:");
    let mut characters = pattern.chars();
    let mut in_class = false;
    while let Some(c) = characters.next() {
        if Some(c) == escape {
            match characters.next() {
                Some('"') => {
                    return Err(EngineError::unsupported(
                        "SIMILAR TO with the separator of SUBSTRING is not supported",
                    ));
                }
                Some(next) => push_literal(next, &mut out),
                None => {
                    let message = "invalid regular expression: escape at the end of the pattern";
                    return Err(EngineError::new(SqlState::InvalidRegularExpression, message));
                }
            }
            continue;
        }
        match c {
            '\\' => out.push_str("\\\\"),
            ']' if in_class => {
                in_class = false;
                out.push(c);
            }
            c if in_class => out.push(c),
            '[' => {
                in_class = true;
                out.push(c);
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '.' | '^' | '$' => push_literal(c, &mut out),
            c => out.push(c),
        }
    }
    out.push_str(")$");
    Ok(out)
}

fn push_literal(c: char, out: &mut String) {
    if c.is_ascii_punctuation() {
        out.push('\\');
    }
    out.push(c);
}

/// Whether the operator matches a regular expression; then its pattern, if it is a literal, is made fit.
pub(super) fn fit_operator(op: &BinaryOperator, pattern: &mut Expr) {
    use BinaryOperator::{PGRegexIMatch, PGRegexMatch, PGRegexNotIMatch, PGRegexNotMatch};
    if !matches!(op, PGRegexMatch | PGRegexIMatch | PGRegexNotMatch | PGRegexNotIMatch) || is_null(pattern) {
        return;
    }
    *pattern = match literal(pattern) {
        Some(text) if text.starts_with("(?s)") => return,
        Some(text) => string(&with_newlines(text)),
        None => {
            let right = Box::new(Expr::Nested(Box::new(pattern.clone())));
            let left = Box::new(string("(?s)"));
            Expr::Nested(Box::new(Expr::BinaryOp { left, op: BinaryOperator::StringConcat, right }))
        }
    };
}

/// A dot matches every character.
fn with_newlines(pattern: &str) -> String {
    format!("(?s){pattern}")
}

/// Makes the pattern and the replacement of a function fit.
pub(super) fn fit_function(name: &str, function: &mut Function) -> Result<(), EngineError> {
    let finds_texts = match name {
        "regexp_like" => false,
        "regexp_replace" | "regexp_match" | "regexp_count" | "regexp_instr" => true,
        _ => return Ok(()),
    };
    let FunctionArguments::List(list) = &mut function.args else { return Ok(()) };
    let mut arguments: Vec<&mut Expr> = list
        .args
        .iter_mut()
        .filter_map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        })
        .collect();
    if let Some(pattern) = arguments.get_mut(1) {
        match literal(pattern).map(str::to_owned) {
            Some(text) if finds_texts && has_choices(&text) => {
                return Err(EngineError::unsupported(format!(
                    "{name} with alternatives or reluctant quantifiers is not supported: \"{text}\""
                ))
                .with_hint("Which of several texts is found may differ from PostgreSQL."));
            }
            Some(text) => **pattern = string(&with_newlines(&text)),
            None if is_null(pattern) => {}
            None => {
                return Err(EngineError::unsupported(format!(
                    "{name} with a pattern that is not a literal is not supported"
                )));
            }
        }
    }
    if name == "regexp_replace" {
        fit_replacement(&mut arguments)?;
    }
    Ok(())
}

/// In what PostgreSQL replaces by, `\1` and `\&` stand for what was found, and a dollar for itself.
fn fit_replacement(arguments: &mut [&mut Expr]) -> Result<(), EngineError> {
    if let Some(flags) = arguments.get(3) {
        let known = literal(flags).is_some_and(|flags| flags.chars().all(|c| matches!(c, 'g' | 'i')));
        if !known {
            return Err(EngineError::unsupported("regexp_replace knows the flags g and i; others are not supported"));
        }
    }
    let Some(replacement) = arguments.get_mut(2) else { return Ok(()) };
    let Some(text) = literal(replacement) else {
        return if is_null(replacement) {
            Ok(())
        } else {
            Err(EngineError::unsupported("regexp_replace by what is not a literal is not supported"))
        };
    };
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match (c, characters.peek()) {
            ('\\', Some('&')) => {
                characters.next();
                out.push_str("${0}");
            }
            ('\\', Some(digit)) if digit.is_ascii_digit() => {
                out.push_str(&format!("${{{digit}}}"));
                characters.next();
            }
            ('\\', Some('\\')) => {
                characters.next();
                if characters.peek().is_some_and(char::is_ascii_digit) {
                    return Err(EngineError::unsupported(
                        "a backslash before a digit in a replacement is not supported",
                    ));
                }
                out.push('\\');
            }
            ('$', _) => out.push_str("$$"),
            (c, _) => out.push(c),
        }
    }
    **replacement = string(&out);
    Ok(())
}

/// Whether there is more than one way to match at a place that differ in what they find.
fn has_choices(pattern: &str) -> bool {
    let mut characters = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                characters.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '|' if !in_class => return true,
            '*' | '+' | '?' | '}' if !in_class && characters.peek() == Some(&'?') => return true,
            _ => {}
        }
    }
    false
}

fn literal(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text)
            | Value::EscapedStringLiteral(text)
            | Value::DollarQuotedString(datafusion::sql::sqlparser::ast::DollarQuotedString { value: text, .. }) => {
                Some(text)
            }
            _ => None,
        },
        Expr::Nested(inner) => literal(inner),
        _ => None,
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if value.value == Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_similar_to_match_whole_texts() {
        for (pattern, expected) in [
            ("a%", "(?s)^(?:a.*)$"),
            ("a_c", "(?s)^(?:a.c)$"),
            ("a.c$", "(?s)^(?:a\\.c\\$)$"),
            ("(a|b)\\%", "(?s)^(?:(?:a|b)\\%)$"),
            ("[a-c%]+", "(?s)^(?:[a-c%]+)$"),
        ] {
            assert_eq!(whole_text(pattern, Some('\\')).unwrap(), expected);
        }
        assert_eq!(whole_text("a\\", Some('\\')).unwrap_err().sqlstate(), "2201B");
    }

    #[test]
    fn only_patterns_without_choices_find_the_same_texts() {
        for (pattern, expected) in [("a+b", false), ("[a|b]", false), ("a\\|b", false), ("a|b", true), ("a.*?b", true)]
        {
            assert_eq!(has_choices(pattern), expected, "{pattern}");
        }
    }
}
