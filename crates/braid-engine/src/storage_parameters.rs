//! `WITH (…)` of a table: PostgreSQL's storage parameters. Braid needs none of them.
//!
//! `fillfactor` and `autovacuum_enabled` are checked and forgotten: pages are never changed in place, and compaction is not turned off.
//! Others are refused, and those that PostgreSQL does not have are errors.

use sqlparser::ast::{Expr, SqlOption, UnaryOperator, Value};

use crate::names::fold;
use crate::{EngineError, SqlState};

/// The least and the greatest `fillfactor`, in percent.
const FILLFACTOR: std::ops::RangeInclusive<i64> = 10..=100;

/// The beginnings of the names of PostgreSQL's other parameters.
const OTHERS: [&str; 6] =
    ["autovacuum_", "log_autovacuum_", "parallel_workers", "toast_tuple_target", "user_catalog_table", "vacuum_"];

/// Checks the parameters of a new table. `oids` may say that it has none, as dumps of old versions of PostgreSQL do.
///
/// # Errors
/// As [`check_parameters`].
pub(crate) fn check_new_parameters(parameters: &[SqlOption]) -> Result<(), EngineError> {
    let mut others = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        match parameter {
            SqlOption::KeyValue { key, value } if fold(key) == "oids" => check_oids(&word(value))?,
            SqlOption::Ident(key) if fold(key) == "oids" => check_oids("true")?,
            other => others.push(other.clone()),
        }
    }
    check_parameters(&others)
}

fn check_oids(value: &str) -> Result<(), EngineError> {
    match &*value.to_ascii_lowercase() {
        "false" | "off" | "0" => Ok(()),
        "true" | "on" | "1" => Err(EngineError::unsupported("tables declared WITH OIDS are not supported")),
        _ => Err(EngineError::new(SqlState::SyntaxError, "oids requires a Boolean value")),
    }
}

/// Checks the parameters of a table.
///
/// # Errors
/// For parameters that are not supported or that PostgreSQL does not have, and values out of their bounds.
pub(crate) fn check_parameters(parameters: &[SqlOption]) -> Result<(), EngineError> {
    for (name, value) in written_parameters(parameters)? {
        match (name.as_str(), value) {
            ("fillfactor", Some(value)) => check_fillfactor(&value)?,
            ("autovacuum_enabled", None) => {}
            ("autovacuum_enabled", Some(value)) if is_boolean(&value) => {}
            ("autovacuum_enabled", Some(value)) => {
                return Err(not_boolean(&name, &value));
            }
            (known, _) if OTHERS.iter().any(|other| known.starts_with(other)) => {
                return Err(EngineError::unsupported(format!("storage parameter \"{known}\" is not supported")));
            }
            ("fillfactor", None) => return Err(invalid(format!("invalid value for integer option \"{name}\": true"))),
            (unknown, _) => return Err(unrecognized(unknown)),
        }
    }
    Ok(())
}

/// The names of parameters, each once, with their values without quotes.
///
/// # Errors
/// For a name that is there twice.
pub(crate) fn written_parameters(parameters: &[SqlOption]) -> Result<Vec<(String, Option<String>)>, EngineError> {
    let mut written: Vec<(String, Option<String>)> = Vec::new();
    for parameter in parameters {
        let (name, value) = match parameter {
            SqlOption::KeyValue { key, value } => (fold(key), Some(word(value))),
            SqlOption::Ident(key) => (fold(key), None),
            other => return Err(EngineError::unsupported(format!("WITH ({other}) is not supported"))),
        };
        if written.iter().any(|(known, _)| *known == name) {
            return Err(invalid(format!("parameter \"{name}\" specified more than once")));
        }
        written.push((name, value));
    }
    Ok(written)
}

fn check_fillfactor(value: &str) -> Result<(), EngineError> {
    match value.parse::<i64>() {
        Ok(percent) if FILLFACTOR.contains(&percent) => Ok(()),
        Ok(_) => {
            let (least, most) = FILLFACTOR.into_inner();
            Err(invalid(format!("value {value} out of bounds for option \"fillfactor\""))
                .with_detail(format!("Valid values are between \"{least}\" and \"{most}\".")))
        }
        Err(_) => Err(invalid(format!("invalid value for integer option \"fillfactor\": {value}"))),
    }
}

/// A value without its quotes.
fn word(value: &Expr) -> String {
    match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            other => other.to_string(),
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => format!("-{}", word(expr)),
        other => other.to_string(),
    }
}

/// Whether a word is a boolean, or the beginning of one.
pub(crate) fn is_boolean(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    let is_beginning = |whole: &str| !word.is_empty() && whole.starts_with(&word);
    ["true", "false", "yes", "no", "1", "0"].iter().any(|whole| is_beginning(whole))
        || ["on", "off", "of"].contains(&&*word)
}

/// Whether a word is one of [`is_boolean`] that stands for true.
pub(crate) fn is_true(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word == "on" || !word.is_empty() && ["true", "yes", "1"].iter().any(|whole| whole.starts_with(&word))
}

pub(crate) fn not_boolean(name: &str, value: &str) -> EngineError {
    invalid(format!("invalid value for boolean option \"{name}\": {value}"))
}

pub(crate) fn unrecognized(name: &str) -> EngineError {
    invalid(format!("unrecognized parameter \"{name}\""))
}

pub(crate) fn invalid(message: String) -> EngineError {
    EngineError::new(SqlState::InvalidParameterValue, message)
}
