//! PREPARE and EXECUTE. The answers are in `prepared_statements.slt`; here is what answers do not show.

use braid_engine::TransactionStatus;

use crate::test_db::{TestDb, run};

async fn numbers() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table t (a int, b text)").await;
    db.run("insert into t select n, 'x' || n from generate_series(1, 100) as s (n)").await;
    db
}

#[tokio::test]
async fn executions_run_by_the_template_of_their_query() {
    let db = numbers().await;
    db.run("prepare q as select count(*) from t where a <= $1").await;
    let hits = || db.database.template_figures().hits;
    for n in 1..=6 {
        assert_eq!(db.run(&format!("execute q({n})")).await, n.to_string());
    }
    assert_eq!(hits(), 4, "the first two executions are learned from");
    let bob = db.database.session("bob");
    run(&bob, "prepare other (int) as select count(*) from t where a <= $1").await.unwrap();
    assert_eq!(run(&bob, "execute other(7)").await.unwrap(), "7");
    assert_eq!(hits(), 5, "sessions share templates, whatever the names of their statements");
}

#[tokio::test]
async fn sessions_have_names_of_their_own() {
    let db = numbers().await;
    db.run("prepare q as select 1").await;
    let bob = db.database.session("bob");
    assert_eq!(run(&bob, "execute q").await.unwrap_err().sqlstate(), "26000");
    run(&bob, "prepare q as select 2").await.unwrap();
    assert_eq!((db.run("execute q").await, run(&bob, "execute q").await.unwrap()), ("1".into(), "2".into()));
}

#[tokio::test]
async fn an_execution_that_writes_obeys_the_rules_of_its_statement() {
    let db = numbers().await;
    db.run("prepare w (int) as insert into t values ($1, 'w')").await;
    assert_eq!(db.run("execute w(1000)").await, "INSERT 0 1");
    db.run("begin;; execute w(1001);; rollback").await;
    db.run("set default_transaction_read_only = on").await;
    assert_eq!(db.state("execute w(1002)").await, "25006");
    db.check(&[("select count(*) from t where b = 'w'", "1")]).await;
}

#[tokio::test]
async fn errors_of_prepare_point_into_its_text() {
    let db = numbers().await;
    let error = db.fail("prepare q as\n  select a, nosuch from t").await;
    assert_eq!((error.sqlstate(), error.position()), ("42703", Some(26)));
    let error = db.fail("select 'ä'; prepare q as select nosuch from t").await;
    assert_eq!((error.sqlstate(), error.position()), ("42703", Some(33)));
    db.run("prepare q (int) as select $1").await;
    let error = db.fail("execute q(true)").await;
    assert_eq!((error.sqlstate(), error.position()), ("42804", Some(11)));
    assert_eq!(error.hint().as_deref(), Some("You will need to rewrite or cast the expression."));
    let error = db.fail("execute q").await;
    assert_eq!(error.detail().as_deref(), Some("Expected 1 parameters but got 0."));
}

#[tokio::test]
async fn a_failed_block_refuses_executions_and_keeps_names() {
    let db = numbers().await;
    db.run("begin;; prepare q as select 1").await;
    assert_eq!(db.state("execute nosuch").await, "26000");
    assert_eq!(db.session.transaction_status(), TransactionStatus::Failed);
    assert_eq!(db.state("execute q").await, "25P02");
    db.run("rollback").await;
    db.check(&[("execute q", "1"), ("deallocate all", "DEALLOCATE ALL"), ("prepare q as select 2", "PREPARE")]).await;
    db.check(&[("discard all", "DISCARD ALL"), ("select count(*) from pg_prepared_statements", "0")]).await;
}

#[tokio::test]
async fn discard_all_stands_alone() {
    let db = numbers().await;
    db.run("set application_name = 'kept';; begin").await;
    assert_eq!(db.state("discard all").await, "25001");
    db.run("rollback").await;
    assert_eq!(db.state("select 1; discard all").await, "25001");
    db.check(&[("discard plans", "DISCARD PLANS"), ("show application_name", "kept")]).await;
    db.check(&[("discard all", "DISCARD ALL"), ("show application_name", "")]).await;
}
