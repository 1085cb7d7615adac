//! The elements, fields and keys of json and jsonb as rows, and what a jsonpath finds.
//!
//! All rows of a call are made at once, because the whole value is read before its first member is known to be right.

use super::{Rows, SetImplementations};
use crate::functions::json::members::{
    MemberForm, json_elements, json_fields, json_keys, jsonb_elements, jsonb_fields, jsonb_keys,
};
use crate::functions::json::paths::calls::{values_found, with_zone, without_zone};
use crate::functions::json::paths::datetimes::Zone;
use crate::{SqlError, Value};

/// Rows of json and jsonb.
pub const FUNCTIONS: SetImplementations = &[
    ("json_array_elements", |args, _| {
        column(json_elements(args[0].as_text(), MemberForm::Json, "json_array_elements"))
    }),
    ("json_array_elements_text", |args, _| {
        column(json_elements(args[0].as_text(), MemberForm::Text, "json_array_elements_text"))
    }),
    ("json_each", |args, _| pairs(json_fields(args[0].as_text(), MemberForm::Json))),
    ("json_each_text", |args, _| pairs(json_fields(args[0].as_text(), MemberForm::Text))),
    ("json_object_keys", |args, _| column(json_keys(args[0].as_text()))),
    ("jsonb_array_elements", |args, _| column(jsonb_elements(args[0].as_jsonb(), MemberForm::Json))),
    ("jsonb_array_elements_text", |args, _| column(jsonb_elements(args[0].as_jsonb(), MemberForm::Text))),
    ("jsonb_each", |args, _| pairs(jsonb_fields(args[0].as_jsonb(), MemberForm::Json, "jsonb_each"))),
    ("jsonb_each_text", |args, _| pairs(jsonb_fields(args[0].as_jsonb(), MemberForm::Text, "jsonb_each_text"))),
    ("jsonb_object_keys", |args, _| column(jsonb_keys(args[0].as_jsonb()))),
    ("jsonb_path_query", |args, call| found(args, without_zone(call))),
    ("jsonb_path_query_tz", |args, call| found(args, with_zone(call))),
];

fn column(values: Result<Vec<Value>, SqlError>) -> Result<Rows, SqlError> {
    Ok(Box::new(values?.into_iter().map(|value| Ok(vec![value]))))
}

fn pairs(pairs: Result<Vec<(Value, Value)>, SqlError>) -> Result<Rows, SqlError> {
    Ok(Box::new(pairs?.into_iter().map(|(key, value)| Ok(vec![key, value]))))
}

/// `jsonb_path_query`
fn found(args: &[Value], zone: Zone<'_>) -> Result<Rows, SqlError> {
    Ok(Box::new(values_found(args, zone)?.into_iter().map(|value| Ok(vec![Value::jsonb(value)]))))
}
