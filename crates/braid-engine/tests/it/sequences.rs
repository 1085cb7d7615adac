//! Sequences beside other sessions, over restarts, and under plans of several workers.

use std::collections::HashSet;
use std::sync::Arc;

use braid_engine::Database;

use crate::test_db::{TestDb, config, run};

#[tokio::test(flavor = "multi_thread")]
async fn sessions_insert_different_numbers() {
    let db = Arc::new(TestDb::new().await);
    db.run("create table t (id bigserial, session int)").await;
    let sessions = (0..32).map(|number| {
        let session = db.database.session("s");
        tokio::spawn(async move {
            for _ in 0..5 {
                run(&session, &format!("insert into t (session) values ({number})")).await.unwrap();
                // A number that is rolled back is not given to another session.
                run(&session, "begin;; insert into t (session) values (-1);; rollback").await.unwrap();
            }
        })
    });
    for session in sessions.collect::<Vec<_>>() {
        session.await.unwrap();
    }
    assert_eq!(db.run("select count(*), count(distinct id) from t").await, "160|160");
    assert_eq!(db.run("select nextval('t_id_seq')").await, "321");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_statement_reserves_many_numbers_at_a_time() {
    let db = TestDb::new().await;
    db.run("create table t (id serial, n int)").await;
    let commits_before = db.database.store().snapshot().sequence();
    db.run("insert into t (n) select g from generate_series(1, 20000) g").await;
    let commits = db.database.store().snapshot().sequence() - commits_before;
    assert!(commits < 20, "{commits} commits");
    assert_eq!(db.run("select count(distinct id), min(id), max(id) from t").await, "20000|1|20000");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_row_has_a_number_of_its_own_in_plans_of_several_workers() {
    let db = TestDb::new().await;
    db.run("create sequence s;; create table t (n int);; insert into t select generate_series(1, 300000)").await;
    let numbers = "select count(*), count(distinct number), min(number), max(number)
        from (select nextval('s') as number, n from t) x";
    assert_eq!(db.run(numbers).await, "300000|300000|1|300000");
    db.run("create table made as select nextval('s') as number, n from t where n % 2 = 0").await;
    assert_eq!(db.run("select count(distinct number), max(number) from made").await, "150000|450000");
    // A number that no row of the answer needs is taken none the less, as by PostgreSQL.
    db.run("select count(*) from t where nextval('s') > 0").await;
    assert_eq!(db.run("select currval('s')").await, "750000");
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_queries_of_several_sessions_share_no_numbers() {
    let db = Arc::new(TestDb::new().await);
    db.run("create sequence s;; create table t (n int);; insert into t select generate_series(1, 1000)").await;
    let queries = (0..8).map(|_| {
        let session = db.database.session("s");
        tokio::spawn(async move { run(&session, "select nextval('s') from t").await.unwrap() })
    });
    let mut numbers = HashSet::new();
    for query in queries.collect::<Vec<_>>() {
        numbers.extend(query.await.unwrap().lines().map(str::to_owned).collect::<Vec<_>>());
    }
    assert_eq!(numbers.len(), 8_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_go_on_after_a_restart() {
    let TestDb { dir, database, session } = TestDb::new().await;
    run(&session, "create table t (id int generated always as identity, n int);; insert into t (n) values (1), (2)")
        .await
        .unwrap();
    database.close().await;
    drop((session, database));
    let database = Database::open(config(dir.path())).await.unwrap();
    let session = database.session("alice");
    run(&session, "insert into t (n) values (3)").await.unwrap();
    assert_eq!(run(&session, "select count(distinct id), max(id) from t").await.unwrap(), "3|3");
    assert_eq!(run(&session, "insert into t values (1, 1)").await.unwrap_err().sqlstate(), "428C9");
}

#[tokio::test(flavor = "multi_thread")]
async fn sorted_rows_are_numbered_in_their_order() {
    let db = TestDb::new().await;
    db.run("create sequence s;; create table t (n int)").await;
    db.run("insert into t select (g * 7919) % 100003 from generate_series(1, 100000) g").await;
    let out_of_order =
        "with numbered as materialized (select nextval('s') as number, n from (select n from t order by n) x)
        select count(*) from (select n - lag(n) over (order by number) as step from numbered) y where step < 0";
    assert_eq!(db.run(out_of_order).await, "0");
    db.run("create table made as select nextval('s') as number, n from t order by n").await;
    let out_of_order =
        "select count(*) from (select n - lag(n) over (order by number) as step from made) y where step < 0";
    assert_eq!(db.run(out_of_order).await, "0");
}

#[tokio::test]
async fn a_statement_that_is_not_run_takes_no_number() {
    let db = TestDb::new().await;
    db.run("create sequence s;; create table t (a bigint, b text)").await;
    for sql in [
        "insert into t values (nextval('s'), 'x'), (nextval('s'), 'y')",
        "insert into t values (nextval('s'), (select 'x'))",
        "select * from (values (nextval('s')), (nextval('s'))) v",
        "select nextval('s') from t",
    ] {
        let statement = db.session.parse(sql).unwrap().remove(0);
        db.session.prepare(&statement, &[]).await.unwrap();
    }
    db.run("explain select * from (values (nextval('s')), (nextval('s'))) v").await;
    assert_eq!(db.run("select is_called from s").await, "false");
}
