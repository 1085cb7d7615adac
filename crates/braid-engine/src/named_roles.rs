//! The roles that statements name.

use braid_catalog::privileges::Roles;
use braid_storage::{Catalog, RoleId};
use sqlparser::ast::Ident;

use crate::names::fold;
use crate::statement::RoleName;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// The role of a name, which may be that of all roles.
///
/// # Errors
/// 42704
pub(crate) fn role_or_public(
    context: &StatementContext,
    snapshot: &Catalog,
    written: &RoleName,
) -> Result<RoleId, EngineError> {
    match written {
        RoleName::Named(name) => role_named(context, snapshot, name),
        RoleName::CurrentUser => Ok(context.current_role()),
        RoleName::SessionUser => Ok(context.session_role()),
        RoleName::Public => Ok(RoleId::PUBLIC),
    }
}

/// The role of a name.
///
/// # Errors
/// 42704, also for all roles.
pub(crate) fn role_of(
    context: &StatementContext,
    snapshot: &Catalog,
    written: &RoleName,
) -> Result<RoleId, EngineError> {
    match role_or_public(context, snapshot, written)? {
        RoleId::PUBLIC => Err(no_role("public")),
        role => Ok(role),
    }
}

/// The role of a plain name.
///
/// # Errors
/// 42704
pub(crate) fn role_named(context: &StatementContext, snapshot: &Catalog, name: &Ident) -> Result<RoleId, EngineError> {
    let name = fold(name);
    context.role_named_in(snapshot, &name).ok_or_else(|| no_role(&name))
}

/// Checks that the current role may give objects to a role: it is a member of it.
///
/// # Errors
/// 42501
pub(crate) fn check_may_give_to(
    context: &StatementContext,
    snapshot: &Catalog,
    role: RoleId,
) -> Result<(), EngineError> {
    match Roles::of(snapshot.access()).is_member(context.current_role(), role) {
        true => Ok(()),
        false => {
            let message = format!("must be member of role \"{}\"", context.role_name_in(snapshot, role));
            Err(EngineError::new(SqlState::InsufficientPrivilege, message))
        }
    }
}

/// That there is no role of a name.
pub(crate) fn no_role(name: &str) -> EngineError {
    EngineError::new(SqlState::UndefinedObject, format!("role \"{name}\" does not exist"))
}
