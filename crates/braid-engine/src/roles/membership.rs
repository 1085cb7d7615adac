//! Members of roles: GRANT and REVOKE of roles, ALTER GROUP.

use braid_storage::{AccessEntry, AccessKey, Membership, RoleId, WriteSet};

use super::{RoleChange, change, denied};
use crate::named_roles::{role_named, role_of};
use crate::notices::Notice;
use crate::statement::{MemberChange, MembershipChange, Privilege, RoleName};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState};

/// `GRANT role, … TO role, … [WITH ADMIN OPTION] [GRANTED BY role]`
///
/// # Errors
/// For roles that do not exist, circles (0LP01), and what the current role may not do (42501).
pub(crate) async fn grant_roles(
    context: &StatementContext,
    statement: &MembershipChange,
) -> Result<Outcome, EngineError> {
    let MembershipChange { roles: groups, members, has_admin_option: is_admin, granted_by, .. } = statement;
    check_no_columns(groups)?;
    change(context, |writes, change| {
        let grantor = grantor(change, granted_by.as_ref())?;
        for group in groups {
            let group = role_named(context, change.view, &group.name)?;
            check_may_grant(change, group)?;
            for member in members {
                let member = role_of(context, change.view, member)?;
                add(writes, change, Membership { role: group, member, grantor, is_admin: *is_admin })?;
            }
        }
        Ok(())
    })
    .await?;
    Ok(Outcome::done("GRANT ROLE"))
}

/// `REVOKE [ADMIN OPTION FOR] role, … FROM role, … [GRANTED BY role]`
///
/// # Errors
/// For roles that do not exist, and what the current role may not do (42501).
pub(crate) async fn revoke_roles(
    context: &StatementContext,
    statement: &MembershipChange,
) -> Result<Outcome, EngineError> {
    let MembershipChange { roles: groups, members, has_admin_option: is_option_only, granted_by, .. } = statement;
    check_no_columns(groups)?;
    change(context, |writes, change| {
        grantor(change, granted_by.as_ref())?;
        for group in groups {
            let group = role_named(context, change.view, &group.name)?;
            check_may_grant(change, group)?;
            for member in members {
                let member = role_of(context, change.view, member)?;
                remove(writes, change, (group, member), *is_option_only);
            }
        }
        Ok(())
    })
    .await?;
    Ok(Outcome::done("REVOKE ROLE"))
}

/// `ALTER GROUP group ADD USER role, …` and DROP USER
///
/// # Errors
/// As [`grant_roles`] and [`revoke_roles`].
pub(super) async fn change_members(
    context: &StatementContext,
    group: &RoleName,
    what: MemberChange,
    members: &[RoleName],
) -> Result<(), EngineError> {
    change(context, |writes, change| {
        let group = role_of(context, change.view, group)?;
        check_may_grant(change, group)?;
        for member in members {
            let member = role_of(context, change.view, member)?;
            match what {
                MemberChange::Add => {
                    let (role, grantor) = (group, change.current);
                    add(writes, change, Membership { role, member, grantor, is_admin: false })?;
                }
                MemberChange::Drop => remove(writes, change, (group, member), false),
            }
        }
        Ok(())
    })
    .await
}

fn check_no_columns(roles: &[Privilege]) -> Result<(), EngineError> {
    match roles.iter().any(|role| !role.columns.is_empty()) {
        true => {
            let message = "column names cannot be included in GRANT/REVOKE ROLE";
            Err(EngineError::new(SqlState::InvalidGrantOperation, message))
        }
        false => Ok(()),
    }
}

/// The role in whose name memberships are granted.
fn grantor(change: &RoleChange<'_>, granted_by: Option<&RoleName>) -> Result<RoleId, EngineError> {
    let Some(written) = granted_by else { return Ok(change.current) };
    let grantor = role_of(change.context, change.view, written)?;
    match grantor == change.current || change.is_superuser() {
        true => Ok(grantor),
        false => Err(denied("must be superuser to set grantor")),
    }
}

/// Checks that the current role may make others members of a role.
///
/// # Errors
/// 42501
pub(super) fn check_may_grant(change: &RoleChange<'_>, role: RoleId) -> Result<(), EngineError> {
    let roles = change.roles();
    match roles.is_superuser(role) {
        true if !change.is_superuser() => Err(denied("must be superuser to alter superusers")),
        false if !roles.creates_roles(change.current) && !roles.is_admin(change.current, role) => {
            Err(denied(format!("must have admin option on role \"{}\"", change.name(role))))
        }
        _ => Ok(()),
    }
}

/// Checks that a role that is to be a member of another is no role that this is a member of.
///
/// # Errors
/// 0LP01
pub(super) fn check_no_circle(
    change: &RoleChange<'_>,
    (role, name): (RoleId, &str),
    member: RoleId,
) -> Result<(), EngineError> {
    let invalid = |message: String| EngineError::new(SqlState::InvalidGrantOperation, message);
    if change.roles().is_true_member(role, member) {
        return Err(invalid(format!("role \"{name}\" is a member of role \"{}\"", change.name(member))));
    }
    Ok(())
}

fn add(writes: &mut WriteSet, change: &RoleChange<'_>, membership: Membership) -> Result<(), EngineError> {
    let Membership { role, member, is_admin, .. } = membership;
    // Memberships that the statement has added are not in the state that it sees.
    let view = writes.view(change.view);
    let change = &RoleChange { view: &view, ..*change };
    let database_owner = RoleId::DATABASE_OWNER;
    if role == database_owner {
        let message = format!("role \"{}\" cannot have explicit members", change.name(role));
        return Err(EngineError::new(SqlState::InternalError, message));
    }
    if member == database_owner {
        let message = format!("role \"{}\" cannot be a member of any role", change.name(member));
        return Err(EngineError::new(SqlState::InternalError, message));
    }
    check_no_circle(change, (role, &change.name(role)), member)?;
    let mut known = change.roles().memberships();
    let known = known.find(|known| (known.role, known.member) == (role, member));
    if known.is_some_and(|known| known.is_admin || !is_admin) {
        let message = format!("role \"{}\" is already a member of role \"{}\"", change.name(member), change.name(role));
        change.context.raise(Notice::harmless(SqlState::SuccessfulCompletion, message));
        return Ok(());
    }
    writes.set_access(&view, AccessEntry::Membership(membership));
    Ok(())
}

fn remove(writes: &mut WriteSet, change: &RoleChange<'_>, (role, member): (RoleId, RoleId), is_option_only: bool) {
    let view = writes.view(change.view);
    let known = view.access().memberships().find(|known| (known.role, known.member) == (role, member)).copied();
    match known {
        None => {
            let message = format!("role \"{}\" is not a member of role \"{}\"", change.name(member), change.name(role));
            change.context.raise(Notice::warning(SqlState::Warning, message));
        }
        Some(membership) if is_option_only => {
            writes.set_access(&view, AccessEntry::Membership(Membership { is_admin: false, ..membership }));
        }
        Some(_) => writes.remove_access(&view, AccessKey::Membership { role, member }),
    }
}
