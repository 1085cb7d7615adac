//! `pg_constraint` of foreign keys; what constraints depend on, in `pg_depend`.

use braid_base::{ColumnId, TableId};
use braid_sql::Value;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::values::ArrayValue;
use braid_storage::{Catalog, Deferral, ForeignKeyDef, KeyKind, MatchType, ReferentialAction, TableDef};

use super::dependencies::dependency;
use super::keys::all_keys;
use crate::column_types::sql_type_of;
use crate::named_row::{NamedRow, letter, oid, small, text, yes};
use crate::object_ids::{
    CLASS_CATALOG_ID, CONSTRAINT_CATALOG_ID, check_constraint_id, key_constraint_id, key_index_id, schema_object_id,
    table_object_id,
};

/// The foreign keys of all tables.
pub(super) fn constraints(catalog: &Catalog) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    for def in catalog.tables().map(|table| &*table.def) {
        for key in &def.foreign_keys {
            let Some(referenced) = catalog.by_id(key.referenced) else { continue };
            rows.push(constraint(def, key, &referenced.def));
        }
    }
    rows
}

fn constraint(def: &TableDef, key: &ForeignKeyDef, referenced: &TableDef) -> NamedRow {
    let types = |def: &TableDef, columns: &[ColumnId]| -> Vec<TypeId> {
        let found = columns.iter().filter_map(|column| def.column_by_id(*column));
        found.map(|column| compared_type(sql_type_of(column.column_type).id)).collect()
    };
    let (own, other) = (types(def, &key.columns), types(referenced, &key.key));
    let operators = |left: &[TypeId], right: &[TypeId]| {
        let ids = left.iter().zip(right).map(|(left, right)| oid(equality(*left, *right))).collect();
        Value::Array(ArrayValue::of(TypeId::OID, ids).into())
    };
    let mut row = vec![
        ("oid", oid(key_constraint_id(key.id))),
        ("conname", text(&key.name)),
        ("connamespace", oid(schema_object_id(def.schema))),
        ("contype", letter(b'f')),
        ("condeferrable", Value::Bool(key.deferral != Deferral::NotDeferrable)),
        ("condeferred", Value::Bool(key.deferral == Deferral::InitiallyDeferred)),
        ("convalidated", Value::Bool(key.validated)),
        ("conrelid", oid(table_object_id(def.id))),
        ("conindid", oid(index_of(key, referenced).map_or(0, key_index_id))),
        ("confrelid", oid(table_object_id(referenced.id))),
        ("confupdtype", letter(action_letter(key.on_update))),
        ("confdeltype", letter(action_letter(key.on_delete))),
        ("confmatchtype", letter(if key.matching == MatchType::Full { b'f' } else { b's' })),
        ("conislocal", yes()),
        ("connoinherit", yes()),
        ("conkey", numbers(&key.columns)),
        ("confkey", numbers(&key.key)),
        ("conpfeqop", operators(&other, &own)),
        ("conppeqop", operators(&other, &other)),
        ("conffeqop", operators(&own, &own)),
    ];
    if !key.set_columns.is_empty() {
        row.push(("confdelsetcols", numbers(&key.set_columns)));
    }
    row
}

fn numbers(columns: &[ColumnId]) -> Value {
    let numbers = columns.iter().map(|column| small(usize::from(column.0) + 1)).collect();
    Value::Array(ArrayValue::of(TypeId::INT2, numbers).into())
}

fn action_letter(action: ReferentialAction) -> u8 {
    match action {
        ReferentialAction::NoAction => b'a',
        ReferentialAction::Restrict => b'r',
        ReferentialAction::Cascade => b'c',
        ReferentialAction::SetNull => b'n',
        ReferentialAction::SetDefault => b'd',
    }
}

/// The key that a foreign key refers to: the primary one of those with its columns.
fn index_of(key: &ForeignKeyDef, referenced: &TableDef) -> Option<TableId> {
    let has_columns =
        |columns: &[ColumnId]| columns.len() == key.key.len() && key.key.iter().all(|at| columns.contains(at));
    let mut keys: Vec<_> = referenced.unique_keys().filter(|known| has_columns(&known.columns)).collect();
    keys.sort_by_key(|known| known.kind != KeyKind::Primary);
    keys.first().map(|known| known.id)
}

/// The type whose operators compare values of a type.
fn compared_type(id: TypeId) -> TypeId {
    match id {
        TypeId::VARCHAR => TypeId::TEXT,
        id if id.enum_type().is_some() => TypeId::ANYENUM,
        id => id,
    }
}

/// The operator that compares a value of the key with one that refers to it: an implicit cast stands before one of the key's type.
fn equality(left: TypeId, right: TypeId) -> u32 {
    let operators = pg_catalog().operators("=");
    let find = |left: TypeId, right: TypeId| operators.iter().find(|known| known.operands == [left, right]);
    find(left, right).or_else(|| find(left, left)).map_or(0, |known| known.id)
}

/// Keys depend on their columns, their indexes on them; foreign keys on the columns of both sides, and on the index of the key.
pub(super) fn dependencies(catalog: &Catalog) -> Vec<NamedRow> {
    let mut rows = Vec::new();
    let of_columns = |rows: &mut Vec<NamedRow>, object: (u32, u32), table: TableId, columns: &[ColumnId], kind: u8| {
        for column in columns {
            let column = (CLASS_CATALOG_ID, table_object_id(table), i32::from(column.0) + 1);
            rows.push(dependency(object, column, kind));
        }
    };
    for key in all_keys(catalog) {
        let index = (CLASS_CATALOG_ID, key_index_id(key.id));
        if !key.kind.is_constraint() {
            of_columns(&mut rows, index, key.def.id, key.columns, b'a');
            continue;
        }
        let constraint = key_constraint_id(key.id);
        of_columns(&mut rows, (CONSTRAINT_CATALOG_ID, constraint), key.def.id, key.columns, b'a');
        rows.push(dependency(index, (CONSTRAINT_CATALOG_ID, constraint, 0), b'i'));
    }
    for def in catalog.tables().map(|table| &*table.def) {
        for (at, check) in def.checks.iter().enumerate() {
            let constraint = (CONSTRAINT_CATALOG_ID, check_constraint_id(def.id, at));
            // As a part of the table, and as an expression over its columns.
            of_columns(&mut rows, constraint, def.id, &check.columns, b'a');
            of_columns(&mut rows, constraint, def.id, &check.columns, b'n');
            if check.columns.is_empty() {
                rows.push(dependency(constraint, (CLASS_CATALOG_ID, table_object_id(def.id), 0), b'a'));
            }
        }
        for key in &def.foreign_keys {
            let Some(referenced) = catalog.by_id(key.referenced) else { continue };
            let constraint = (CONSTRAINT_CATALOG_ID, key_constraint_id(key.id));
            of_columns(&mut rows, constraint, def.id, &key.columns, b'a');
            of_columns(&mut rows, constraint, referenced.def.id, &key.key, b'n');
            if let Some(index) = index_of(key, &referenced.def) {
                let index = (CLASS_CATALOG_ID, key_index_id(index), 0);
                rows.push(dependency(constraint, index, b'n'));
            }
        }
    }
    rows
}
