//! ALTER ROLE … SET: the settings that sessions of a role begin with.

use braid_sql::functions::strings::quoting::quote_identifier;
use braid_storage::AccessEntry;
use sqlparser::ast::Ident;

use super::{change, denied};
use crate::named_roles::role_of;
use crate::names::fold;
use crate::settings::{Domain, SettingName, setting_name};
use crate::statement::{RoleName, SettingChange, SettingValue};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// `ALTER ROLE role SET name TO value`
///
/// # Errors
/// For a role that does not exist, an unknown setting, a value that it does not take, what the current role may not do (42501), and settings of
/// all roles or of a role in one database (0A000).
pub(super) async fn configure(
    context: &StatementContext,
    role: Option<&RoleName>,
    database: Option<&Ident>,
    what: &SettingChange,
) -> Result<(), EngineError> {
    if let Some(database) = database.map(fold).filter(|name| name != context.database_name()) {
        let message = format!("database \"{database}\" does not exist");
        return Err(EngineError::new(SqlState::InvalidCatalogName, message));
    }
    if database.is_some() {
        return Err(EngineError::unsupported("settings of a role in one database are not supported")
            .with_hint("Leave IN DATABASE out: there is one database."));
    }
    let Some(role) = role else {
        return Err(EngineError::unsupported("settings of all roles are not supported"));
    };
    let assigned = assignment(context, what)?;
    change(context, |writes, change| {
        let role = role_of(context, change.view, role)?;
        let mut definition = change.definition(role)?;
        match definition.attributes.is_superuser {
            true if !change.is_superuser() => return Err(denied("must be superuser to alter superusers")),
            false if !change.roles().creates_roles(change.current) && role != change.current => {
                return Err(denied("permission denied"));
            }
            _ => {}
        }
        match &assigned {
            None => definition.settings.clear(),
            Some((name, value)) => {
                definition.settings.retain(|(known, _)| known != name);
                definition.settings.extend(value.clone().map(|value| (name.clone(), value)));
            }
        }
        writes.set_access(change.view, AccessEntry::Role(definition));
        Ok(())
    })
    .await
}

/// The setting and its value, `None` if it has none any more; `None` for all settings.
fn assignment(
    context: &StatementContext,
    what: &SettingChange,
) -> Result<Option<(String, Option<String>)>, EngineError> {
    let (name, value) = match what {
        SettingChange::ResetAll => return Ok(None),
        SettingChange::Reset(name) => (name, None),
        SettingChange::FromCurrent(name) => (name, Some(context.setting(name).unwrap_or_default())),
        SettingChange::Assign(name, values) => (name, Some(text_of(name, values))),
    };
    match setting_name(name)? {
        SettingName::Custom(name) => Ok(Some((name, value))),
        SettingName::Known(definition) if ["role", "session_authorization"].contains(&definition.name) => {
            Err(EngineError::unsupported(format!("{} as a setting of a role is not supported", definition.name)))
        }
        SettingName::Known(definition) => {
            let value = value.map(|value| definition.canonical(&value)).transpose()?;
            Ok(Some((definition.name.to_owned(), value)))
        }
    }
}

/// The values as one text. Names in a list are in quotes where they need them.
fn text_of(name: &str, values: &[SettingValue]) -> String {
    let is_list = matches!(
        setting_name(name),
        Ok(SettingName::Known(definition)) if matches!(definition.domain, Domain::Names)
    );
    let text = |value: &SettingValue| match value {
        SettingValue::Text(text) if is_list => quote_identifier(text),
        SettingValue::Text(text) | SettingValue::Number(text) => text.clone(),
    };
    values.iter().map(text).collect::<Vec<_>>().join(", ")
}
