//! `pg_attribute` and `pg_attrdef`: columns of tables, sequences and keys' indexes, and defaults.

use braid_sql::pg_catalog::pg_catalog;
use braid_sql::{SqlType, Value};
use braid_storage::{Catalog, ColumnDef, TableDef};

use super::keys::keys_of;
use super::sequences::identity_letter;
use crate::column_types::{declared_type, sql_type_of, type_of_oid};
use crate::named_row::{NamedRow, letter, oid, small, text, yes};
use crate::object_ids::{default_id, key_index_id, server_view_id, table_object_id};
use crate::server_facts::ServerFacts;
use crate::shown_defaults::shown_default;
use crate::stored_types::stored_type;
use crate::type_references::ShownTypes;

/// The columns of all tables, of the indexes of their keys, and of the server's views.
pub(super) fn attributes(catalog: &Catalog, facts: &dyn ServerFacts) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for table in catalog.tables() {
        let def = &table.def;
        rows.extend(def.columns.iter().map(|column| column_of_table(catalog, def, column)));
        for key in keys_of(catalog, def) {
            let members = key.members().into_iter().map(|member| (member.name, member.sql_type));
            let included = key.included().map(|column| (&*column.name, sql_type_of(column.column_type)));
            let columns = members.chain(included).enumerate();
            rows.extend(columns.map(|(at, (name, sql_type))| attribute(key_index_id(key.id), at, name, sql_type)));
        }
    }
    rows.extend(super::sequences::attributes(catalog));
    for view in catalog.views().by_id().values().filter(|view| !view.is_materialized()) {
        let columns = view.columns.iter().enumerate();
        rows.extend(columns.map(|(at, column)| {
            let sql_type = SqlType { id: type_of_oid(catalog, column.type_oid), modifier: column.modifier };
            attribute(table_object_id(view.id), at, &column.name, sql_type)
        }));
    }
    for (at, view) in facts.views().iter().enumerate() {
        let columns = view.columns.iter().enumerate();
        rows.extend(columns.map(|(column, (name, sql_type))| attribute(server_view_id(at), column, name, *sql_type)));
    }
    rows
}

/// A column of a table. Its number is its id, as PostgreSQL's numbers are not given out twice either.
fn column_of_table(catalog: &Catalog, def: &TableDef, column: &ColumnDef) -> NamedRow {
    let number = usize::from(column.id.0);
    let mut row = attribute(table_object_id(def.id), number, &column.name, declared_type(catalog, column));
    let identity = identity_letter(catalog, def.id, column.id);
    row.extend([
        ("attnotnull", Value::Bool(!column.nullable)),
        ("atthasdef", Value::Bool(column.default_or_expression().is_some() && identity.is_none())),
    ]);
    row.extend(column.generated.as_ref().map(|_| ("attgenerated", letter(b's'))));
    row.extend(identity.map(|identity| ("attidentity", letter(identity))));
    row
}

/// What columns of tables and of indexes have in common.
pub(super) fn attribute(relation: u32, at: usize, name: &str, sql_type: SqlType) -> NamedRow {
    let stored = stored_type(sql_type.id);
    vec![
        ("attrelid", oid(relation)),
        ("attname", text(name)),
        ("atttypid", oid(sql_type.id.oid())),
        ("attstattarget", Value::Int4(-1)),
        ("attlen", Value::Int2(stored.length)),
        ("attnum", small(at + 1)),
        ("attcacheoff", Value::Int4(-1)),
        // How many were written is not kept.
        ("attndims", Value::Int4(pg_catalog().element_of_array(sql_type.id).is_some().into())),
        ("atttypmod", Value::Int4(sql_type.modifier)),
        ("attbyval", Value::Bool(stored.is_by_value)),
        ("attalign", letter(stored.alignment)),
        ("attstorage", letter(stored.storage)),
        ("attislocal", yes()),
        ("attcollation", oid(stored.collation)),
    ]
}

/// The defaults of all columns, and the expressions of generated ones: SQL in place of PostgreSQL's expression trees.
pub(super) fn defaults(shown: &ShownTypes<'_>) -> Vec<NamedRow> {
    let catalog = shown.catalog;
    let mut rows = Vec::new();
    for table in catalog.tables() {
        for column in &table.def.columns {
            let at = usize::from(column.id.0);
            if let Some(default) = column.default_or_expression()
                && identity_letter(catalog, table.def.id, column.id).is_none()
            {
                rows.push(vec![
                    ("oid", oid(default_id(table.def.id, at))),
                    ("adrelid", oid(table_object_id(table.def.id))),
                    ("adnum", small(at + 1)),
                    ("adbin", text(&shown_default(default, declared_type(catalog, column), shown))),
                ]);
            }
        }
    }
    rows
}
