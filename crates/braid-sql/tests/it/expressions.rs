//! Expressions with PostgreSQL's answers: each has PostgreSQL's type, text, or error with its SQLSTATE, place and message.
//!
//! The answers in `tests/expressions` are PostgreSQL 15's (`bench/peers/expressions_on_postgres.py`). What Braid refuses as
//! unsupported is counted: the counts are exact, so that they can only shrink knowingly.

use std::collections::BTreeMap;
use std::path::PathBuf;

use braid_sql::testing::{PREFIX, answer};
use braid_sql::{SqlError, SqlState};

use crate::answers::escaped;

/// The files, each with how many of its expressions are refused as unsupported.
const FILES: &[(&str, usize)] = &[
    ("arrays", 0),
    ("back_references", 0),
    ("binder", 1),
    ("bits", 0),
    ("bytes", 0),
    ("chains", 0),
    ("chars", 1),
    ("date_formats", 2),
    ("dates", 0),
    ("encodings", 0),
    ("floats", 0),
    ("function_texts", 2),
    ("hashes", 0),
    ("in_range", 0),
    ("integers", 1),
    ("intervals", 0),
    ("json", 2),
    ("json_datetimes", 0),
    ("json_paths", 8),
    ("number_formats", 0),
    ("numerics", 0),
    ("objects", 4),
    ("patterns", 0),
    ("records", 6),
    ("regular_expressions", 0),
    ("session", 2),
    ("sizes", 0),
    ("subscripts", 2),
    ("syntax", 53),
    ("texts", 1),
    ("times", 0),
    ("timestamps", 1),
    ("variadic", 0),
    ("vectors", 0),
];

/// Type and text of an expression, as the files have them.
fn escaped_answer(expression: &str) -> Result<(String, String), SqlError> {
    let (sql_type, text) = answer(expression).unwrap_or_else(|| panic!("{expression} is no expression"))?;
    Ok((sql_type, text.map_or("\\N".to_owned(), |text| escaped(&text))))
}

/// What differs from PostgreSQL; `None` if nothing does.
fn difference(expression: &str, expected: (&str, &str)) -> Result<Option<String>, Unsupported> {
    let (expected_type, expected_text) = expected;
    match escaped_answer(expression) {
        // PostgreSQL says so of a few things itself.
        Err(error) if error.state() == SqlState::FeatureNotSupported && !expected_text.starts_with("0A000") => {
            Err(Unsupported)
        }
        Err(error) if expected_type == "!" => {
            let place = error.position().map_or(0, |place| place.saturating_sub(PREFIX.len()));
            let shown = format!("{} {place} {}", error.sqlstate(), escaped(error.message()));
            // The words of a syntax error are the parser's.
            let is_alike =
                shown == expected_text || (error.sqlstate() == "42601" && expected_text.starts_with("42601"));
            Ok((!is_alike).then(|| format!("{expression}\n  error      {shown}\n  PostgreSQL {expected_text}")))
        }
        // The parser reads less than PostgreSQL's, and says no place here.
        Err(error) if error.sqlstate() == "42601" && error.position().is_none() => Err(Unsupported),
        Err(error) => {
            Ok(Some(format!("{expression}\n  error      {error:?}\n  PostgreSQL {expected_type} {expected_text}")))
        }
        Ok((sql_type, text)) if (sql_type.as_str(), text.as_str()) == expected => Ok(None),
        Ok((sql_type, text)) => Ok(Some(format!(
            "{expression}\n  answer     {sql_type} {text}\n  PostgreSQL {expected_type} {expected_text}"
        ))),
    }
}

struct Unsupported;

/// `BRAID_EXPRESSIONS=name` runs one file and prints what is refused.
#[test]
fn expressions_have_postgresqls_answers() {
    let only = std::env::var("BRAID_EXPRESSIONS").ok();
    let (mut differences, mut refused) = (Vec::new(), BTreeMap::new());
    for (name, _) in FILES.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/expressions/{name}.tsv"));
        let text = std::fs::read_to_string(&path).unwrap();
        let mut refused_here = 0;
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let fields: Vec<&str> = line.splitn(3, '\t').collect();
            let [expression, expected_type, expected] = fields[..] else { panic!("{line} of {name} has no answer") };
            match difference(expression, (expected_type, expected)) {
                Ok(difference) => differences.extend(difference),
                Err(Unsupported) => {
                    refused_here += 1;
                    if only.is_some() {
                        println!("unsupported: {expression}");
                    }
                }
            }
        }
        refused.insert(*name, refused_here);
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    if only.is_none() {
        assert_eq!(refused, FILES.iter().copied().collect(), "expressions that are refused");
    }
}
