//! What GRANT and REVOKE make of an access control list.

use braid_catalog::privileges::{Change, GrantError, Grantable, ListChange, Revocation, Roles, changed};
use braid_storage::{Acl, AclItem, Catalog, Privileges, RoleId};

use crate::dependents::Behavior;
use crate::named_roles::role_or_public;
use crate::statement::{GrantAction, RoleName};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// What a statement does with privileges, and for whom.
pub(super) struct Granting<'a> {
    pub action: GrantAction,
    pub grantees: &'a [RoleId],
    /// WITH GRANT OPTION; in REVOKE: GRANT OPTION FOR.
    pub has_grant_option: bool,
    pub behavior: Behavior,
}

/// The roles that a statement names.
///
/// # Errors
/// 42704; 0LP01 for grant options of all roles.
pub(super) fn grantees_of(
    context: &StatementContext,
    view: &Catalog,
    action: GrantAction,
    (names, has_grant_option): (&[RoleName], bool),
) -> Result<Vec<RoleId>, EngineError> {
    let grantees = names.iter().map(|name| role_or_public(context, view, name)).collect::<Result<Vec<_>, _>>()?;
    match action == GrantAction::Grant && has_grant_option && grantees.contains(&RoleId::PUBLIC) {
        true => Err(refused(GrantError::OptionsToAll)),
        false => Ok(grantees),
    }
}

/// The list with these privileges granted or revoked.
///
/// # Errors
/// 0LP01; 2BP01 for what a grantee has granted to others.
pub(super) fn list_with(
    list: &[AclItem],
    roles: Roles<'_>,
    (grantable, owner): (Grantable, RoleId),
    granting: &Granting<'_>,
) -> Result<Acl, EngineError> {
    let Grantable { grantor, privileges: wanted } = grantable;
    let (change, has_privileges, has_options) = match granting.action {
        GrantAction::Grant => (Change::Grant, true, granting.has_grant_option),
        GrantAction::Revoke => {
            let revocation = match granting.behavior {
                Behavior::Restrict => Revocation::Restrict,
                Behavior::Cascade => Revocation::Cascade,
            };
            (Change::Revoke(revocation), !granting.has_grant_option, true)
        }
    };
    let those = |are_meant: bool| if are_meant { wanted } else { Privileges::NONE };
    granting.grantees.iter().try_fold(list.to_vec(), |acl, grantee| {
        let (privileges, grantable) = (those(has_privileges), those(has_options));
        let item = AclItem { grantee: *grantee, grantor, privileges, grantable };
        changed(&acl, roles, owner, ListChange { change, item }).map_err(refused)
    })
}

fn refused(error: GrantError) -> EngineError {
    let invalid = |message: &str| EngineError::new(SqlState::InvalidGrantOperation, message);
    match error {
        GrantError::OptionsToAll => invalid("grant options can only be granted to roles"),
        GrantError::OptionsBack => invalid("grant options cannot be granted back to your own grantor"),
        GrantError::DependentPrivileges => {
            EngineError::new(SqlState::DependentObjectsStillExist, "dependent privileges exist")
                .with_hint("Use CASCADE to revoke them too.")
        }
    }
}
