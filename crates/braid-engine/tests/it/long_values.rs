//! Values that functions make long: answered within the query's budget, and refused beyond it, alone and in passes.

use braid_base::ByteSize;
use braid_engine::{Database, Session};
use futures::future::join_all;
use tempfile::TempDir;

use crate::test_db::{TestDb, config, run};

async fn database() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text, c text default repeat('d', 2000000))").await;
    db.run("insert into t (a, b, c) select n, 'x', 'y' from generate_series(1, 10) as s(n)").await;
    db
}

#[tokio::test(flavor = "multi_thread")]
async fn long_values_are_answered_within_the_budget() {
    let db = database().await;
    db.check(&[
        ("select length(repeat('x', 10000000))", "10000000"),
        ("select sum(length(s)) from (select repeat('x', 10000000) as s from generate_series(1, 20)) as q", "200000000"),
        ("select sum(length(repeat(b, a * 1000000))) from t", "55000000"),
        ("select a, length(s) from (values (1, repeat('x', 3000000)), (2, 'y'), (3, repeat('z', 2000000))) as v(a, s)", "1|3000000\n2|1\n3|2000000"),
        ("select length(replace(repeat('x', 3000), 'x', repeat('y', 1000)))", "3000000"),
        ("select cardinality(array_fill(1, array[100000]))", "100000"),
        (
            "with recursive d(n, s) as (select 1, 'x' union all select n + 1, s || s from d where n < 20) \
             select max(length(s)) from d",
            "524288",
        ),
        ("insert into t (a, b) values (11, repeat('x', 3000000)), (12, 'y')", "INSERT 0 2"),
        ("select a, length(b), length(c) from t where a > 10 order by a", "11|3000000|2000000\n12|1|2000000"),
    ])
    .await;
    db.until_nothing_is_held().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_values_beyond_the_budget_are_refused() {
    let db = database().await;
    for sql in [
        "select repeat('x', 100000000) from generate_series(1, 100)",
        "select length(repeat(repeat('x', 10000), 100000))",
        "select length(repeat(b, 1000000000)) from t",
        "select a from t where b = repeat('x', 100000000)",
        "select length(replace(repeat('x', 10000), 'x', repeat('y', 100000)))",
        "select length(regexp_replace(repeat('x', 10000), 'x', repeat('y', 100000), 'g')) from t",
        "select length(lpad(b, 200000000)), length(rpad(b, 200000000, 'ab')) from t",
        "select cardinality(array_fill(a, array[10000000])) from t",
        "select length(format('%1000000000s', b)) from t",
        "select length(array_to_string(array_fill(a, array[10000]), repeat('x', 100000))) from t",
        "select a, length(s) from (values (1, repeat('x', 300000000)), (2, 'y')) as v(a, s)",
        "insert into t (a, b) values (11, repeat('x', 100000000))",
        "insert into t (a, b) select a, repeat(b, 100000000) from t",
        "with recursive d(n, s) as (select 1, 'x' union all select n + 1, s || s from d where n < 40) \
         select max(length(s)) from d",
    ] {
        let error = db.fail(sql).await;
        assert_eq!(error.sqlstate(), "53200", "{sql}: {error:?}");
    }
    assert!(db.database.memory().peak() <= ByteSize::mib(64), "{} were held", db.database.memory().peak());
    assert_eq!(db.run("select count(*), max(length(b)) from t").await, "10|1");
    db.until_nothing_is_held().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_larger_budget_answers_what_a_smaller_one_refuses() {
    let dir = TempDir::new().unwrap();
    let mut config = config(dir.path());
    config.total_memory = ByteSize::mib(1024);
    let database = Database::open(config).await.unwrap();
    let session = database.session("alice");
    let sql = "select length(repeat('x', 100000000)) from generate_series(1, 3)";
    assert_eq!(run(&session, sql).await.unwrap_err().sqlstate(), "53200");
    run(&session, "set braid.query_memory = '512MB'").await.unwrap();
    assert_eq!(run(&session, sql).await.unwrap(), "100000000\n100000000\n100000000");
    assert_eq!(run(&session, "select length(repeat(repeat('x', 10000), 10000))").await.unwrap(), "100000000");
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_a_pass_fail_alone() {
    let db = database().await;
    let session = || -> Session {
        let session = db.database.session("alice");
        session.set_setting("braid.sharing", "global").unwrap();
        session.set_setting("braid.templates", "eager").unwrap();
        session
    };
    let text = |count: usize| format!("select sum(length(repeat(b, {count} * a))) from t");
    assert_eq!(run(&session(), &text(1)).await.unwrap(), "55");
    let counts = [2, 300_000, 50_000_000, 3, 400_000, 60_000_000, 5];
    let clients = counts.map(|count| (count, session()));
    let answers = join_all(clients.iter().map(|(count, client)| async { (*count, run(client, &text(*count)).await) }));
    for (count, answer) in answers.await {
        match count > 1_000_000 {
            true => assert_eq!(answer.unwrap_err().sqlstate(), "53200", "{count}"),
            false => assert_eq!(answer.unwrap(), (55 * count).to_string(), "{count}"),
        }
    }
    db.until_nothing_is_held().await;
}
