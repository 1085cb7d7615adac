//! CREATE SCHEMA.

use braid_sql::search_path::is_built_in;
use braid_storage::{AccessObject, StoreError};
use sqlparser::ast::{SchemaName, Statement};

use super::{check_name, schema_name};
use crate::named_roles::{check_may_give_to, role_of};
use crate::notices::Notice;
use crate::owners::give;
use crate::statement::RoleName;
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
        // It is called like the role.
        SchemaName::UnnamedAuthorization(role) => {
            let snapshot = context.snapshot();
            context.role_name_in(&snapshot, role_of(context, &snapshot, &RoleName::of(role))?)
        }
        SchemaName::NamedAuthorization(name, _) => schema_name(name)?,
    };
    let owner = match written {
        SchemaName::Simple(_) => None,
        SchemaName::UnnamedAuthorization(role) | SchemaName::NamedAuthorization(_, role) => Some(RoleName::of(role)),
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
    let created = context.change(|writes, view| {
        let owner = owner.map(|owner| role_of(context, view, &owner)).transpose()?;
        if let Some(owner) = owner {
            check_may_give_to(context, view, owner)?;
        }
        let id = writes.create_schema(view, &name)?;
        context.own_new_objects(writes, view);
        if let Some(owner) = owner {
            give(writes, view, AccessObject::Schema(id), (context.current_role(), owner));
        }
        Ok::<_, EngineError>(())
    });
    match created.await {
        // Another session has created it meanwhile.
        Err(error) if if_not_exists && error.state() == SqlState::DuplicateSchema => {}
        created => drop(created?),
    }
    Ok(Outcome::done("CREATE SCHEMA"))
}
