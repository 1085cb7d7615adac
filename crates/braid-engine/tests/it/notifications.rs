//! LISTEN and NOTIFY between sessions.

use braid_engine::{MessageScope, Session};

use crate::test_db::{TestDb, run};

fn taken(session: &Session) -> Vec<String> {
    session.take_notifications().iter().map(|told| format!("{} {}", told.channel, told.payload)).collect()
}

/// Runs statements as one message of a client.
async fn together(session: &Session, sql: &str) -> Result<String, &'static str> {
    session.begin_message(MessageScope::Message);
    let outcome = run(session, sql).await;
    session.end_message().await.unwrap();
    outcome.map_err(|error| error.sqlstate())
}

#[tokio::test]
async fn those_who_listen_are_told_when_the_transaction_commits() {
    let db = TestDb::new().await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    run(&bob, "listen a;; listen \"B\"").await.unwrap();
    run(&carol, "listen b").await.unwrap();
    db.check(&[("notify A", "NOTIFY"), ("notify a, 'x'", "NOTIFY"), ("notify \"B\", 'y'", "NOTIFY")]).await;
    assert_eq!(taken(&bob), ["a ", "a x", "B y"]);
    assert!(taken(&carol).is_empty());
    db.run("begin;; notify a, '1';; notify b, '2';; notify a, '1'").await;
    assert!(taken(&bob).is_empty() && taken(&carol).is_empty());
    db.run("commit").await;
    assert_eq!((taken(&bob), taken(&carol)), (vec!["a 1".to_owned()], vec!["b 2".to_owned()]));
    db.run("begin;; notify a, 'kept';; savepoint s;; notify a, 'undone';; listen z;; rollback to s;; notify a, 'last';; commit").await;
    assert_eq!(taken(&bob), ["a kept", "a last"]);
    db.check(&[("select count(*) from pg_listening_channels()", "0")]).await;
    db.run("begin;; notify a, 'undone';; rollback").await;
    db.run("begin;; notify a, 'undone'").await;
    assert_eq!(db.state("select nosuch").await, "42703");
    db.run("commit").await;
    assert!(taken(&bob).is_empty());
}

#[tokio::test]
async fn a_session_in_a_block_is_told_after_it() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    run(&bob, "listen a;; begin").await.unwrap();
    db.run("notify a, 'x'").await;
    assert!(taken(&bob).is_empty());
    run(&bob, "commit").await.unwrap();
    assert_eq!(taken(&bob), ["a x"]);
    run(&bob, "begin;; unlisten a;; rollback").await.unwrap();
    assert_eq!(run(&bob, "select pg_listening_channels()").await.unwrap(), "a");
    run(&bob, "listen b;; listen c;; unlisten a").await.unwrap();
    assert_eq!(run(&bob, "select * from pg_listening_channels()").await.unwrap(), "b\nc");
    run(&bob, "unlisten *").await.unwrap();
    assert_eq!(run(&bob, "select count(*) from pg_listening_channels()").await.unwrap(), "0");
}

#[tokio::test]
async fn pg_notify_tells_what_it_computes() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    run(&bob, "listen a").await.unwrap();
    db.run("create table t (n int)").await;
    db.run("insert into t select * from generate_series(1, 3)").await;
    let alice = &db.session;
    together(alice, "select pg_notify('a', 'n' || 1)").await.unwrap();
    assert_eq!(taken(&bob), ["a n1"]);
    for _ in 0..3 {
        together(alice, "select pg_notify('a', n::text) from t where n > 1").await.unwrap();
        let mut told = taken(&bob);
        told.sort_unstable();
        assert_eq!(told, ["a 2", "a 3"], "each statement of a text is run");
    }
    together(alice, "prepare tell as select pg_notify('a', $1)").await.unwrap();
    together(alice, "execute tell('p')").await.unwrap();
    together(alice, "select pg_notify('a', null)").await.unwrap();
    assert_eq!(taken(&bob), ["a p", "a "]);
    assert_eq!(together(alice, "select pg_notify('a', 'x');; select 1/0").await, Err("22012"));
    assert_eq!(together(alice, "select pg_notify('a', 'x');; rollback").await.unwrap(), "ROLLBACK");
    assert!(taken(&bob).is_empty());
    for sql in ["select pg_notify('', 'x')", "select pg_notify(null, 'x')", "select pg_notify('a', repeat('x', 8000))"]
    {
        assert_eq!(together(alice, sql).await, Err("22023"), "{sql}");
    }
    assert_eq!(together(alice, "select pg_notification_queue_usage()").await.unwrap(), "0.0");
}

#[tokio::test]
async fn discard_all_ceases_to_listen() {
    let db = TestDb::new().await;
    db.run("listen a;; discard all;; notify a").await;
    assert!(taken(&db.session).is_empty());
}
