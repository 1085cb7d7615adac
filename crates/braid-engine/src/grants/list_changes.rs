//! What GRANT and REVOKE make of an access control list.

use braid_catalog::privileges::{Change, GrantError, Grantable, ListChange, Revocation, Roles, changed};
use braid_storage::{Acl, AclItem, Catalog, Privileges, RoleId};

use crate::dependents::Behavior;
use crate::named_roles::role_or_public;
use crate::statement::{GrantAction, PrivilegeChange};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// What a statement does with privileges, and for whom.
pub(super) struct Granting {
    pub action: GrantAction,
    grantees: Vec<RoleId>,
    /// WITH GRANT OPTION; in REVOKE: GRANT OPTION FOR.
    has_grant_option: bool,
    behavior: Behavior,
}

impl Granting {
    /// What a statement says of privileges on any objects.
    ///
    /// # Errors
    /// 42704 for roles that do not exist; 0LP01 for grant options of all roles.
    pub fn of<T>(context: &StatementContext, view: &Catalog, change: &PrivilegeChange<T>) -> Result<Self, EngineError> {
        let PrivilegeChange { action, has_grant_option, behavior, .. } = *change;
        let grantees = change.grantees.iter().map(|name| role_or_public(context, view, name));
        let grantees = grantees.collect::<Result<Vec<_>, _>>()?;
        if action == GrantAction::Grant && has_grant_option && grantees.contains(&RoleId::PUBLIC) {
            return Err(refused(GrantError::OptionsToAll));
        }
        Ok(Self { action, grantees, has_grant_option, behavior })
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
    granting: &Granting,
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
