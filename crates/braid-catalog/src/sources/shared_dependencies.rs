//! `pg_shdepend`: the roles that own objects, or are named in their privileges.
//!
//! As in PostgreSQL an object depends on its owner (`o`), and on the other roles in its access control list (`a`), but on no role that is always
//! there. Indexes, array types and the types of rows go with what they belong to.

use std::collections::BTreeSet;

use braid_sql::Value;
use braid_sql::functions::DATABASE_ID;
use braid_storage::{AccessObject, AclItem, Catalog, RoleId};

use super::access::FIRST_DEFAULT_ACL_ID;
use crate::named_row::{NamedRow, letter, oid};
use crate::object_ids::{
    CLASS_CATALOG_ID, DATABASE_CATALOG_ID, NAMESPACE_CATALOG_ID, ROLE_CATALOG_ID, TYPE_CATALOG_ID, schema_object_id,
    table_object_id,
};

/// `pg_default_acl`.
const DEFAULT_ACL_CATALOG_ID: u32 = 826;

/// What depends: its catalog, its id, and the number of a column or 0.
type Dependent = (u32, u32, i32);

/// The rows.
pub(super) fn shared_dependencies(catalog: &Catalog) -> Vec<NamedRow> {
    let access = catalog.access();
    let mut rows = Vec::new();
    for (object, owner) in access.owners().filter(|(_, owner)| !owner.is_built_in()) {
        rows.push(dependency(dependent(object), owner, b'o'));
    }
    for (object, list) in access.acls() {
        // A column belongs to the owner of its relation.
        let owned = match object {
            AccessObject::Column(relation, _) => AccessObject::Relation(relation),
            object => object,
        };
        rows.extend(on_listed(dependent(object), list, access.owner(owned)));
    }
    for (id, (subject, list)) in (FIRST_DEFAULT_ACL_ID..).zip(access.default_acls()) {
        let object = (DEFAULT_ACL_CATALOG_ID, id, 0);
        rows.extend((!subject.creator.is_built_in()).then(|| dependency(object, subject.creator, b'o')));
        rows.extend(on_listed(object, list, subject.creator));
    }
    rows
}

fn dependent(object: AccessObject) -> Dependent {
    match object {
        AccessObject::Relation(id) => (CLASS_CATALOG_ID, table_object_id(id), 0),
        AccessObject::Column(id, column) => (CLASS_CATALOG_ID, table_object_id(id), i32::from(column.0) + 1),
        AccessObject::Schema(id) => (NAMESPACE_CATALOG_ID, schema_object_id(id), 0),
        AccessObject::Type(number) => (TYPE_CATALOG_ID, number, 0),
        AccessObject::Database => (DATABASE_CATALOG_ID, DATABASE_ID, 0),
    }
}

/// The dependencies on the roles of a list, each once.
fn on_listed(object: Dependent, list: &[AclItem], owner: RoleId) -> impl Iterator<Item = NamedRow> {
    let roles: BTreeSet<u32> = list
        .iter()
        .flat_map(|item| [item.grantee, item.grantor])
        .filter(|role| *role != owner && *role != RoleId::PUBLIC && !role.is_built_in())
        .map(|role| role.0)
        .collect();
    roles.into_iter().map(move |role| dependency(object, RoleId(role), b'a'))
}

fn dependency((class, object, column): Dependent, role: RoleId, kind: u8) -> NamedRow {
    // The database itself is shared: it is in no database.
    let database = if class == DATABASE_CATALOG_ID { 0 } else { DATABASE_ID };
    vec![
        ("dbid", oid(database)),
        ("classid", oid(class)),
        ("objid", oid(object)),
        ("objsubid", Value::Int4(column)),
        ("refclassid", oid(ROLE_CATALOG_ID)),
        ("refobjid", oid(role.0)),
        ("deptype", letter(kind)),
    ]
}
