//! Values that functions and aggregates make are counted before they are made: what the process allocates meanwhile stays within the query
//! budget, and within the total limit when several sessions make them at once.

use std::sync::Arc;

use braid_base::ByteSize;
use braid_engine::{Config, Database, EngineError, Outcome};
use futures::TryStreamExt;
use tokio_util::sync::CancellationToken;

use crate::MEASURING;
use crate::counting_allocator::{allocated_bytes, forget_peak, peak_bytes};

/// The budget of a query.
const QUERY_BYTES: usize = 24 << 20;

/// The limit of all queries together.
const TOTAL_BYTES: usize = 40 << 20;

/// What is not counted: batches between operators, the plan, threads that start.
const SLACK_BYTES: usize = 8 << 20;

/// Sessions that run at once.
const SESSION_COUNT: usize = 4;

/// Queries that fit the budget, one by one.
const FITTING: &[&str] = &[
    "length(repeat('x', 14000000))",
    "length(repeat('xyz', 2000000) || repeat('y', 2000000))",
    "length(lpad('x', 14000000, 'ab'))",
    "length(rpad('x', 6000000, 'é'))",
    "length(replace(repeat('x', 1000000), 'x', 'yyyy'))",
    "length(upper(repeat('x', 4000000)))",
    "length(substr(repeat('x', 10000000), 10, 9000000))",
    "length(format('%4000000s', 'x'))",
    "length(translate(repeat('x', 4000000), 'x', 'y'))",
    "length(encode(repeat('x', 2000000)::bytea, 'hex'))",
    "array_length(string_to_array(repeat('x,', 100000), ','), 1)",
    "array_length(array_fill(1, array[200000]), 1)",
    "(select length(string_agg(repeat('x', 1000), ',')) from generate_series(1, 4000))",
    "(select array_length(array_agg(n), 1) from generate_series(1, 60000) n)",
    "(select max(length(repeat(n::text, 2000000))) from generate_series(1, 3) n)",
];

/// Queries that need more than the budget.
const LARGE: &[&str] = &[
    "length(repeat('x', 60000000))",
    "length(repeat('x', 20000000) || repeat('y', 20000000))",
    "length(lpad('x', 60000000, 'ab'))",
    "length(rpad('x', 60000000))",
    "length(replace(repeat('x', 1000000), 'x', repeat('y', 60)))",
    "length(regexp_replace(repeat('x', 1000000), 'x', repeat('y', 60), 'g'))",
    "length(overlay(repeat('x', 15000000) placing 'y' from 3))",
    "length(translate(repeat('x', 15000000), 'x', 'y'))",
    "length(upper(repeat('x', 15000000)))",
    "length(reverse(repeat('x', 15000000)))",
    "length(initcap(repeat('x', 15000000)))",
    "length(concat(repeat('x', 15000000), 1, repeat('x', 3000000)))",
    "length(concat_ws(',', repeat('x', 15000000), repeat('x', 3000000)))",
    "length(format('%s%s', repeat('x', 15000000), repeat('x', 15000000)))",
    "length(format('%60000000s', 'x'))",
    "length(quote_literal(repeat('''', 12000000)))",
    "length(quote_ident(repeat('\"', 12000000)))",
    "length(encode(repeat('x', 15000000)::bytea, 'hex'))",
    "length(encode(repeat('x', 15000000)::bytea, 'base64'))",
    "length(decode(repeat('ab', 10000000), 'hex'))",
    "length((repeat('x', 15000000)::bytea)::text)",
    "length(to_json(repeat('x', 15000000))::text)",
    "array_length(string_to_array(repeat('x,', 2000000), ','), 1)",
    "array_length(regexp_split_to_array(repeat('x,', 2000000), ','), 1)",
    "array_length(array_fill(1, array[2000000]), 1)",
    "array_length(array_cat(array_fill(1, array[400000]), array_fill(1, array[400000])), 1)",
    "length(array_to_string(array_fill(1000000, array[400000]), repeat(',', 100)))",
    "length(array_fill(1000000, array[600000])::text)",
    "(select length(string_agg(repeat('x', 1000), ',')) from generate_series(1, 40000))",
    "(select length(string_agg(repeat('x', 1000), ',' order by n)) from generate_series(1, 40000) n)",
    "(select length(string_agg(repeat('x', 1000)::bytea, ',')) from generate_series(1, 40000))",
    "(select array_length(array_agg(repeat('x', 1000)), 1) from generate_series(1, 40000))",
    "(select length(json_agg(repeat('x', 1000))::text) from generate_series(1, 40000))",
    "(select max(length(repeat(n::text, 60000000))) from generate_series(1, 3) n)",
    "(select max(length(x)) from (values (repeat('x', 60000000)), ('y')) v (x))",
    "(select sum(length(x)) from unnest(string_to_array(repeat('x,', 2000000), ',')) x)",
];

async fn open(directory: &std::path::Path) -> Arc<Database> {
    let mut config = Config::new(directory);
    config.buffer = ByteSize::mib(16);
    config.query_memory = ByteSize(QUERY_BYTES as u64);
    config.total_memory = ByteSize(TOTAL_BYTES as u64);
    config.target_partitions = 2;
    Database::open(config).await.unwrap()
}

/// Runs a query to its end.
async fn run(database: &Arc<Database>, sql: &str) -> Result<(), EngineError> {
    let session = database.session("alice");
    let parsed = session.parse(sql)?.remove(0);
    match session.execute(&parsed, vec![], CancellationToken::new()).await? {
        Outcome::Rows { stream, .. } => stream.try_for_each(async |_| Ok(())).await,
        other => panic!("{sql}: {other:?}"),
    }
}

/// The most bytes that were allocated at a time in `run`, beyond those before it.
async fn peak_of<T>(run: impl Future<Output = T>) -> (T, usize) {
    let before = allocated_bytes();
    forget_peak();
    let result = run.await;
    (result, peak_bytes() - before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::await_holding_lock, reason = "each test has a runtime of its own, which waits for nothing else")]
async fn long_values_are_counted_before_they_are_made() {
    let _measuring = MEASURING.lock().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path()).await;
    run(&database, "select length(repeat('x', 10)), count(*) from generate_series(1, 10)").await.unwrap();
    let mut faults = Vec::new();
    let cases = FITTING.iter().map(|case| (case, true)).chain(LARGE.iter().map(|case| (case, false)));
    for (expression, fits) in cases {
        let (result, peak) = peak_of(run(&database, &format!("select {expression}"))).await;
        let state = result.as_ref().err().map(|error| error.state().code());
        println!("{:>6} kB, {}: {expression}", peak >> 10, state.unwrap_or("a row"));
        if fits && state.is_some() || state.is_some_and(|state| state != "53200") {
            faults.push(format!("{expression}: {result:?}"));
        }
        if peak > QUERY_BYTES + SLACK_BYTES {
            faults.push(format!("{expression} took {} kB of {} kB", peak >> 10, QUERY_BYTES >> 10));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[allow(clippy::await_holding_lock, reason = "each test has a runtime of its own, which waits for nothing else")]
async fn the_total_limit_holds_for_the_values_of_all_sessions() {
    let _measuring = MEASURING.lock().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let database = open(directory.path()).await;
    for expression in ["length(repeat('x', 20000000))", "length(upper(repeat('x', 6000000)))"] {
        let sql = format!("select {expression}");
        run(&database, &sql).await.unwrap();
        let at_once = futures::future::join_all((0..SESSION_COUNT).map(|_| {
            let (database, sql) = (database.clone(), sql.clone());
            tokio::spawn(async move { run(&database, &sql).await })
        }));
        let (results, peak) = peak_of(at_once).await;
        for result in results {
            if let Err(error) = result.unwrap() {
                assert_eq!(error.state().code(), "53200", "{expression}: {error}");
            }
        }
        println!("{:>6} kB in {SESSION_COUNT} sessions: {expression}", peak >> 10);
        assert!(peak <= TOTAL_BYTES + SLACK_BYTES, "{expression} took {} kB in all sessions", peak >> 10);
    }
}
