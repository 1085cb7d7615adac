//! Privileges on what every database has: PostgreSQL's own relations, schemas and functions, by the lists that PostgreSQL 15 gives them.

use std::collections::HashMap;
use std::sync::OnceLock;

use braid_storage::{Acl, AclItem, Privileges, RoleId};

use super::kinds::ObjectKind;
use super::lists::privileges_in;
use super::roles::Roles;
use crate::stored_rows::{StoredRows, number};

/// What has no list of its own.
const NONE: &str = "\\N";

/// The list of schema `public`, as long as it has no other one: everybody may use it, and its owner create in it.
pub(super) fn public_schema_list(owner: RoleId) -> Acl {
    let item = |grantee, privileges| AclItem { grantee, grantor: owner, privileges, grantable: Privileges::NONE };
    vec![item(owner, ObjectKind::Schema.all()), item(RoleId::PUBLIC, Privileges::USAGE)]
}

impl Roles<'_> {
    /// Whether a role may read a relation of `pg_catalog` or `information_schema`, by its object id.
    pub fn reads_system_relation(self, role: RoleId, relation: u32) -> bool {
        let reads_all = || self.has_privileges_of(role, Self::READ_ALL_DATA);
        self.is_superuser(role) || reads_all() || self.has_stored(role, "pg_class", relation, Privileges::SELECT)
    }

    /// Whether a role may call a function of PostgreSQL's, by its object id.
    pub fn executes_function(self, role: RoleId, function: u32) -> bool {
        self.is_superuser(role)
            || !lists_of("pg_proc").contains_key(&function)
            || self.has_stored(role, "pg_proc", function, Privileges::EXECUTE)
    }

    fn has_stored(self, role: RoleId, catalog: &'static str, id: u32, privilege: Privileges) -> bool {
        let list = lists_of(catalog).get(&id).map_or(&[][..], Vec::as_slice);
        privileges_in(list, self, (role, RoleId::BOOTSTRAP)).privileges.contains(privilege)
    }
}

/// The lists that are stored for the rows of `pg_class` and `pg_proc`, by object ids.
fn lists_of(catalog: &'static str) -> &'static HashMap<u32, Acl> {
    static RELATIONS: OnceLock<HashMap<u32, Acl>> = OnceLock::new();
    static FUNCTIONS: OnceLock<HashMap<u32, Acl>> = OnceLock::new();
    let (lists, column) = match catalog {
        "pg_class" => (&RELATIONS, "relacl"),
        _ => (&FUNCTIONS, "proacl"),
    };
    lists.get_or_init(|| {
        let roles: HashMap<&str, RoleId> = StoredRows::of("pg_authid")
            .columns(["oid", "rolname"])
            .map(|[id, name]| (name, RoleId(number(id))))
            .chain([("", RoleId::PUBLIC)])
            .collect();
        let rows = StoredRows::of(catalog).columns(["oid", column]).filter(|[_, list]| *list != NONE);
        rows.map(|[id, list]| (number(id), read_list(list, &roles))).collect()
    })
}

/// A list as PostgreSQL shows it, of roles that need no quotes: `{postgres=arwdDxt/postgres,=r/postgres}`.
fn read_list(text: &str, roles: &HashMap<&str, RoleId>) -> Acl {
    let item = |item: &str| {
        let (grantee, rest) = item.split_once('=').expect("an item has a grantee");
        let (letters, grantor) = rest.split_once('/').expect("an item has a grantor");
        let known = |privilege: &Privileges| privilege.letters().all(|letter| letters.contains(letter));
        let privileges = Privileges::EVERY.each().filter(known).fold(Privileges::NONE, |all, one| all | one);
        let role = |name: &str| *roles.get(name).expect("a stored role is known");
        AclItem { grantee: role(grantee), grantor: role(grantor), privileges, grantable: Privileges::NONE }
    };
    text.trim_matches(['{', '}']).split(',').filter(|item| !item.is_empty()).map(item).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use braid_storage::AccessControl;

    #[test]
    fn the_stored_lists_are_postgresqls() {
        let access = AccessControl::default();
        let roles = Roles::of(&access);
        let anyone = RoleId(0x4000_1000);
        let (class, authid) = (1259, 1260);
        assert!(roles.reads_system_relation(anyone, class));
        assert!(!roles.reads_system_relation(anyone, authid));
        assert!(roles.reads_system_relation(RoleId::BOOTSTRAP, authid));
        assert!(roles.reads_system_relation(Roles::READ_ALL_DATA, authid));
        let (pg_read_file, lower, pg_ls_waldir) = (2624, 870, 3354);
        assert!(!roles.executes_function(anyone, pg_read_file) && roles.executes_function(anyone, lower));
        let pg_monitor = RoleId(3373);
        assert!(roles.executes_function(pg_monitor, pg_ls_waldir) && !roles.executes_function(anyone, pg_ls_waldir));
        assert_eq!(lists_of("pg_class")[&class].len(), 2);
    }
}
