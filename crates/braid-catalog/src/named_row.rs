//! Rows about objects of users and of the server: values by the names of their columns.
//!
//! What a row does not name is null where PostgreSQL allows it; otherwise it is zero, false or empty, as PostgreSQL has it for what an
//! object does not make use of.

use braid_sql::pg_catalog::TypeId;
use braid_sql::values::ArrayValue;
use braid_sql::{SqlError, Value};

use crate::relations::{RelationColumn, SystemRelation};
use crate::stored_values::XID;

/// A row: names of columns and their values.
pub(crate) type NamedRow = Vec<(&'static str, Value)>;

/// The values of these columns of a relation.
pub(crate) fn values_of(row: &NamedRow, relation: &SystemRelation, columns: &[usize]) -> Result<Vec<Value>, SqlError> {
    debug_assert!(
        row.iter().all(|(name, _)| relation.column(name).is_some()),
        "{} has not all of {row:?}",
        relation.name
    );
    let value = |at: &usize| {
        let column = &relation.columns[*at];
        match row.iter().find(|(name, _)| *name == column.name) {
            Some((_, value)) => Ok(value.clone()),
            None if column.is_nullable => Ok(Value::Null),
            None => zero_of(column),
        }
    };
    columns.iter().map(value).collect()
}

fn zero_of(column: &RelationColumn) -> Result<Value, SqlError> {
    Ok(match column.sql_type.id {
        TypeId::BOOL => Value::Bool(false),
        TypeId::INT2 => Value::Int2(0),
        TypeId::INT4 => Value::Int4(0),
        TypeId::INT8 => Value::Int8(0),
        TypeId::FLOAT4 => Value::Float4(0.0),
        TypeId::OID | TypeId::REGPROC | XID => Value::Oid(0),
        TypeId::CHAR => Value::Char(0),
        TypeId::NAME | TypeId::TEXT => Value::text(""),
        other => return Err(SqlError::unsupported(format!("column {} of {other:?} has no zero", column.name))),
    })
}

/// A name, a text.
pub(crate) fn text(text: &str) -> Value {
    Value::text(text)
}

/// A text, or null.
pub(crate) fn optional_text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

/// An object id.
pub(crate) fn oid(id: u32) -> Value {
    Value::Oid(id)
}

/// A letter of type `"char"`.
pub(crate) fn letter(letter: u8) -> Value {
    Value::Char(letter)
}

/// True.
pub(crate) fn yes() -> Value {
    Value::Bool(true)
}

/// A number of columns, or the number of one.
pub(crate) fn small(count: usize) -> Value {
    Value::Int2(i16::try_from(count).expect("a table has at most 1600 columns"))
}

/// An `int2vector` or `oidvector`: it begins at 0.
pub(crate) fn vector(element: TypeId, values: Vec<Value>) -> Value {
    Value::Array(ArrayValue { element, dimensions: vec![(values.len(), 0)], values }.into())
}

/// An array of `text`.
pub(crate) fn texts(texts: &[String]) -> Value {
    let values: Vec<Value> = texts.iter().map(|item| text(item)).collect();
    Value::Array(ArrayValue { element: TypeId::TEXT, dimensions: vec![(values.len(), 1)], values }.into())
}
