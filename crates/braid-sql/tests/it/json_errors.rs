//! The errors of texts that are no JSON: PostgreSQL's SQLSTATE, message, detail and context.

use std::path::PathBuf;

use braid_sql::SqlError;
use braid_sql::input::json::{check_json, parse_jsonb};
use braid_sql::testing::answer;

/// A field of the file, with its escapes.
fn unescaped(field: &str) -> String {
    let mut text = String::new();
    let mut characters = field.chars();
    while let Some(c) = characters.next() {
        text.push(match (c, c == '\\') {
            (c, false) => c,
            (_, true) => match characters.next().unwrap() {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                other => other,
            },
        });
    }
    text
}

fn shown(error: &SqlError) -> [String; 4] {
    let optional = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let (detail, context) = (optional(error.detail()), optional(error.context()));
    [error.sqlstate().to_owned(), error.message().to_owned(), detail, context]
}

#[test]
fn errors_have_postgresqls_words() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/json_errors.tsv");
    for line in std::fs::read_to_string(path).unwrap().lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<String> = line.split('\t').map(unescaped).collect();
        let [type_name, text, expected @ ..] = &fields[..] else { panic!("{line} has no text") };
        let expected: Result<(), [String; 4]> = Err(expected.to_vec().try_into().unwrap());
        if type_name != "jsonb" {
            assert_eq!(check_json(text).map_err(|error| shown(&error)), expected, "{line}");
        }
        if type_name != "json" {
            assert_eq!(parse_jsonb(text).map(|_| ()).map_err(|error| shown(&error)), expected, "{line}");
        }
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(check_json(&nested(1000)).is_ok() && parse_jsonb(&nested(1000)).is_ok());
    for levels in [1001, 1_000_000] {
        assert_eq!(check_json(&nested(levels)).unwrap_err().sqlstate(), "54001");
        assert_eq!(parse_jsonb(&nested(levels)).unwrap_err().sqlstate(), "54001");
    }
}

/// Functions of values and paths recurse as deeply as these are nested, on a thread's ordinary stack.
#[test]
fn deep_values_and_paths_are_answered() {
    let value = "(repeat('[',999) || '{\"a\":1}' || repeat(']',999))::jsonb";
    for call in [
        "length(V::text)",
        "length(jsonb_pretty(V))",
        "V = V",
        "V @> V",
        "jsonb_strip_nulls(V) = V",
        "jsonb_path_query_array(V, '$.**.a')",
        "length(json_strip_nulls(V::text::json)::text)",
        "jsonb_set(V, array_fill('0'::text, array[1500]), '1') = V",
        "length((V::text::json #> array_fill('0'::text, array[998]))::text)",
        "jsonb_path_exists(V, ('$' || repeat('[*]', 190))::jsonpath)",
        "jsonb_path_match('1', (repeat('(', 190) || '$ == 1' || repeat(')', 190))::jsonpath)",
        "jsonb_path_exists('1', ('$' || repeat('?(@', 90) || repeat('==1)', 90))::jsonpath)",
        "jsonb_path_match('1', ('$' || repeat('?(@', 90) || repeat('==1)', 90) || '== 1')::jsonpath)",
        "length(('1' || repeat('+1', 190))::jsonpath::text)",
    ] {
        let answer = answer(&call.replace('V', value)).unwrap();
        assert!(answer.as_ref().is_ok_and(|(_, text)| text.is_some()), "{call}: {answer:?}");
    }
    for call in ["jsonb_build_array(jsonb_build_array(V))", "jsonb_set(V, array_fill('0'::text, array[999]), V)"] {
        assert_eq!(answer(&call.replace('V', value)).unwrap().unwrap_err().sqlstate(), "54001", "{call}");
    }
    for path in
        ["repeat('(', 100000)", "repeat('-', 100000)", "'$' || repeat('.a', 100000)", "'1' || repeat('+1', 100000)"]
    {
        assert_eq!(answer(&format!("({path})::jsonpath")).unwrap().unwrap_err().sqlstate(), "54001", "{path}");
    }
}
