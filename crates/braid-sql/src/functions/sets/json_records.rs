//! `json_to_record`, `json_populate_record` and their like: objects as rows of given columns.
//!
//! In FROM the binder adds an argument: a record of nulls whose fields are the columns that the statement defines. Elsewhere the rows are
//! records like the first argument. How a member becomes a value of a column's type is in [`json_values`](super::json_values).

use super::json_values::{Member, value_of};
use super::{Rows, SetImplementations};
use crate::functions::json::json_types::invalid_parameter;
use crate::functions::{Call, Implementations};
use crate::input::bytes::NAME_BYTES_MAX;
use crate::input::json::parse_document;
use crate::pg_catalog::TypeId;
use crate::types::type_names::format_type;
use crate::values::{RecordType, RecordValue};
use crate::{SqlError, SqlState, SqlType, Value};

/// Objects as rows.
pub const FUNCTIONS: SetImplementations = &[
    ("json_populate_record", |args, call| row(args, 1, call)),
    ("json_populate_recordset", |args, call| match args.len() {
        4.. => rows(args, 1, "json_populate_recordset", call),
        _ => records(args, "json_populate_recordset", call),
    }),
    ("json_to_record", |args, call| row(args, 0, call)),
    ("json_to_recordset", |args, call| rows(args, 0, "json_to_recordset", call)),
    ("jsonb_populate_record", |args, call| row(args, 1, call)),
    ("jsonb_populate_recordset", |args, call| match args.len() {
        3.. => rows(args, 1, "jsonb_populate_recordset", call),
        _ => records(args, "jsonb_populate_recordset", call),
    }),
    ("jsonb_to_record", |args, call| row(args, 0, call)),
    ("jsonb_to_recordset", |args, call| rows(args, 0, "jsonb_to_recordset", call)),
];

/// Objects as records, where nothing defines columns.
pub const RECORDS: Implementations = &[
    ("json_populate_record", |args, call| record(args, "json_populate_record", call)),
    ("jsonb_populate_record", |args, call| record(args, "jsonb_populate_record", call)),
    ("json_to_record", |_, _| Err(unknown_row("json_to_record"))),
    ("jsonb_to_record", |_, _| Err(unknown_row("jsonb_to_record"))),
];

/// One row of the columns that the last argument has, of the object at `place`.
fn row(args: &[Value], place: usize, call: &Call<'_>) -> Result<Rows, SqlError> {
    let base = base_of_columns(args, place)?;
    let values = with_member(&args[place], |member| {
        member.map_or_else(|| Ok(base.values.clone()), |member| filled(base, &member, call))
    })?;
    Ok(Box::new(std::iter::once(Ok(values))))
}

/// A row of the columns that the last argument has for each object in the array at `place`.
fn rows(args: &[Value], place: usize, function: &str, call: &Call<'_>) -> Result<Rows, SqlError> {
    let base = base_of_columns(args, place)?;
    Ok(Box::new(all_filled(base, &args[place], function, call)?.into_iter().map(Ok)))
}

/// A record like the first argument.
fn record(args: &[Value], function: &str, call: &Call<'_>) -> Result<Value, SqlError> {
    let base = given(&args[0], function)?;
    with_member(&args[1], |member| match member {
        None => Ok(args[0].clone()),
        Some(member) => Ok(like(base, filled(base, &member, call)?)),
    })
}

/// Records like the first argument.
fn records(args: &[Value], function: &str, call: &Call<'_>) -> Result<Rows, SqlError> {
    if args[1].is_null() {
        return Ok(Box::new(std::iter::empty()));
    }
    let base = given(&args[0], function)?;
    let all = all_filled(base, &args[1], function, call)?.into_iter().map(|values| Ok(vec![like(base, values)]));
    Ok(Box::new(all.collect::<Vec<_>>().into_iter()))
}

fn like(base: &RecordValue, values: Vec<Value>) -> Value {
    Value::Record(RecordValue { record_type: base.record_type.clone(), values }.into())
}

/// The record that says which fields there are.
fn given<'a>(base: &'a Value, function: &str) -> Result<&'a RecordValue, SqlError> {
    match base {
        Value::Record(record) => Ok(record),
        _ => Err(unknown_row(function)),
    }
}

fn unknown_row(function: &str) -> SqlError {
    let message = format!("could not determine row type for result of {function}");
    let hint =
        "Provide a non-null record argument, or call the function in the FROM clause using a column definition list.";
    SqlError::unsupported(message).with_hint(hint)
}

/// The values of absent keys: those of the first argument, if the object is not the first and it is not null, or nulls.
fn base_of_columns(args: &[Value], place: usize) -> Result<&RecordValue, SqlError> {
    let Some(Value::Record(columns)) = args.last() else {
        return Err(SqlError::new(SqlState::InternalError, "a call without columns"));
    };
    match &args[0] {
        Value::Record(base) if place > 0 => {
            check_fields(&base.record_type, &columns.record_type)?;
            Ok(base)
        }
        _ => Ok(columns),
    }
}

/// Refuses records that are no rows of the columns.
fn check_fields(given: &RecordType, wanted: &RecordType) -> Result<(), SqlError> {
    let differ = |detail: String| {
        let message = "function return row and query-specified return row do not match";
        Err(SqlError::new(SqlState::DatatypeMismatch, message).with_detail(detail))
    };
    let (count, expected) = (given.fields.len(), wanted.fields.len());
    if count != expected {
        let plural = if count == 1 { "" } else { "s" };
        return differ(format!("Returned row contains {count} attribute{plural}, but query expects {expected}."));
    }
    for (at, (given, wanted)) in given.fields.iter().zip(&wanted.fields).enumerate() {
        let own = if given.sql_type.id == TypeId::UNKNOWN { TypeId::TEXT } else { given.sql_type.id };
        if own != wanted.sql_type.id {
            let [own, expected] = [own, wanted.sql_type.id].map(|id| format_type(SqlType::of(id)));
            return differ(format!(
                "Returned type {own} at ordinal position {}, but query expects {expected}.",
                at + 1
            ));
        }
    }
    Ok(())
}

/// What is made of an argument of type json or jsonb, `None` for null.
fn with_member<T>(
    argument: &Value,
    make: impl FnOnce(Option<Member<'_>>) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    match argument {
        Value::Null => make(None),
        Value::Jsonb(value) => make(Some(Member::Jsonb(value))),
        text => {
            let document = parse_document(text.as_text())?;
            make(Some(Member::Json(&document)))
        }
    }
}

/// The values of a record's fields by an object: those of its keys, and the record's own ones where it lacks them.
fn filled(base: &RecordValue, object: &Member<'_>, call: &Call<'_>) -> Result<Vec<Value>, SqlError> {
    if !object.is_object() {
        let kind = if object.elements().is_some() { "an array" } else { "a scalar" };
        return Err(invalid_parameter(&format!("cannot call populate_composite on {kind}")));
    }
    let fields = base.record_type.fields.iter().zip(&base.values);
    let values = fields.map(|(field, own)| match object.field(&field.name) {
        Some(member) if field.name.len() <= NAME_BYTES_MAX => value_of(&member, field.sql_type, &field.name, call),
        _ => Ok(own.clone()),
    });
    values.collect()
}

/// The same for each object of an array.
fn all_filled(base: &RecordValue, array: &Value, function: &str, call: &Call<'_>) -> Result<Vec<Vec<Value>>, SqlError> {
    with_member(array, |member| {
        let Some(array) = member else { return Ok(Vec::new()) };
        let Some(elements) = array.elements() else {
            let kind = match array {
                Member::Jsonb(_) => "a non-array",
                Member::Json(_) if array.is_object() => "an object",
                Member::Json(_) => "a scalar",
            };
            return Err(invalid_parameter(&format!("cannot call {function} on {kind}")));
        };
        let rows = elements.iter().map(|element| match element.is_object() {
            true => filled(base, element, call),
            false => Err(invalid_parameter(&format!("argument of {function} must be an array of objects"))),
        });
        rows.collect()
    })
}
