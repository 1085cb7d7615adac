//! Advisory locks between sessions.

use crate::test_db::{SOON, TestDb, answer_of, begun_to_wait, run, waits};
use braid_testing::in_time;

#[tokio::test]
async fn a_lock_is_waited_for_until_it_is_given_back() {
    let db = TestDb::new().await;
    let bob = db.database.session("bob");
    for (taken, given_back) in [
        ("select pg_advisory_lock(1)", "select pg_advisory_unlock(1)"),
        ("begin;; select pg_advisory_xact_lock(1)", "commit"),
        ("begin;; select pg_advisory_xact_lock_shared(1)", "rollback"),
        ("select pg_advisory_lock_shared(1)", "discard all"),
        ("begin;; select pg_advisory_xact_lock(1)", "select nothing"),
    ] {
        db.run(taken).await;
        let end = async {
            drop(run(&db.session, given_back).await);
            if given_back == "select nothing" {
                // A block that has failed holds its locks until it is ended.
                assert_eq!(run(&db.session, "rollback").await.unwrap(), "ROLLBACK");
            }
        };
        assert!(waits(&bob, "select pg_advisory_lock(1)", end).await.is_ok(), "{taken}");
        run(&bob, "select pg_advisory_unlock(1)").await.unwrap();
    }
}

#[tokio::test]
async fn waits_end_with_their_statements_and_locks_with_their_sessions() {
    let db = TestDb::new().await;
    let (bob, carol) = (db.database.session("bob"), db.database.session("carol"));
    run(&bob, "select pg_advisory_lock(1, 2)").await.unwrap();
    let error = db.fail("set statement_timeout = 30;; select pg_advisory_lock(1, 2)").await;
    assert_eq!(error.sqlstate(), "57014");
    db.run("set statement_timeout = 0").await;
    let mut waiting = Box::pin(run(&carol, "select pg_advisory_lock(1, 2)"));
    assert!(tokio::time::timeout(SOON, &mut waiting).await.is_err());
    drop(bob);
    waiting.await.unwrap();
    assert_eq!(db.run("select pg_try_advisory_lock(1, 2)").await, "false");
    // Over rows nothing is waited for.
    let error = db.fail("select pg_advisory_lock(1, g) from generate_series(2, 3) g").await;
    assert_eq!(error.sqlstate(), "0A000");
    assert_eq!(db.run("select count(pg_advisory_lock(2, g)::text) from generate_series(1, 3) g").await, "3");
    let notices = |sql: &'static str| async {
        db.run(sql).await;
        db.session.take_notices().into_iter().map(|notice| notice.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(notices("select pg_advisory_unlock_shared(9)").await, ["you don't own a lock of type ShareLock"]);
}

/// Two sessions that lock a number and a row, or a key, in different orders.
#[tokio::test]
async fn circles_of_advisory_locks_and_locks_of_rows_and_keys_are_found() {
    let db = TestDb::new().await;
    db.run("create table t (k int primary key, v int);; insert into t values (1, 0), (2, 0)").await;
    let (alice, bob) = (db.database.session("alice"), db.database.session("bob"));
    let numbers = "select pg_advisory_xact_lock(1)";
    for locks in
        ["update t set v = v + 1 where k = 2", "insert into t values (5, 5)", "select * from t where k = 1 for update"]
    {
        for (first, second) in [(numbers, locks), (locks, numbers)] {
            run(&alice, &format!("begin;; {first}")).await.unwrap();
            run(&bob, &format!("begin;; {second}")).await.unwrap();
            let waiting = begun_to_wait(&db, &alice, second).await;
            // The one whose wait closes the circle fails, and gives back what it has locked.
            let closing = in_time("the end of a circle of waits", run(&bob, first)).await;
            assert_eq!(closing.unwrap_err().sqlstate(), "40P01", "{first}; {second}");
            run(&bob, "rollback").await.unwrap();
            answer_of(waiting).await.unwrap();
            run(&alice, "rollback").await.unwrap();
        }
    }
    // A wait that closes no circle is none.
    run(&alice, &format!("begin;; {numbers}")).await.unwrap();
    run(&bob, "begin;; update t set v = 1 where k = 1").await.unwrap();
    let ends = async { drop(run(&alice, "commit").await) };
    waits(&bob, numbers, ends).await.unwrap();
    run(&bob, "commit").await.unwrap();
}

/// A circle of three: a number, a row, and a number again.
#[tokio::test]
async fn a_circle_goes_through_sessions_that_have_changed_nothing() {
    let db = TestDb::new().await;
    db.run("create table t (k int primary key);; insert into t values (1)").await;
    let [alice, bob, carol] = ["alice", "bob", "carol"].map(|user| db.database.session(user));
    run(&alice, "begin;; delete from t").await.unwrap();
    run(&bob, "select pg_advisory_lock(1)").await.unwrap();
    run(&carol, "select pg_advisory_lock(2)").await.unwrap();
    let first = begun_to_wait(&db, &alice, "select pg_advisory_lock(1)").await;
    let second = begun_to_wait(&db, &bob, "select pg_advisory_lock(2)").await;
    let closing = in_time("the end of a circle of waits", run(&carol, "delete from t")).await;
    assert_eq!(closing.unwrap_err().sqlstate(), "40P01");
    run(&carol, "select pg_advisory_unlock_all()").await.unwrap();
    answer_of(second).await.unwrap();
    run(&bob, "select pg_advisory_unlock_all()").await.unwrap();
    answer_of(first).await.unwrap();
}
