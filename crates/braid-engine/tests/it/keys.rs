//! Enforced keys between sessions: who waits for whom, what ON CONFLICT sees, and what errors say.

use std::sync::Arc;

use braid_engine::{Database, Session};

use crate::test_db::{TestDb, config, run, waits};

async fn state(session: &Session, sql: &str) -> String {
    run(session, sql).await.unwrap_err().sqlstate().to_owned()
}

async fn keyed() -> (TestDb, Session) {
    let db = TestDb::new().await;
    db.run("create table t (id int primary key, v int)").await;
    let bob = db.database.session("bob");
    (db, bob)
}

#[tokio::test]
async fn errors_name_the_key_and_its_values() {
    let (db, _) = keyed().await;
    db.run("insert into t values (1, 1);; create table u (a text, b date, c numeric, unique (b, a), unique (c))").await;
    db.run("insert into u values ('x', '2024-02-03', 1.50)").await;
    for (sql, detail) in [
        ("insert into t values (1, 2)", "Key (id)=(1) already exists."),
        ("insert into u values ('x', '2024-02-03', 2)", "Key (b, a)=(2024-02-03, x) already exists."),
        ("insert into u values ('y', null, 1.5)", "Key (c)=(1.5) already exists."),
    ] {
        let error = db.fail(sql).await;
        assert_eq!((error.sqlstate(), error.detail().as_deref()), ("23505", Some(detail)), "{sql}");
        assert!(error.message().starts_with("duplicate key value violates unique constraint"), "{error:?}");
    }
    db.run("create table w (a int);; insert into w values (1), (1)").await;
    let error = db.fail("alter table w add constraint w_once unique (a)").await;
    assert_eq!(error.message(), "could not create unique index \"w_once\"");
    assert_eq!(error.detail().as_deref(), Some("Key (a)=(1) is duplicated."));
    db.run("create table long (a text unique)").await;
    assert_eq!(db.state("insert into long values (repeat('x', 20000))").await, "54000");
    for refused in ["interval", "jsonb", "int[]"] {
        assert_eq!(db.state(&format!("create table v (a {refused} unique)")).await, "0A000", "{refused}");
    }
}

#[tokio::test]
async fn a_second_insert_of_a_key_waits_for_the_first() {
    let (db, bob) = keyed().await;
    for (end, answer) in [("commit", Err("23505".to_owned())), ("rollback", Ok("INSERT 0 1".to_owned()))] {
        db.run("begin;; insert into t values (1, 1)").await;
        let answered = waits(&bob, "insert into t values (1, 2)", async { drop(db.run(end).await) }).await;
        assert_eq!(answered, answer, "{end}");
        db.run("delete from t").await;
    }
    db.run("insert into t values (1, 1);; begin;; delete from t where id = 1").await;
    let answered = waits(&bob, "insert into t values (1, 2)", async { drop(db.run("commit").await) }).await;
    assert_eq!(answered.unwrap(), "INSERT 0 1");
}

#[tokio::test]
async fn on_conflict_changes_the_newest_row() {
    let (db, bob) = keyed().await;
    let upsert = "insert into t values (1, 10) on conflict (id) do update set v = t.v + excluded.v";
    for (end, v) in [("commit", "11"), ("rollback", "10")] {
        db.run("begin;; insert into t values (1, 1)").await;
        let answered = waits(&bob, upsert, async { drop(db.run(end).await) }).await;
        assert_eq!(answered.unwrap(), "INSERT 0 1", "{end}");
        db.check(&[("select v from t", v), ("delete from t", "DELETE 1")]).await;
    }
    db.run("insert into t values (1, 1);; begin;; update t set v = 100").await;
    assert_eq!(waits(&bob, upsert, async { drop(db.run("commit").await) }).await.unwrap(), "INSERT 0 1");
    db.check(&[("select v from t", "110")]).await;
    db.run("begin;; delete from t").await;
    let nothing = "insert into t values (1, 7) on conflict do nothing";
    assert_eq!(waits(&bob, nothing, async { drop(db.run("rollback").await) }).await.unwrap(), "INSERT 0 0");
    // Nothing is locked behind statements that have changed nothing.
    db.run(nothing).await;
    assert_eq!(run(&bob, "delete from t;; insert into t values (1, 1)").await.unwrap(), "INSERT 0 1");
}

#[tokio::test]
async fn a_snapshot_that_lacks_the_row_fails_on_conflict() {
    let (db, bob) = keyed().await;
    for action in ["nothing", "update set v = 5"] {
        db.run("delete from t;; begin isolation level repeatable read;; select * from t").await;
        run(&bob, "insert into t values (1, 1)").await.unwrap();
        let sql = format!("insert into t values (1, 2) on conflict (id) do {action}");
        assert_eq!(db.state(&sql).await, "40001", "{action}");
        db.run("rollback").await;
        // A plain insert fails by the key, as in PostgreSQL.
        db.run("begin isolation level repeatable read;; select * from t").await;
        assert_eq!(db.state("insert into t values (1, 2)").await, "23505");
        db.run("rollback").await;
    }
    assert_eq!(state(&bob, "insert into t values (1, 2)").await, "23505");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counters_of_many_sessions_lose_nothing() {
    let (db, _) = keyed().await;
    let sessions = (0..6).map(|number| {
        let session = db.database.session("carol");
        tokio::spawn(async move {
            for turn in 0..30 {
                let key = (number + turn) % 4;
                let sql = format!("insert into t values ({key}, 1) on conflict (id) do update set v = t.v + 1");
                run(&session, &sql).await.unwrap();
            }
        })
    });
    for session in sessions.collect::<Vec<_>>() {
        session.await.unwrap();
    }
    db.check(&[("select sum(v), count(*) from t", "180|4")]).await;
}

#[tokio::test]
async fn keys_are_there_after_a_restart() {
    let (db, bob) = keyed().await;
    db.run("insert into t select g, g from generate_series(1, 1000) g;; alter table t add unique (v)").await;
    drop(bob);
    let TestDb { dir, database, session } = db;
    drop((database, session));
    let database = Database::open(config(dir.path())).await.unwrap();
    let session = database.session("alice");
    let db = TestDb { dir, database: Arc::clone(&database), session };
    assert_eq!(db.state("insert into t values (1000, 0)").await, "23505");
    assert_eq!(db.state("insert into t values (1001, 500)").await, "23505");
    db.check(&[("insert into t values (1001, 1001)", "INSERT 0 1"), ("select count(*) from t", "1001")]).await;
}

/// A column whose addition was rolled back leaves its number to another one.
#[tokio::test]
async fn keys_of_a_column_are_not_those_of_one_that_was_rolled_back() {
    let db = TestDb::new().await;
    db.run("create table t (a int);; insert into t values (1), (2);; begin;; alter table t add b int unique").await;
    db.run("rollback;; alter table t add b int default 7").await;
    assert_eq!(db.state("alter table t add unique (b)").await, "23505");
    db.run("create table u (a int);; insert into u values (1)").await;
    db.run("begin;; alter table u add b int default 1 unique;; rollback").await;
    db.run("alter table u add b int default 2 unique").await;
    assert_eq!(db.state("insert into u values (9, 2)").await, "23505");
    db.check(&[("insert into u values (9, 1)", "INSERT 0 1")]).await;
    db.run("create table w (a int);; insert into w values (1), (2)").await;
    assert_eq!(db.state("alter table w add b int default 1 unique").await, "23505");
    db.run("alter table w add b int unique").await;
}

/// Rows from before an ALTER TABLE of the same transaction.
#[tokio::test]
async fn keys_of_rows_from_before_an_alter_table_are_compared() {
    let db = TestDb::new().await;
    for begin in [
        "begin;; create table t (a int);; insert into t values (1), (2);; alter table t add unique (a)",
        "create table t (a int);; begin;; insert into t values (1), (2);; alter table t add unique (a)",
        "create table t (a text unique);; insert into t values ('1'), ('2');; begin;; \
         alter table t alter a type int using a::int",
        "create table t (a int unique);; begin;; alter table t drop constraint t_a_key;; insert into t values (1), (2);; \
         alter table t add unique (a)",
    ] {
        for change in ["insert into t values (1)", "update t set a = 1 where a = 2"] {
            db.run(begin).await;
            assert_eq!(db.state(change).await, "23505", "{begin};; {change}");
            db.run("rollback;; drop table if exists t").await;
        }
    }
}

#[tokio::test]
async fn on_conflict_meets_a_row_again_after_many_others() {
    let db = TestDb::new().await;
    db.run("create table t (id int primary key, v int);; insert into t values (1, 0)").await;
    let rows = "select case when g in (1, 140000) then 1 else g + 1000000 end, g from generate_series(1, 150000) g";
    let sql = format!("insert into t {rows} on conflict (id) do update set v = excluded.v");
    assert_eq!(db.state(&sql).await, "21000");
    let sql = format!("insert into t {rows} on conflict do nothing");
    db.check(&[(&sql, "INSERT 0 149998"), ("select count(*) from t", "149999")]).await;
}

#[tokio::test]
async fn with_and_do_update_do_not_read_other_tables() {
    let db = TestDb::new().await;
    db.run("create table t (id int primary key, v int);; create table c (x int);; insert into c values (5)").await;
    db.run("with c as (select 1 as id, 2 as v) insert into t select * from c on conflict (id) do nothing").await;
    let upsert = "with c as (select 1 as id, 3 as v) insert into t select * from c on conflict (id) do update set v =";
    db.run(&format!("{upsert} excluded.v")).await;
    db.check(&[("select v from t", "3")]).await;
    assert_eq!(db.state(&format!("{upsert} (select x from c)")).await, "0A000");
}

#[tokio::test]
async fn sessions_wait_for_each_other_for_computed_keys() {
    let db = TestDb::new().await;
    db.run("create table u (id int primary key, mail text, active bool)").await;
    db.run("create unique index on u (lower(mail));; create unique index on u ((id % 10)) where active").await;
    let bob = db.database.session("bob");
    db.run("begin;; insert into u values (1, 'A@x', true)").await;
    let answered = waits(&bob, "insert into u values (2, 'a@X', true)", async { drop(db.run("commit").await) }).await;
    assert_eq!(answered, Err("23505".to_owned()));
    // Rows without the condition, and other keys, wait for nobody.
    db.run("begin;; insert into u values (13, 'c@x', true)").await;
    assert_eq!(run(&bob, "insert into u values (23, 'd@x', false)").await.unwrap(), "INSERT 0 1");
    let answered =
        waits(&bob, "update u set active = true where id = 23", async { drop(db.run("rollback").await) }).await;
    assert_eq!(answered, Ok("UPDATE 1".to_owned()));
    let error = db.fail("insert into u values (33, 'e@x', true)").await;
    assert_eq!(error.detail().as_deref(), Some("Key ((id % 10))=(3) already exists."));
    // An upsert without a target passes over rows with any of the keys.
    assert_eq!(db.run("insert into u values (43, 'f@x', true) on conflict do nothing").await, "INSERT 0 0");
}

#[tokio::test]
async fn computed_keys_are_those_of_the_table_after_it_is_opened_again() {
    let db = TestDb::new().await;
    db.run("create table u (id int primary key, mail text);; create unique index u_mail on u (lower(mail))").await;
    db.run("insert into u select g, 'user' || g from generate_series(1, 3000) g").await;
    db.run("alter table u rename mail to address").await;
    let TestDb { dir, database, session } = db;
    drop((database, session));
    let database = Database::open(config(dir.path())).await.unwrap();
    let session = database.session("alice");
    assert_eq!(state(&session, "insert into u values (0, 'USER2999')").await, "23505");
    assert_eq!(state(&session, "update u set address = 'User7' where id = 8").await, "23505");
    assert_eq!(run(&session, "update u set address = upper(address)").await.unwrap(), "UPDATE 3000");
}
