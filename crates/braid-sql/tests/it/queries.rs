//! Queries with PostgreSQL's answers: names, types and rows, or the error with its SQLSTATE, place, message, detail and hint.
//!
//! The answers in `tests/queries` are PostgreSQL 15's (`bench/peers/queries_on_postgres.py`). A query without ORDER BY may give its
//! rows in any order. What Braid refuses as unsupported is counted: the counts are exact, so that they can only shrink knowingly.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use braid_sql::tables::{TableColumn, TableEntry};
use braid_sql::testing::queries::{Answer, GivenTables, answer_of_query};
use braid_sql::{SqlError, SqlState};

use crate::answers::{escaped, type_of, value_as};

/// The files, each with how many of its queries are refused as unsupported.
const FILES: &[(&str, usize)] = &[
    ("aggregates", 1),
    ("chains", 0),
    ("common_tables", 16),
    ("column_definitions", 0),
    ("distinct_on", 0),
    ("expansions", 0),
    ("from", 0),
    ("grouping_sets", 0),
    ("intervals", 0),
    ("joins", 0),
    ("marks", 0),
    ("names", 2),
    ("records", 4),
    ("whole_rows", 0),
    ("windows", 3),
    ("set_operations", 0),
    ("subqueries", 3),
];

/// A query with the lines of PostgreSQL's answer.
struct Case<'t> {
    query: &'t str,
    expected: Vec<&'t str>,
}

struct Unsupported;

fn read(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/queries/{name}.tsv"));
    std::fs::read_to_string(&path).unwrap()
}

fn paragraphs(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.split("\n\n")
        .map(|paragraph| {
            paragraph.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>()
        })
        .filter(|lines| !lines.is_empty())
}

/// The tables of `tables.tsv`.
pub fn tables() -> GivenTables {
    let text = read("tables");
    let tables = paragraphs(&text).enumerate().map(|(at, lines)| {
        let header: Vec<&str> = lines[0].split('\t').collect();
        let key: Vec<&str> = lines[1].split('\t').skip(1).collect();
        let columns = header[2..].iter().map(|column| {
            let (name, sql_type) = column.split_once(' ').unwrap();
            TableColumn::new(name, type_of(sql_type).unwrap())
        });
        let columns: Vec<TableColumn> = columns.collect();
        let types: Vec<&str> = header[2..].iter().map(|column| column.split_once(' ').unwrap().1).collect();
        let rows = lines[2..].iter().map(|line| {
            let fields = line.split('\t').zip(types.iter().zip(&columns));
            let value = |(field, (given, column)): (&str, (&&str, &TableColumn))| {
                value_as(if field == "\\N" { "NULL" } else { field }, given, column.sql_type).unwrap()
            };
            fields.map(value).collect()
        });
        let primary_key = key.iter().map(|name| columns.iter().position(|column| column.name == *name).unwrap());
        let entry = TableEntry {
            id: at as u64,
            schema: "public".to_owned(),
            name: header[1].to_owned(),
            primary_key: primary_key.collect(),
            columns: columns.clone(),
        };
        (Arc::new(entry), rows.collect())
    });
    GivenTables(tables.collect())
}

/// The lines of an answer, as the files have them.
fn lines_of(answer: &Answer) -> Vec<String> {
    let mut header = "=".to_owned();
    for (name, sql_type) in &answer.columns {
        header.push_str(&format!("\t{}\t{sql_type}", escaped(name)));
    }
    let text = |value: &Option<String>| value.as_ref().map_or("\\N".to_owned(), |text| escaped(text));
    let row = |row: &Vec<Option<String>>| row.iter().map(|value| format!("\t{}", text(value))).collect::<String>();
    // The file has no lines for rows without columns.
    let rows = answer.rows.iter().filter(|row| !row.is_empty());
    std::iter::once(header).chain(rows.map(row)).collect()
}

fn line_of_error(error: &SqlError) -> String {
    let place = error.position().unwrap_or(0);
    let (detail, hint) = (error.detail().unwrap_or_default(), error.hint().unwrap_or_default());
    let texts = [error.message(), detail, hint].map(escaped).join("\t");
    format!("!\t{}\t{place}\t{texts}", error.sqlstate()).trim_end_matches('\t').to_owned()
}

/// Whether the rows of a query come in an order: whether it has ORDER BY outside of parentheses.
fn is_ordered(query: &str) -> bool {
    let mut depth = 0;
    query.char_indices().any(|(at, character)| {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        depth == 0 && query[at..].get(..8).is_some_and(|word| word.eq_ignore_ascii_case("order by"))
    })
}

/// What differs from PostgreSQL; `None` if nothing does.
fn difference(case: &Case<'_>, tables: &GivenTables) -> Result<Option<String>, Unsupported> {
    let first = case.expected[0];
    let mut expected: Vec<String> = case.expected.iter().map(|line| (*line).to_owned()).collect();
    let Ok(answer) = catch_unwind(AssertUnwindSafe(|| answer_of_query(case.query, tables))) else {
        return Ok(Some(format!("{}\n  panics", case.query)));
    };
    let mut lines = match answer {
        // PostgreSQL says so of a few things itself.
        Err(error) if error.state() == SqlState::FeatureNotSupported && line_of_error(&error) != first => {
            return Err(Unsupported);
        }
        // The words of a syntax error are the parser's, which reads less than PostgreSQL's.
        Err(error) if error.state() == SqlState::SyntaxError && error.position().is_none() => {
            return if first.starts_with("!\t42601") { Ok(None) } else { Err(Unsupported) };
        }
        Err(error) => vec![line_of_error(&error)],
        Ok(answer) => lines_of(&answer),
    };
    if !is_ordered(case.query) {
        expected[1..].sort();
        lines[1..].sort();
    }
    let shown = || {
        format!("{}\n  answer\n    {}\n  PostgreSQL\n    {}", case.query, lines.join("\n    "), expected.join("\n    "))
    };
    Ok((lines != expected).then(shown))
}

/// `BRAID_QUERIES=name` runs one file and prints what is refused.
#[test]
fn queries_have_postgresqls_answers() {
    let only = std::env::var("BRAID_QUERIES").ok();
    let tables = tables();
    let (mut differences, mut refused) = (Vec::new(), BTreeMap::new());
    let names = FILES.iter().map(|(name, _)| *name).filter(|name| only.is_none() || only.as_deref() == Some(*name));
    for name in names {
        let text = read(name);
        let mut refused_here = 0;
        for lines in paragraphs(&text) {
            let case = Case { query: lines[0], expected: lines[1..].to_vec() };
            match difference(&case, &tables) {
                Ok(difference) => differences.extend(difference),
                Err(Unsupported) => {
                    refused_here += 1;
                    if only.is_some() {
                        println!("unsupported: {}", case.query);
                    }
                }
            }
        }
        refused.insert(name, refused_here);
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    if only.is_none() {
        assert_eq!(refused, FILES.iter().copied().collect(), "queries that are refused");
    }
}
