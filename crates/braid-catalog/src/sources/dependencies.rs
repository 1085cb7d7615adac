//! Rows of `pg_depend`.

use braid_sql::Value;
use braid_storage::{Catalog, ColumnDef};

use crate::column_types::sql_type_of;
use crate::named_row::{NamedRow, letter, oid};
use crate::object_ids::{CLASS_CATALOG_ID, CONSTRAINT_CATALOG_ID, TYPE_CATALOG_ID, table_object_id};

/// An object depends on another one, each by its catalog and id, or on a column of it; 0 is the whole object.
pub(super) fn dependency(
    (class, object): (u32, u32),
    (referenced_class, referenced, column): (u32, u32, i32),
    kind: u8,
) -> NamedRow {
    vec![
        ("classid", oid(class)),
        ("objid", oid(object)),
        ("refclassid", oid(referenced_class)),
        ("refobjid", oid(referenced)),
        ("refobjsubid", Value::Int4(column)),
        ("deptype", letter(kind)),
    ]
}

/// Columns depend on their types of users; domains on those that they are of, their constraints on them; array types on their elements.
pub(super) fn on_types(catalog: &Catalog) -> Vec<NamedRow> {
    let is_of_users = |number: u32| {
        let is_enum = catalog.enum_types().any(|known| known.definition.oid == number);
        is_enum || catalog.domains().any(|known| known.definition.oid == number)
    };
    let on_type = |object: (u32, u32), number: u32, kind| dependency(object, (TYPE_CATALOG_ID, number, 0), kind);
    let mut rows = Vec::new();
    for known in catalog.enum_types() {
        rows.push(on_type((TYPE_CATALOG_ID, known.definition.array_oid), known.definition.oid, b'i'));
    }
    for domain in catalog.domains().map(|known| &*known.definition) {
        rows.push(on_type((TYPE_CATALOG_ID, domain.array_oid), domain.oid, b'i'));
        if is_of_users(domain.base_oid) {
            rows.push(on_type((TYPE_CATALOG_ID, domain.oid), domain.base_oid, b'n'));
        }
        rows.extend(domain.checks.iter().map(|check| on_type((CONSTRAINT_CATALOG_ID, check.oid), domain.oid, b'a')));
    }
    for def in catalog.tables().map(|table| &*table.def) {
        let of_users = def.columns.iter().filter_map(|column| Some((column, type_of_users(column)?)));
        for (column, number) in of_users {
            let mut row = on_type((CLASS_CATALOG_ID, table_object_id(def.id)), number, b'n');
            row.push(("objsubid", Value::Int4(i32::from(column.id.0) + 1)));
            rows.push(row);
        }
    }
    rows
}

/// The type of users that a column is declared with.
fn type_of_users(column: &ColumnDef) -> Option<u32> {
    match column.domain {
        Some(domain) => Some(domain.oid),
        None => {
            let id = sql_type_of(column.column_type).id;
            id.enum_type().is_some().then(|| id.oid())
        }
    }
}
