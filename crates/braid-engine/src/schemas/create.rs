//! CREATE SCHEMA.

use braid_sql::search_path::is_built_in;
use braid_storage::StoreError;
use sqlparser::ast::{Ident, SchemaName, Statement};

use super::{check_name, schema_name};
use crate::names::fold;
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState};

/// Refuses clauses that are not PostgreSQL's.
///
/// # Errors
/// 0A000
pub(crate) fn check_clauses(statement: &Statement) -> Result<(), EngineError> {
    match statement {
        Statement::CreateSchema { with: None, options: None, default_collate_spec: None, clone: None, .. } => Ok(()),
        _ => Err(EngineError::unsupported("this form of CREATE SCHEMA is not supported")),
    }
}

/// Creates a schema.
///
/// # Errors
/// For a name that is taken or the system's, and a role that does not exist.
pub(crate) async fn create_schema(
    context: &StatementContext,
    written: &SchemaName,
    if_not_exists: bool,
) -> Result<Outcome, EngineError> {
    let name = match written {
        SchemaName::Simple(name) => schema_name(name)?,
        SchemaName::UnnamedAuthorization(role) => role_name(context, role)?,
        SchemaName::NamedAuthorization(name, role) => {
            role_name(context, role)?;
            schema_name(name)?
        }
    };
    check_name(&name)?;
    let is_there = is_built_in(&name) || context.snapshot().schema_named(&name).is_some();
    if is_there && if_not_exists {
        let what = format!("schema \"{name}\" already exists");
        context.raise(Notice::skipping(SqlState::DuplicateSchema, &what));
        return Ok(Outcome::done("CREATE SCHEMA"));
    }
    if is_there {
        return Err(StoreError::SchemaExists { schema: name }.into());
    }
    match context.change(|writes, view| writes.create_schema(view, &name)).await {
        // Another session has created it meanwhile.
        Err(error) if if_not_exists && error.state() == SqlState::DuplicateSchema => {}
        created => drop(created?),
    }
    Ok(Outcome::done("CREATE SCHEMA"))
}

/// The name of the role that is to own a schema: the session's user, as there is no other.
fn role_name(context: &StatementContext, role: &Ident) -> Result<String, EngineError> {
    let name = fold(role);
    let is_current = role.quote_style.is_none() && ["current_user", "current_role", "session_user"].contains(&&*name);
    if is_current || name == context.user() {
        return Ok(context.user().to_owned());
    }
    Err(EngineError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist")))
}
