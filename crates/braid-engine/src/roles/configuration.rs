//! ALTER ROLE … SET and ALTER DATABASE … SET: the settings that sessions begin with, of a role, of the database, of both, or of all.
//!
//! Values are checked and kept as they are written. Which of several values a session begins with is decided when it begins
//! ([`crate::settings`]).

use std::sync::Arc;

use braid_sql::functions::strings::quoting::quote_identifier;
use braid_storage::{AccessEntry, AccessKey, AccessObject, Catalog, RoleId, SettingsSubject, WriteSet};
use sqlparser::ast::Ident;

use super::{RoleChange, change, denied};
use crate::access::AccessCheck;
use crate::named_roles::role_of;
use crate::names::fold;
use crate::notices::Notice;
use crate::settings::{Domain, SettingName, setting_name};
use crate::statement::{RoleName, SettingChange, SettingValue};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// `ALTER ROLE role [IN DATABASE database] SET name TO value`, for all roles if none is given: `ALTER ROLE ALL` and `ALTER DATABASE`.
///
/// # Errors
/// For a role or a database that does not exist, an unknown setting, a value that it does not take, and what the current role may not do
/// (42501).
pub(super) async fn configure(
    context: &StatementContext,
    role: Option<&RoleName>,
    database: Option<&Ident>,
    what: &SettingChange,
) -> Result<(), EngineError> {
    let Some(role) = role else { return configure_all(context, database, what).await };
    change(context, |writes, change| {
        let role = role_of(context, change.view, role)?;
        check_may_configure(change, role)?;
        check_database(context, database)?;
        let edit = Edit::of(context, what)?;
        if database.is_some() {
            edit_kept(
                context,
                writes,
                change.view,
                (SettingsSubject { role: Some(role), is_of_database: true }, &edit),
            );
            return Ok(());
        }
        let mut definition = change.definition(role)?;
        edit.apply(context, &mut definition.settings);
        writes.set_access(change.view, AccessEntry::Role(definition));
        Ok(())
    })
    .await
}

/// The same for all roles. It leaves the bootstrap superuser without a name.
async fn configure_all(
    context: &StatementContext,
    database: Option<&Ident>,
    what: &SettingChange,
) -> Result<(), EngineError> {
    check_database(context, database)?;
    let changed = context.change(|writes, view| {
        match database {
            Some(_) => {
                if let Some(access) = AccessCheck::of(context, view) {
                    access.check_owner(AccessObject::Database)?;
                }
            }
            None if AccessCheck::of(context, view).is_none() => {}
            None => return Err(denied("must be superuser to alter settings globally")),
        }
        let edit = Edit::of(context, what)?;
        edit_kept(context, writes, view, (SettingsSubject { role: None, is_of_database: database.is_some() }, &edit));
        Ok(())
    });
    changed.await
}

fn check_may_configure(change: &RoleChange<'_>, role: RoleId) -> Result<(), EngineError> {
    match change.definition(role)?.attributes.is_superuser {
        true if !change.is_superuser() => Err(denied("must be superuser to alter superusers")),
        false if !change.roles().creates_roles(change.current) && role != change.current => {
            Err(denied("permission denied"))
        }
        _ => Ok(()),
    }
}

fn check_database(context: &StatementContext, database: Option<&Ident>) -> Result<(), EngineError> {
    match database.map(fold).filter(|name| name != context.database_name()) {
        Some(other) => {
            let message = format!("database \"{other}\" does not exist");
            Err(EngineError::new(SqlState::InvalidCatalogName, message))
        }
        None => Ok(()),
    }
}

/// Changes settings that are not kept with a role.
fn edit_kept(
    context: &StatementContext,
    writes: &mut WriteSet,
    view: &Arc<Catalog>,
    (subject, edit): (SettingsSubject, &Edit),
) {
    let before = view.access().settings(subject);
    let mut settings = before.to_vec();
    edit.apply(context, &mut settings);
    match settings.is_empty() {
        true if before.is_empty() => {}
        true => writes.remove_access(view, AccessKey::Settings(subject)),
        false => writes.set_access(view, AccessEntry::Settings { subject, settings }),
    }
}

/// A change that was checked.
enum Edit {
    Set(String, String),
    Remove(String),
    RemoveAll,
}

impl Edit {
    fn of(context: &StatementContext, what: &SettingChange) -> Result<Self, EngineError> {
        let (name, value) = match what {
            SettingChange::ResetAll => return Ok(Self::RemoveAll),
            SettingChange::Reset(name) => (name, None),
            SettingChange::FromCurrent(name) => (name, Some(context.setting(name).unwrap_or_default())),
            SettingChange::Assign(name, values) => (name, Some(text_of(name, values))),
        };
        let name = match setting_name(name)? {
            SettingName::Custom(name) => name,
            SettingName::Known(definition) => {
                context.check_may_set(definition)?;
                match (definition.name, &value) {
                    ("session_authorization", _) | ("braid.scan_policy", Some(_)) => {
                        let message = format!("{} of a role or a database is not supported", definition.name);
                        return Err(EngineError::unsupported(message));
                    }
                    ("role", Some(role)) => warn_of_missing_role(context, role),
                    (_, Some(value)) => drop(definition.canonical(value)?),
                    (_, None) => {}
                }
                definition.name.to_owned()
            }
        };
        Ok(match value {
            Some(value) => Self::Set(name, value),
            None => Self::Remove(name),
        })
    }

    /// Changes settings in their place. `RESET ALL` keeps those that the current role may not set.
    fn apply(&self, context: &StatementContext, settings: &mut Vec<(String, String)>) {
        match self {
            Self::Set(name, value) => match settings.iter_mut().find(|(known, _)| known == name) {
                Some((_, kept)) => kept.clone_from(value),
                None => settings.push((name.clone(), value.clone())),
            },
            Self::Remove(name) => settings.retain(|(known, _)| known != name),
            Self::RemoveAll => settings.retain(|(known, _)| match setting_name(known) {
                Ok(SettingName::Known(definition)) => context.check_may_set(definition).is_err(),
                _ => false,
            }),
        }
    }
}

fn warn_of_missing_role(context: &StatementContext, role: &str) {
    if role != "none" && context.role_named_in(&context.snapshot(), role).is_none() {
        let message = format!("role \"{role}\" does not exist");
        context.raise(Notice::harmless(SqlState::UndefinedObject, message));
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
