//! `pg_class`: tables, sequences and the indexes of their keys.

use braid_base::SchemaId;
use braid_sql::Value;
use braid_storage::{Catalog, SequenceDef, TableVersion};

use super::keys::{ShownKey, keys_of};
use super::sequences::SEQUENCE_COLUMNS;
use super::views;
use crate::named_row::{NamedRow, letter, oid, small, text, yes};
use crate::object_ids::{
    BOOTSTRAP_ROLE_ID, BTREE_ACCESS_METHOD_ID, HEAP_ACCESS_METHOD_ID, SYSTEM_NAMESPACE_ID, key_index_id, row_type_id,
    schema_object_id, server_view_id, table_object_id,
};
use crate::server_facts::{ServerFacts, ServerView};

/// The rows of all tables and sequences, of their keys and of the server's views.
pub(super) fn classes(catalog: &Catalog, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let tables = catalog.tables().map(|table| (table.def.id, class_of_table(catalog, table)));
    let keys =
        catalog.tables().flat_map(|table| keys_of(catalog, &table.def).map(|key| class_of_key(catalog, &key, table)));
    let of_server = facts.views();
    let of_server = of_server.iter().enumerate().map(|(at, view)| class_of_view(catalog, at, view));
    let sequences = catalog.sequences().map(|known| class_of_sequence(catalog, &known.definition));
    tables
        .map(|row| views::as_materialized(catalog, row))
        .chain(sequences)
        .chain(keys)
        .chain(of_server)
        .chain(views::classes(catalog))
        .collect()
}

fn class_of_view(catalog: &Catalog, at: usize, view: &ServerView) -> NamedRow {
    let mut row = class(catalog, (SchemaId::PUBLIC, &view.name), server_view_id(at), view.columns.len());
    row.retain(|(column, _)| !matches!(*column, "relnamespace" | "relfilenode"));
    row.extend([("relnamespace", oid(SYSTEM_NAMESPACE_ID)), ("relkind", letter(b'v')), ("relreplident", letter(b'n'))]);
    row
}

fn class_of_table(catalog: &Catalog, table: &TableVersion) -> NamedRow {
    let def = &table.def;
    let mut row = class(catalog, (def.schema, &def.name), table_object_id(def.id), def.columns.len());
    row.extend([
        ("relam", oid(HEAP_ACCESS_METHOD_ID)),
        // There are no pages that could be read by their numbers (`ctid`), which is what tools have this number for.
        ("relpages", Value::Int4(0)),
        ("reltuples", Value::Float4(table.row_count() as f32)),
        ("relhasindex", Value::Bool(!def.primary_key.is_empty() || !def.keys.is_empty())),
        ("relchecks", small(def.checks.len())),
        // PostgreSQL enforces foreign keys with triggers on both sides.
        ("relhastriggers", Value::Bool(!def.foreign_keys.is_empty() || !catalog.references_to(def.id).is_empty())),
        ("reltype", oid(row_type_id(def.id))),
        ("relkind", letter(b'r')),
        ("relreplident", letter(b'd')),
    ]);
    row
}

fn class_of_sequence(catalog: &Catalog, def: &SequenceDef) -> NamedRow {
    let mut row = class(catalog, (def.schema, &def.name), table_object_id(def.id), SEQUENCE_COLUMNS.len());
    row.extend([
        ("relpages", Value::Int4(1)),
        ("reltuples", Value::Float4(1.0)),
        ("relkind", letter(b'S')),
        ("relreplident", letter(b'n')),
    ]);
    row
}

fn class_of_key(catalog: &Catalog, key: &ShownKey<'_>, table: &TableVersion) -> NamedRow {
    let mut row = class(catalog, (table.def.schema, &key.name), key_index_id(key.id), key.width());
    row.extend([
        ("relam", oid(BTREE_ACCESS_METHOD_ID)),
        ("relpages", Value::Int4(1)),
        ("reltuples", Value::Float4(table.row_count() as f32)),
        ("relkind", letter(b'i')),
        ("relreplident", letter(b'n')),
    ]);
    row
}

/// What tables, views and indexes have in common.
pub(super) fn class(catalog: &Catalog, (schema, name): (SchemaId, &str), id: u32, column_count: usize) -> NamedRow {
    let persistence = if catalog.is_temporary(schema) { b't' } else { b'p' };
    vec![
        ("oid", oid(id)),
        ("relname", text(name)),
        ("relnamespace", oid(schema_object_id(schema))),
        ("relowner", oid(BOOTSTRAP_ROLE_ID)),
        ("relfilenode", oid(id)),
        ("relpersistence", letter(persistence)),
        ("relnatts", small(column_count)),
        ("relispopulated", yes()),
    ]
}
