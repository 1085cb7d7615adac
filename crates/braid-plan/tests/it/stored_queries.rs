//! The queries with stored answers of PostgreSQL in `braid-sql`, on the operators. Rows of tables are constants here.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_plan::lowering::{Environment, NoPlan, NoStoredTables, Numerics, Purpose, Session};
use braid_plan::planning::plan;
use braid_sql::expression::{Expression, Node};
use braid_sql::relation::Relation;
use braid_sql::tables::{TableColumn, TableEntry};
use braid_sql::testing::naive::TableRows;
use braid_sql::testing::queries::GivenTables;
use braid_sql::testing::{FixedSession, value_of};
use braid_sql::{SqlError, SqlState, Value};

use crate::memory_tables::{optimized, rich};
use crate::running::{Failure, bound_to, run_by, texts};

/// The files of queries, each with how many of its queries are refused as unsupported, at most.
const FILES: &[(&str, usize)] = &[
    ("aggregates", 13),
    ("column_definitions", 5),
    ("common_tables", 23),
    ("exclusions", 0),
    ("distinct_on", 1),
    ("expansions", 4),
    ("from", 0),
    ("grouping_sets", 2),
    ("intervals", 0),
    ("joins", 2),
    ("marks", 0),
    ("chains", 0),
    ("records", 7),
    ("whole_rows", 0),
    ("window_errors", 0),
    ("windows", 12),
    ("set_operations", 0),
    ("subqueries", 6),
];

const WORKERS: usize = 2;

fn read(name: &str) -> String {
    let path = format!("{}/../braid-sql/tests/queries/{name}.tsv", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

pub fn paragraphs(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.split("\n\n").map(|paragraph| {
        paragraph.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>()
    });
    lines.filter(|lines| !lines.is_empty())
}

pub fn value(field: &str, sql_type: &str) -> Value {
    let text = if field == "\\N" { "NULL".to_owned() } else { format!("'{}'", field.replace('\'', "''")) };
    value_of(&format!("CAST({text} AS {sql_type})")).unwrap().1
}

/// The tables of `tables.tsv`: a line with name, columns and types, one with the primary key, and rows.
pub fn tables() -> GivenTables {
    let text = read("tables");
    let tables = paragraphs(&text).enumerate().map(|(at, lines)| {
        let header: Vec<&str> = lines[0].split('\t').collect();
        let columns: Vec<(&str, &str)> = header[2..].iter().map(|column| column.split_once(' ').unwrap()).collect();
        let row = |line: &&str| line.split('\t').zip(&columns).map(|(field, (_, name))| value(field, name)).collect();
        let rows = lines[2..].iter().map(row).collect();
        let key = lines[1].split('\t').skip(1);
        let primary_key = key.map(|name| columns.iter().position(|(own, _)| *own == name).unwrap()).collect();
        let columns = columns
            .iter()
            .map(|(name, sql_type)| TableColumn::new(*name, value_of(&format!("CAST(NULL AS {sql_type})")).unwrap().0));
        let (schema, name) = ("public".to_owned(), header[1].to_owned());
        let entry = TableEntry { id: at as u64, schema, name, columns: columns.collect(), primary_key };
        (Arc::new(entry), rows)
    });
    GivenTables(tables.collect())
}

/// The relation with constant rows in place of tables.
fn put_constants(relation: &mut Relation, tables: &GivenTables) {
    if let Relation::Table(scan) = relation {
        let types = tables.0[scan.table as usize].0.columns.iter().map(|column| column.sql_type);
        let types: Vec<_> = types.collect();
        let constants = |row: Vec<Value>| {
            row.into_iter().zip(&types).map(|(value, sql_type)| Expression::constant(value, *sql_type)).collect()
        };
        let rows = tables.rows(scan.table).into_iter().map(constants).collect();
        *relation = Relation::Values { columns: scan.columns.clone(), rows };
        return;
    }
    relation.inputs_mut().into_iter().for_each(|input| put_constants(input, tables));
    relation.expressions_mut().into_iter().for_each(|expression| put_constants_in(expression, tables));
}

fn put_constants_in(expression: &mut Expression, tables: &GivenTables) {
    if let Node::Subquery(subquery) = &mut expression.node {
        put_constants(&mut subquery.relation, tables);
    }
    expression.operands_mut().into_iter().for_each(|operand| put_constants_in(operand, tables));
}

/// The lines of a query's rows, as the files have them.
pub fn lines_of(sql: &str, tables: &GivenTables) -> Result<Vec<String>, SqlError> {
    let session: Arc<dyn Session> = Arc::new(FixedSession);
    let (mut bound, columns) = bound_to(sql, tables)?;
    put_constants(&mut bound.relation, tables);
    let (purpose, numerics) = (Purpose::OneStatement, Numerics::Wide);
    let environment = Environment { session: &session, tables: &NoStoredTables, purpose, numerics };
    let lowered = optimized(plan(bound, columns, environment).map_err(NoPlan::into_error)?);
    let batches = match run_by(&lowered, &rich(WORKERS)) {
        Ok(batches) => batches,
        Err(Failure::OfSql(error)) => return Err(error),
        Err(other) => panic!("{sql}: {other:?}"),
    };
    let mut lines = Vec::new();
    for batch in batches {
        lines.extend(texts(&lowered, batch)?.iter().map(|row| escaped_line(row)));
    }
    Ok(lines)
}

/// A row as the files have it.
pub fn escaped_line(row: &[String]) -> String {
    let escaped = |text: &String| match text.as_str() {
        "\\N" => "\\N".to_owned(),
        text => text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n"),
    };
    row.iter().map(|text| format!("\t{}", escaped(text))).collect()
}

/// Whether the rows of a query come in an order: whether it has ORDER BY outside of parentheses.
pub fn is_ordered(query: &str) -> bool {
    let mut depth = 0;
    query.char_indices().any(|(at, character)| {
        depth += i32::from(character == '(') - i32::from(character == ')');
        depth == 0 && query[at..].starts_with("ORDER BY")
    })
}

/// `BRAID_QUERIES=name` runs one file and prints what is refused.
#[test]
fn stored_queries_have_postgresqls_answers() {
    let only = std::env::var("BRAID_QUERIES").ok();
    let tables = tables();
    let (mut differences, mut refused, mut count) = (Vec::new(), BTreeMap::new(), 0);
    for (name, _) in FILES.iter().filter(|(name, _)| only.as_deref().is_none_or(|only| only == *name)) {
        let mut refused_here = 0;
        for lines in paragraphs(&read(name)) {
            // The parser reads some of these.
            if lines[1].starts_with("!\t42601") {
                continue;
            }
            let (sql, mut expected) = (lines[0], lines[2..].iter().map(ToString::to_string).collect::<Vec<_>>());
            count += 1;
            let mut found = match lines_of(sql, &tables) {
                // The parser reads less than PostgreSQL's.
                Err(error) if [SqlState::FeatureNotSupported, SqlState::SyntaxError].contains(&error.state()) => {
                    refused_here += 1;
                    if only.is_some() {
                        println!("unsupported: {sql}: {error}");
                    }
                    continue;
                }
                Err(error) => {
                    if !lines[1].starts_with(&format!("!\t{}", error.sqlstate())) {
                        differences.push(format!("{sql}\n  {error}\n  PostgreSQL {}", lines[1]));
                    }
                    continue;
                }
                Ok(found) => found,
            };
            if !is_ordered(sql) {
                found.sort();
                expected.sort();
            }
            if lines[1].starts_with('!') || found != expected {
                let (found, expected) = (found.join("\n    "), lines[1..].join("\n    "));
                differences.push(format!("{sql}\n  answer\n    {found}\n  PostgreSQL\n    {expected}"));
            }
        }
        refused.insert(*name, refused_here);
    }
    println!("{count} queries");
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
    for (name, refused_max) in FILES {
        let refused = refused.get(name).copied().unwrap_or(0);
        assert!(refused <= *refused_max, "{refused} queries of {name} are refused");
    }
}
