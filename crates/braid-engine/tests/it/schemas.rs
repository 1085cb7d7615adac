//! Schemas: what names mean along the search path, for plans and descriptions that are kept, and in sessions beside each other.

use std::path::Path;
use std::sync::Arc;

use braid_engine::{Database, Session};
use braid_testing::{PAUSE, Wait};

use crate::test_db::{TestDb, config, run, run_one, value};

/// Two schemas with a table of one name, which has the name of its schema in its row.
async fn two_schemas() -> TestDb {
    let db = TestDb::new().await;
    db.run("create schema s1;; create schema s2").await;
    for schema in ["s1", "s2", "public"] {
        db.run(&format!("create table {schema}.t (a int, b text);; insert into {schema}.t values (1, '{schema}')"))
            .await;
    }
    db
}

/// A session whose statements make plans at once.
fn eager(db: &TestDb) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.templates", "eager").unwrap();
    session
}

async fn answer(session: &Session, sql: &str) -> String {
    run(session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"))
}

#[tokio::test]
async fn a_plan_is_of_the_schemas_that_names_were_looked_up_in() {
    let db = two_schemas().await;
    let (first, second) = (eager(&db), eager(&db));
    let question = "select b from t where a = 1";
    for (path, expected) in [("public", "public"), ("s1", "s1"), ("s2, s1", "s2"), ("nowhere, s1", "s1")] {
        for session in [&first, &second] {
            answer(session, &format!("set search_path = {path}")).await;
            for _ in 0..3 {
                assert_eq!(answer(session, question).await, expected, "{path}");
            }
        }
    }
    // Each by its own path, in turns.
    answer(&first, "set search_path = s1").await;
    answer(&second, "set search_path = s2").await;
    for _ in 0..3 {
        assert_eq!((answer(&first, question).await, answer(&second, question).await), ("s1".into(), "s2".into()));
    }
    assert!(db.database.template_figures().hits > 10);
}

#[tokio::test]
async fn a_new_table_hides_that_of_a_later_schema_from_plans_that_are_kept() {
    let db = two_schemas().await;
    let session = eager(&db);
    db.run("create schema front").await;
    answer(&session, "set search_path = front, s1").await;
    let question = "select b from t where a = 1";
    for _ in 0..3 {
        assert_eq!(answer(&session, question).await, "s1");
    }
    db.run("create table front.t (a int, b text);; insert into front.t values (1, 'front')").await;
    assert_eq!(answer(&session, question).await, "front");
    db.run("drop table front.t").await;
    assert_eq!(answer(&session, question).await, "s1");
    // A schema that is called like the user comes first in the default path.
    let other = eager(&db);
    for _ in 0..3 {
        assert_eq!(answer(&other, question).await, "public");
    }
    db.run("create schema alice").await;
    assert_eq!(answer(&other, question).await, "public");
    db.run("create table alice.t (a int, b text);; insert into alice.t values (1, 'alice')").await;
    assert_eq!(answer(&other, question).await, "alice");
    db.run("drop schema alice cascade").await;
    assert_eq!(answer(&other, question).await, "public");
}

#[tokio::test]
async fn a_plan_is_of_the_schemas_names() {
    let db = two_schemas().await;
    let session = eager(&db);
    let question = "select b from s1.t where a = 1";
    for _ in 0..3 {
        assert_eq!(answer(&session, question).await, "s1");
    }
    db.run("alter schema s1 rename to gone;; alter schema s2 rename to s1").await;
    assert_eq!(answer(&session, question).await, "s2");
    db.run("drop schema s1 cascade").await;
    assert_eq!(run(&session, question).await.unwrap_err().sqlstate(), "42P01");
}

#[tokio::test]
async fn a_description_is_of_the_schemas_names() {
    let db = two_schemas().await;
    db.run("create schema s3;; create table s3.t (a int, b int);; insert into s3.t values (1, 7)").await;
    let session = db.database.session("alice");
    let columns = async |sql: &str| {
        let statement = session.parse(sql).unwrap().remove(0);
        let prepared = session.prepare(&statement, &[]).await.unwrap();
        let answer = run_one(&session, &statement, vec![value(arrow::array::Int32Array::from(vec![1]))]).await.unwrap();
        format!("{} {answer}", prepared.schema.unwrap().field(0).data_type())
    };
    for question in ["select b from t where a = $1", "select b from s1.t where a = $1"] {
        db.run("alter schema s1 rename to old;; alter schema s3 rename to s1").await;
        answer(&session, "set search_path = s1").await;
        for _ in 0..2 {
            assert_eq!(columns(question).await, "Int32 7");
        }
        db.run("alter schema s1 rename to s3;; alter schema old rename to s1").await;
        for _ in 0..2 {
            assert_eq!(columns(question).await, "Utf8 s1");
        }
    }
}

#[tokio::test]
async fn a_changed_search_path_is_followed_by_prepared_statements() {
    let db = two_schemas().await;
    db.run("prepare p as select b from t where a = $1").await;
    for (path, expected) in [("s1", "s1"), ("s2", "s2"), ("s1", "s1")] {
        db.run(&format!("set search_path = {path}")).await;
        for _ in 0..3 {
            assert_eq!(db.run("execute p(1)").await, expected);
        }
    }
}

#[tokio::test]
async fn names_of_relations_as_constants_follow_the_search_path() {
    let db = two_schemas().await;
    let (first, second) = (eager(&db), eager(&db));
    answer(&first, "set search_path = s1").await;
    answer(&second, "set search_path = s2").await;
    let id = async |sql: &str| answer(&first, sql).await;
    let (of_s1, of_s2) = (id("select 's1.t'::regclass::oid").await, id("select 's2.t'::regclass::oid").await);
    assert_ne!(of_s1, of_s2);
    for _ in 0..3 {
        assert_eq!(answer(&first, "select 't'::regclass::oid").await, of_s1);
        assert_eq!(answer(&second, "select 't'::regclass::oid").await, of_s2);
        assert_eq!(answer(&second, "select 't'::regclass::oid, a from t").await, format!("{of_s2}|1"));
        assert_eq!(answer(&first, "select 't'::regclass::oid, a from t").await, format!("{of_s1}|1"));
    }
}

#[tokio::test]
async fn a_check_knows_its_table_by_its_schema() {
    let db = two_schemas().await;
    db.run("create table s1.c (a int check (s1.c.a > 0) not null)").await;
    let error = db.fail("insert into s1.c values (0)").await;
    assert_eq!(error.sqlstate(), "23514");
    assert_eq!(db.state("create table s1.d (a int check (s2.d.a > 0))").await, "42P01");
}

#[tokio::test]
async fn schemas_are_there_after_reopening() {
    let db = two_schemas().await;
    let expected = "public|t\ns1|t\ns2|t";
    let question = "select schemaname, tablename from pg_tables where tablename = 't' order by 1";
    assert_eq!(db.run(question).await, expected);
    let TestDb { dir, database, session } = db;
    drop((database, session));
    let database = open_again(dir.path()).await;
    let session = database.session("alice");
    assert_eq!(answer(&session, question).await, expected);
    assert_eq!(answer(&session, "select b from s2.t").await, "s2");
}

#[tokio::test]
async fn a_view_means_what_its_names_meant_whatever_their_schemas_are_called() {
    let db = two_schemas().await;
    db.run("set search_path = s1, public;; create view public.v as select b from t;; reset search_path").await;
    let session = eager(&db);
    for _ in 0..3 {
        assert_eq!(answer(&session, "select * from v").await, "s1");
    }
    answer(&session, "create temp table t (a int, b text);; insert into t values (1, 'own')").await;
    assert_eq!(answer(&session, "select * from v").await, "s1");
    db.run("alter schema s1 rename to renamed;; alter schema s2 rename to s1").await;
    assert_eq!(answer(&session, "select * from v").await, "s1");
    assert!(db.run("select pg_get_viewdef('v'::regclass)").await.contains("renamed.t"));
    let name = "select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.relname = 'v'";
    assert_eq!(db.run(name).await, "public");
    answer(&session, "create view w as select b from t").await;
    assert_eq!(answer(&session, "select * from w").await, "own");
    db.check_states(&[
        ("select * from w", "42P01"),
        ("create view nowhere.v as select 1 as a", "3F000"),
        ("drop view nowhere.v", "3F000"),
        ("drop table renamed.t", "2BP01"),
        ("drop schema renamed", "2BP01"),
    ])
    .await;
    // In other schemas the name is free.
    db.run("create table s1.v (a int);; insert into s1.v values (7)").await;
    assert_eq!(db.run("select * from s1.v").await, "7");
    db.run("drop schema renamed cascade").await;
    assert_eq!(db.state("select * from v").await, "42P01");
}

#[tokio::test]
async fn names_of_views_in_other_schemas_do_not_keep_a_database_from_opening() {
    let db = TestDb::new().await;
    db.run("create view v as select 1 as a;; create materialized view m as select 2 as a;; create schema s").await;
    db.run("create table s.v (a int);; create sequence s.m;; create temp table v (b int);; checkpoint").await;
    db.run("create temp table m (b int)").await;
    let TestDb { dir, database, session } = db;
    drop((database, session));
    let database = open_again(dir.path()).await;
    let session = database.session("alice");
    assert_eq!(run(&session, "select v.a + m.a from v, m").await.unwrap(), "3");
    assert_eq!(run(&session, "select count(*) from s.v").await.unwrap(), "0");
}

#[tokio::test]
async fn a_view_follows_the_name_of_a_schema_that_its_columns_are_written_with() {
    let db = TestDb::new().await;
    db.run("create schema one;; create schema two;; create table one.t (a int);; create table two.t (a int)").await;
    db.run("insert into one.t values (1);; insert into two.t values (2)").await;
    db.run("create view v as select one.t.a as x, two.t.a as y from one.t, two.t").await;
    db.run("alter schema one rename to three;; alter schema two rename to one;; alter schema three rename to two")
        .await;
    assert_eq!(db.run("select x, y from v").await, "1|2");
}

#[tokio::test]
async fn literals_that_name_relations_are_read_by_each_session() {
    let db = TestDb::new().await;
    db.run("create table audit (relid oid);; create table mine (a int);; insert into audit values ('mine'::regclass)")
        .await;
    let sql = "select count(*) from audit where relid = 'mine'::regclass";
    for _ in 0..4 {
        assert_eq!(db.run(sql).await, "1");
    }
    let other = db.database.session("bob");
    run(&other, "create temp table mine (a int)").await.unwrap();
    assert_eq!(run(&other, sql).await.unwrap(), "0");
    db.run("drop table mine;; create table mine (a int)").await;
    assert_eq!(db.run(sql).await, "0");
}

/// Opens a database whose sessions may still be dropping their temporary tables.
async fn open_again(dir: &Path) -> Arc<Database> {
    let wait = Wait::new("the data directory to be released");
    loop {
        match Database::open(config(dir)).await {
            Err(error) if error.sqlstate() == "55006" => wait.check(|| error.message().to_owned()),
            opened => return opened.unwrap(),
        }
        tokio::time::sleep(PAUSE).await;
    }
}
