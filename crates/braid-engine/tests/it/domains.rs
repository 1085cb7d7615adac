//! Domains beside other transactions, after a restart, in kept plans, and what is refused. What they mean is in `domains.slt` and
//! `domain_rows.slt` of `braid-testkit`.

use crate::test_db::{TestDb, answer_of, begun_to_wait, copy_in, run};

const CONFLICT: &str = "40001";

/// A database with a domain `d`, and a table `t` that has it.
async fn with_domain() -> TestDb {
    let db = TestDb::new().await;
    db.run("create domain d as int check (value > 0); create table t (a d, b int)").await;
    db
}

#[tokio::test]
async fn rows_and_constraints_of_their_domains_wait_for_each_other() {
    let rows = "insert into t values (10, 1), (null, 2)";
    for (change, state) in
        [("alter domain d add constraint small check (value < 10)", "23514"), ("alter domain d set not null", "23502")]
    {
        for (first, second) in [(rows, change), (change, rows)] {
            let db = with_domain().await;
            let other = db.database.session("bob");
            db.run(&format!("begin; {first}")).await;
            let waiting = begun_to_wait(&db, &other, second).await;
            db.run("commit").await;
            assert_eq!(answer_of(waiting).await.unwrap_err(), state, "{first}; {second}");
        }
    }
}

#[tokio::test]
async fn tables_are_not_committed_beside_changes_of_their_domains() {
    for (change, sqlstate) in [("alter domain d add check (value < 10)", CONFLICT), ("drop domain d", "42704")] {
        let db = TestDb::new().await;
        let other = db.database.session("bob");
        db.run("create domain d as int").await;
        db.run("begin; create table t (a d); insert into t values (11)").await;
        run(&other, change).await.unwrap();
        assert_eq!(db.state("commit").await, sqlstate, "{change}");
        assert_eq!(db.state("select * from t").await, "42P01", "{change}");
    }
    let db = TestDb::new().await;
    let other = db.database.session("bob");
    db.run("create domain d as int; begin; drop domain d").await;
    run(&other, "create table t (a d); insert into t values (1)").await.unwrap();
    assert_eq!(db.state("commit").await, CONFLICT);
    assert_eq!(db.run("select a from t").await, "1");
}

#[tokio::test]
async fn two_changes_of_a_domain_do_not_both_come_through() {
    let db = with_domain().await;
    let other = db.database.session("bob");
    db.run("begin; alter domain d set default 3").await;
    run(&other, "alter domain d set default 4").await.unwrap();
    assert_eq!(db.state("commit").await, CONFLICT);
    assert_eq!(db.run("insert into t (b) values (1) returning a").await, "4");
}

#[tokio::test]
async fn a_restart_keeps_domains_and_what_is_of_them() {
    let db = with_domain().await;
    let sql = "create type e as enum ('x', 'y'); create domain of_enum as e default 'y' check (value <> 'x'); \
               create domain of_domain as d not null check (value < 10); alter table t add column c of_enum; \
               create table u (a of_domain, v of_enum); create view w as select a from u; \
               comment on domain of_domain is 'nine values'";
    db.run(sql).await;
    // From the log, and from the manifest of a checkpoint.
    let db = db.reopened().await;
    db.run("checkpoint").await;
    let db = db.reopened().await;
    db.check_states(&[
        ("insert into u values (0, 'y')", "23514"),
        ("insert into u values (10, 'y')", "23514"),
        ("insert into u values (null, 'y')", "23502"),
        ("insert into u values (1, 'x')", "23514"),
        ("drop domain d", "2BP01"),
        ("drop type e", "2BP01"),
    ])
    .await;
    db.check(&[
        ("insert into u (a) values (9) returning v", "y"),
        ("select pg_typeof(a), pg_typeof(v) from u", "of_domain|of_enum"),
        ("select pg_typeof(a) from w", "of_domain"),
        ("select obj_description('of_domain'::regtype, 'pg_type')", "nine values"),
    ])
    .await;
}

#[tokio::test]
async fn plans_of_one_text_follow_the_constraints() {
    let db = with_domain().await;
    let cast = |number: u32| format!("select {number}::d");
    assert_eq!(db.run(&cast(50)).await, "50");
    db.run("alter domain d add constraint small check (value < 10)").await;
    assert_eq!(db.state(&cast(50)).await, "23514");
    assert_eq!((db.run(&cast(5)).await, db.state(&cast(0)).await), ("5".to_owned(), "23514"));
    db.run("alter domain d drop constraint small").await;
    assert_eq!(db.run(&cast(50)).await, "50");
    // A condition that reads the time is asked anew.
    db.run("create domain past as timestamptz check (value <= now())").await;
    assert_eq!(db.state("select (now() + interval '1 hour')::past").await, "23514");
    assert_eq!(db.run("select (now() - interval '1 hour')::past is null").await, "false");
}

#[tokio::test]
async fn a_load_stops_at_the_first_value_that_is_none_of_the_domain() {
    let db = with_domain().await;
    for (data, sqlstate, line) in
        [("1,1\n0,2\n", "23514", "COPY t, line 2"), ("1,1\n,2\n3,3\n-1,4\n", "23514", "COPY t, line 4")]
    {
        let error = copy_in(&db.session, "copy t from stdin (format csv)", data, 100).await.unwrap_err();
        assert_eq!(error.sqlstate(), sqlstate, "{data}");
        assert!(error.context().is_some_and(|context| context.starts_with(line)), "{data}: {error:?}");
    }
    assert_eq!(db.run("select count(*) from t").await, "0");
}

#[tokio::test]
async fn what_is_not_supported_is_refused() {
    let db = with_domain().await;
    db.run("insert into t values (5, 5)").await;
    let deep = format!("create domain deep as int check ({} > 0)", "(".repeat(60) + "value" + &" + 1)".repeat(60));
    db.check_states(&[
        ("alter domain d add check (value < 3) not valid", "0A000"),
        ("create domain pg_temp.d as int", "0A000"),
        ("create domain arrays as d[]", "0A000"),
        ("create table arrays (a d[])", "0A000"),
        ("select '{1}'::d[]", "0A000"),
        ("select null::_d", "0A000"),
        ("create domain p as point", "0A000"),
        ("create domain c as text collate \"C\"", "0A000"),
        ("prepare p (d) as select $1", "0A000"),
        ("drop domain d cascade", "0A000"),
        ("select * from json_to_record('{}') as r (a d)", "0A000"),
        (deep.as_str(), "54001"),
    ])
    .await;
    db.run("alter domain d add check (value < 30) not valid").await;
    db.check(&[(
        "select convalidated from pg_constraint where contypid = 'd'::regtype order by conname",
        "true\nfalse",
    )])
    .await;
    db.run("alter domain d validate constraint d_check1").await;
    db.check(&[("select bool_and(convalidated) from pg_constraint where contypid = 'd'::regtype", "true")]).await;
}
