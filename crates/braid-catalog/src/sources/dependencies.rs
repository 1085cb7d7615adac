//! Rows of `pg_depend`.

use std::collections::BTreeSet;

use braid_sql::Value;
use braid_storage::Catalog;

use crate::column_types::declared_type;
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
    let enums = catalog.enum_types().map(|known| known.definition.oid);
    let of_users: BTreeSet<u32> = enums.chain(catalog.domains().map(|known| known.definition.oid)).collect();
    let on_type = |object: (u32, u32), number: u32, kind| dependency(object, (TYPE_CATALOG_ID, number, 0), kind);
    let mut rows = Vec::new();
    for known in catalog.enum_types() {
        rows.push(on_type((TYPE_CATALOG_ID, known.definition.array_oid), known.definition.oid, b'i'));
    }
    for domain in catalog.domains().map(|known| &*known.definition) {
        rows.push(on_type((TYPE_CATALOG_ID, domain.array_oid), domain.oid, b'i'));
        if of_users.contains(&domain.base_oid) {
            rows.push(on_type((TYPE_CATALOG_ID, domain.oid), domain.base_oid, b'n'));
        }
        rows.extend(domain.checks.iter().map(|check| on_type((CONSTRAINT_CATALOG_ID, check.oid), domain.oid, b'a')));
    }
    for def in catalog.tables().map(|table| &*table.def) {
        let declared = def.columns.iter().map(|column| (column, declared_type(catalog, column).id.oid()));
        for (column, number) in declared.filter(|(_, number)| of_users.contains(number)) {
            let mut row = on_type((CLASS_CATALOG_ID, table_object_id(def.id)), number, b'n');
            row.push(("objsubid", Value::Int4(i32::from(column.id.0) + 1)));
            rows.push(row);
        }
    }
    rows
}
