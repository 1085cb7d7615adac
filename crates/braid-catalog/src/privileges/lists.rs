//! Access control lists (PostgreSQL's `acl.c`): what roles have in one, and how GRANT, REVOKE and a new owner change it.

use braid_storage::{Acl, AclItem, Privileges, RoleId};

use super::kinds::ObjectKind;
use super::objects::Granted;
use super::roles::Roles;

/// What becomes of an item of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// GRANT.
    Grant,
    /// REVOKE.
    Revoke(Revocation),
}

/// What becomes of what a role has granted that loses the right to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// RESTRICT: there must be none.
    Restrict,
    /// CASCADE: it is revoked, too.
    Cascade,
}

/// Privileges that are granted to a role, or revoked from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListChange {
    /// GRANT or REVOKE.
    pub change: Change,
    /// What and whom it concerns, and who grants or revokes it.
    pub item: AclItem,
}

/// Why a list cannot be changed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantError {
    /// All roles would have the right to grant.
    OptionsToAll,
    /// A role would have the right to grant from one that has it from itself.
    OptionsBack,
    /// RESTRICT: a role has granted the privileges to others.
    DependentPrivileges,
}

/// What a role may grant of what it wants to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grantable {
    /// In whose name it grants.
    pub grantor: RoleId,
    /// What this role may grant.
    pub privileges: Privileges,
}

/// What a role has in a list, by itself, as a member of others, and as everybody (PostgreSQL's `aclmask`).
pub fn privileges_in(acl: &[AclItem], roles: Roles<'_>, (role, owner): (RoleId, RoleId)) -> Granted {
    let mut granted = Granted::default();
    if roles.has_privileges_of(role, owner) {
        granted.grantable = Privileges::EVERY;
    }
    for item in acl {
        if item.grantee == RoleId::PUBLIC || roles.has_privileges_of(role, item.grantee) {
            granted.add(item);
        }
    }
    granted
}

/// What a role has in a list by itself; the owner may grant everything (PostgreSQL's `aclmask_direct`).
fn direct_privileges_in(acl: &[AclItem], (role, owner): (RoleId, RoleId)) -> Granted {
    let mut granted = Granted::default();
    if role == owner {
        granted.grantable = Privileges::EVERY;
    }
    acl.iter().filter(|item| item.grantee == role).for_each(|item| granted.add(item));
    granted
}

/// In whose name a role grants privileges on an object: its own, or of a role whose privileges it has (PostgreSQL's
/// `select_best_grantor`).
pub fn best_grantor(
    acl: &[AclItem],
    roles: Roles<'_>,
    (role, owner): (RoleId, RoleId),
    wanted: Privileges,
) -> Grantable {
    if role == owner || roles.is_superuser(role) {
        return Grantable { grantor: owner, privileges: wanted };
    }
    let mut best = Grantable { grantor: role, privileges: Privileges::NONE };
    for grantor in roles.with_inherited(role) {
        let privileges = direct_privileges_in(acl, (grantor, owner)).grantable & wanted;
        if privileges == wanted {
            return Grantable { grantor, privileges };
        }
        if privileges.each().count() > best.privileges.each().count() {
            best = Grantable { grantor, privileges };
        }
    }
    best
}

/// A list with a change (PostgreSQL's `aclupdate`).
///
/// # Errors
/// [`GrantError`]
pub fn changed(acl: &[AclItem], roles: Roles<'_>, owner: RoleId, change: ListChange) -> Result<Acl, GrantError> {
    let ListChange { change, item } = change;
    if change == Change::Grant && !item.grantable.is_empty() {
        check_not_back(acl, roles, owner, item)?;
    }
    let mut acl = acl.to_vec();
    let is_meant = |known: &AclItem| (known.grantee, known.grantor) == (item.grantee, item.grantor);
    let at = match (acl.iter().position(is_meant), change) {
        (Some(at), _) => at,
        (None, Change::Revoke(_)) => return Ok(acl),
        (None, Change::Grant) => {
            acl.push(AclItem { privileges: Privileges::NONE, grantable: Privileges::NONE, ..item });
            acl.len() - 1
        }
    };
    let before = acl[at];
    let entry = &mut acl[at];
    match change {
        Change::Grant => {
            entry.privileges = entry.privileges | item.privileges | item.grantable;
            entry.grantable = entry.grantable | item.grantable;
        }
        Change::Revoke(_) => {
            entry.privileges = entry.privileges - item.privileges;
            // What one has not, one does not grant.
            entry.grantable = entry.grantable - item.grantable - item.privileges;
        }
    }
    let lost = before.grantable - entry.grantable;
    if entry.privileges.is_empty() {
        acl.remove(at);
    }
    match change {
        Change::Revoke(revocation) if !lost.is_empty() => {
            revoke_granted(acl, roles, owner, (item.grantee, lost), revocation)
        }
        _ => Ok(acl),
    }
}

/// Revokes what a role has granted that it may grant no more (PostgreSQL's `recursive_revoke`).
fn revoke_granted(
    mut acl: Acl,
    roles: Roles<'_>,
    owner: RoleId,
    (grantor, lost): (RoleId, Privileges),
    revocation: Revocation,
) -> Result<Acl, GrantError> {
    // The owner loses no right to grant.
    if grantor == owner {
        return Ok(acl);
    }
    let lost = lost - privileges_in(&acl, roles, (grantor, owner)).grantable;
    while let Some(item) = acl.iter().find(|item| item.grantor == grantor && !(item.privileges & lost).is_empty()) {
        if revocation == Revocation::Restrict {
            return Err(GrantError::DependentPrivileges);
        }
        let item = AclItem { privileges: lost, grantable: lost, ..*item };
        acl = changed(&acl, roles, owner, ListChange { change: Change::Revoke(Revocation::Cascade), item })?;
    }
    Ok(acl)
}

/// Checks that a role gets the right to grant from one that would have it without that role, too (PostgreSQL's `check_circularity`).
fn check_not_back(acl: &[AclItem], roles: Roles<'_>, owner: RoleId, new: AclItem) -> Result<(), GrantError> {
    if new.grantee == RoleId::PUBLIC {
        return Err(GrantError::OptionsToAll);
    }
    if new.grantor == owner {
        return Ok(());
    }
    let mut acl = acl.to_vec();
    while let Some(item) = acl.iter().find(|item| item.grantee == new.grantee && !item.grantable.is_empty()) {
        let item = AclItem { privileges: item.grantable, ..*item };
        acl = changed(&acl, roles, owner, ListChange { change: Change::Revoke(Revocation::Cascade), item })?;
    }
    match privileges_in(&acl, roles, (new.grantor, owner)).grantable.contains(new.grantable) {
        true => Ok(()),
        false => Err(GrantError::OptionsBack),
    }
}

/// A list after its object was given to another owner: all that the old one has and has granted is the new one's (PostgreSQL's
/// `aclnewowner`).
pub fn given_to(acl: &[AclItem], old: RoleId, new: RoleId) -> Acl {
    let moved = |role: RoleId| if role == old { new } else { role };
    let mut given: Acl = Vec::new();
    for item in acl {
        let item = AclItem { grantee: moved(item.grantee), grantor: moved(item.grantor), ..*item };
        let is_same = |known: &&mut AclItem| (known.grantee, known.grantor) == (item.grantee, item.grantor);
        match given.iter_mut().find(is_same) {
            Some(known) => {
                known.privileges = known.privileges | item.privileges;
                known.grantable = known.grantable | item.grantable;
            }
            None => given.push(item),
        }
    }
    given
}

/// A list with all that another one grants (PostgreSQL's `aclmerge`).
pub fn merged(acl: &[AclItem], other: &[AclItem], roles: Roles<'_>, owner: RoleId) -> Acl {
    let grant = |acl: Acl, item: &AclItem| {
        let granted = changed(&acl, roles, owner, ListChange { change: Change::Grant, item: *item });
        granted.unwrap_or(acl)
    };
    other.iter().fold(acl.to_vec(), grant)
}

/// The list of a new object, of which ALTER DEFAULT PRIVILEGES says something for all schemas and for its own; `None` if it has none.
pub fn default_list_of(
    kind: ObjectKind,
    roles: Roles<'_>,
    owner: RoleId,
    (of_all, of_schema): (Option<&Acl>, Option<&Acl>),
) -> Option<Acl> {
    if of_all.is_none() && of_schema.is_none() {
        return None;
    }
    let initial = kind.default_list(owner);
    let base = of_all.unwrap_or(&initial);
    let acl = merged(base, of_schema.map_or(&[], Vec::as_slice), roles, owner);
    // PostgreSQL takes an empty list for none.
    (!acl.is_empty() && sorted(&acl) != sorted(&initial)).then_some(acl)
}

fn sorted(acl: &[AclItem]) -> Vec<(RoleId, RoleId, Vec<char>, Vec<char>)> {
    let key = |item: &AclItem| {
        (item.grantee, item.grantor, item.privileges.letters().collect(), item.grantable.letters().collect())
    };
    let mut keys: Vec<_> = acl.iter().map(key).collect();
    keys.sort_unstable();
    keys
}

#[cfg(test)]
mod tests {
    use braid_storage::AccessControl;

    use super::*;

    const OWNER: RoleId = RoleId(0x4000_0001);
    const ALICE: RoleId = RoleId(0x4000_0002);
    const BOB: RoleId = RoleId(0x4000_0003);
    const CAROL: RoleId = RoleId(0x4000_0004);

    fn item(grantee: RoleId, grantor: RoleId, privileges: Privileges, grantable: Privileges) -> AclItem {
        AclItem { grantee, grantor, privileges, grantable }
    }

    /// The list after these changes, in order.
    fn after(changes: &[(Change, AclItem)]) -> Result<Acl, GrantError> {
        let access = AccessControl::default();
        changes.iter().try_fold(ObjectKind::Relation.default_list(OWNER), |acl, (change, item)| {
            changed(&acl, Roles::of(&access), OWNER, ListChange { change: *change, item: *item })
        })
    }

    #[test]
    fn privileges_come_together_in_one_item_and_go_with_the_last() {
        let (select, insert, none) = (Privileges::SELECT, Privileges::INSERT, Privileges::NONE);
        let granted = after(&[
            (Change::Grant, item(ALICE, OWNER, select, none)),
            (Change::Grant, item(ALICE, OWNER, insert, insert)),
        ]);
        assert_eq!(granted.unwrap()[1..], [item(ALICE, OWNER, select | insert, insert)]);
        let revoke = Change::Revoke(Revocation::Restrict);
        let revoked = after(&[
            (Change::Grant, item(ALICE, OWNER, select | insert, insert)),
            (revoke, item(ALICE, OWNER, none, insert)),
            (revoke, item(ALICE, OWNER, insert, insert)),
            (revoke, item(BOB, OWNER, insert, insert)),
        ]);
        assert_eq!(revoked.unwrap()[1..], [item(ALICE, OWNER, select, none)]);
        let gone =
            after(&[(Change::Grant, item(ALICE, OWNER, select, none)), (revoke, item(ALICE, OWNER, select, select))]);
        assert_eq!(gone.unwrap().len(), 1);
    }

    #[test]
    fn what_was_granted_on_is_revoked_with_cascade_and_keeps_it_with_restrict() {
        let (select, none) = (Privileges::SELECT, Privileges::NONE);
        let chain = [
            (Change::Grant, item(ALICE, OWNER, select, select)),
            (Change::Grant, item(BOB, ALICE, select, select)),
            (Change::Grant, item(CAROL, BOB, select, none)),
        ];
        let with = |revocation| {
            let last = (Change::Revoke(revocation), item(ALICE, OWNER, select, select));
            after(&[&chain[..], &[last]].concat())
        };
        assert_eq!(with(Revocation::Restrict), Err(GrantError::DependentPrivileges));
        assert_eq!(with(Revocation::Cascade).unwrap().len(), 1, "only the owner's are left");
        // Bob has the option from the owner, too: what he has granted stays.
        let other = (Change::Grant, item(BOB, OWNER, select, select));
        let last = (Change::Revoke(Revocation::Cascade), item(ALICE, OWNER, select, select));
        let left = after(&[&chain[..], &[other, last]].concat()).unwrap();
        assert_eq!(left[1..], [item(CAROL, BOB, select, none), item(BOB, OWNER, select, select)]);
    }

    #[test]
    fn nobody_grants_options_back_or_to_all() {
        let select = Privileges::SELECT;
        let chain = [
            (Change::Grant, item(ALICE, OWNER, select, select)),
            (Change::Grant, item(BOB, ALICE, select, select)),
            (Change::Grant, item(ALICE, BOB, select, select)),
        ];
        assert_eq!(after(&chain), Err(GrantError::OptionsBack));
        assert_eq!(
            after(&[(Change::Grant, item(RoleId::PUBLIC, OWNER, select, select))]),
            Err(GrantError::OptionsToAll)
        );
    }

    #[test]
    fn a_new_owner_has_what_the_old_one_had() {
        let (select, insert, none) = (Privileges::SELECT, Privileges::INSERT, Privileges::NONE);
        let list = [item(OWNER, OWNER, select, none), item(ALICE, OWNER, insert, none), item(BOB, ALICE, insert, none)];
        let given = given_to(&list, OWNER, ALICE);
        assert_eq!(given, [item(ALICE, ALICE, select | insert, none), item(BOB, ALICE, insert, none)]);
    }

    #[test]
    fn the_best_grantor_is_the_owner_or_who_may_grant_most() {
        let access = AccessControl::default();
        let roles = Roles::of(&access);
        let (select, insert) = (Privileges::SELECT, Privileges::INSERT);
        let list = [item(OWNER, OWNER, select | insert, Privileges::NONE), item(ALICE, OWNER, select | insert, select)];
        let best = |role| best_grantor(&list, roles, (role, OWNER), select | insert);
        assert_eq!(best(RoleId::BOOTSTRAP), Grantable { grantor: OWNER, privileges: select | insert });
        assert_eq!(best(OWNER), Grantable { grantor: OWNER, privileges: select | insert });
        assert_eq!(best(ALICE), Grantable { grantor: ALICE, privileges: select });
        assert_eq!(best(BOB), Grantable { grantor: BOB, privileges: Privileges::NONE });
    }

    #[test]
    fn default_privileges_are_added_to_those_of_the_kind() {
        let access = AccessControl::default();
        let roles = Roles::of(&access);
        let of_schema = vec![item(ALICE, OWNER, Privileges::SELECT, Privileges::NONE)];
        let kind = ObjectKind::Relation;
        assert_eq!(default_list_of(kind, roles, OWNER, (None, None)), None);
        let list = default_list_of(kind, roles, OWNER, (None, Some(&of_schema))).unwrap();
        assert_eq!(list, [kind.default_list(OWNER), of_schema.clone()].concat());
        let of_all = kind.default_list(OWNER);
        assert_eq!(default_list_of(kind, roles, OWNER, (Some(&of_all), None)), None, "they are those of the kind");
        let taken = vec![];
        assert_eq!(default_list_of(kind, roles, OWNER, (Some(&taken), Some(&of_schema))), Some(of_schema));
    }
}
