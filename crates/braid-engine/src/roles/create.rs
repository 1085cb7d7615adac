//! CREATE ROLE.

use braid_storage::{AccessEntry, Membership, RoleAttributes, RoleDef, RoleId, WriteSet};
use sqlparser::ast::Ident;

use super::membership::{check_may_grant, check_no_circle};
use super::{RoleChange, change, denied, options};
use crate::named_roles::role_of;
use crate::names::fold;
use crate::statement::{RoleName, RoleOption, RoleOptions, RoleWord};
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// `CREATE ROLE name options`
///
/// # Errors
/// For a name that is taken (42710) or reserved (42939), what the current role may not do (42501), and wrong options.
pub(super) async fn create(
    context: &StatementContext,
    word: RoleWord,
    name: &Ident,
    options: &RoleOptions,
) -> Result<(), EngineError> {
    let name = fold(name);
    let mut attributes = RoleAttributes { inherits: true, ..RoleAttributes::default() };
    attributes.can_log_in = word == RoleWord::User;
    change(context, |writes, change| {
        let (connection_limit, password, valid_until_us, settings) = (-1, None, None, Vec::new());
        let id = writes.new_role_id()?;
        let mut role = RoleDef { id, name, attributes, connection_limit, password, valid_until_us, settings };
        options::put(context, options, &mut role)?;
        check_may_create(change, &role)?;
        check_new_name(change, &role.name)?;
        writes.set_access(change.view, AccessEntry::Role(role.clone()));
        add_memberships(writes, change, &role, options)
    })
    .await
}

fn check_may_create(change: &RoleChange<'_>, role: &RoleDef) -> Result<(), EngineError> {
    let RoleAttributes { is_superuser, replicates, bypasses_row_security, .. } = role.attributes;
    match change.is_superuser() {
        true => Ok(()),
        false if is_superuser => Err(denied("must be superuser to create superusers")),
        false if replicates => Err(denied("must be superuser to create replication users")),
        false if bypasses_row_security => Err(denied("must be superuser to create bypassrls users")),
        false if change.roles().creates_roles(change.current) => Ok(()),
        false => Err(denied("permission denied to create role")),
    }
}

/// Checks that a name can be that of a new role.
///
/// # Errors
/// 42939, 42710
pub(super) fn check_new_name(change: &RoleChange<'_>, name: &str) -> Result<(), EngineError> {
    if name.starts_with("pg_") {
        return Err(EngineError::new(SqlState::ReservedName, format!("role name \"{name}\" is reserved"))
            .with_detail("Role names starting with \"pg_\" are reserved."));
    }
    match change.context.role_named_in(change.view, name) {
        Some(_) => Err(EngineError::new(SqlState::DuplicateObject, format!("role \"{name}\" already exists"))),
        None => Ok(()),
    }
}

/// The memberships that the options of a new role ask for.
fn add_memberships(
    writes: &mut WriteSet,
    change: &RoleChange<'_>,
    role: &RoleDef,
    options: &RoleOptions,
) -> Result<(), EngineError> {
    let RoleChange { context, view, current, .. } = change;
    let mut memberships: Vec<Membership> = Vec::new();
    let mut add = |membership: Membership| {
        let is_same = |known: &&mut Membership| (known.role, known.member) == (membership.role, membership.member);
        match memberships.iter_mut().find(is_same) {
            Some(known) => known.is_admin |= membership.is_admin,
            None => memberships.push(membership),
        }
    };
    let resolved =
        |names: &[RoleName]| names.iter().map(|name| role_of(context, view, name)).collect::<Result<Vec<_>, _>>();
    let grantor = *current;
    for option in options.iter() {
        match option {
            RoleOption::InRoles(groups) => {
                for group in resolved(groups)? {
                    check_may_grant(change, group)?;
                    add(Membership { role: group, member: role.id, grantor, is_admin: false });
                }
            }
            RoleOption::Members(members) => {
                for member in resolved(members)? {
                    check_no_circle(change, (role.id, &role.name), member)?;
                    add(Membership { role: role.id, member, grantor, is_admin: false });
                }
            }
            RoleOption::Admins(members) => {
                for member in resolved(members)? {
                    check_no_circle(change, (role.id, &role.name), member)?;
                    add(Membership { role: role.id, member, grantor, is_admin: true });
                }
            }
            _ => {}
        }
    }
    let groups: Vec<RoleId> =
        memberships.iter().filter(|known| known.member == role.id).map(|known| known.role).collect();
    for member in memberships.iter().filter(|known| known.role == role.id).map(|known| known.member) {
        if groups.iter().any(|group| change.roles().is_true_member(*group, member)) {
            let message = format!("role \"{}\" is a member of role \"{}\"", role.name, change.name(member));
            return Err(EngineError::new(SqlState::InvalidGrantOperation, message));
        }
    }
    memberships.into_iter().for_each(|membership| writes.set_access(view, AccessEntry::Membership(membership)));
    Ok(())
}
