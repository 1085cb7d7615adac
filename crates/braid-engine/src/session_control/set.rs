//! SET and RESET.

use braid_sql::functions::strings::quoting::quote_identifier;
use braid_sql::functions::text_input::ReadingSession;
use braid_sql::input::time_zones::TimeZone;
use braid_sql::pg_catalog::TypeId;
use braid_sql::{SqlType, Value, column_value};
use sqlparser::ast::{
    ContextModifier, DateTimeField, Expr, Interval, ObjectName, Reset, Set, SetSessionAuthorizationParamKind,
    UnaryOperator, Value as Literal, ValueWithSpan,
};

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
            context.assign_setting(&name, value_of(values, text)?.as_deref(), scope)?;
        }
        Set::SetTimeZone { local, value } => {
            let scope = if *local { Scope::Local } else { Scope::Session };
            let zone = match value {
                Expr::Interval(interval) => Some(zone_at(interval)?),
                Expr::Identifier(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("local") => {
                    None
                }
                value => value_of(std::slice::from_ref(value), text_of)?,
            };
            context.assign_setting("TimeZone", zone.as_deref(), scope)?;
        }
        Set::SetNames { charset_name, .. } => {
            context.assign_setting("client_encoding", Some(&charset_name.value), Scope::Session)?;
        }
        Set::SetNamesDefault {} => context.assign_setting("client_encoding", None, Scope::Session)?,
        Set::SetTransaction { modes, snapshot: None, session: false } => set_transaction(context, modes)?,
        Set::SetTransaction { modes, snapshot: None, session: true } => set_default_transaction(context, modes)?,
        Set::SetRole { context_modifier, role_name } => {
            let scope = context_modifier.as_ref().map_or(Scope::Session, scope_of);
            let role = role_name.as_ref().map_or_else(|| "none".to_owned(), fold);
            context.assign_setting("role", Some(&role), scope)?;
        }
        Set::SetSessionAuthorization(authorization) => match &authorization.kind {
            SetSessionAuthorizationParamKind::Default => {
                context.authorize_session(None, scope_of(&authorization.scope))?
            }
            SetSessionAuthorizationParamKind::User(name) => {
                context.authorize_session(Some(&fold(name)), scope_of(&authorization.scope))?;
            }
        },
        other => return Err(EngineError::unsupported(format!("{other} is not supported"))),
    }
    Ok(Outcome::done("SET"))
}

/// RESET. `RESET ALL` does not change the scan policy, because it does not belong to the session.
pub(crate) fn reset(context: &StatementContext, reset: &Reset) -> Result<Outcome, EngineError> {
    match reset {
        Reset::ALL => context.change_settings(SettingValues::reset_all),
        Reset::ConfigurationParameter(name) => context.reset_setting(&name_of(name))?,
    }
    Ok(Outcome::done("RESET"))
}

fn scope_of(modifier: &ContextModifier) -> Scope {
    match modifier {
        ContextModifier::Local => Scope::Local,
        ContextModifier::Session | ContextModifier::Global => Scope::Session,
    }
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
        Expr::Value(ValueWithSpan { value: Literal::Number(number, _), .. }) => Ok(number.clone()),
        other => Ok(quote_identifier(&text_of(other)?)),
    }
}

fn text_of(value: &Expr) -> Result<String, EngineError> {
    match value {
        Expr::Identifier(word) => Ok(word.value.clone()),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => Ok(format!("-{}", text_of(expr)?)),
        Expr::Value(value) => match &value.value {
            Literal::SingleQuotedString(text) | Literal::EscapedStringLiteral(text) => Ok(text.clone()),
            Literal::Number(number, _) => Ok(number.clone()),
            Literal::Boolean(value) => Ok(if *value { "on" } else { "off" }.to_owned()),
            other => Err(not_a_value(&other.to_string())),
        },
        other => Err(not_a_value(&other.to_string())),
    }
}

/// The name of the zone so far east of UTC: `INTERVAL '-3' HOUR`, `INTERVAL '+02:30' HOUR TO MINUTE`.
fn zone_at(interval: &Interval) -> Result<String, EngineError> {
    let Interval { value, leading_field, last_field, .. } = interval;
    let text = text_of(value)?;
    let written = match (leading_field, last_field) {
        (None | Some(DateTimeField::Hour), Some(DateTimeField::Minute)) => text.clone(),
        (Some(DateTimeField::Hour), None) => format!("{text} hours"),
        (None, None) => text.clone(),
        _ => {
            let message = "time zone interval must be HOUR or HOUR TO MINUTE";
            return Err(EngineError::new(SqlState::SyntaxError, message));
        }
    };
    let invalid = |detail: &str| {
        let message = format!("invalid value for parameter \"TimeZone\": \"INTERVAL '{text}'\"");
        EngineError::new(SqlState::InvalidParameterValue, message).with_detail(detail)
    };
    match column_value(&written, SqlType::of(TypeId::INTERVAL), &ReadingSession::of_output())? {
        Value::Interval(length) if length.months != 0 => Err(invalid("Cannot specify months in time zone interval.")),
        Value::Interval(length) if length.days != 0 => Err(invalid("Cannot specify days in time zone interval.")),
        Value::Interval(length) => TimeZone::at_offset(length.us / 1_000_000)
            .map(|(_, name)| name)
            .ok_or_else(|| invalid("UTC timezone offset is out of range.")),
        other => Err(EngineError::internal(format!("{other:?} is no interval"))),
    }
}

fn not_a_value(text: &str) -> EngineError {
    EngineError::new(SqlState::SyntaxError, format!("{text} is not a valid value for a setting"))
}
