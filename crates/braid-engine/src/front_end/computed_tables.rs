//! Tables that are computed when a query reads them: PostgreSQL's system relations, and Braid's own views of what the server does.
//!
//! The system relations show the statement's snapshot, Braid's views the present.

use std::sync::Arc;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use braid_base::TableId;
use braid_catalog::{RelationKind, SEQUENCE_COLUMNS, Snapshot, SystemRelation, relation, relation_by_id, sequence_row};
use braid_sql::pg_catalog::TypeId;
use braid_sql::search_path::SYSTEM_SCHEMA;
use braid_sql::tables::{TableColumn, TableEntry};
use braid_sql::{SqlError, SqlType, Value};
use braid_storage::SequenceDef;

use crate::access::ReadRelation;
use crate::system_views::SystemView;

/// The number of the first of Braid's views. Those of stored tables have 32 bits.
const FIRST_VIEW: u64 = 1 << 32;

/// The number of a system relation is this and its object id.
const FIRST_RELATION: u64 = 2 << 32;

/// The number of a sequence is this and its id.
const FIRST_SEQUENCE: u64 = 3 << 32;

/// What a number of a computed table means.
enum Computed {
    View(usize),
    Relation(&'static SystemRelation),
    Sequence(TableId),
}

/// The table of this number; `None` if it is stored.
fn computed(table: u64) -> Option<Computed> {
    if let Some(id) = table.checked_sub(FIRST_SEQUENCE) {
        return u32::try_from(id).ok().map(|id| Computed::Sequence(TableId(id)));
    }
    match table.checked_sub(FIRST_RELATION) {
        Some(id) => relation_by_id(u32::try_from(id).ok()?).map(Computed::Relation),
        None => table.checked_sub(FIRST_VIEW).map(|at| Computed::View(at as usize)),
    }
}

/// The table of a name in a schema.
pub(super) fn entry(views: &[Arc<dyn SystemView>], schema: &str, name: &str) -> Result<Option<TableEntry>, SqlError> {
    if schema == SYSTEM_SCHEMA
        && let Some(at) = views.iter().position(|view| view.name() == name)
    {
        return entry_of_view(&*views[at], at).map(Some);
    }
    Ok(relation(schema, name).map(entry_of_relation))
}

fn entry_of_view(view: &dyn SystemView, at: usize) -> Result<TableEntry, SqlError> {
    Ok(TableEntry {
        id: FIRST_VIEW + at as u64,
        schema: SYSTEM_SCHEMA.to_owned(),
        name: view.name().to_owned(),
        columns: columns_of(view)?,
        primary_key: Vec::new(),
    })
}

/// A sequence as a table with one row.
pub(super) fn entry_of_sequence(schema: &str, def: &SequenceDef) -> TableEntry {
    let columns = SEQUENCE_COLUMNS.into_iter();
    TableEntry {
        id: FIRST_SEQUENCE + u64::from(def.id.0),
        schema: schema.to_owned(),
        name: def.name.clone(),
        columns: columns.map(|(name, id)| TableColumn::new(name, SqlType::of(id))).collect(),
        primary_key: Vec::new(),
    }
}

/// The columns of one of Braid's views.
pub(super) fn columns_of(view: &dyn SystemView) -> Result<Vec<TableColumn>, SqlError> {
    let schema = view.schema();
    let columns = schema
        .fields()
        .iter()
        .map(|field| Ok(TableColumn::new(field.name(), SqlType::of(type_of(field.data_type())?))));
    columns.collect()
}

fn entry_of_relation(relation: &SystemRelation) -> TableEntry {
    let columns = relation.columns.iter();
    let columns = columns.map(|column| TableColumn::new(column.name, column.sql_type));
    TableEntry {
        id: FIRST_RELATION + u64::from(relation.id),
        schema: relation.schema.to_owned(),
        name: relation.name.to_owned(),
        columns: columns.collect(),
        primary_key: Vec::new(),
    }
}

/// A computed table as a relation that a query reads; `None` if it is stored.
pub(super) fn read_relation(table: u64, name: &str) -> Option<ReadRelation> {
    Some(match computed(table)? {
        Computed::View(_) => ReadRelation::Server(name.to_owned()),
        Computed::Relation(relation) => ReadRelation::System(relation.id, relation.name),
        Computed::Sequence(id) => ReadRelation::Sequence(id),
    })
}

/// The text of a system relation that is a view.
pub(super) fn view_text(table: u64) -> Option<&'static str> {
    match computed(table)? {
        Computed::Relation(SystemRelation { kind: RelationKind::View { text }, .. }) => Some(text),
        Computed::Relation(_) | Computed::View(_) | Computed::Sequence(_) => None,
    }
}

/// The rows of a table with some of its columns; `None` if it is stored.
pub(super) fn rows(
    views: &[Arc<dyn SystemView>],
    snapshot: Snapshot<'_>,
    table: u64,
    columns: &[usize],
) -> Result<Option<Vec<Vec<Value>>>, SqlError> {
    match computed(table) {
        None => Ok(None),
        Some(Computed::Relation(relation)) => snapshot.rows(relation, columns).map(Some),
        Some(Computed::Sequence(id)) => {
            let known = snapshot.catalog.sequence_by_id(id);
            let known = known.ok_or_else(|| SqlError::unsupported(format!("sequence {id} is gone")))?;
            let row = sequence_row(known);
            Ok(Some(vec![columns.iter().map(|column| row[*column].clone()).collect()]))
        }
        Some(Computed::View(at)) => {
            let view = views.get(at).ok_or_else(|| SqlError::unsupported(format!("table {table} is gone")))?;
            let arrays = view.columns();
            let row_count = arrays.first().map_or(0, |array| array.len());
            let row = |row| columns.iter().map(|column| value(&*arrays[*column], row)).collect();
            (0..row_count).map(row).collect::<Result<Vec<_>, _>>().map(Some)
        }
    }
}

fn type_of(data_type: &DataType) -> Result<TypeId, SqlError> {
    match data_type {
        DataType::Int64 => Ok(TypeId::INT8),
        DataType::Float64 => Ok(TypeId::FLOAT8),
        DataType::Utf8 => Ok(TypeId::TEXT),
        other => Err(SqlError::unsupported(format!("views with columns of {other} are not supported"))),
    }
}

fn value(array: &dyn Array, row: usize) -> Result<Value, SqlError> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match type_of(array.data_type())? {
        TypeId::INT8 => Value::Int8(array.as_primitive::<Int64Type>().value(row)),
        TypeId::FLOAT8 => Value::Float8(array.as_primitive::<Float64Type>().value(row)),
        _ => Value::text(array.as_string::<i32>().value(row)),
    })
}
