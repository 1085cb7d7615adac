//! The queries with stored answers of PostgreSQL in `braid-sql` have the same rows after all rules.
//!
//! That their definitions have PostgreSQL's answers is tested there.

use std::sync::Arc;

use braid_sql::Value;
use braid_sql::tables::{TableColumn, TableEntry};
use braid_sql::testing::queries::GivenTables;
use braid_sql::testing::value_of;

use super::bound_to;
use super::rows::check_bound;

/// The files of queries.
const FILES: &[&str] = &["aggregates", "common_tables", "grouping_sets", "joins", "names", "chains", "records"];

/// Fewer queries with an answer mean that files are read wrongly.
const ANSWERS_MIN: usize = 300;

fn read(name: &str) -> String {
    let path = format!("{}/../braid-sql/tests/queries/{name}.tsv", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

fn paragraphs(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = text.split("\n\n").map(|paragraph| {
        paragraph.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>()
    });
    lines.filter(|lines| !lines.is_empty())
}

fn value(field: &str, sql_type: &str) -> Value {
    let text = if field == "\\N" { "NULL".to_owned() } else { format!("'{}'", field.replace('\'', "''")) };
    value_of(&format!("CAST({text} AS {sql_type})")).unwrap().1
}

/// The tables of `tables.tsv`: a line with name, columns and types, one with the primary key, and rows.
fn tables() -> GivenTables {
    let text = read("tables");
    let tables = paragraphs(&text).enumerate().map(|(at, lines)| {
        let header: Vec<&str> = lines[0].split('\t').collect();
        let columns: Vec<(&str, &str)> = header[2..].iter().map(|column| column.split_once(' ').unwrap()).collect();
        let rows = lines[2..]
            .iter()
            .map(|line| line.split('\t').zip(&columns).map(|(field, (_, sql_type))| value(field, sql_type)).collect());
        let rows = rows.collect();
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

#[test]
fn rules_keep_the_rows_of_stored_queries() {
    let tables = tables();
    let (mut answers, mut failed) = (0, Vec::new());
    for name in FILES {
        let text = read(name);
        for lines in paragraphs(&text) {
            let [sql, answer, ..] = lines[..] else { panic!("{lines:?}") };
            if !answer.starts_with('=') {
                continue;
            }
            let checked = std::panic::catch_unwind(|| {
                let (query, columns) = bound_to(sql, &tables).ok()?;
                check_bound(sql, &query, &columns, &tables).then_some(())
            });
            match checked {
                Ok(Some(())) => answers += 1,
                Ok(None) => {}
                Err(_) => failed.push(sql.to_owned()),
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(answers >= ANSWERS_MIN, "{answers} answers");
}
