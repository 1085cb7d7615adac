//! SET, RESET and DISCARD.

use sqlparser::ast::{ContextModifier, Expr, ObjectName, Reset, Set, UnaryOperator, Value};

use super::setting_change::{assign, reset_one};
use super::transaction_block::{set_default_transaction, set_transaction};
use crate::settings::{Scope, SettingValues, definition};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState};

/// SET.
pub(crate) fn set(context: &StatementContext, set: &Set) -> Result<Outcome, EngineError> {
    match set {
        Set::SingleAssignment { scope, hivevar: false, variable, values } => {
            let scope = match scope {
                Some(ContextModifier::Local) => Scope::Local,
                Some(ContextModifier::Global) => return Err(EngineError::unsupported("SET GLOBAL is not supported")),
                _ => Scope::Session,
            };
            assign(context, &name_of(variable), value_of(values)?.as_deref(), scope)?;
        }
        Set::SetTimeZone { local, value } => {
            let scope = if *local { Scope::Local } else { Scope::Session };
            assign(context, "TimeZone", value_of(std::slice::from_ref(value))?.as_deref(), scope)?;
        }
        Set::SetNames { charset_name, .. } => {
            assign(context, "client_encoding", Some(&charset_name.value), Scope::Session)?;
        }
        Set::SetNamesDefault {} => assign(context, "client_encoding", None, Scope::Session)?,
        Set::SetTransaction { modes, snapshot: None, session: false } => set_transaction(context, modes)?,
        Set::SetTransaction { modes, snapshot: None, session: true } => set_default_transaction(context, modes)?,
        Set::SetRole { role_name: None, .. } => {}
        other => return Err(EngineError::unsupported(format!("{other} is not supported"))),
    }
    Ok(Outcome::done("SET"))
}

/// RESET. `RESET ALL` does not change the scan policy, because it does not belong to the session.
pub(crate) fn reset(context: &StatementContext, reset: &Reset) -> Result<Outcome, EngineError> {
    match reset {
        Reset::ALL => context.change_settings(SettingValues::reset_all),
        Reset::ConfigurationParameter(name) => reset_one(context, definition(&name_of(name))?)?,
    }
    Ok(Outcome::done("RESET"))
}

/// DISCARD. A session has only settings to discard.
pub(crate) fn discard(context: &StatementContext) -> Result<Outcome, EngineError> {
    context.change_settings(SettingValues::reset_all);
    Ok(Outcome::done("DISCARD ALL"))
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
