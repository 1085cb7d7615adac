//! The options of CREATE ROLE and ALTER ROLE.

use braid_sql::pg_catalog::TypeId;
use braid_sql::{SqlType, Value, column_value};
use braid_storage::RoleDef;

use super::password::verifier_of;
use crate::notices::Notice;
use crate::statement::{RoleOption, RoleOptions};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// Puts the attributes of the options into a role.
///
/// # Errors
/// For a limit of connections, a time or a password that is none.
pub(super) fn put(context: &StatementContext, options: &RoleOptions, role: &mut RoleDef) -> Result<(), EngineError> {
    let attributes = &mut role.attributes;
    for option in options.iter() {
        match option {
            RoleOption::Superuser(is_set) => attributes.is_superuser = *is_set,
            RoleOption::Inherit(is_set) => attributes.inherits = *is_set,
            RoleOption::CreateRole(is_set) => attributes.creates_roles = *is_set,
            RoleOption::CreateDb(is_set) => attributes.creates_databases = *is_set,
            RoleOption::Login(is_set) => attributes.can_log_in = *is_set,
            RoleOption::Replication(is_set) => attributes.replicates = *is_set,
            RoleOption::BypassRls(is_set) => attributes.bypasses_row_security = *is_set,
            RoleOption::ConnectionLimit(limit) => role.connection_limit = connection_limit(*limit)?,
            RoleOption::Password(None) => role.password = None,
            RoleOption::Password(Some(password)) => {
                role.password = verifier_of(password)?;
                if role.password.is_none() {
                    let message = "empty string is not a valid password, clearing password";
                    context.raise(Notice::harmless(SqlState::SuccessfulCompletion, message));
                }
            }
            RoleOption::ValidUntil(time) => role.valid_until_us = Some(time_of(context, time)?),
            RoleOption::SysId => {
                let message = "SYSID can no longer be specified";
                context.raise(Notice::harmless(SqlState::SuccessfulCompletion, message));
            }
            // They are memberships.
            RoleOption::InRoles(_) | RoleOption::Members(_) | RoleOption::Admins(_) => {}
        }
    }
    Ok(())
}

fn connection_limit(limit: i64) -> Result<i32, EngineError> {
    let valid = i32::try_from(limit).ok().filter(|limit| *limit >= -1);
    valid.ok_or_else(|| EngineError::new(SqlState::InvalidParameterValue, format!("invalid connection limit: {limit}")))
}

fn time_of(context: &StatementContext, text: &str) -> Result<i64, EngineError> {
    match column_value(text, SqlType::of(TypeId::TIMESTAMPTZ), &context.reading())? {
        Value::TimestampTz(time_us) => Ok(time_us),
        other => Err(EngineError::internal(format!("{other:?} is no time"))),
    }
}
