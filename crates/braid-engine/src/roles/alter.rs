//! ALTER ROLE: attributes and the name.

use braid_storage::{AccessEntry, CommentSubject, RoleDef};
use sqlparser::ast::Ident;

use super::create::check_new_name;
use super::{RoleChange, change, denied, options};
use crate::named_roles::{role_named, role_of};
use crate::names::fold;
use crate::statement::{RoleName, RoleOption, RoleOptions};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// `ALTER ROLE role options`
///
/// # Errors
/// For a role that does not exist, what the current role may not do (42501), and wrong options.
pub(super) async fn alter(
    context: &StatementContext,
    name: &RoleName,
    options: &RoleOptions,
) -> Result<(), EngineError> {
    change(context, |writes, change| {
        let role = role_of(context, change.view, name)?;
        let before = change.definition(role)?;
        let mut after = before.clone();
        options::put(context, options, &mut after)?;
        check_may_alter(change, &before, options)?;
        if role == braid_storage::RoleId::BOOTSTRAP && !after.attributes.is_superuser {
            let message = "the bootstrap superuser without SUPERUSER is not supported";
            return Err(EngineError::unsupported(message));
        }
        writes.set_access(change.view, AccessEntry::Role(after));
        Ok(())
    })
    .await
}

/// Superusers are altered by superusers; others by those who create roles, and each role changes its own password.
fn check_may_alter(change: &RoleChange<'_>, role: &RoleDef, options: &RoleOptions) -> Result<(), EngineError> {
    if change.is_superuser() {
        return Ok(());
    }
    let sets = |is_it: fn(&RoleOption) -> bool| options.iter().any(is_it);
    if role.attributes.is_superuser || sets(|option| matches!(option, RoleOption::Superuser(_))) {
        return Err(denied("must be superuser to alter superuser roles or change superuser attribute"));
    }
    if role.attributes.replicates || sets(|option| matches!(option, RoleOption::Replication(_))) {
        return Err(denied("must be superuser to alter replication roles or change replication attribute"));
    }
    if sets(|option| matches!(option, RoleOption::BypassRls(_))) {
        return Err(denied("must be superuser to change bypassrls attribute"));
    }
    if change.roles().creates_roles(change.current) {
        return Ok(());
    }
    let is_own_password =
        role.id == change.current && options.iter().all(|option| matches!(option, RoleOption::Password(_)));
    if is_own_password { Ok(()) } else { Err(denied("permission denied")) }
}

/// `ALTER ROLE name RENAME TO name`
///
/// # Errors
/// For a role that does not exist, a name that is taken or reserved, the roles of the session (0A000), and what the current role may not
/// do.
pub(super) async fn rename(context: &StatementContext, name: &Ident, new_name: &Ident) -> Result<(), EngineError> {
    let new_name = fold(new_name);
    change(context, |writes, change| {
        let role = role_named(context, change.view, name)?;
        if role.is_built_in() && role != braid_storage::RoleId::BOOTSTRAP {
            let name = fold(name);
            return Err(EngineError::new(SqlState::ReservedName, format!("role name \"{name}\" is reserved"))
                .with_detail("Role names starting with \"pg_\" are reserved."));
        }
        if role == context.session_role() {
            return Err(EngineError::unsupported("session user cannot be renamed"));
        }
        if role == change.current {
            return Err(EngineError::unsupported("current user cannot be renamed"));
        }
        let before = change.definition(role)?;
        check_new_name(change, &new_name)?;
        let is_permitted = match before.attributes.is_superuser {
            true if !change.is_superuser() => return Err(denied("must be superuser to rename superusers")),
            true => true,
            false => change.roles().creates_roles(change.current),
        };
        if !is_permitted {
            return Err(denied("permission denied to rename role"));
        }
        let (old, new) = (CommentSubject::Role(before.name.clone()), CommentSubject::Role(new_name.clone()));
        if let Some(comment) = change.view.comment_on(&old).cloned() {
            writes.set_comment(change.view, old, None);
            writes.set_comment(change.view, new, Some(&comment));
        }
        writes.set_access(change.view, AccessEntry::Role(RoleDef { name: new_name, ..before }));
        Ok(())
    })
    .await
}
