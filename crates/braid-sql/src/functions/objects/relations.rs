//! `regclass`, `regnamespace`, `regrole`: numbers of relations, schemas and roles, which are shown by name.

use std::sync::Arc;

use super::names::{number_of_text, parts_of_name};
use crate::functions::strings::quoting::quote_identifier;
use crate::functions::{Call, Implementations, ObjectNames, PrivilegedObject};
use crate::{SqlError, SqlState, Value};

/// Functions of relations, schemas and roles.
pub const FUNCTIONS: Implementations = &[
    ("regclassin", |arguments, call| regclass(arguments[0].as_text(), call)),
    ("text_regclass", |arguments, call| regclass(arguments[0].as_text(), call)),
    ("to_regclass", |arguments, call| {
        Ok(found_relation(arguments[0].as_text(), call)?.1.map_or(Value::Null, Value::Oid))
    }),
    ("regclassout", |arguments, call| shown_relation(arguments[0].as_oid(), call)),
    ("pg_get_serial_sequence", |arguments, call| {
        sequence_of_column(arguments[0].as_text(), arguments[1].as_text(), call)
    }),
    ("regnamespacein", |arguments, call| {
        let missing = ("schema", SqlState::InvalidSchemaName);
        numbered(arguments[0].as_text(), missing, |name| Ok(objects(call)?.schema_id(name)))
    }),
    ("to_regnamespace", |arguments, call| {
        let name = only_part(arguments[0].as_text())?;
        Ok(objects(call)?.schema_id(&name).map_or(Value::Null, Value::Oid))
    }),
    ("regnamespaceout", |arguments, call| {
        let number = arguments[0].as_oid();
        shown(number, objects(call)?.schema(number))
    }),
    ("pg_get_userbyid", |arguments, call| {
        let number = arguments[0].as_oid();
        let name = objects(call)?.role(number);
        Ok(Value::text(name.unwrap_or_else(|| format!("unknown (OID={number})"))))
    }),
    ("regrolein", |arguments, call| {
        let missing = ("role", SqlState::UndefinedObject);
        numbered(arguments[0].as_text(), missing, |name| Ok(objects(call)?.role_id(name)))
    }),
    ("to_regrole", |arguments, call| {
        let name = only_part(arguments[0].as_text())?;
        Ok(objects(call)?.role_id(&name).map_or(Value::Null, Value::Oid))
    }),
    ("regroleout", |arguments, call| {
        let number = arguments[0].as_oid();
        shown(number, objects(call)?.role(number))
    }),
];

pub(super) fn objects(call: &Call<'_>) -> Result<Arc<dyn ObjectNames>, SqlError> {
    call.session.objects().ok_or_else(|| SqlError::unsupported("names of relations are not supported here"))
}

/// A name as it is written, and the relation.
fn found_relation(text: &str, call: &Call<'_>) -> Result<(String, Option<u32>), SqlError> {
    let objects = objects(call)?;
    let parts = parts_of_name(text)?;
    let written = parts.join(".");
    let id = match &parts[..] {
        [name] => objects.relation_id(None, name),
        [schema, name] => {
            check_usage(&*objects, schema, call)?;
            objects.relation_id(Some(schema), name)
        }
        [database, schema, name] if *database == call.session.database() => {
            check_usage(&*objects, schema, call)?;
            objects.relation_id(Some(schema), name)
        }
        [_, _, _] => {
            let message = format!("cross-database references are not implemented: \"{written}\"");
            return Err(SqlError::unsupported(message));
        }
        _ => {
            let message = format!("improper relation name (too many dotted names): {written}");
            return Err(SqlError::new(SqlState::SyntaxError, message));
        }
    };
    Ok((written, id))
}

/// Names in a schema are known to those who may use it.
fn check_usage(objects: &dyn ObjectNames, schema: &str, call: &Call<'_>) -> Result<(), SqlError> {
    let role = objects.role_id(&call.session.user());
    let held =
        role.zip(objects.schema_id(schema)).and_then(|(role, id)| objects.held(role, PrivilegedObject::Schema(id)));
    match held.is_none_or(|held| held.privileges.contains(&"USAGE")) {
        true => Ok(()),
        false => {
            let message = format!("permission denied for schema {schema}");
            Err(SqlError::new(SqlState::InsufficientPrivilege, message))
        }
    }
}

fn regclass(text: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    if let Some(number) = number_of_text(text, "-") {
        return number;
    }
    relation_named(text, call).map(Value::Oid)
}

/// The relation of a name, which must exist.
pub(super) fn relation_named(text: &str, call: &Call<'_>) -> Result<u32, SqlError> {
    let (written, id) = found_relation(text, call)?;
    if let Some(id) = id {
        return Ok(id);
    }
    let parts = parts_of_name(text)?;
    let schema = parts.iter().nth_back(1);
    Err(match schema.filter(|schema| objects(call).is_ok_and(|names| names.schema_id(schema).is_none())) {
        Some(schema) => SqlError::new(SqlState::InvalidSchemaName, format!("schema \"{schema}\" does not exist")),
        None => SqlError::new(SqlState::UndefinedTable, format!("relation \"{written}\" does not exist")),
    })
}

/// The sequence behind a column, if it has one; the table and the column must exist.
fn sequence_of_column(table: &str, column: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    let id = relation_named(table, call)?;
    let objects = objects(call)?;
    if objects.has_column(id, column) {
        let sequence = objects.sequence_of_column(id, column).and_then(|sequence| objects.relation(sequence));
        let shown = |(schema, name): (String, String)| {
            Value::text(format!("{}.{}", quote_identifier(&schema), quote_identifier(&name)))
        };
        return Ok(sequence.map_or(Value::Null, shown));
    }
    let table = objects.relation(id).map_or_else(|| table.to_owned(), |(_, name)| name);
    let message = format!("column \"{column}\" of relation \"{table}\" does not exist");
    Err(SqlError::new(SqlState::UndefinedColumn, message))
}

/// With its schema, if the name alone means another relation or none.
fn shown_relation(number: u32, call: &Call<'_>) -> Result<Value, SqlError> {
    if number == 0 {
        return Ok(Value::text("-"));
    }
    let objects = objects(call)?;
    let Some((schema, name)) = objects.relation(number) else { return Ok(Value::text(number.to_string())) };
    let quoted = quote_identifier(&name);
    Ok(Value::text(match objects.relation_id(None, &name) == Some(number) {
        true => quoted,
        false => format!("{}.{quoted}", quote_identifier(&schema)),
    }))
}

/// The number of what has a name without a schema, which must exist.
fn numbered(
    text: &str,
    (what, missing): (&str, SqlState),
    find: impl FnOnce(&str) -> Result<Option<u32>, SqlError>,
) -> Result<Value, SqlError> {
    if let Some(number) = number_of_text(text, "-") {
        return number;
    }
    let name = only_part(text)?;
    let id = find(&name)?;
    id.map(Value::Oid).ok_or_else(|| SqlError::new(missing, format!("{what} \"{name}\" does not exist")))
}

fn only_part(text: &str) -> Result<String, SqlError> {
    match &mut parts_of_name(text)?[..] {
        [name] => Ok(std::mem::take(name)),
        _ => Err(SqlError::new(SqlState::InvalidName, "invalid name syntax")),
    }
}

fn shown(number: u32, name: Option<String>) -> Result<Value, SqlError> {
    Ok(Value::text(match name {
        _ if number == 0 => "-".to_owned(),
        Some(name) => quote_identifier(&name),
        None => number.to_string(),
    }))
}
