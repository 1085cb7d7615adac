//! The functions of paths: input, output, `@?`, `@@`, `jsonb_path_exists` and its like.

use super::datetimes::{Zone, outside};
use super::execution::{Found, Run, STEPS_MAX};
use super::failure::Failure;
use super::predicates::regular_expression;
use crate::functions::json::json_types::invalid_parameter;
use crate::functions::strings::regular_expressions::check;
use crate::functions::{Call, Implementations};
use crate::input::json_path::parse_json_path;
use crate::output::json_path::json_path_text;
use crate::values::json::Jsonb;
use crate::values::json_path::{Chain, JsonPath, PathItem};
use crate::{SqlError, SqlState, Value};

/// Functions of paths. Those with `_tz` compare dates and times in the session's zone, too.
pub const FUNCTIONS: Implementations = &[
    ("jsonpath_in", jsonpath_in),
    ("jsonpath_out", |args, _| json_path_text(args[0].as_json_path()).map(Value::text)),
    ("jsonb_path_exists_opr", |args, call| exists(args, without_zone(call))),
    ("jsonb_path_exists", |args, call| exists(args, without_zone(call))),
    ("jsonb_path_exists_tz", |args, call| exists(args, with_zone(call))),
    ("jsonb_path_match_opr", |args, call| matches(args, without_zone(call))),
    ("jsonb_path_match", |args, call| matches(args, without_zone(call))),
    ("jsonb_path_match_tz", |args, call| matches(args, with_zone(call))),
    ("jsonb_path_query_array", |args, call| array_found(args, without_zone(call))),
    ("jsonb_path_query_array_tz", |args, call| array_found(args, with_zone(call))),
    ("jsonb_path_query_first", |args, call| first_found(args, without_zone(call))),
    ("jsonb_path_query_first_tz", |args, call| first_found(args, with_zone(call))),
];

/// For functions that use the session's zone.
pub fn with_zone<'a>(call: &'a Call<'a>) -> Zone<'a> {
    Zone { call, is_used: true }
}

/// For functions that do not.
pub fn without_zone<'a>(call: &'a Call<'a>) -> Zone<'a> {
    Zone { call, is_used: false }
}

fn jsonpath_in(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let path = parse_json_path(args[0].as_text())?;
    check_expressions(&path.chain)?;
    Ok(Value::JsonPath(path.into()))
}

/// Refuses regular expressions that do not parse.
fn check_expressions(chain: &Chain) -> Result<(), SqlError> {
    chain.iter().try_for_each(|item| match item {
        PathItem::LikeRegex(operand, pattern, flags) => {
            check_expressions(operand)?;
            check(&regular_expression(pattern, *flags)?)
        }
        PathItem::Binary(_, operands) => operands.iter().try_for_each(check_expressions),
        PathItem::Filter(inner)
        | PathItem::Sign(_, inner)
        | PathItem::Not(inner)
        | PathItem::IsUnknown(inner)
        | PathItem::Exists(inner) => check_expressions(inner),
        PathItem::Elements(elements) => elements.iter().try_for_each(|(first, last)| {
            check_expressions(first)?;
            last.iter().try_for_each(check_expressions)
        }),
        _ => Ok(()),
    })
}

/// Whether errors of the value are suppressed. The operators suppress them.
fn is_silent(args: &[Value]) -> bool {
    args.get(3).is_none_or(Value::as_bool)
}

/// Runs a path; `None` if an error was suppressed.
fn run(args: &[Value], zone: Zone<'_>, found: Found<'_>) -> Result<Option<bool>, SqlError> {
    let (value, path) = (args[0].as_jsonb(), args[1].as_json_path());
    let variables = args.get(2).map(Value::as_jsonb);
    if variables.is_some_and(|variables| !matches!(variables, Jsonb::Object(_))) {
        return Err(invalid_parameter("\"vars\" argument is not an object")
            .with_detail("Jsonpath parameters should be encoded as key-value pairs of \"vars\" object."));
    }
    let mut run = new_run(value, variables, path, zone);
    let mut all = Vec::new();
    // In strict mode each value is looked at, as it may be an error.
    let result = match found {
        None if !path.is_lax => run.run(&path.chain, value, Some(&mut all)).map(|_| !all.is_empty()),
        found => run.run(&path.chain, value, found),
    };
    match result {
        Ok(finds) => Ok(Some(finds)),
        Err(Failure::OfValue(_)) if is_silent(args) => Ok(None),
        Err(failure) => Err(failure.into_error()),
    }
}

fn new_run<'a>(root: &'a Jsonb, variables: Option<&'a Jsonb>, path: &JsonPath, zone: Zone<'a>) -> Run<'a> {
    let is_lax = path.is_lax;
    let (ignores_structure, current) = (is_lax, root.clone());
    Run { root, current, variables, is_lax, ignores_structure, array_length: 0, steps: STEPS_MAX, zone }
}

fn exists(args: &[Value], zone: Zone<'_>) -> Result<Value, SqlError> {
    Ok(run(args, zone, None)?.map_or(Value::Null, Value::Bool))
}

/// What a path finds: `jsonb_path_query`. What was found before an error that is suppressed is kept.
pub fn values_found(args: &[Value], zone: Zone<'_>) -> Result<Vec<Jsonb>, SqlError> {
    let mut found = Vec::new();
    run(args, zone, Some(&mut found))?;
    Ok(found.into_iter().map(outside).collect())
}

fn array_found(args: &[Value], zone: Zone<'_>) -> Result<Value, SqlError> {
    Jsonb::array(values_found(args, zone)?).checked().map(Value::jsonb)
}

fn first_found(args: &[Value], zone: Zone<'_>) -> Result<Value, SqlError> {
    Ok(values_found(args, zone)?.into_iter().next().map_or(Value::Null, Value::jsonb))
}

fn matches(args: &[Value], zone: Zone<'_>) -> Result<Value, SqlError> {
    match &values_found(args, zone)?[..] {
        [Jsonb::Bool(truth)] => Ok(Value::Bool(*truth)),
        [Jsonb::Null] => Ok(Value::Null),
        _ if is_silent(args) => Ok(Value::Null),
        _ => Err(SqlError::new(SqlState::SingletonSqlJsonItemRequired, "single boolean result is expected")),
    }
}
