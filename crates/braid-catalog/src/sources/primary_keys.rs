//! `pg_constraint` and `pg_index`: primary keys and check constraints.

use braid_sql::Value;
use braid_sql::pg_catalog::TypeId;
use braid_sql::values::ArrayValue;
use braid_storage::{Catalog, TableDef};

use crate::column_types::sql_type_of;
use crate::named_row::{NamedRow, letter, oid, small, text, vector, yes};
use crate::object_ids::{
    check_constraint_id, primary_key_constraint_id, primary_key_index_id, schema_object_id, table_object_id,
};
use crate::stored_types::{StoredType, stored_type};

/// Bytes of a name (`NAMEDATALEN - 1`).
const NAME_BYTES_MAX: usize = 63;

/// The name of a table's primary key, which is also that of its index: `table_pkey`, and with a number if there is a table of this name in
/// the same schema.
pub(crate) fn key_name(catalog: &Catalog, table: &TableDef) -> String {
    let mut label = "_pkey".to_owned();
    for number in 1.. {
        let name = shortened(&table.name, NAME_BYTES_MAX - label.len()).to_owned() + &label;
        if catalog.table_in(table.schema, &name).is_none() {
            return name;
        }
        label = format!("_pkey{number}");
    }
    unreachable!("a database has fewer tables than numbers")
}

/// The longest beginning of a name with at most this many bytes.
fn shortened(name: &str, bytes_max: usize) -> &str {
    &name[..name.floor_char_boundary(bytes_max)]
}

fn keyed_tables(catalog: &Catalog) -> impl Iterator<Item = &TableDef> {
    catalog.tables().map(|table| &*table.def).filter(|def| !def.primary_key.is_empty())
}

/// The numbers of the key's columns, from 1.
fn key_columns(def: &TableDef) -> Vec<Value> {
    def.primary_key.iter().map(|column| small(usize::from(column.0) + 1)).collect()
}

/// The primary keys and check constraints of all tables.
pub(super) fn constraints(catalog: &Catalog) -> Vec<NamedRow> {
    keys(catalog).into_iter().chain(checks(catalog)).collect()
}

/// The check constraints of all tables: SQL in place of PostgreSQL's expression trees.
fn checks(catalog: &Catalog) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for def in catalog.tables().map(|table| &*table.def) {
        for (at, check) in def.checks.iter().enumerate() {
            let numbers = check.columns.iter().map(|column| small(usize::from(column.0) + 1)).collect();
            rows.push(vec![
                ("oid", oid(check_constraint_id(def.id, at))),
                ("conname", text(&check.name)),
                ("connamespace", oid(schema_object_id(def.schema))),
                ("contype", letter(b'c')),
                ("convalidated", Value::Bool(check.validated)),
                ("conrelid", oid(table_object_id(def.id))),
                ("confupdtype", letter(b' ')),
                ("confdeltype", letter(b' ')),
                ("confmatchtype", letter(b' ')),
                ("conislocal", yes()),
                ("conkey", Value::Array(ArrayValue::of(TypeId::INT2, numbers).into())),
                ("conbin", text(&check.condition)),
            ]);
        }
    }
    rows
}

/// The primary keys of all tables.
fn keys(catalog: &Catalog) -> Vec<NamedRow> {
    let row = |def: &TableDef| {
        vec![
            ("oid", oid(primary_key_constraint_id(def.id))),
            ("conname", text(&key_name(catalog, def))),
            ("connamespace", oid(schema_object_id(def.schema))),
            ("contype", letter(b'p')),
            ("convalidated", yes()),
            ("conrelid", oid(table_object_id(def.id))),
            ("conindid", oid(primary_key_index_id(def.id))),
            // Blanks: it is no foreign key.
            ("confupdtype", letter(b' ')),
            ("confdeltype", letter(b' ')),
            ("confmatchtype", letter(b' ')),
            ("conislocal", yes()),
            ("connoinherit", yes()),
            ("conkey", Value::Array(ArrayValue::of(TypeId::INT2, key_columns(def)).into())),
        ]
    };
    keyed_tables(catalog).map(row).collect()
}

/// The indexes of the primary keys of all tables.
pub(super) fn indexes(catalog: &Catalog) -> Vec<NamedRow> {
    keyed_tables(catalog).map(index_of).collect()
}

fn index_of(def: &TableDef) -> NamedRow {
    let columns = def.primary_key.iter().filter_map(|column| def.column_by_id(*column));
    let types: Vec<StoredType> = columns.map(|column| stored_type(sql_type_of(column.column_type).id)).collect();
    let of_types =
        |of: fn(&StoredType) -> u32| vector(TypeId::OID, types.iter().map(|stored| oid(of(stored))).collect());
    vec![
        ("indexrelid", oid(primary_key_index_id(def.id))),
        ("indrelid", oid(table_object_id(def.id))),
        ("indnatts", small(def.primary_key.len())),
        ("indnkeyatts", small(def.primary_key.len())),
        ("indisunique", yes()),
        ("indisprimary", yes()),
        ("indimmediate", yes()),
        ("indisvalid", yes()),
        ("indisready", yes()),
        ("indislive", yes()),
        ("indkey", vector(TypeId::INT2, key_columns(def))),
        ("indcollation", of_types(|stored| stored.collation)),
        ("indclass", of_types(|stored| stored.operator_class)),
        ("indoption", vector(TypeId::INT2, vec![Value::Int2(0); def.primary_key.len()])),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_a_character() {
        assert_eq!(shortened("abc", 58), "abc");
        assert_eq!(shortened("ä", 1), "");
        assert_eq!(shortened("aä", 3), "aä");
    }
}
