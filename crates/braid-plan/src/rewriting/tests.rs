//! What tests of rules share: three tables, and the comparison of a query's rows before and after a rule by their definition.
//!
//! | module | contents |
//! |---|---|
//! | [`failures`] | what is said to never fail does not |
//! | [`forms`] | queries of many forms |
//! | [`rows`] | each rule, and all together, keep the rows of all forms |
//! | [`random_queries`] | the same for random queries |
//! | [`stored_queries`] | the same for queries whose answers are stored |
//! | [`plans`] | what rules make of queries, as text |
//! | [`tpch`] | what all rules make of the queries of TPC-H |
//! | [`large_queries`] | rewriting takes time nearly linear in the size of a query |

mod failures;
mod forms;
mod large_queries;
mod plans;
mod random_queries;
mod rows;
mod stored_queries;
mod tpch;

use std::sync::Arc;

use braid_sql::binder::Statement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{Columns, Query, Relation};
use braid_sql::tables::{TableColumn, TableEntry, Tables};
use braid_sql::testing::FixedSession;
use braid_sql::testing::naive::{TableRows, rows_of};
use braid_sql::{SqlError, SqlState, SqlType, Value};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::{Parser, ParserError};

/// A rule.
pub(super) type Rule = fn(Relation, &mut Columns) -> Relation;

/// `t(a, b, n)`, `s(x, y)`, `r(k, v)` of integers, but `n` is numeric.
#[derive(Debug)]
pub(super) struct SmallTables {
    rows: [Vec<Vec<Value>>; 3],
}

const TABLES: [(&str, &[&str]); 3] = [("t", &["a", "b", "n"]), ("s", &["x", "y"]), ("r", &["k", "v"])];

impl SmallTables {
    /// Random rows with nulls and duplicates; tables may be empty.
    pub fn random(seed: u64) -> Self {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = move |bound: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % bound
        };
        let rows = TABLES.map(|(_, columns)| {
            let count = next(7);
            let row = |next: &mut dyn FnMut(u64) -> u64| {
                let value = |name: &&str| match next(5) {
                    0 => Value::Null,
                    number if *name == "n" => {
                        let text = ["1.0", "1.00", "2", "2.0", "3"][usize::try_from(number).unwrap()];
                        numeric(text)
                    }
                    number => Value::Int4(i32::try_from(number).unwrap() - 1),
                };
                columns.iter().map(value).collect()
            };
            (0..count).map(|_| row(&mut next)).collect()
        });
        Self { rows }
    }
}

fn numeric(text: &str) -> Value {
    let sql = format!("SELECT {text}::numeric");
    let (query, columns) = bound(&sql).unwrap();
    rows_of(&query, &columns, (&FixedSession, &[]), &SmallTables { rows: Default::default() })
        .unwrap()
        .remove(0)
        .remove(0)
}

impl Tables for SmallTables {
    fn table(&self, _schema: Option<&str>, name: &str) -> Result<Option<Arc<TableEntry>>, SqlError> {
        let at = TABLES.iter().position(|(own, _)| *own == name);
        Ok(at.map(|at| {
            let column = |name: &&str| {
                TableColumn::new(*name, SqlType::of(if *name == "n" { TypeId::NUMERIC } else { TypeId::INT4 }))
            };
            Arc::new(TableEntry {
                id: at as u64,
                schema: "public".to_owned(),
                name: name.to_owned(),
                columns: TABLES[at].1.iter().map(column).collect(),
                primary_key: Vec::new(),
            })
        }))
    }
}

impl TableRows for SmallTables {
    fn rows(&self, table: u64) -> Vec<Vec<Value>> {
        self.rows[usize::try_from(table).unwrap()].clone()
    }
}

/// A query bound to the small tables.
pub(super) fn bound(sql: &str) -> Result<(Query, Columns), SqlError> {
    bound_to(sql, &SmallTables { rows: Default::default() })
}

/// A query bound to some tables, which may have a parameter.
pub(super) fn bound_to(sql: &str, tables: &dyn Tables) -> Result<(Query, Columns), SqlError> {
    let syntax_error = |error: ParserError| SqlError::new(SqlState::SyntaxError, error.to_string());
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).map_err(syntax_error)?;
    let mut syntax = parser.parse_query().map_err(syntax_error)?;
    rebind_all(&mut syntax);
    let statement = Statement::new(sql, &FixedSession, tables).with_parameters(&[None]);
    let query = statement.binder().whole_query(&syntax)?;
    Ok((query, statement.into_columns()))
}

/// The plan of a query after a rule.
pub(super) fn plan(sql: &str, rule: Rule) -> String {
    let (query, mut columns) = bound(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let relation = rule(query.relation, &mut columns);
    relation.text(&columns, &FixedSession)
}

/// Asserts the plan of a query after a rule.
pub(super) fn check(sql: &str, rule: Rule, expected: &str) {
    let found = plan(sql, rule);
    let lines = |text: &str| {
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let indent =
        expected.lines().find(|line| !line.trim().is_empty()).map_or(0, |line| line.len() - line.trim_start().len());
    let expected: Vec<String> =
        lines(expected).into_iter().map(|line| line[indent.min(line.len())..].to_owned()).collect();
    assert_eq!(lines(&found), expected, "{sql}\n{found}");
}

/// Asserts that the query has the same rows after the rule, over the data of some seeds.
pub(super) fn check_rows(sql: &str, rule: Rule, seeds: std::ops::Range<u64>) {
    let (query, columns) = bound(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let mut new_columns = columns.clone();
    let relation = rule(query.relation.clone(), &mut new_columns);
    let rewritten = Query { relation, outputs: query.outputs.clone() };
    for seed in seeds {
        let tables = SmallTables::random(seed);
        let answer = |query: &Query, columns: &Columns| {
            let rows = rows_of(query, columns, (&FixedSession, &[]), &tables);
            rows.map_err(|error| error.state()).map(|rows| {
                let mut texts: Vec<String> = rows.into_iter().map(|row| format!("{row:?}")).collect();
                texts.sort();
                texts
            })
        };
        let (before, after) = (answer(&query, &columns), answer(&rewritten, &new_columns));
        let plan = || rewritten.relation.text(&new_columns, &FixedSession);
        assert_eq!(before, after, "seed {seed}: {sql}\n{}\n{tables:?}", plan());
    }
}
