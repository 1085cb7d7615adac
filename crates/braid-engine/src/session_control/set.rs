//! SET, RESET and DISCARD.

use braid_sql::functions::strings::quoting::quote_identifier;
use sqlparser::ast::{ContextModifier, Expr, ObjectName, Reset, Set, UnaryOperator, Value, ValueWithSpan};

use super::setting_change::{assign, reset_one};
use super::transaction_block::{set_default_transaction, set_transaction};
use crate::names::fold;
use crate::settings::{Domain, Scope, SettingValues, definition};
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
            let name = name_of(variable);
            let text = if is_list_of_names(&name) { listed_name } else { text_of };
            assign(context, &name, value_of(values, text)?.as_deref(), scope)?;
        }
        Set::SetTimeZone { local, value } => {
            let scope = if *local { Scope::Local } else { Scope::Session };
            assign(context, "TimeZone", value_of(std::slice::from_ref(value), text_of)?.as_deref(), scope)?;
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

fn is_list_of_names(setting: &str) -> bool {
    definition(setting).is_ok_and(|definition| matches!(definition.domain, Domain::Names))
}

/// The text of a SET's right side, of which each value is such a text; `None` for DEFAULT.
fn value_of(
    values: &[Expr],
    text: impl Fn(&Expr) -> Result<String, EngineError>,
) -> Result<Option<String>, EngineError> {
    let is_default = |value: &Expr| matches!(value, Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"));
    match values {
        [value] if is_default(value) => return Ok(None),
        values if values.iter().any(is_default) => {
            return Err(EngineError::new(SqlState::SyntaxError, "DEFAULT stands alone in SET"));
        }
        _ => {}
    }
    let texts: Result<Vec<String>, EngineError> = values.iter().map(text).collect();
    Ok(Some(texts?.join(", ")))
}

/// A name in a list, in quotes where it would be read as something else.
fn listed_name(value: &Expr) -> Result<String, EngineError> {
    match value {
        Expr::Identifier(word) => Ok(quote_identifier(&fold(word))),
        Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) => Ok(number.clone()),
        other => Ok(quote_identifier(&text_of(other)?)),
    }
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
