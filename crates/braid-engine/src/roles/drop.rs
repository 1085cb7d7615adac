//! DROP ROLE.

use braid_storage::{AccessEntry, AccessKey, CommentSubject, Membership, RoleId, SettingsSubject, WriteSet};

use super::owned::dependents_of;
use super::{RoleChange, change, denied};
use crate::named_roles::no_role;
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::RoleName;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// Most dependents that an error names.
const DEPENDENTS_SHOWN_MAX: usize = 100;

/// `DROP ROLE [IF EXISTS] role, …`
///
/// # Errors
/// For roles that do not exist, roles of the session (55006), what the current role may not do (42501), and roles that own objects or have
/// privileges (2BP01).
pub(super) async fn drop_roles(
    context: &StatementContext,
    names: &[RoleName],
    if_exists: bool,
) -> Result<(), EngineError> {
    change(context, |writes, change| {
        if !change.roles().creates_roles(change.current) {
            return Err(denied("permission denied to drop role"));
        }
        let mut dropped = Vec::new();
        for name in names {
            let RoleName::Named(name) = name else {
                let message = "cannot use special role specifier in DROP ROLE";
                return Err(EngineError::new(SqlState::InvalidParameterValue, message));
            };
            let name = fold(name);
            match context.role_named_in(change.view, &name) {
                Some(role) if !dropped.contains(&role) => {
                    check_may_drop(change, role)?;
                    dropped.push(role);
                }
                Some(_) => {}
                None if if_exists => {
                    let what = format!("role \"{name}\" does not exist");
                    context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &what));
                }
                None => return Err(no_role(&name)),
            }
        }
        for role in &dropped {
            check_without_dependents(change, *role)?;
        }
        dropped.iter().for_each(|role| remove(writes, change, *role, &dropped));
        Ok(())
    })
    .await
}

fn check_may_drop(change: &RoleChange<'_>, role: RoleId) -> Result<(), EngineError> {
    let in_use = |message: &str| Err(EngineError::new(SqlState::ObjectInUse, message));
    if role == change.current {
        return in_use("current user cannot be dropped");
    }
    if role == change.context.session_role() {
        return in_use("session user cannot be dropped");
    }
    if role.is_built_in() {
        let message = format!("cannot drop role {} because it is required by the database system", change.name(role));
        return Err(EngineError::new(SqlState::DependentObjectsStillExist, message));
    }
    match change.roles().is_superuser(role) && !change.is_superuser() {
        true => Err(denied("must be superuser to drop superusers")),
        false => Ok(()),
    }
}

fn check_without_dependents(change: &RoleChange<'_>, role: RoleId) -> Result<(), EngineError> {
    let mut dependents = dependents_of(change, role);
    if dependents.is_empty() {
        return Ok(());
    }
    let more = dependents.len().saturating_sub(DEPENDENTS_SHOWN_MAX);
    dependents.truncate(DEPENDENTS_SHOWN_MAX);
    if more > 0 {
        dependents.push(format!("and {more} other objects (see server log for list)"));
    }
    let message = format!("role \"{}\" cannot be dropped because some objects depend on it", change.name(role));
    Err(EngineError::new(SqlState::DependentObjectsStillExist, message).with_detail(dependents.join("\n")))
}

/// Removes a role, its memberships and its settings, beside others that are dropped. What it has granted to others is the bootstrap superuser's then.
fn remove(writes: &mut WriteSet, change: &RoleChange<'_>, role: RoleId, dropped: &[RoleId]) {
    let view = change.view;
    for membership in view.access().memberships() {
        let Membership { role: group, member, grantor, .. } = *membership;
        if group == role || member == role {
            writes.remove_access(view, AccessKey::Membership { role: group, member });
        } else if grantor == role && ![group, member].iter().any(|other| dropped.contains(other)) {
            let granted = Membership { grantor: RoleId::BOOTSTRAP, ..*membership };
            writes.set_access(view, AccessEntry::Membership(granted));
        }
    }
    let comment = CommentSubject::Role(change.name(role));
    if view.comment_on(&comment).is_some() {
        writes.set_comment(view, comment, None);
    }
    let settings = SettingsSubject { role: Some(role), is_of_database: true };
    if !view.access().settings(settings).is_empty() {
        writes.remove_access(view, AccessKey::Settings(settings));
    }
    writes.remove_access(view, AccessKey::Role(role));
}
