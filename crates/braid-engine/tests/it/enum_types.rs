//! CREATE TYPE … AS ENUM, ALTER TYPE, DROP TYPE: what survives, and what plans and descriptions that are kept make of changes.

use braid_engine::{Database, ParameterType, ParameterValue, SentValue};

use crate::test_db::{TestDb, config, run, run_one};

#[tokio::test]
async fn types_and_values_survive_a_restart() {
    let db = TestDb::new().await;
    db.run("create type mood as enum ('sad', 'happy')").await;
    db.run("create table t (id int, m mood default 'happy')").await;
    db.run("insert into t values (1, 'sad'), (2, default), (3, null)").await;
    db.run("alter type mood add value 'ok' before 'happy'").await;
    db.run("insert into t values (4, 'ok')").await;
    db.run("alter type mood rename value 'sad' to 'blue'").await;
    let TestDb { dir, database, session } = db;
    drop(session);
    database.close().await;
    drop(database);
    let database = Database::open(config(dir.path())).await.unwrap();
    let session = database.session("alice");
    let rows = run(&session, "select id, m from t order by m, id").await.unwrap();
    assert_eq!(rows, "1|blue\n4|ok\n2|happy\n3|NULL");
    assert_eq!(run(&session, "select enum_range(null::mood)").await.unwrap(), "[blue, ok, happy]");
    assert_eq!(run(&session, "insert into t (id) values (5)").await.unwrap(), "INSERT 0 1");
    assert_eq!(run(&session, "drop type mood").await.unwrap_err().sqlstate(), "2BP01");
}

#[tokio::test]
async fn texts_name_types_of_any_schema_after_they_have_moved_and_after_a_restart() {
    let db = TestDb::new().await;
    db.run("create schema s").await;
    db.run("create type s.mood as enum ('sad', 'happy')").await;
    db.run("create domain s.calm as s.mood default 'happy'::s.mood check (value > 'sad'::s.mood)").await;
    db.run("create table t (id int, m s.mood default 'sad'::s.mood, c s.calm, check (m <> 'happy'::s.mood))").await;
    db.run("create index on t ((m = 'sad'::s.mood))").await;
    db.run("create view v as select id, 'happy'::s.mood > m as b from t where m = s.mood('sad')").await;
    db.run("create materialized view mv as select max(m) m, 'sad'::s.mood x from t").await;
    db.run("insert into t (id) values (1)").await;
    for change in [
        "alter type s.mood rename to feeling",
        "alter schema s rename to s2",
        "alter type s2.feeling set schema public",
        "alter domain s2.calm rename to quiet",
    ] {
        db.run(change).await;
        db.run("insert into t (id) values (1)").await;
    }
    let TestDb { dir, database, session } = db;
    drop(session);
    database.close().await;
    drop(database);
    let database = Database::open(config(dir.path())).await.unwrap();
    let session = database.session("alice");
    let run = async |sql: &str| run(&session, sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    assert_eq!(run("insert into t (id) values (2)").await, "INSERT 0 1");
    assert_eq!(run("select distinct id, b from v order by id").await, "1|true\n2|true");
    assert_eq!(run("refresh materialized view mv").await, "REFRESH MATERIALIZED VIEW");
    assert_eq!(run("select m, x, pg_typeof(x) from mv").await, "sad|sad|feeling");
    assert_eq!(run("select distinct m, c, pg_typeof(c) from t").await, "sad|happy|s2.quiet");
    let shown = "select pg_get_viewdef('v'), pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 't'::regclass";
    let definition = "select id, 'happy'::public.feeling > m as b from public.t where m = public.feeling('sad');";
    assert_eq!(run(shown).await, format!("{definition}|'sad'::feeling"));
    for (refused, state) in [
        ("insert into t (m) values ('happy')", "23514"),
        ("insert into t (c) values ('sad')", "23514"),
        ("drop type feeling", "2BP01"),
        ("drop domain s2.quiet", "2BP01"),
    ] {
        let error = crate::test_db::run(&session, refused).await.unwrap_err();
        assert_eq!(error.sqlstate(), state, "{refused}");
    }
}

#[tokio::test]
async fn what_would_call_a_column_of_a_view_otherwise_is_refused() {
    let db = TestDb::new().await;
    db.run("create schema s").await;
    db.run("create type s.mood as enum ('sad')").await;
    db.run("create view v as select mood from (select 'sad'::s.mood) as x").await;
    assert_eq!(db.run("select * from v").await, "sad");
    for change in ["alter type s.mood rename to feeling", "alter type s.mood set schema public"] {
        assert_eq!(db.state(change).await, "0A000", "{change}");
    }
    assert_eq!(db.state("create view w as select 's.mood'::regtype").await, "0A000");
    assert_eq!(db.state("drop schema s cascade").await, "0A000");
    db.run("drop view v").await;
    db.run("alter type s.mood rename to feeling").await;
    db.run("drop schema s cascade").await;
}

#[tokio::test]
async fn two_databases_of_one_process_have_types_of_their_own() {
    let (one, other) = (TestDb::new().await, TestDb::new().await);
    one.run("create type mood as enum ('a', 'b')").await;
    other.run("create type mood as enum ('b', 'c')").await;
    for (db, first, label) in [(&one, "a", "c"), (&other, "b", "a")] {
        db.run("create table t as select 'b'::mood m").await;
        assert_eq!(db.run("select m, enum_first(m), 'mood'::regtype from t").await, format!("b|{first}|mood"));
        assert_eq!(db.state(&format!("select '{label}'::mood")).await, "22P02");
    }
}

#[tokio::test]
async fn kept_plans_follow_the_type() {
    let db = TestDb::new().await;
    db.run("create type mood as enum ('sad', 'happy')").await;
    db.run("create table t (m mood)").await;
    db.run("insert into t values ('sad'), ('happy'), ('happy')").await;
    db.run("set braid.templates = 'eager'").await;
    for _ in 0..3 {
        assert_eq!(db.run("select m, count(*) from t where m > 'sad' group by m").await, "happy|2");
        assert_eq!(db.run("select count(*) from t where m = 'happy'").await, "2");
        assert_eq!(db.run("select 'happy'::mood, enum_last(null::mood)").await, "happy|happy");
    }
    db.run("alter type mood rename value 'happy' to 'glad'").await;
    for _ in 0..3 {
        assert_eq!(db.run("select m, count(*) from t where m > 'sad' group by m").await, "glad|2");
        assert_eq!(db.state("select count(*) from t where m = 'happy'").await, "22P02");
        assert_eq!(db.state("select 'happy'::mood, enum_last(null::mood)").await, "22P02");
    }
    db.run("alter type mood add value 'happy' after 'sad'").await;
    for _ in 0..3 {
        assert_eq!(db.run("select count(*) from t where m = 'happy'").await, "0");
        assert_eq!(db.run("select count(*) from t where m > 'happy'").await, "2");
        assert_eq!(db.run("select 'happy'::mood, enum_last(null::mood)").await, "happy|glad");
    }
    db.run("drop table t").await;
    db.run("drop type mood").await;
    assert_eq!(db.state("select 'happy'::mood, enum_last(null::mood)").await, "42704");
    db.run("create type mood as enum ('other')").await;
    assert_eq!(db.state("select 'happy'::mood, enum_last(null::mood)").await, "22P02");
}

#[tokio::test]
async fn kept_results_follow_the_type() {
    let db = TestDb::new().await;
    db.run("create type mood as enum ('sad', 'happy')").await;
    db.run("create table t as select 'sad'::mood m").await;
    db.run("set braid.templates = 'eager'").await;
    db.run("set braid.result_cache = on").await;
    for _ in 0..3 {
        assert_eq!(db.run("select m, m::text || '!' from t").await, "sad|sad!");
    }
    db.run("alter type mood rename value 'sad' to 'blue'").await;
    assert_eq!(db.run("select m, m::text || '!' from t").await, "blue|blue!");
}

#[tokio::test]
async fn parameters_are_labels_in_both_formats() {
    let db = TestDb::new().await;
    db.run("create type mood as enum ('sad', 'happy')").await;
    db.run("create table t as select 'sad'::mood m").await;
    let statement = db.session.parse("select count(*) from t where m = $1").unwrap().remove(0);
    let prepared = db.session.prepare(&statement, &[None]).await.unwrap();
    let [ParameterType { oid }] = prepared.parameter_types[..] else { panic!("{prepared:?}") };
    assert_eq!(db.run("select 'mood'::regtype::oid::bigint").await, oid.to_string());
    for sent in [SentValue::Text(b"sad"), SentValue::Binary(b"sad")] {
        let value: ParameterValue = db.session.read_parameter(oid, Some(sent)).unwrap();
        assert_eq!(run_one(&db.session, &statement, vec![value]).await.unwrap(), "1");
    }
    for sent in [SentValue::Text(b"glad"), SentValue::Binary(b"glad")] {
        assert_eq!(db.session.read_parameter(oid, Some(sent)).unwrap_err().sqlstate(), "22P02");
    }
    // A number of the process is no oid.
    let error = db.session.read_parameter(0x8000_0000, Some(SentValue::Text(b"sad"))).unwrap_err();
    assert_eq!(error.sqlstate(), "0A000");
}

#[tokio::test]
async fn types_that_defaults_mention_are_not_dropped_nor_their_labels_renamed() {
    let db = TestDb::new().await;
    db.run("create type mood as enum ('sad', 'it''s ok')").await;
    db.run("create table t (a int, x text default 'it''s ok'::mood::text)").await;
    db.check_states(&[
        ("alter type mood rename value 'it''s ok' to 'ok'", "0A000"),
        ("drop type mood", "2BP01"),
        ("drop type mood cascade", "0A000"),
    ])
    .await;
    db.run("alter type mood rename to temper").await;
    let error = db.fail("drop type temper").await;
    assert_eq!(error.detail().as_deref(), Some("default value for column x of table t depends on type temper"));
    db.check(&[
        ("create type other as enum ('it''s ok', 'sad', 'new')", "CREATE TYPE"),
        ("alter type other rename value 'it''s ok' to 'ok'", "ALTER TYPE"),
        ("create table u (o other default 'sad')", "CREATE TABLE"),
    ])
    .await;
    assert_eq!(db.state("alter type other rename value 'sad' to 'blue'").await, "0A000");
    db.check(&[
        ("alter type other rename value 'new' to 'newer'", "ALTER TYPE"),
        ("alter type other rename to another", "ALTER TYPE"),
        ("insert into u default values", "INSERT 0 1"),
        ("select o from u", "sad"),
        ("insert into t (a) values (1)", "INSERT 0 1"),
        ("select x from t", "it's ok"),
        ("alter type temper rename value 'sad' to 'blue'", "ALTER TYPE"),
        ("drop table t", "DROP TABLE"),
        ("drop type temper", "DROP TYPE"),
    ])
    .await;
}

#[tokio::test]
async fn what_is_not_supported_is_refused() {
    let db = TestDb::new().await;
    db.run("create type mood as enum ('sad', 'happy')").await;
    db.check_states(&[
        ("create table t (m mood[])", "0A000"),
        ("create table t as select array['sad']::mood[] m", "0A000"),
        ("create type p as (a int)", "0A000"),
        ("create type p", "0A000"),
        ("alter type integer rename to p", "0A000"),
        ("create type p as enum (a)", "42601"),
        ("alter type mood add value ok", "42601"),
    ])
    .await;
}

#[tokio::test]
async fn more_labels_than_there_is_room_for_are_refused() {
    let db = TestDb::new().await;
    db.run("create type letters as enum ('a', 'z')").await;
    for at in 0..40 {
        db.run(&format!("alter type letters add value 'i{at}' before 'z'")).await;
    }
    assert_eq!(db.state("alter type letters add value 'more' before 'z'").await, "54000");
    db.run("alter type letters add value 'more'").await;
    assert_eq!(db.run("select array_length(enum_range(null::letters), 1), enum_last(null::letters)").await, "43|more");
}
