//! What the views of statistics count of the whole database: rows, sessions and checkpoints.

use crate::test_db::{TestDb, run};

const ROWS: &str = "select tup_inserted, tup_updated, tup_deleted from pg_stat_database where datname = 'braid'";

#[tokio::test]
async fn rows_are_counted_that_statements_change() {
    let db = TestDb::new().await;
    db.run("create table t (a int primary key, b int); create table u (a int references t on delete cascade)").await;
    db.check(&[(ROWS, "0|0|0"), ("insert into t select a, 0 from generate_series(1, 10) s(a)", "INSERT 0 10")]).await;
    db.check(&[(ROWS, "10|0|0"), ("update t set b = 1 where a <= 4", "UPDATE 4"), (ROWS, "10|4|0")]).await;
    db.check(&[("insert into u values (1), (2), (3)", "INSERT 0 3"), (ROWS, "13|4|0")]).await;
    // With the rows that the foreign key deletes.
    db.check(&[("delete from t where a in (1, 10)", "DELETE 2"), (ROWS, "13|4|3")]).await;
    let upsert = "insert into t values (2, 5), (11, 5) on conflict (a) do update set b = excluded.b";
    db.check(&[(upsert, "INSERT 0 2"), (ROWS, "14|5|3")]).await;
    // Whatever becomes of the transaction.
    db.check(&[("begin", "BEGIN"), ("delete from u", "DELETE 2"), ("rollback", "ROLLBACK"), (ROWS, "14|5|5")]).await;
}

#[tokio::test]
async fn sessions_and_checkpoints_are_counted() {
    let db = TestDb::new().await;
    let sessions = "select sessions from pg_stat_database where datname = current_database()";
    let before: i64 = db.run(sessions).await.parse().unwrap();
    let other = db.database.session("other");
    assert_eq!(run(&other, sessions).await.unwrap(), (before + 1).to_string());
    let checkpoints = "select checkpoints_timed, checkpoints_req, buffers_clean, checkpoint_write_time is null,
        stats_reset = pg_postmaster_start_time() from pg_stat_bgwriter";
    db.check(&[(checkpoints, "0|0|0|true|true"), ("checkpoint", "CHECKPOINT"), (checkpoints, "0|1|0|true|true")]).await;
    let archiver = "select archived_count, failed_count, last_archived_wal is null, last_failed_time is null from pg_stat_archiver";
    db.check(&[(archiver, "0|0|true|true")]).await;
}
