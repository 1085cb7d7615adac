//! SET, SHOW, RESET, DISCARD, and the options of BEGIN and SET TRANSACTION.

use std::sync::Arc;

use arrow::array::{ArrayRef, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use braid_buffer::ScanPolicy;
use datafusion::sql::sqlparser::ast::{
    ContextModifier, Expr, Ident, ObjectName, Reset, Set, TransactionAccessMode, TransactionMode, UnaryOperator, Value,
};

use super::definition::{Definition, Domain};
use super::values::Scope;
use super::{DEFINITIONS, definition};
use crate::{EngineError, Outcome, Session, SqlState};

/// SET.
pub(crate) fn set(session: &Session, set: &Set) -> Result<Outcome, EngineError> {
    match set {
        Set::SingleAssignment { scope, hivevar: false, variable, values } => {
            let scope = match scope {
                Some(ContextModifier::Local) => Scope::Local,
                Some(ContextModifier::Global) => return Err(EngineError::unsupported("SET GLOBAL is not supported")),
                _ => Scope::Session,
            };
            assign(session, &name_of(variable), value_of(values)?.as_deref(), scope)?;
        }
        Set::SetTimeZone { local, value } => {
            let scope = if *local { Scope::Local } else { Scope::Session };
            assign(session, "TimeZone", value_of(std::slice::from_ref(value))?.as_deref(), scope)?;
        }
        Set::SetNames { charset_name, .. } => {
            assign(session, "client_encoding", Some(&charset_name.value), Scope::Session)?;
        }
        Set::SetNamesDefault {} => assign(session, "client_encoding", None, Scope::Session)?,
        Set::SetTransaction { modes, snapshot: None, session: for_session } => {
            let scope = if *for_session { Scope::Session } else { Scope::Local };
            let prefix = if *for_session { "default_" } else { "" };
            for (name, value) in transaction_settings(modes) {
                assign(session, &format!("{prefix}{name}"), Some(&value), scope)?;
            }
            if !*for_session && is_read_only(modes) == Some(true) {
                session.restrict_block_to_reads();
            }
        }
        Set::SetRole { role_name: None, .. } => {}
        other => return Err(EngineError::unsupported(format!("{other} is not supported"))),
    }
    Ok(Outcome::done("SET"))
}

/// Sets one setting; `None` for its default.
pub(crate) fn assign(session: &Session, name: &str, value: Option<&str>, scope: Scope) -> Result<(), EngineError> {
    let definition = definition(name)?;
    let Some(value) = value else { return reset_one(session, definition) };
    let canonical = definition.canonical(value)?;
    match definition.domain {
        Domain::ScanPolicy => {
            set_policy(session, &canonical)?;
        }
        Domain::Bytes => {
            let limit = session.database().config().total_memory;
            if canonical.parse().is_ok_and(|size: braid_base::ByteSize| size > limit) {
                let message = format!("{} cannot exceed the total budget of all queries, {limit}", definition.name);
                return Err(EngineError::new(SqlState::InvalidParameterValue, message));
            }
            session.change_settings(|settings| settings.set(definition.name, canonical, scope));
        }
        _ => session.change_settings(|settings| settings.set(definition.name, canonical, scope)),
    }
    Ok(())
}

/// Sets the scan policy of the buffer, which applies to all sessions.
fn set_policy(session: &Session, policy: &str) -> Result<(), EngineError> {
    let policy: ScanPolicy = policy
        .parse()
        .map_err(|_| EngineError::internal(format!("{policy} is a valid scan policy but does not parse")))?;
    session.database().buffer().set_policy(policy);
    Ok(())
}

fn reset_one(session: &Session, definition: &'static Definition) -> Result<(), EngineError> {
    match definition.domain {
        Domain::Fixed => {
            let message = format!("parameter \"{}\" cannot be changed", definition.name);
            return Err(EngineError::new(SqlState::CannotChangeNow, message));
        }
        Domain::ScanPolicy => session.database().buffer().set_policy(session.database().config().policy),
        _ => session.change_settings(|settings| settings.reset(definition.name)),
    }
    Ok(())
}

/// RESET. `RESET ALL` does not change the scan policy, because it does not belong to the session.
pub(crate) fn reset(session: &Session, reset: &Reset) -> Result<Outcome, EngineError> {
    match reset {
        Reset::ALL => session.change_settings(super::SettingValues::reset_all),
        Reset::ConfigurationParameter(name) => reset_one(session, definition(&name_of(name))?)?,
    }
    Ok(Outcome::done("RESET"))
}

/// DISCARD. A session has only settings to discard.
pub(crate) fn discard(session: &Session) -> Result<Outcome, EngineError> {
    session.change_settings(super::SettingValues::reset_all);
    Ok(Outcome::done("DISCARD ALL"))
}

/// BEGIN and START TRANSACTION.
pub(crate) fn begin(session: &Session, modes: &[TransactionMode], begin: bool) -> Result<Outcome, EngineError> {
    let by_default = session.setting("default_transaction_read_only").as_deref() == Some("on");
    session.begin_block(is_read_only(modes).unwrap_or(by_default));
    for (name, value) in transaction_settings(modes) {
        assign(session, name, Some(&value), Scope::Local)?;
    }
    Ok(Outcome::done(if begin { "BEGIN" } else { "START TRANSACTION" }))
}

fn transaction_settings(modes: &[TransactionMode]) -> Vec<(&'static str, String)> {
    let setting = |mode: &TransactionMode| match mode {
        TransactionMode::AccessMode(TransactionAccessMode::ReadOnly) => ("transaction_read_only", "on".to_owned()),
        TransactionMode::AccessMode(TransactionAccessMode::ReadWrite) => ("transaction_read_only", "off".to_owned()),
        TransactionMode::IsolationLevel(level) => ("transaction_isolation", level.to_string().to_lowercase()),
    };
    modes.iter().map(setting).collect()
}

fn is_read_only(modes: &[TransactionMode]) -> Option<bool> {
    modes.iter().rev().find_map(|mode| match mode {
        TransactionMode::AccessMode(mode) => Some(matches!(mode, TransactionAccessMode::ReadOnly)),
        TransactionMode::IsolationLevel(_) => None,
    })
}

/// The value that SHOW prints.
pub(crate) fn value(session: &Session, definition: &Definition) -> Option<String> {
    let settings = session.settings();
    if let Some(value) = settings.get(definition.name) {
        return Some(value.to_owned());
    }
    let config = session.database().config();
    Some(match definition.name {
        "braid.scan_policy" => session.database().buffer().policy().to_string(),
        "braid.query_memory" => config.query_memory.to_string(),
        "braid.target_partitions" => config.target_partitions.to_string(),
        "session_authorization" => session.user().to_owned(),
        "transaction_isolation" => {
            settings.get("default_transaction_isolation").unwrap_or(definition.default).to_owned()
        }
        "transaction_read_only" => {
            settings.get("default_transaction_read_only").unwrap_or(definition.default).to_owned()
        }
        _ => definition.default.to_owned(),
    })
}

/// SHOW.
pub(crate) fn show(session: &Session, variable: &[Ident]) -> Result<Outcome, EngineError> {
    let schema = show_schema(variable);
    let columns: Vec<ArrayRef> = if is_all(variable) {
        let texts = |text: &dyn Fn(&Definition) -> String| -> ArrayRef {
            Arc::new(StringArray::from_iter_values(DEFINITIONS.iter().map(text)))
        };
        vec![
            texts(&|definition| definition.name.to_owned()),
            texts(&|definition| value(session, definition).unwrap_or_default()),
            texts(&|definition| definition.description.to_owned()),
        ]
    } else {
        let value = value(session, definition(&words(variable))?);
        vec![Arc::new(StringArray::from(vec![value]))]
    };
    Outcome::batch(schema, columns, "SHOW")
}

/// The columns of SHOW's result.
pub(crate) fn show_schema(variable: &[Ident]) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let fields = if is_all(variable) {
        vec![text("name"), text("setting"), text("description")]
    } else {
        let words = words(variable);
        vec![text(definition(&words).map_or(words.as_str(), |definition| definition.name))]
    };
    Arc::new(Schema::new(fields))
}

fn is_all(variable: &[Ident]) -> bool {
    matches!(variable, [word] if word.value.eq_ignore_ascii_case("all"))
}

/// The name of a setting from the parser's words, as in `TIME ZONE` and `braid.scan_policy`.
fn words(variable: &[Ident]) -> String {
    let words: Vec<&str> = variable.iter().map(|word| word.value.as_str()).collect();
    let dotted = words.first().is_some_and(|word| word.eq_ignore_ascii_case("braid"));
    words.join(if dotted { "." } else { " " }).replace(" . ", ".")
}

fn name_of(name: &ObjectName) -> String {
    name.to_string().replace('"', "")
}

/// The text of a SET's right side; `None` for DEFAULT.
fn value_of(values: &[Expr]) -> Result<Option<String>, EngineError> {
    if let [Expr::Identifier(word)] = values
        && word.quote_style.is_none()
        && word.value.eq_ignore_ascii_case("default")
    {
        return Ok(None);
    }
    let texts: Result<Vec<String>, EngineError> = values.iter().map(text_of).collect();
    Ok(Some(texts?.join(", ")))
}

fn text_of(value: &Expr) -> Result<String, EngineError> {
    match value {
        Expr::Identifier(word) => Ok(word.value.clone()),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Ok(format!("-{}", text_of(expr)?)),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Ok(text.clone()),
            Value::Number(number, _) => Ok(number.clone()),
            Value::Boolean(value) => Ok(if *value { "on" } else { "off" }.to_owned()),
            other => Err(not_a_value(&other.to_string())),
        },
        Expr::Interval(interval) => text_of(&interval.value),
        other => Err(not_a_value(&other.to_string())),
    }
}

fn not_a_value(text: &str) -> EngineError {
    EngineError::new(SqlState::SyntaxError, format!("{text} is not a valid value for a setting"))
}
