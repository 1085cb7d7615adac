//! Advisory locks between sessions.

use crate::test_db::{SOON, TestDb, run, waits};

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
