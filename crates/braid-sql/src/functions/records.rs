//! Records: as text, compared with each other, as JSON.
//!
//! Two records are compared field by field, by the order or the equality of the fields' type; nulls are equal and come last. The types of
//! the fields must be the same.

use std::cmp::Ordering;

use super::json::building::record_as_json;
use super::ordering::{TypeEquality, TypeOrder};
use super::strings::results::{append, output};
use super::{Call, Implementations};
use crate::pg_catalog::TypeId;
use crate::types::type_names::type_name;
use crate::value_memory::GrowingValue;
use crate::values::RecordValue;
use crate::{SqlError, SqlState, Value};

/// Records.
pub const FUNCTIONS: Implementations = &[
    ("record_in", |_, _| Err(SqlError::unsupported("input of anonymous composite types is not implemented"))),
    ("record_out", |args, call| record_out(args[0].as_record(), call)),
    ("record_eq", |args, call| are_equal(args, call).map(Value::Bool)),
    ("record_ne", |args, call| are_equal(args, call).map(|equal| Value::Bool(!equal))),
    ("record_lt", |args, call| order(args, call).map(|order| Value::Bool(order.is_lt()))),
    ("record_gt", |args, call| order(args, call).map(|order| Value::Bool(order.is_gt()))),
    ("record_le", |args, call| order(args, call).map(|order| Value::Bool(order.is_le()))),
    ("record_ge", |args, call| order(args, call).map(|order| Value::Bool(order.is_ge()))),
    ("btrecordcmp", |args, call| order(args, call).map(|order| Value::Int4(order as i32))),
    ("row_to_json", |args, call| record_as_json(args[0].as_record(), ",", call)),
    ("row_to_json_pretty", |args, call| {
        record_as_json(args[0].as_record(), if args[1].as_bool() { ",\n " } else { "," }, call)
    }),
];

/// `(1,"a b",)`: nothing stands for null, and quotes and backslashes are doubled within quotes.
fn record_out(record: &RecordValue, call: &Call<'_>) -> Result<Value, SqlError> {
    // Quotes double with each record within another.
    let mut grown = GrowingValue::new(call.memory);
    let mut out = "(".to_owned();
    for (at, (value, sql_type)) in record.typed_values().enumerate() {
        if at > 0 {
            append(&mut out, ",")?;
        }
        if value.is_null() {
            continue;
        }
        let text = output(value, sql_type, call)?;
        grown.reach(out.len() + 2 * text.len())?;
        match needs_quotes(&text) {
            true => append(&mut out, &format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\"\"")))?,
            false => append(&mut out, &text)?,
        }
    }
    append(&mut out, ")")?;
    Ok(Value::text(out))
}

fn needs_quotes(text: &str) -> bool {
    text.is_empty() || text.contains(['"', '\\', '(', ')', ',', ' ', '\t', '\n', '\r', '\u{b}', '\u{c}'])
}

/// Each pair of fields, with their type.
fn pairs<'r>(
    left: &'r RecordValue,
    right: &'r RecordValue,
) -> impl Iterator<Item = Result<(TypeId, &'r Value, &'r Value), SqlError>> {
    left.typed_values().zip(right.typed_values()).enumerate().map(|(at, ((left, own), (right, other)))| {
        if own.id == other.id {
            return Ok((own.id, left, right));
        }
        let message = format!(
            "cannot compare dissimilar column types {} and {} at record column {}",
            type_name(own.id),
            type_name(other.id),
            at + 1
        );
        Err(SqlError::new(SqlState::DatatypeMismatch, message))
    })
}

/// Refuses records of different lengths whose common fields are equal.
fn check_lengths(left: &RecordValue, right: &RecordValue) -> Result<(), SqlError> {
    if left.values.len() == right.values.len() {
        return Ok(());
    }
    let message = "cannot compare record types with different numbers of columns";
    Err(SqlError::new(SqlState::DatatypeMismatch, message))
}

fn are_equal(args: &[Value], call: &Call<'_>) -> Result<bool, SqlError> {
    let (left, right) = (args[0].as_record(), args[1].as_record());
    for pair in pairs(left, right) {
        let (id, left, right) = pair?;
        if !TypeEquality::of(id)?.are_same(left, right, call.session)? {
            return Ok(false);
        }
    }
    check_lengths(left, right).map(|()| true)
}

fn order(args: &[Value], call: &Call<'_>) -> Result<Ordering, SqlError> {
    let (left, right) = (args[0].as_record(), args[1].as_record());
    for pair in pairs(left, right) {
        let (id, left, right) = pair?;
        let order = TypeOrder::find(id)?.ok_or_else(|| {
            let message = format!("could not identify a comparison function for type {}", type_name(id));
            SqlError::new(SqlState::UndefinedFunction, message)
        })?;
        let ordering = order.compare_nulls_last(left, right, call.session)?;
        if ordering.is_ne() {
            return Ok(ordering);
        }
    }
    check_lengths(left, right).map(|()| Ordering::Equal)
}
