//! Comments: after a restart, in transactions beside each other, and with temporary tables.

use braid_testing::{PAUSE, Wait};

use crate::test_db::{TestDb, answer_of, begun_to_wait, run};

/// All comments on what users have, in one line each, without the one that schema public has from the beginning.
const ALL: &str = "select coalesce(relname, conname, nspname, typname), objsubid, description from pg_description
    left join pg_class c on classoid = 'pg_class'::regclass and objoid = c.oid
    left join pg_constraint k on classoid = 'pg_constraint'::regclass and objoid = k.oid
    left join pg_namespace n on classoid = 'pg_namespace'::regclass and objoid = n.oid
    left join pg_type t on classoid = 'pg_type'::regclass and objoid = t.oid
    where (objoid >= 16384 or objoid = 2200) and description <> 'standard public schema' order by 1, 2, 3";

const SHARED: &str = "select classoid::regclass, objoid, description from pg_shdescription order by 1";

#[tokio::test]
async fn comments_survive_a_restart() {
    let db = TestDb::new().await;
    db.run(
        "create table t (a int primary key, b int, constraint c check (b > 0));; create view v as select b as x from t",
    )
    .await;
    db.run("create schema s;; create sequence q;; create type mood as enum ('a');; create table dropped (a int)").await;
    for object in [
        "table t",
        "column t.b",
        "column v.x",
        "index t_pkey",
        "constraint t_pkey on t",
        "constraint c on t",
        "schema s",
        "schema public",
        "sequence q",
        "type mood",
        "type _mood",
        "table dropped",
        "role alice",
        "database braid",
    ] {
        db.run(&format!("comment on {object} is 'the {object}'")).await;
    }
    db.run("alter table t rename to u;; alter table u drop column a;; drop table dropped").await;
    let expected = "_mood|0|the type _mood\nc|0|the constraint c on t\nmood|0|the type mood\npublic|0|the schema public\n\
        q|0|the sequence q\ns|0|the schema s\nu|0|the table t\nu|2|the column t.b\nv|1|the column v.x";
    let shared = "pg_authid|10|the role alice\npg_database|1073741823|the database braid";
    assert_eq!((db.run(ALL).await.as_str(), db.run(SHARED).await.as_str()), (expected, shared));
    // From the log, then from the manifest that opening has written.
    let db = db.reopened().await.reopened().await;
    assert_eq!((db.run(ALL).await.as_str(), db.run(SHARED).await.as_str()), (expected, shared));
    db.run("comment on schema public is null;; comment on constraint c on u is null;; drop view v;; drop type mood")
        .await;
    db.run("comment on role alice is null;; comment on table u is 'another';; checkpoint").await;
    let expected = "q|0|the sequence q\ns|0|the schema s\nu|0|another\nu|2|the column t.b";
    assert_eq!(db.run(ALL).await, expected);
    let db = db.reopened().await;
    assert_eq!(db.run(ALL).await, expected);
    assert_eq!(db.run(SHARED).await, "pg_database|1073741823|the database braid");
    assert_eq!(db.run("select obj_description('public'::regnamespace, 'pg_namespace')").await, "NULL");
}

#[tokio::test]
async fn comments_on_temporary_tables_go_with_their_session() {
    let db = TestDb::new().await;
    db.run("create table t (a int);; comment on table t is 'lasting'").await;
    let other = db.database.session("bob");
    run(&other, "create temp table own (a int);; comment on table own is 'own';; comment on column own.a is 'a'")
        .await
        .unwrap();
    run(&other, "create temp table fleeting (a int) on commit drop").await.unwrap();
    assert_eq!(run(&other, ALL).await.unwrap(), "own|0|own\nown|1|a\nt|0|lasting");
    drop(other);
    let wait = Wait::new("the comments on temporary tables to be gone");
    while db.run(ALL).await != "t|0|lasting" {
        wait.check(String::new);
        tokio::time::sleep(PAUSE).await;
    }
    db.run("create temp table own (a int);; comment on table own is 'own'").await;
    let db = db.reopened().await;
    assert_eq!(db.run(ALL).await, "t|0|lasting");
}

#[tokio::test]
async fn sessions_that_change_one_comment_wait_for_each_other() {
    let db = TestDb::new().await;
    db.run("create table t (a int, constraint c check (a > 0));; create table u (a int)").await;
    let other = db.database.session("bob");
    for (own, others) in [
        ("comment on table t is 'one'", "comment on table t is 'two'"),
        ("comment on table t is 'one'", "comment on column t.a is 'two'"),
        ("comment on constraint c on t is 'one'", "comment on constraint c on t is 'two'"),
        ("comment on table t is 'three'", "alter table t add column b int"),
        ("comment on table u is 'one'", "drop table u"),
    ] {
        db.run(&format!("begin;; {own}")).await;
        let waiting = begun_to_wait(&db, &other, others).await;
        db.run("commit").await;
        answer_of(waiting).await.unwrap();
    }
    assert_eq!(db.run(ALL).await, "c|0|two\nt|0|three\nt|1|two");
}
