//! VACUUM, ANALYZE, CHECKPOINT and LOCK TABLE: where they may stand, and what the client is told.

use crate::test_db::TestDb;

#[tokio::test]
async fn the_client_is_told_of_what_is_no_table() {
    let db = TestDb::new().await;
    db.run("create table t (a int)").await;
    db.run("create view v as select 1 as x").await;
    for (sql, told) in [
        ("vacuum v", "skipping \"v\" --- cannot vacuum non-tables or special system tables"),
        ("vacuum (analyze) t, v", "skipping \"v\" --- cannot vacuum non-tables or special system tables"),
        ("analyze v, t", "skipping \"v\" --- cannot analyze non-tables or special system tables"),
    ] {
        db.session.take_notices();
        db.run(sql).await;
        let notices: Vec<_> = db.session.take_notices().into_iter().map(|notice| notice.message).collect();
        assert_eq!(notices, [told], "{sql}");
    }
}

#[tokio::test]
async fn statements_stand_in_blocks_or_outside_as_in_postgresql() {
    let db = TestDb::new().await;
    db.run("create table t (a int); create sequence s").await;
    db.check(&[("vacuum", "VACUUM"), ("checkpoint", "CHECKPOINT"), ("analyze t", "ANALYZE")]).await;
    db.run("begin").await;
    db.check_states(&[("vacuum t", "25001")]).await;
    db.run("rollback; begin").await;
    db.check_states(&[("lock table only t in share mode nowait", "0A000")]).await;
    db.run("rollback").await;
    // Statements that are sent together are a block.
    db.check_states(&[("lock t", "25P01"), ("select 1; vacuum", "25001"), ("select 1; lock t", "0A000")]).await;
    db.run("begin").await;
    let refused = db.fail("lock s").await;
    assert_eq!(refused.message(), "cannot lock relation \"s\"");
    assert_eq!(refused.detail().as_deref(), Some("This operation is not supported for sequences."));
    assert_eq!(db.run("rollback; begin; insert into t values (1); analyze t; checkpoint; commit").await, "COMMIT");
    assert_eq!(db.run("select count(*) from t").await, "1");
}
