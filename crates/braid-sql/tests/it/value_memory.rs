//! Long values are counted: by the functions that make much of little before they make it, and all others when they are there.

use braid_sql::binder::Statement;
use braid_sql::expression::Node;
use braid_sql::functions::{Call, LimitedMemory, ValueMemory};
use braid_sql::tables::NoTables;
use braid_sql::testing::{FixedSession, parsed};
use braid_sql::value_memory::SHORT_BYTES_MAX;
use braid_sql::{Evaluation, Expression, SqlError, SqlState, Value};

fn bound(expression: &str) -> Expression {
    let sql = format!("SELECT {expression}");
    let syntax = parsed(&sql).unwrap().unwrap();
    Statement::new(&sql, &FixedSession, &NoTables).binder().output_expression(&syntax).unwrap()
}

fn value_within(expression: &str, memory: &LimitedMemory) -> Result<Value, SqlError> {
    Evaluation::new(&FixedSession, &[]).with_memory(memory).value(&bound(expression))
}

/// The result of the outermost call, whose function counts its result under `memory` alone.
fn called_within(expression: &str, memory: &LimitedMemory) -> Result<Value, SqlError> {
    let expression = bound(expression);
    let Node::Call(call) = &expression.node else { panic!("{expression:?} is no call") };
    let evaluation = Evaluation::new(&FixedSession, &[]);
    let arguments: Vec<Value> = call.arguments.iter().map(|argument| evaluation.value(argument).unwrap()).collect();
    let (session, result_type) = (&FixedSession, expression.sql_type);
    call.function.compute(&arguments, &Call { session, argument_types: &call.argument_types, result_type, memory })
}

/// Bytes of a text, or of the list of an array's elements.
fn length(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Array(array) => size_of_val(array.values.as_slice()),
        other => panic!("{other:?} is not long"),
    }
}

/// Calls that make much of little.
const GROWING: &[&str] = &[
    "repeat('xyz', 10000)",
    "lpad('é', 10000, 'xé')",
    "rpad('é', 9999, 'xé')",
    "lpad('x', 10000)",
    "rpad('xé', 10000)",
    "replace(repeat('x', 100), 'x', repeat('y', 200))",
    "regexp_replace(repeat('x', 100), 'x', repeat('y', 200), 'g')",
    r"regexp_replace(repeat('x', 20000), '^(.*)$', '\1\1\1')",
    "regexp_replace(repeat('x', 100), 'x', repeat('y', 200), 1, 0)",
    "array_fill(7, ARRAY[100, 20])",
    "array_fill(7, ARRAY[2000], ARRAY[-5])",
    "jsonb_pretty((repeat('[', 100) || repeat(']', 100))::jsonb)",
    "format('%20000s|%1$-20000s', 'x')",
    "format(repeat('%1$s', 200), repeat('x', 100))",
    "concat_ws(repeat('x', 20000), 'a', 'b', 'c')",
    "array_to_string(array_fill(1, ARRAY[200]), repeat('x', 100))",
    "string_to_array(repeat('x', 2000), NULL)",
    "regexp_split_to_array(repeat('x', 2000), '')",
];

#[test]
fn functions_with_long_results_reserve_them_first() {
    for expression in GROWING {
        let memory = LimitedMemory::new(usize::MAX);
        let value = called_within(expression, &memory).unwrap();
        assert!(length(&value) > SHORT_BYTES_MAX, "{expression} has {} bytes", length(&value));
        assert!(memory.reserved() >= length(&value), "{expression} reserved {} bytes", memory.reserved());
        let error = called_within(expression, &LimitedMemory::new(length(&value) - 1)).unwrap_err();
        assert_eq!(error.state(), SqlState::OutOfMemory, "{expression}: {error}");
    }
}

#[test]
fn values_of_a_gigabyte_are_refused_without_being_made() {
    for expression in [
        "repeat('x', 1000000000)",
        "length(repeat(repeat('x', 10000), 100000))",
        "lpad('x', 250000000)",
        "rpad('x', 250000000, 'abc')",
        "array_fill(1, ARRAY[100000000])",
        "format('%1000000000s', 'x')",
    ] {
        let error = value_within(expression, &LimitedMemory::new(1 << 20)).unwrap_err();
        assert_eq!(error.state(), SqlState::OutOfMemory, "{expression}: {error}");
    }
}

#[test]
fn results_of_all_functions_are_counted() {
    for (expression, bytes) in [
        ("'x' || 'y'", 0),
        ("repeat('x', 4000)", 0),
        ("repeat('x', 10000) || repeat('y', 10000)", 40_000),
        ("quote_literal(repeat('x', 10000))", 20_000),
        ("length(upper(repeat('x', 10000)))", 20_000),
        ("encode(repeat('x', 10000)::bytea, 'hex')", 40_000),
        ("array_fill(1, ARRAY[1000])::text", 24_000),
    ] {
        let memory = LimitedMemory::new(usize::MAX);
        value_within(expression, &memory).unwrap();
        let reserved = memory.reserved();
        assert!((bytes..=bytes + bytes / 2).contains(&reserved), "{expression} reserved {reserved} bytes");
    }
    // Each value is at most a small multiple of those before, and is refused when it is too long.
    let doubled = (0..25).fold("''''".to_owned(), |inner, _| format!("quote_literal({inner})"));
    let error = value_within(&doubled, &LimitedMemory::new(1 << 20)).unwrap_err();
    assert_eq!(error.state(), SqlState::OutOfMemory, "{error}");
}
