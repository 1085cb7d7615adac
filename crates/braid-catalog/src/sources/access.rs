//! Owners and privileges: columns of the rows of objects, and `pg_auth_members`, `pg_db_role_setting` and `pg_default_acl`.

use std::collections::HashMap;

use braid_base::{ColumnId, TableId};
use braid_sql::Value;
use braid_sql::functions::DATABASE_ID;
use braid_sql::functions::objects::acls::role_in_privilege;
use braid_sql::values::ArrayValue;
use braid_storage::{AccessObject, AclItem, Catalog, Membership, RoleId, SettingsSubject};

use super::keys::all_keys;
use crate::named_row::{NamedRow, letter, oid, texts};
use crate::object_ids::{index_of_object_id, schema_object_id, table_of_object_id};
use crate::privileges::{ObjectAccess, predefined_roles};
use crate::server_facts::ServerFacts;
use crate::stored_values::ACLITEM;

/// An id of a row of `pg_default_acl` is this and its place among them.
pub(super) const FIRST_DEFAULT_ACL_ID: u32 = 16_384;

/// The owner and the list of an object, in columns of these names.
pub(super) fn put_owner(
    row: &mut NamedRow,
    (catalog, facts): (&Catalog, &dyn ServerFacts),
    object: AccessObject,
    (owner_column, list_column): (&'static str, &'static str),
) {
    let objects = ObjectAccess::of(catalog);
    let owner = oid(objects.owner(object).0);
    match row.iter_mut().find(|(name, _)| *name == owner_column) {
        Some((_, value)) => *value = owner,
        None => row.push((owner_column, owner)),
    }
    put_list(row, (catalog, facts), object, list_column);
}

/// The list of an object in a column of this name, if it has one.
fn put_list(
    row: &mut NamedRow,
    (catalog, facts): (&Catalog, &dyn ServerFacts),
    object: AccessObject,
    column: &'static str,
) {
    if let Some(list) = ObjectAccess::of(catalog).own_list(object) {
        row.push((column, list_value(&list, facts)));
    }
}

/// Puts the owners and lists of relations into rows of `pg_class`. An index belongs to the owner of its table.
pub(super) fn with_relation_owners(
    mut rows: Vec<NamedRow>,
    (catalog, facts): (&Catalog, &dyn ServerFacts),
) -> Vec<NamedRow> {
    if catalog.access().is_empty() {
        return rows;
    }
    let tables: HashMap<TableId, TableId> = all_keys(catalog).map(|key| (key.id, key.def.id)).collect();
    for row in &mut rows {
        let Some(id) = id_in(row, "oid") else { continue };
        let relation = table_of_object_id(id);
        let of_index = || tables.get(&index_of_object_id(id)?).copied();
        match (relation, of_index()) {
            (Some(relation), _) => {
                let object = AccessObject::Relation(relation);
                put_owner(row, (catalog, facts), object, ("relowner", "relacl"));
            }
            (None, Some(table)) => {
                let owner = ObjectAccess::of(catalog).owner(AccessObject::Relation(table));
                row.retain(|(name, _)| *name != "relowner");
                row.push(("relowner", oid(owner.0)));
            }
            (None, None) => {}
        }
    }
    rows
}

/// Puts the lists of columns into rows of `pg_attribute`.
pub(super) fn with_column_lists(
    mut rows: Vec<NamedRow>,
    (catalog, facts): (&Catalog, &dyn ServerFacts),
) -> Vec<NamedRow> {
    if !catalog.access().acls().any(|(object, _)| matches!(object, AccessObject::Column(..))) {
        return rows;
    }
    for row in &mut rows {
        let relation = id_in(row, "attrelid").and_then(table_of_object_id);
        let number = row.iter().find(|(name, _)| *name == "attnum").map(|(_, number)| number.clone());
        if let (Some(relation), Some(Value::Int2(number @ 1..))) = (relation, number) {
            let column = ColumnId(number.unsigned_abs() - 1);
            put_list(row, (catalog, facts), AccessObject::Column(relation, column), "attacl");
        }
    }
    rows
}

fn id_in(row: &NamedRow, column: &str) -> Option<u32> {
    match row.iter().find(|(name, _)| *name == column)? {
        (_, Value::Oid(id)) => Some(*id),
        _ => None,
    }
}

/// The memberships of roles that users have granted. Those of predefined roles are stored.
pub(super) fn memberships(catalog: &Catalog) -> Vec<NamedRow> {
    let row = |membership: &Membership| {
        vec![
            ("roleid", oid(membership.role.0)),
            ("member", oid(membership.member.0)),
            ("grantor", oid(membership.grantor.0)),
            ("admin_option", Value::Bool(membership.is_admin)),
        ]
    };
    catalog.access().memberships().map(row).collect()
}

/// The settings that sessions begin with, of databases and roles.
pub(super) fn kept_settings(catalog: &Catalog) -> Vec<NamedRow> {
    let row = |database: u32, role: u32, settings: &[(String, String)]| {
        let settings: Vec<String> = settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        vec![("setdatabase", oid(database)), ("setrole", oid(role)), ("setconfig", texts(&settings))]
    };
    let with_settings = catalog.access().roles().filter(|role| !role.settings.is_empty());
    let of_roles = with_settings.map(|role| row(0, role.id.0, &role.settings));
    let others = catalog.access().all_settings().map(|(SettingsSubject { role, is_of_database }, settings)| {
        let database = if is_of_database { DATABASE_ID } else { 0 };
        row(database, role.map_or(0, |role| role.0), settings)
    });
    of_roles.chain(others).collect()
}

/// The privileges of new objects.
pub(super) fn default_lists(catalog: &Catalog, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let rows = (FIRST_DEFAULT_ACL_ID..).zip(catalog.access().default_acls()).map(|(id, (subject, acl))| {
        vec![
            ("oid", oid(id)),
            ("defaclrole", oid(subject.creator.0)),
            ("defaclnamespace", oid(subject.schema.map_or(0, schema_object_id))),
            ("defaclobjtype", letter(subject.kind.letter())),
            ("defaclacl", list_value(acl, facts)),
        ]
    });
    rows.collect()
}

/// A list as an array of `aclitem`.
fn list_value(list: &[AclItem], facts: &dyn ServerFacts) -> Value {
    let roles = facts.roles();
    let name = |role: RoleId| {
        let told = roles.iter().find(|known| known.id == role.0).map(|known| known.name.clone());
        let stored = || predefined_roles().find(|(id, _)| *id == role.0).map(|(_, name)| name.to_owned());
        match role {
            RoleId::PUBLIC => String::new(),
            role => told.or_else(stored).unwrap_or_else(|| role.0.to_string()),
        }
    };
    let item = |item: &AclItem| {
        let star = |letter: char| {
            let is_grantable = item.grantable.letters().any(|grantable| grantable == letter);
            if is_grantable { format!("{letter}*") } else { letter.to_string() }
        };
        let letters: String = item.privileges.letters().map(star).collect();
        let (grantee, grantor) = (name(item.grantee), name(item.grantor));
        Value::text(format!("{}={letters}/{}", role_in_privilege(&grantee), role_in_privilege(&grantor)))
    };
    Value::Array(ArrayValue::of(ACLITEM, list.iter().map(item).collect()).into())
}
