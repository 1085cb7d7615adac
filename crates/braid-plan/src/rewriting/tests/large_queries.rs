//! Rewriting takes time nearly linear in the size of a query.

use std::fmt::Write;
use std::time::{Duration, Instant};

use braid_sql::relation::ColumnId;
use braid_sql::testing::FixedSession;

use super::bound;
use crate::rewriting::rewrite;

/// Without optimization, on a busy machine. Quadratic steps would take minutes.
const LONGEST: Duration = Duration::from_secs(30);

/// The stack of the threads on which queries are planned.
const STACK_BYTES: usize = 256 << 20;

fn check(sql: &str) {
    std::thread::scope(|scope| {
        let planner = std::thread::Builder::new().stack_size(STACK_BYTES);
        planner.spawn_scoped(scope, || check_time(sql)).unwrap().join().unwrap();
    });
}

fn check_time(sql: &str) {
    let (query, mut columns) = bound(sql).unwrap();
    let outputs: Vec<ColumnId> = query.outputs.iter().map(|output| output.column).collect();
    let start = Instant::now();
    let relation = rewrite(query.relation, &outputs, &mut columns, &FixedSession);
    let elapsed = start.elapsed();
    assert!(relation.free_columns().is_empty());
    println!("{:?} for {}…", elapsed, &sql[..sql.len().min(60)]);
    assert!(elapsed < LONGEST, "{elapsed:?} for {}…", &sql[..sql.len().min(60)]);
}

/// A chain of joins.
fn chain(joins: usize) -> String {
    let mut sql = "SELECT t0.a FROM t t0".to_owned();
    for at in 1..=joins {
        write!(sql, ", t t{at}").unwrap();
    }
    sql += " WHERE true";
    for at in 1..=joins {
        write!(sql, " AND t{}.a = t{at}.b", at - 1).unwrap();
    }
    sql
}

#[test]
fn many_conjuncts_on_many_joins() {
    let mut sql = chain(60);
    for at in 0..10_000 {
        write!(sql, " AND t{}.a <> {at}", at % 60).unwrap();
    }
    check(&sql);
}

#[test]
fn many_alternatives() {
    let mut sql = "SELECT a FROM t, s WHERE (a = 1 AND x = 1)".to_owned();
    for at in 0..2_000 {
        write!(sql, " OR (a = {at} AND x = {at} AND b = y)").unwrap();
    }
    check(&sql);
}

#[test]
fn many_unions() {
    let inputs: Vec<String> = (0..500).map(|at| format!("SELECT a, b + {at} AS z FROM t")).collect();
    check(&format!("SELECT a FROM ({}) q WHERE a > 1 AND z < 10 AND a + z > 2", inputs.join(" UNION ALL ")));
}

#[test]
fn many_common_table_expressions() {
    let mut sql = "WITH c0 AS (SELECT a, b FROM t)".to_owned();
    for at in 1..200 {
        write!(sql, ", c{at} AS (SELECT a, b FROM c{} WHERE a <> {at})", at - 1).unwrap();
    }
    sql += " SELECT a FROM c199 WHERE b = 1";
    check(&sql);
}
