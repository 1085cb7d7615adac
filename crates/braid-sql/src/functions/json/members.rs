//! The elements, fields and keys of json and jsonb: what `json_array_elements`, `json_each`, `json_object_keys` return as rows.
//!
//! Each function gives its rows in order, as values of its columns' types.

use std::sync::Arc;

use super::access::as_text;
use super::json_types::invalid_parameter;
use crate::input::json::{Part, PartKind, parse_document};
use crate::values::json::Jsonb;
use crate::{SqlError, Value};

/// What a member is returned as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberForm {
    /// As json or jsonb.
    Json,
    /// As text: a string without quotes, SQL's null for null.
    Text,
}

/// `jsonb_array_elements`, `jsonb_array_elements_text`
pub fn jsonb_elements(value: &Jsonb, form: MemberForm) -> Result<Vec<Value>, SqlError> {
    match value {
        Jsonb::Array(elements) => elements.iter().map(|element| jsonb_member(element, form)).collect(),
        Jsonb::Object(_) => Err(invalid_parameter("cannot extract elements from an object")),
        _ => Err(invalid_parameter("cannot extract elements from a scalar")),
    }
}

/// `jsonb_each`, `jsonb_each_text`: keys and values. `function` is the function's name, for its error.
pub fn jsonb_fields(value: &Jsonb, form: MemberForm, function: &str) -> Result<Vec<(Value, Value)>, SqlError> {
    let Jsonb::Object(fields) = value else {
        return Err(invalid_parameter(&format!("cannot call {function} on a non-object")));
    };
    fields.iter().map(|(key, value)| Ok((Value::Text(Arc::clone(key)), jsonb_member(value, form)?))).collect()
}

/// `jsonb_object_keys`
pub fn jsonb_keys(value: &Jsonb) -> Result<Vec<Value>, SqlError> {
    match value {
        Jsonb::Object(fields) => Ok(fields.iter().map(|(key, _)| Value::Text(Arc::clone(key))).collect()),
        Jsonb::Array(_) => Err(invalid_parameter("cannot call jsonb_object_keys on an array")),
        _ => Err(invalid_parameter("cannot call jsonb_object_keys on a scalar")),
    }
}

fn jsonb_member(value: &Jsonb, form: MemberForm) -> Result<Value, SqlError> {
    match form {
        MemberForm::Json => Ok(Value::jsonb(value.clone())),
        MemberForm::Text => as_text(Some(value)),
    }
}

/// `json_array_elements`, `json_array_elements_text`
pub fn json_elements(text: &str, form: MemberForm, function: &str) -> Result<Vec<Value>, SqlError> {
    match parse_document(text)?.kind {
        PartKind::Array(elements) => Ok(elements.iter().map(|element| json_member(element, form)).collect()),
        PartKind::Object(_) => Err(invalid_parameter(&format!("cannot call {function} on a non-array"))),
        _ => Err(invalid_parameter(&format!("cannot call {function} on a scalar"))),
    }
}

/// `json_each`, `json_each_text`: keys and values, as often as they are in the text.
pub fn json_fields(text: &str, form: MemberForm) -> Result<Vec<(Value, Value)>, SqlError> {
    match parse_document(text)?.kind {
        PartKind::Object(fields) => {
            Ok(fields.iter().map(|(key, value)| (Value::text(&**key), json_member(value, form))).collect())
        }
        PartKind::Array(_) => Err(invalid_parameter("cannot deconstruct an array as an object")),
        _ => Err(invalid_parameter("cannot deconstruct a scalar")),
    }
}

/// `json_object_keys`, as often as they are in the text.
pub fn json_keys(text: &str) -> Result<Vec<Value>, SqlError> {
    match parse_document(text)?.kind {
        PartKind::Object(fields) => Ok(fields.iter().map(|(key, _)| Value::text(&**key)).collect()),
        PartKind::Array(_) => Err(invalid_parameter("cannot call json_object_keys on an array")),
        _ => Err(invalid_parameter("cannot call json_object_keys on a scalar")),
    }
}

fn json_member(part: &Part<'_>, form: MemberForm) -> Value {
    match (&part.kind, form) {
        (PartKind::Null, MemberForm::Text) => Value::Null,
        (PartKind::String(string), MemberForm::Text) => Value::text(&**string),
        _ => Value::text(part.text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::json::parse_jsonb;

    fn texts(values: Result<Vec<Value>, SqlError>) -> Vec<Option<String>> {
        let text = |value: Value| match value {
            Value::Null => None,
            Value::Jsonb(value) => Some(crate::output::json::jsonb_text(&value).unwrap()),
            text => Some(text.as_text().to_owned()),
        };
        values.unwrap().into_iter().map(text).collect()
    }

    fn message<T: std::fmt::Debug>(result: Result<T, SqlError>) -> String {
        result.unwrap_err().message().to_owned()
    }

    #[test]
    fn members_are_json_or_text() {
        let (text, some) = (r#"[1.0, "x", null, [ 2 ]]"#, |text: &str| Some(text.to_owned()));
        let tree = parse_jsonb(text).unwrap();
        let as_json = [some("1.0"), some("\"x\""), some("null"), some("[2]")];
        assert_eq!(texts(jsonb_elements(&tree, MemberForm::Json)), as_json);
        assert_eq!(texts(jsonb_elements(&tree, MemberForm::Text)), [some("1.0"), some("x"), None, some("[2]")]);
        let written = [some("1.0"), some("x"), None, some("[ 2 ]")];
        assert_eq!(texts(json_elements(text, MemberForm::Text, "json_array_elements_text")), written);
    }

    #[test]
    fn json_keeps_equal_keys() {
        let text = r#"{"b": 1, "a": null, "b": "x"}"#;
        let tree = parse_jsonb(text).unwrap();
        let pair = |key: &str, value: Value| (Value::text(key), value);
        let all = [pair("b", Value::text("1")), pair("a", Value::Null), pair("b", Value::text("x"))];
        assert_eq!(json_fields(text, MemberForm::Text).unwrap(), all);
        assert_eq!(jsonb_fields(&tree, MemberForm::Text, "jsonb_each_text").unwrap(), all[1..]);
        assert_eq!(json_keys(text).unwrap().len(), 3);
        assert_eq!(jsonb_keys(&tree).unwrap(), [Value::text("a"), Value::text("b")]);
    }

    #[test]
    fn other_values_have_no_members() {
        let (array, scalar) = (parse_jsonb("[]").unwrap(), parse_jsonb("1").unwrap());
        let form = MemberForm::Json;
        assert_eq!(message(jsonb_elements(&scalar, form)), "cannot extract elements from a scalar");
        assert_eq!(message(jsonb_fields(&array, form, "jsonb_each")), "cannot call jsonb_each on a non-object");
        assert_eq!(message(jsonb_keys(&array)), "cannot call jsonb_object_keys on an array");
        assert_eq!(message(json_elements("{}", form, "f")), "cannot call f on a non-array");
        assert_eq!(message(json_fields("[]", form)), "cannot deconstruct an array as an object");
        assert_eq!(message(json_keys("1")), "cannot call json_object_keys on a scalar");
    }
}
