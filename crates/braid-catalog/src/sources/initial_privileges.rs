//! `pg_init_privs`: the privileges that objects of the system have from the beginning. They are those that are stored with the objects.

use braid_sql::Value;
use braid_sql::search_path::{PUBLIC_SCHEMA, SYSTEM_SCHEMA};
use braid_storage::Catalog;

use crate::named_row::{NamedRow, oid};
use crate::server_facts::ServerFacts;
use crate::stored_rows::{StoredRows, number};
use crate::stored_values::{ACLITEM_ARRAY, value_of_field};

/// `pg_class`, `pg_proc` and `pg_namespace` by their numbers.
const CLASS: u32 = 1259;
const PROC: u32 = 1255;
const NAMESPACE: u32 = 2615;

/// The number of `pg_catalog`.
const PG_CATALOG: &str = "11";

/// What has no privileges of its own.
const NONE: &str = "\\N";

/// The rows of all objects of `pg_catalog` with privileges of their own, and of the schemas `pg_catalog` and `public`.
pub(super) fn initial_privileges(catalog: &Catalog, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let owner = facts.roles().into_iter().next().map(|role| role.name).unwrap_or_default();
    let row = |class: u32, object: &'static str, column: &'static str, privileges: &'static str| {
        vec![
            ("objoid", oid(number(object))),
            ("classoid", oid(class)),
            ("objsubid", Value::Int4(number(column))),
            ("privtype", Value::Char(b'i')),
            ("initprivs", value_of_field(ACLITEM_ARRAY, privileges, &owner).unwrap_or(Value::Null)),
        ]
    };
    let mut catalog_classes = Vec::new();
    let mut rows = Vec::new();
    for [id, namespace, privileges] in StoredRows::of("pg_class").columns(["oid", "relnamespace", "relacl"]) {
        if namespace == PG_CATALOG {
            catalog_classes.push(id);
            if privileges != NONE {
                rows.push(row(CLASS, id, "0", privileges));
            }
        }
    }
    for [id, column, privileges] in StoredRows::of("pg_attribute").columns(["attrelid", "attnum", "attacl"]) {
        if privileges != NONE && catalog_classes.contains(&id) {
            rows.push(row(CLASS, id, column, privileges));
        }
    }
    for [id, privileges] in StoredRows::of("pg_proc").columns(["oid", "proacl"]) {
        if privileges != NONE {
            rows.push(row(PROC, id, "0", privileges));
        }
    }
    for [id, name, privileges] in StoredRows::of("pg_namespace").columns(["oid", "nspname", "nspacl"]) {
        let is_dropped = name == PUBLIC_SCHEMA && catalog.is_public_dropped();
        if privileges != NONE && [SYSTEM_SCHEMA, PUBLIC_SCHEMA].contains(&name) && !is_dropped {
            rows.push(row(NAMESPACE, id, "0", privileges));
        }
    }
    rows
}
