//! Locks of tables between sessions: LOCK TABLE, and what statements wait for.

use std::time::Duration;

use crate::test_db::{TestDb, answer_of, begun_to_wait, run, waits};
use braid_testing::in_time;

const MODES: [&str; 8] = [
    "access share",
    "row share",
    "row exclusive",
    "share update exclusive",
    "share",
    "share row exclusive",
    "exclusive",
    "access exclusive",
];

/// PostgreSQL's answers: # where a statement waits for what another session has locked in the mode of the column.
const WAITS: [(&str, &str); 23] = [
    (".......#", "select * from t where a = 1"),
    (".......#", "select count(*) from v"),
    ("......##", "select * from t for share"),
    ("....####", "insert into t values (9)"),
    ("....####", "insert into t select 10"),
    ("....####", "insert into child values (1)"),
    ("....####", "update t set b = 5 where a = 2"),
    ("....####", "delete from t where a = 3"),
    ("....####", "delete from parent"),
    ("....####", "with x as (delete from t returning a) select * from x"),
    ("....####", "merge into t using (values (1)) s(x) on a = x when matched then update set b = 1"),
    ("########", "truncate t"),
    ("########", "alter table t add c int"),
    ("########", "alter table t rename to u"),
    ("########", "drop table t cascade"),
    ("########", "drop schema s cascade"),
    ("..##.###", "create index on t (b)"),
    ("..######", "alter table child add foreign key (k) references parent"),
    ("........", "drop view v"),
    (".......#", "create or replace view v as select a from t where true"),
    ("...#####", "analyze t"),
    (".......#", "explain select * from t"),
    ("........", "select 1"),
];

async fn tables(db: &TestDb) {
    db.run(
        "create schema s;; create table s.t (a int);; create table t (a int primary key, b int);;
        insert into t values (1, 1), (2, 2), (3, 3);; create view v as select a from t;;
        create table parent (k int primary key);; insert into parent values (1);;
        create table child (k int references parent on delete cascade);; insert into child values (1)",
    )
    .await;
}

#[tokio::test]
async fn statements_wait_for_what_their_modes_conflict_with() {
    let db = TestDb::new().await;
    tables(&db).await;
    let bob = db.database.session("bob");
    run(&bob, "set lock_timeout = 15").await.unwrap();
    for (at, mode) in MODES.into_iter().enumerate() {
        db.run(&format!("begin;; lock table t, child, s.t in {mode} mode")).await;
        for (row, sql) in WAITS {
            let expected = if row.as_bytes()[at] == b'#' { Err("55P03".to_owned()) } else { Ok(()) };
            run(&bob, "begin").await.unwrap();
            let answer = run(&bob, sql).await.map(drop).map_err(|error| error.sqlstate().to_owned());
            run(&bob, "rollback").await.unwrap();
            assert_eq!(answer, expected, "{sql}, locked in {mode} mode");
        }
        let vacuum = run(&bob, "vacuum t").await.map(drop).map_err(|error| error.sqlstate());
        assert_eq!(vacuum, if at < 3 { Ok(()) } else { Err("55P03") }, "{mode}");
        db.run("rollback").await;
    }
}

/// PostgreSQL's documentation, table 13.2.
#[tokio::test]
async fn locks_conflict_with_each_other() {
    let db = TestDb::new().await;
    tables(&db).await;
    let bob = db.database.session("bob");
    let conflicts = [".......#", "......##", "....####", "...#####", "..##.###", "..######", ".#######", "########"];
    for (mode, row) in MODES.into_iter().zip(conflicts) {
        db.run(&format!("begin;; lock table v in {mode} mode")).await;
        for (other, cell) in MODES.into_iter().zip(row.chars()) {
            let answer = run(&bob, &format!("begin;; lock table t in {other} mode nowait")).await;
            let state = answer.map(drop).map_err(|error| (error.sqlstate().to_owned(), error.message().to_owned()));
            let refused = ("55P03".to_owned(), "could not obtain lock on relation \"t\"".to_owned());
            assert_eq!(state, if cell == '#' { Err(refused) } else { Ok(()) }, "{mode} {other}");
            run(&bob, "rollback").await.unwrap();
        }
        db.run("rollback").await;
    }
}

/// Who has waited sees what was committed meanwhile, by whichever way the statement runs.
#[tokio::test]
async fn statements_that_have_waited_see_what_was_committed_meanwhile() {
    let db = TestDb::new().await;
    db.run("create table t (a int, b int);; insert into t values (1, 1)").await;
    let bob = db.database.session("bob");
    let commits = || async { drop(run(&db.session, "update t set b = b + 1;; commit").await) };
    for (sql, answer) in [
        ("insert into t select 2, max(b) from t", "INSERT 0 1"),
        ("update t set a = b where a = 2", "UPDATE 1"),
        ("select min(a), max(b) from t", "1|4"),
        ("select min(a), max(b) from t", "1|5"),
        ("with x as (insert into t select 3, count(*) from t returning b) select * from x", "2"),
        ("delete from t where b = 7", "DELETE 2"),
        ("prepare p as select count(*) from t where b > 1;; execute p", "1"),
        ("execute p", "2"),
    ] {
        if sql == "execute p" {
            db.run("insert into t values (5, 5)").await;
        }
        db.run("begin;; lock table t").await;
        let answered = waits(&bob, sql, commits()).await.unwrap();
        assert_eq!(answered.lines().last(), Some(answer), "{sql}");
    }
    // All statements of the transaction read its first state, though the lock comes before.
    db.run("begin isolation level repeatable read;; lock table t").await;
    run(&bob, "create table u (a int);; insert into u values (1)").await.unwrap();
    assert_eq!(db.run("select count(*) from u").await, "1");
    run(&bob, "insert into u values (2)").await.unwrap();
    assert_eq!(db.run("select count(*) from u").await, "1");
    db.run("commit").await;
}

#[tokio::test]
async fn a_lock_waits_for_what_transactions_have_used() {
    let db = TestDb::new().await;
    tables(&db).await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    for (used, mode) in [
        ("select * from v", "access exclusive"),
        ("select * from t for key share", "exclusive"),
        ("insert into t values (7)", "share"),
        ("alter table t rename to u;; alter table u rename to t", "access share"),
    ] {
        db.run(&format!("begin;; {used}")).await;
        let waiting = begun_to_wait(&db, &bob, &format!("begin;; lock t in {mode} mode")).await;
        // Who comes behind waits for the one that waits, and not for the one who holds.
        let behind = begun_to_wait(&db, &carol, "begin;; lock t").await;
        db.run("select count(*) from t;; rollback").await;
        assert_eq!(answer_of(waiting).await.as_deref().map(|answer| answer.lines().last()), Ok(Some("LOCK TABLE")));
        run(&bob, "commit").await.unwrap();
        answer_of(behind).await.unwrap();
        run(&carol, "commit").await.unwrap();
    }
    assert_eq!(db.run("select count(*) from pg_locks").await, "0");
    // What a statement by itself has used is given back with it.
    db.run("select * from t;; insert into t values (8);; explain select * from t").await;
    run(&bob, "begin;; lock t nowait;; rollback").await.unwrap();
}

#[tokio::test]
async fn circles_through_locks_of_tables_and_rows_are_found() {
    let db = TestDb::new().await;
    db.run("create table t (k int primary key);; insert into t values (1);; create table u (a int)").await;
    let (alice, bob) = (db.database.session("alice"), db.database.session("bob"));
    for (first, second) in [
        ("lock u", "delete from t where k = 1"),
        ("insert into u values (1)", "lock t"),
        ("lock u in share mode", "select pg_advisory_xact_lock(1)"),
    ] {
        run(&alice, &format!("begin;; {first}")).await.unwrap();
        run(&bob, &format!("begin;; {second}")).await.unwrap();
        let waiting = begun_to_wait(&db, &alice, second).await;
        let closing = in_time("the end of a circle of waits", run(&bob, "lock u")).await;
        assert_eq!(closing.unwrap_err().sqlstate(), "40P01", "{first}; {second}");
        // What it has locked is given back when it fails, before its block ends.
        answer_of(waiting).await.unwrap();
        run(&bob, "rollback").await.unwrap();
        run(&alice, "rollback").await.unwrap();
    }
}

#[tokio::test]
async fn locks_are_given_back_to_savepoints_and_shown() {
    let db = TestDb::new().await;
    tables(&db).await;
    let bob = db.database.session("bob");
    let locks =
        "select relation::regclass, mode, granted, fastpath from pg_locks where locktype = 'relation' order by 1, 2";
    run(&bob, "begin;; select * from t;; savepoint a;; lock v in share mode;; insert into t values (5)").await.unwrap();
    let shown =
        "t|AccessShareLock|true|false\nt|RowExclusiveLock|true|false\nt|ShareLock|true|false\nv|ShareLock|true|false";
    assert_eq!(db.run(locks).await, shown);
    run(&bob, "rollback to a").await.unwrap();
    assert_eq!(db.run(locks).await, "t|AccessShareLock|true|false");
    run(&bob, "lock parent in row share mode;; savepoint b;; lock child;; select 1/0").await.unwrap_err();
    assert_eq!(db.run(locks).await, "t|AccessShareLock|true|false\nparent|RowShareLock|true|false");
    run(&bob, "rollback;; begin;; select * from t for update").await.unwrap();
    assert_eq!(db.run(locks).await, "t|RowShareLock|true|true");
    let waiting = begun_to_wait(&db, &db.database.session("carol"), "begin;; lock t").await;
    let shown = "t|AccessExclusiveLock|false|false\nt|RowShareLock|true|false";
    assert_eq!(db.run(locks).await, shown);
    let event =
        "select wait_event_type, wait_event, pg_blocking_pids(pid)::text from pg_stat_activity where usename = 'carol'";
    assert_eq!(db.run(event).await, format!("Lock|relation|{{{}}}", bob.id()));
    drop(bob);
    answer_of(waiting).await.unwrap();
}

#[tokio::test]
async fn waits_end_with_timeouts_and_maintenance_may_skip() {
    let db = TestDb::new().await;
    tables(&db).await;
    let bob = db.database.session("bob");
    run(&bob, "begin;; lock t").await.unwrap();
    assert_eq!(db.state("set lock_timeout = 20;; select * from t").await, "55P03");
    assert_eq!(db.state("set lock_timeout = 0;; set statement_timeout = 20;; select * from t").await, "57014");
    db.run("set statement_timeout = 0").await;
    for (sql, warning) in [("vacuum (skip_locked) t", "vacuum"), ("analyze (skip_locked) t", "analyze")] {
        db.run(sql).await;
        let notices: Vec<_> = db.session.take_notices().into_iter().map(|notice| notice.message.clone()).collect();
        assert_eq!(notices, [format!("skipping {warning} of \"t\" --- lock not available")]);
    }
    // It is dropped while it is waited for.
    let waiting = begun_to_wait(&db, &db.database.session("carol"), "begin;; lock t").await;
    run(&bob, "drop table t cascade;; commit").await.unwrap();
    assert_eq!(answer_of(waiting).await.unwrap_err(), "42P01");
}

/// A statement that has begun to change things starts anew from what it found.
#[tokio::test]
async fn definitions_of_several_tables_begin_anew_as_a_whole() {
    let db = TestDb::new().await;
    tables(&db).await;
    let bob = db.database.session("bob");
    for sql in [
        "alter table parent drop constraint parent_pkey cascade",
        "begin;; create table own (a int);; alter table if exists parent drop constraint if exists parent_pkey cascade",
    ] {
        db.run("begin;; lock table child in access share mode").await;
        bob.take_notices();
        let waiting = begun_to_wait(&db, &bob, sql).await;
        db.run("commit").await;
        answer_of(waiting).await.unwrap();
        let keys = "select conname from pg_constraint where conrelid in ('parent'::regclass, 'child'::regclass)";
        assert_eq!(run(&bob, keys).await.unwrap(), "", "{sql}");
        let notices: Vec<_> = bob.take_notices().into_iter().map(|notice| notice.message.clone()).collect();
        assert_eq!(notices, ["drop cascades to constraint child_k_fkey on table child"], "{sql}");
        drop(run(&bob, "rollback").await);
        db.run("drop table child, parent;; create table parent (k int primary key);; create table child (k int references parent)").await;
    }
    db.run("create index i1 on t (b);; create index i2 on child (k);; begin;; lock table child").await;
    let waiting = begun_to_wait(&db, &bob, "drop index i1, i2").await;
    db.run("commit").await;
    answer_of(waiting).await.unwrap();
}

/// The name is looked up again when the lock has come.
#[tokio::test]
async fn a_lock_is_of_what_the_name_means_then() {
    let db = TestDb::new().await;
    db.run("create table t (a int);; create table new (a int);; begin;; lock t").await;
    db.run("alter table t rename to old;; alter table new rename to t").await;
    let bob = db.database.session("bob");
    let waiting = begun_to_wait(&db, &bob, "begin;; lock t in share mode").await;
    db.run("commit").await;
    answer_of(waiting).await.unwrap();
    let locks = "select relation::regclass, mode from pg_locks where locktype = 'relation' and pid <> pg_backend_pid()";
    assert_eq!(db.run(locks).await, "t|ShareLock");
}

/// What was prepared, planned or explained keeps nothing locked.
#[tokio::test]
async fn nothing_is_locked_between_transactions() {
    let db = TestDb::new().await;
    db.run("create table a (x int);; create table b (x int)").await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    for _ in 0..3 {
        run(&bob, "select * from a where x = 1").await.unwrap();
    }
    run(&carol, "begin;; lock b").await.unwrap();
    let statement = &bob.parse("select * from a, b").unwrap()[0];
    let prepared = tokio::time::timeout(Duration::from_millis(30), bob.prepare(statement, &[])).await;
    assert!(prepared.is_err(), "it waits");
    assert_eq!(run(&bob, "set statement_timeout = 20;; select * from a, b").await.unwrap_err().sqlstate(), "57014");
    run(&carol, "lock a nowait").await.unwrap();
    // By the template that it has, too.
    assert_eq!(run(&bob, "explain analyze select * from a where x = 1").await.unwrap_err().sqlstate(), "57014");
    run(&carol, "rollback").await.unwrap();
    assert_eq!(db.run("select count(*) from pg_locks").await, "0");
}

/// A waits for u, which B holds; B waits for t only because C is before it.
#[tokio::test]
async fn who_waits_only_for_its_turn_goes_first_in_a_circle() {
    let db = TestDb::new().await;
    db.run("create table t (a int);; create table u (id int primary key);; insert into u values (1)").await;
    for closing in ["lock table u in share mode", "delete from u where id = 1"] {
        let [alice, bob, carol] = ["alice", "bob", "carol"].map(|user| db.database.session(user));
        run(&alice, "begin;; select * from t").await.unwrap();
        run(&bob, "begin;; delete from u where id = 1").await.unwrap();
        let third = begun_to_wait(&db, &carol, "begin;; lock t").await;
        let second = begun_to_wait(&db, &bob, "select count(*) from t").await;
        let first = tokio::spawn({
            let alice = alice.clone();
            async move { run(&alice, closing).await }
        });
        assert_eq!(answer_of(second).await.as_deref(), Ok("0"), "{closing}");
        run(&bob, "rollback").await.unwrap();
        answer_of(first).await.unwrap();
        run(&alice, "rollback").await.unwrap();
        answer_of(third).await.unwrap();
    }
}
