//! Long values: counted under the query's budget while they exist, refused when they exceed it, and answered otherwise.

use std::sync::Arc;

use braid_base::ByteSize;
use braid_exec::executor::Executor;
use braid_exec::runtime::pipeline::Sink;
use braid_exec::runtime::stop::Stop;
use braid_exec::{Batch, ExecError, FixedBudget, MemoryBudget};
use braid_plan::lowering::{LoweredQuery, Numerics};
use braid_sql::{SqlError, SqlState};

use crate::running::{lowered, rows, texts};

const MB: u64 = 1 << 20;

/// Notes rows, of which it keeps the first ten characters, with the memory that is in use while they are there.
struct Passing {
    query: Arc<LoweredQuery>,
    budget: Arc<FixedBudget>,
    rows: Vec<String>,
    used_max: usize,
}

impl Sink for Passing {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        self.used_max = self.used_max.max(self.budget.used());
        let shown = texts(&self.query, batch).unwrap();
        self.rows.extend(shown.into_iter().map(|row| row.join("|").chars().take(10).collect::<String>()));
        Ok(())
    }
}

/// The beginnings of a query's rows by one worker under a budget, and the most memory that was used while one was there. All of it is given
/// back at the end.
fn rows_within(sql: &str, bytes: u64) -> Result<(Vec<String>, usize), ExecError> {
    let query = Arc::new(lowered(sql, Numerics::Wide).unwrap());
    let budget = FixedBudget::new(ByteSize(bytes));
    let sink = || Passing { query: query.clone(), budget: budget.clone(), rows: Vec::new(), used_max: 0 };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let executor = Executor::new(1, budget.clone() as Arc<dyn MemoryBudget>);
    let sinks = runtime.block_on(executor.run(&query.plan, sink));
    drop((executor, runtime));
    assert_eq!(budget.used(), 0, "{sql} holds memory after its end");
    let mut sinks = sinks?;
    let used_max = sinks.iter().map(|sink| sink.used_max).max().unwrap_or(0);
    Ok((sinks.iter_mut().flat_map(|sink| std::mem::take(&mut sink.rows)).collect(), used_max))
}

fn is_out_of_memory(error: &ExecError) -> bool {
    match error {
        ExecError::Memory(_) => true,
        ExecError::Foreign(error) => {
            error.downcast_ref::<SqlError>().is_some_and(|error| error.state() == SqlState::OutOfMemory)
        }
        _ => false,
    }
}

/// The query has these rows under the first budget, and is refused under the second.
fn check(sql: &str, (enough, too_little): (u64, u64), expected: &[&str]) {
    let (rows, _) = rows_within(sql, enough).unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(rows, expected, "{sql}");
    let error = rows_within(sql, too_little).unwrap_err();
    assert!(is_out_of_memory(&error), "{sql}: {error:?}");
}

#[test]
fn a_long_row_is_counted_while_it_is_there() {
    let sql = "SELECT repeat('x', 3000000) FROM generate_series(1, 5)";
    let (rows, used) = rows_within(sql, 8 * MB).unwrap();
    assert_eq!(rows, ["xxxxxxxxxx"; 5]);
    assert!((3_000_000..3_200_000).contains(&used), "{used} bytes were used");
    let error = rows_within(sql, 4 * MB).unwrap_err();
    assert!(is_out_of_memory(&error), "{error:?}");
    assert!(error.to_string().starts_with("a long value needs 2."), "{error}");
}

#[test]
fn a_long_row_of_case_and_of_values_is_counted_while_it_is_there() {
    for sql in [
        "SELECT CASE n WHEN 1 THEN repeat('x', 3000000) ELSE n::text END FROM generate_series(1, 5) AS g(n)",
        "VALUES (repeat('x', 3000000)), ('y'), ('z')",
    ] {
        let (rows, used) = rows_within(sql, 8 * MB).unwrap();
        assert_eq!(rows[0], "xxxxxxxxxx", "{sql}");
        assert!((3_000_000..3_200_000).contains(&used), "{sql}: {used} bytes were used");
    }
}

#[test]
fn long_rows_are_divided_and_each_is_given_back() {
    // 20 MB in all rows.
    let sql = "SELECT length(s), s FROM (SELECT repeat('x', n * 10) AS s FROM generate_series(1, 2000) AS g(n)) AS q";
    let (rows, used) = rows_within(sql, 3 * MB).unwrap();
    assert_eq!(rows.len(), 2000);
    assert!(used < 2 << 20, "{used} bytes were used");
}

#[test]
fn values_on_the_way_are_counted() {
    let of_rows = "FROM generate_series(1, 2) AS g(n)";
    check(
        &format!("SELECT length(repeat(repeat('x', 1000), n * 10000)) {of_rows}"),
        (30 * MB, 12 * MB),
        &["10000000", "20000000"],
    );
    check(&format!("SELECT n {of_rows} WHERE lpad('', n * 3000000) > 'a' IS NULL OR n > 1"), (13 * MB, 2 * MB), &["2"]);
    check(&format!("SELECT cardinality(array_fill(n, ARRAY[400000])) {of_rows}"), (25 * MB, 8 * MB), &["400000"; 2]);
    check(
        &format!("SELECT max(length(replace(repeat('x', 3000), 'x', repeat('y', n * 1000)))) {of_rows}"),
        (26 * MB, 12 * MB),
        &["6000000"],
    );
}

/// The rows of a text that is put together are kept as bytes, and read one by one: the text takes five times its bytes at most.
#[test]
fn a_text_of_many_rows_takes_a_few_times_its_length() {
    let rows = "FROM generate_series(1, 20000)";
    check(&format!("SELECT length(string_agg(repeat('x', 1000), ',')) {rows}"), (100 * MB, 40 * MB), &["20019999"]);
    check(
        &format!("SELECT length(string_agg(repeat('x', 1000)::bytea, ',')) {rows}"),
        (100 * MB, 40 * MB),
        &["20019999"],
    );
}

#[test]
fn a_recursion_that_doubles_its_values_is_answered_or_refused() {
    let doubled = |steps: usize| {
        format!(
            "WITH RECURSIVE d(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || s FROM d WHERE n < {steps}) \
             SELECT max(length(s)) FROM d"
        )
    };
    let (rows, _) = rows_within(&doubled(20), 32 * MB).unwrap();
    assert_eq!(rows, ["524288"]);
    let error = rows_within(&doubled(40), 32 * MB).unwrap_err();
    assert!(is_out_of_memory(&error), "{error:?}");
}

#[test]
fn functions_that_return_rows_count_long_ones() {
    let sql = "SELECT length(x) FROM unnest(ARRAY['y', repeat('x', 3000000), 'z']) AS u(x)";
    check(sql, (30 * MB, 2 * MB), &["1", "3000000", "1"]);
    let sql = "SELECT left(x, 3) FROM string_to_table('a,' || repeat('x', 3000000) || ',z', ',') AS u(x)";
    check(sql, (30 * MB, 2 * MB), &["a", "xxx", "z"]);
}

#[test]
fn rows_of_values_keep_their_order_whatever_is_long() {
    let sql = "SELECT n, length(s), m FROM (VALUES (1, repeat('a', 2000000), 1.5), (2, 'b', length(repeat('x', 3000000))::numeric / 2), \
               (3, repeat('c', 1500000), 2.25), (4, NULL, NULL)) AS v(n, s, m)";
    let expected =
        [["1", "2000000", "1.5"], ["2", "1", "1500000.000000000000"], ["3", "1500000", "2.25"], ["4", "\\N", "\\N"]];
    assert_eq!(rows(sql).unwrap(), expected);
    assert_eq!(rows("VALUES (length(repeat('x', 2000000))), (2)").unwrap(), [["2000000"], ["2"]]);
}

#[test]
fn a_plan_depends_on_values_made_of_long_ones() {
    assert_eq!(
        rows("SELECT n FROM generate_series(1, 9) AS g(n) LIMIT length(repeat('x', 3000000)) / 1000000").unwrap().len(),
        3
    );
    let error = rows("SELECT 1 LIMIT length(repeat('x', 30000000))").unwrap_err();
    assert_eq!(error.state(), SqlState::OutOfMemory, "{error}");
}

#[test]
fn plans_hold_no_long_constants() {
    for sql in [
        "SELECT repeat('x', 100000000) FROM generate_series(1, 2)",
        "SELECT repeat('x', 200000) FROM generate_series(1, 2)",
        "SELECT 1 FROM generate_series(1, 2) AS g(n) WHERE n::text = repeat('x', 100000000)",
        "SELECT s FROM (VALUES (repeat('x', 100000000))) AS v(s)",
    ] {
        // It is made neither here, which takes no time, nor by EXPLAIN.
        let plan = lowered(sql, Numerics::Wide).unwrap().plan;
        assert!(format!("{plan:?}").len() < 100_000, "{sql}");
    }
}
