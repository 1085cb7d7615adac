//! `pg_class`: tables and the indexes of their primary keys.

use braid_sql::Value;
use braid_storage::{Catalog, TableVersion};

use super::primary_keys::key_name;
use crate::named_row::{NamedRow, letter, oid, small, text, yes};
use crate::object_ids::{
    BOOTSTRAP_ROLE_ID, BTREE_ACCESS_METHOD_ID, HEAP_ACCESS_METHOD_ID, PUBLIC_NAMESPACE_ID, primary_key_index_id,
    table_object_id,
};

/// Rows per page, for the number of pages of a table. It is an estimate, like PostgreSQL's between two ANALYZEs.
const ROWS_PER_PAGE: u64 = 100;

/// The rows of all tables.
pub(super) fn classes(catalog: &Catalog) -> Vec<NamedRow> {
    let keyed = catalog.tables().filter(|table| !table.def.primary_key.is_empty());
    catalog.tables().map(|table| class_of_table(table)).chain(keyed.map(|table| class_of_key(catalog, table))).collect()
}

fn class_of_table(table: &TableVersion) -> NamedRow {
    let def = &table.def;
    let mut row = class(&def.name, table_object_id(def.id), def.columns.len());
    row.extend([
        ("relam", oid(HEAP_ACCESS_METHOD_ID)),
        ("relpages", pages(table.row_count())),
        ("reltuples", Value::Float4(table.row_count() as f32)),
        ("relhasindex", Value::Bool(!def.primary_key.is_empty())),
        ("relkind", letter(b'r')),
        ("relreplident", letter(b'd')),
    ]);
    row
}

fn class_of_key(catalog: &Catalog, table: &TableVersion) -> NamedRow {
    let def = &table.def;
    let mut row = class(&key_name(catalog, &def.name), primary_key_index_id(def.id), def.primary_key.len());
    row.extend([
        ("relam", oid(BTREE_ACCESS_METHOD_ID)),
        ("relpages", Value::Int4(1)),
        ("reltuples", Value::Float4(table.row_count() as f32)),
        ("relkind", letter(b'i')),
        ("relreplident", letter(b'n')),
    ]);
    row
}

/// What tables and indexes have in common.
fn class(name: &str, id: u32, column_count: usize) -> NamedRow {
    vec![
        ("oid", oid(id)),
        ("relname", text(name)),
        ("relnamespace", oid(PUBLIC_NAMESPACE_ID)),
        ("relowner", oid(BOOTSTRAP_ROLE_ID)),
        ("relfilenode", oid(id)),
        ("relpersistence", letter(b'p')),
        ("relnatts", small(column_count)),
        ("relispopulated", yes()),
    ]
}

fn pages(row_count: u64) -> Value {
    Value::Int4(i32::try_from(row_count.div_ceil(ROWS_PER_PAGE)).unwrap_or(i32::MAX))
}
