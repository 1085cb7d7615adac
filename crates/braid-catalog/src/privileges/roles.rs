//! Roles: what they are, and what they are members of.
//!
//! A session without roles has only the [bootstrap superuser](RoleId::BOOTSTRAP). PostgreSQL's predefined roles (`pg_monitor` and its
//! like) are always there.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use braid_storage::{AccessControl, AccessObject, Membership, RoleAttributes, RoleId};

use crate::stored_rows::{StoredRows, number};

/// Whose privileges count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Through {
    /// Those of all roles that a role is a member of.
    Members,
    /// Those of roles that it is a member of and inherits from.
    Inheritance,
}

/// The roles of one state of the database.
#[derive(Clone, Copy, Debug)]
pub struct Roles<'a> {
    access: &'a AccessControl,
}

impl<'a> Roles<'a> {
    /// The role whose members have all privileges of the database's owner.
    pub const DATABASE_OWNER: RoleId = RoleId::DATABASE_OWNER;
    /// Its members read all tables.
    pub const READ_ALL_DATA: RoleId = RoleId(6181);
    /// Its members change the rows of all tables.
    pub const WRITE_ALL_DATA: RoleId = RoleId(6182);
    /// Its members see what all sessions do.
    pub const READ_ALL_STATS: RoleId = RoleId(3375);
    /// Its members cancel statements of others, and end their sessions.
    pub const SIGNAL_BACKEND: RoleId = RoleId(4200);
    /// Its members make checkpoints.
    pub const CHECKPOINT: RoleId = RoleId(4544);
    /// Its members read files of the server.
    pub const READ_SERVER_FILES: RoleId = RoleId(4569);
    /// Its members write files of the server.
    pub const WRITE_SERVER_FILES: RoleId = RoleId(4570);

    /// The name of a role that every database has, but the bootstrap superuser.
    pub fn predefined_name(role: RoleId) -> Option<&'static str> {
        predefined_roles().find(|(id, _)| *id == role.0).map(|(_, name)| name)
    }

    /// The role that every database has with this name.
    pub fn predefined_role(name: &str) -> Option<RoleId> {
        predefined_roles().find(|(_, stored)| *stored == name).map(|(id, _)| RoleId(id))
    }

    /// The roles of a state.
    pub fn of(access: &'a AccessControl) -> Self {
        Self { access }
    }

    /// The attributes of a role; none of a role that there is not.
    pub fn attributes(self, role: RoleId) -> RoleAttributes {
        match self.access.role(role) {
            Some(known) => known.attributes,
            None if role == RoleId::BOOTSTRAP => RoleAttributes::ALL,
            None => RoleAttributes { inherits: role.is_built_in(), ..RoleAttributes::default() },
        }
    }

    /// Whether it may do everything.
    pub fn is_superuser(self, role: RoleId) -> bool {
        self.attributes(role).is_superuser
    }

    /// Whether it may create, alter and drop roles.
    pub fn creates_roles(self, role: RoleId) -> bool {
        let attributes = self.attributes(role);
        attributes.is_superuser || attributes.creates_roles
    }

    /// Whether it is a member of another role, directly or not; also of itself.
    pub fn is_member(self, member: RoleId, role: RoleId) -> bool {
        member == role || self.is_superuser(member) || self.reachable(member, Through::Members).contains(&role)
    }

    /// As [`Self::is_member`], of no role only because it is a superuser.
    pub fn is_true_member(self, member: RoleId, role: RoleId) -> bool {
        member == role || self.reachable(member, Through::Members).contains(&role)
    }

    /// Whether it has the privileges of another role without taking it: SET ROLE.
    pub fn has_privileges_of(self, member: RoleId, role: RoleId) -> bool {
        member == role || self.is_superuser(member) || self.reachable(member, Through::Inheritance).contains(&role)
    }

    /// The roles whose privileges it has, its own first.
    pub fn with_inherited(self, member: RoleId) -> Vec<RoleId> {
        let others = self.reachable(member, Through::Inheritance);
        std::iter::once(member).chain(others.into_iter().filter(|role| *role != member)).collect()
    }

    /// Whether it may make others members of a role: it has, or is a member of one that has, the ADMIN OPTION. No role has it of itself.
    pub fn is_admin(self, member: RoleId, role: RoleId) -> bool {
        if self.is_superuser(member) {
            return true;
        }
        if member == role {
            return false;
        }
        let mut holders = self.reachable(member, Through::Members);
        holders.insert(member);
        self.memberships().any(|known| known.role == role && known.is_admin && holders.contains(&known.member))
    }

    /// The memberships that were granted, and those of predefined roles in each other.
    pub fn memberships(self) -> impl Iterator<Item = Membership> + 'a {
        self.access.memberships().copied().chain(predefined().iter().copied())
    }

    /// The roles that a role is a member of, without itself.
    fn reachable(self, member: RoleId, through: Through) -> BTreeSet<RoleId> {
        let mut found = BTreeSet::new();
        let mut waiting = vec![member];
        let database_owner = self.access.owner(AccessObject::Database);
        while let Some(next) = waiting.pop() {
            if through == Through::Inheritance && !self.attributes(next).inherits {
                continue;
            }
            let groups = self.memberships().filter(|membership| membership.member == next).map(|known| known.role);
            let implied = (next == database_owner).then_some(Self::DATABASE_OWNER);
            waiting.extend(groups.chain(implied).filter(|role| found.insert(*role)));
        }
        found
    }
}

/// The roles that every cluster of PostgreSQL has but the one that the server tells of.
pub fn predefined_roles() -> impl Iterator<Item = (u32, &'static str)> {
    let roles = StoredRows::of("pg_authid").columns(["oid", "rolname"]);
    roles.map(|[id, name]| (number(id), name)).filter(|(id, _)| *id != RoleId::BOOTSTRAP.0)
}

/// The memberships of predefined roles.
fn predefined() -> &'static [Membership] {
    static PREDEFINED: OnceLock<Vec<Membership>> = OnceLock::new();
    PREDEFINED.get_or_init(|| {
        let rows = StoredRows::of("pg_auth_members").columns(["roleid", "member", "grantor"]);
        let membership = |[role, member, grantor]: [&str; 3]| Membership {
            role: RoleId(number(role)),
            member: RoleId(number(member)),
            grantor: RoleId(number(grantor)),
            is_admin: false,
        };
        rows.map(membership).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn predefined_roles_are_members_of_each_other() {
        let access = AccessControl::default();
        let roles = Roles::of(&access);
        let pg_monitor = Roles::predefined_role("pg_monitor").unwrap();
        assert!(roles.has_privileges_of(pg_monitor, Roles::READ_ALL_STATS));
        assert!(!roles.has_privileges_of(Roles::READ_ALL_STATS, pg_monitor));
        assert!(!roles.is_admin(pg_monitor, Roles::READ_ALL_STATS) && roles.is_admin(RoleId::BOOTSTRAP, pg_monitor));
        assert_eq!(Roles::predefined_name(pg_monitor), Some("pg_monitor"));
        assert_eq!(Roles::predefined_role("postgres"), None, "the bootstrap superuser has a name of its own");
    }

    #[test]
    fn the_owner_of_the_database_has_the_privileges_of_pg_database_owner() {
        let access = AccessControl::default();
        let roles = Roles::of(&access);
        assert!(roles.is_true_member(RoleId::BOOTSTRAP, Roles::DATABASE_OWNER));
        assert!(!roles.is_member(Roles::READ_ALL_DATA, Roles::DATABASE_OWNER));
    }
}
