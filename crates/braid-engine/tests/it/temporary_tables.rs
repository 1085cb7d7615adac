//! Temporary tables: those of sessions beside each other, plans that others keep, and what is left of a session.

use arrow::array::Int32Array;
use braid_engine::{Database, Session};
use braid_testing::{PAUSE, Wait};

use crate::test_db::{TestDb, config, run, run_one, value};

async fn answer(session: &Session, sql: &str) -> String {
    run(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

async fn state(session: &Session, sql: &str) -> &'static str {
    run(session, sql).await.expect_err(sql).sqlstate()
}

fn eager(db: &TestDb) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.templates", "eager").unwrap();
    session
}

const COUNT: &str = "select count(*) from pg_class where relpersistence = 't'";

#[tokio::test]
async fn each_session_has_its_own() {
    let db = TestDb::new().await;
    let (first, second) = (db.database.session("alice"), db.database.session("alice"));
    for (session, row) in [(&first, 1), (&second, 2)] {
        answer(session, &format!("create temp table t (a int);; insert into t values ({row})")).await;
    }
    assert_eq!(
        (answer(&first, "select * from t").await, answer(&second, "select * from t").await),
        ("1".into(), "2".into())
    );
    assert_eq!(db.state("select * from t").await, "42P01");
    assert_eq!(db.state("select * from pg_temp.t").await, "42P01");
    let other = format!("pg_temp_{}.t", first.id());
    for sql in [
        format!("select * from {other}"),
        format!("insert into {other} values (1)"),
        format!("drop table {other}"),
        format!("truncate {other}"),
        format!("copy {other} to stdout"),
    ] {
        assert_eq!(state(&second, &sql).await, "0A000", "{sql}");
    }
    assert_eq!(state(&second, &format!("create table pg_temp_{}.x (a int)", first.id())).await, "42P16");
    assert_eq!(answer(&first, &format!("select * from {other}")).await, "1");
    assert_eq!(db.run(COUNT).await, "2");
    assert_eq!(db.run("select count(*) from information_schema.tables where table_name = 't'").await, "0");
}

#[tokio::test]
async fn a_plan_of_others_is_not_taken_for_a_text_that_names_a_temporary_table() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text);; insert into t values (1, 'all')").await;
    let (first, second) = (eager(&db), eager(&db));
    let questions = [
        "select b from t where a = 1",
        "select b from \"t\" where a = 1",
        "SELECT b FROM T WHERE a = 1",
        "select x.b from t x, t y where x.a = y.a and y.a = 1",
    ];
    for question in questions {
        for _ in 0..3 {
            assert_eq!((answer(&first, question).await, answer(&second, question).await), ("all".into(), "all".into()));
        }
    }
    for round in 0..3 {
        answer(&first, &format!("create temp table t (b text, a int);; insert into t values ('own {round}', 1)")).await;
        for question in questions {
            for _ in 0..3 {
                assert_eq!(answer(&first, question).await, format!("own {round}"), "{question}");
                assert_eq!(answer(&second, question).await, "all", "{question}");
            }
        }
        answer(&first, "drop table t").await;
        for question in questions {
            assert_eq!(answer(&first, question).await, "all", "{question}");
        }
    }
}

#[tokio::test]
async fn what_names_no_temporary_table_is_shared_as_before() {
    let db = TestDb::new().await;
    db.run("create table shared (a int);; insert into shared values (1), (2)").await;
    let (first, second) = (eager(&db), eager(&db));
    answer(&first, "create temp table mine (a int)").await;
    let hits = || db.database.template_figures().hits;
    answer(&second, "select count(*) from shared where a > 0").await;
    let before = hits();
    assert_eq!(answer(&first, "select count(*) from shared where a > 1").await, "1");
    assert_eq!(hits(), before + 1);
    assert_eq!(answer(&first, "select count(*) from mine").await, "0");
    assert_eq!(answer(&first, "select count(*) from mine").await, "0");
    assert_eq!(hits(), before + 1);
}

#[tokio::test]
async fn descriptions_and_parameters_are_those_of_the_own_table() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text);; insert into t values (1, 'all')").await;
    let (first, second) = (db.database.session("alice"), db.database.session("alice"));
    answer(&first, "create temp table t (a int, b int);; insert into t values (1, 7)").await;
    let described = async |session: &Session| {
        let statement = session.parse("select b from t where a = $1").unwrap().remove(0);
        let prepared = session.prepare(&statement, &[]).await.unwrap();
        let answer = run_one(session, &statement, vec![value(Int32Array::from(vec![1]))]).await.unwrap();
        format!("{} {answer}", prepared.schema.unwrap().field(0).data_type())
    };
    for _ in 0..3 {
        assert_eq!((described(&second).await, described(&first).await), ("Utf8 all".into(), "Int32 7".into()));
    }
}

#[tokio::test]
async fn names_as_constants_are_those_of_the_own_session() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    let (first, second) = (eager(&db), eager(&db));
    let of_all = db.run("select 'public.t'::regclass::oid").await;
    answer(&first, "create temp table t (a int);; create temp sequence q start 100").await;
    for _ in 0..3 {
        assert_eq!(answer(&second, "select 't'::regclass::oid").await, of_all);
        assert_ne!(answer(&first, "select 't'::regclass::oid").await, of_all);
        assert_eq!(answer(&second, "select to_regclass('q') is null").await, "true");
        assert_eq!(answer(&first, "select to_regclass('q') is null").await, "false");
    }
    assert_eq!(
        (answer(&first, "select nextval('q')").await, state(&second, "select nextval('q')").await),
        ("100".into(), "42P01")
    );
}

#[tokio::test]
async fn the_end_of_a_session_drops_them() {
    let db = TestDb::new().await;
    let session = db.database.session("alice");
    answer(&session, "create temp table t (a serial, b text)").await;
    answer(&session, "insert into t (b) select repeat('x', 1000) from generate_series(1, 5000)").await;
    assert_eq!(db.run(COUNT).await, "2");
    drop(session);
    let wait = Wait::new("the temporary schemas to be gone");
    while db.run("select count(*) from pg_namespace where nspname like 'pg\\_temp%'").await != "0" {
        wait.check(String::new);
        tokio::time::sleep(PAUSE).await;
    }
    assert_eq!(db.run(COUNT).await, "0");
}

#[tokio::test]
async fn the_opening_drops_what_a_crash_has_left() {
    let db = TestDb::new().await;
    db.run("create temp table t (a serial);; insert into t default values;; create table kept as select 1 as a").await;
    assert_eq!(db.run(COUNT).await, "2");
    let TestDb { dir, database, session } = db;
    // A copy of the directory as it is while the session lives.
    let copy = tempfile::tempdir().unwrap();
    for entry in walk(dir.path()) {
        let target = copy.path().join(entry.strip_prefix(dir.path()).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&entry, target).unwrap();
    }
    let opened = Database::open(config(copy.path())).await.unwrap();
    let other = opened.session("alice");
    assert_eq!((answer(&other, COUNT).await, answer(&other, "select * from kept").await), ("0".into(), "1".into()));
    drop((database, session));
}

fn walk(dir: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn a_table_that_lasts_has_no_default_with_a_temporary_sequence() {
    let db = TestDb::new().await;
    db.run("create temp sequence q;; create table t (a int);; create temp table own (a int default nextval('q'))")
        .await;
    db.check_states(&[
        ("create table u (a int default nextval('q'))", "0A000"),
        ("alter table t alter column a set default nextval('q')", "0A000"),
        ("alter table t add column b int default nextval('q')", "0A000"),
    ])
    .await;
    assert_eq!(db.run("insert into own default values returning a").await, "1");
}

#[tokio::test]
async fn commits_beside_each_other_see_none_of_them() {
    let db = TestDb::new().await;
    let (first, second) = (db.database.session("alice"), db.database.session("alice"));
    answer(&first, "begin;; create temp table t (a int);; insert into t values (1)").await;
    answer(&second, "begin;; create temp table t (a int);; insert into t values (2);; create table lasting (a int)")
        .await;
    answer(&first, "create table other (a int)").await;
    answer(&first, "commit").await;
    answer(&second, "commit").await;
    assert_eq!((answer(&first, "table t").await, answer(&second, "table t").await), ("1".into(), "2".into()));
    assert_eq!(db.run("select count(*) from pg_tables where schemaname = 'public'").await, "2");
    let snapshot_of_all = db.run("select a from other union all select a from lasting").await;
    assert_eq!(snapshot_of_all, "");
}
