//! VACUUM, ANALYZE, CHECKPOINT and LOCK TABLE: where they may stand, and what the client is told.

use crate::test_db::{TestDb, begun_to_wait, run};
use braid_testing::eventually;

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
    db.check(&[("lock table only t in share mode nowait", "LOCK TABLE"), ("rollback", "ROLLBACK")]).await;
    // Statements that are sent together are a block.
    db.check_states(&[("lock t", "25P01"), ("select 1; vacuum", "25001")]).await;
    db.check(&[("select 1; lock t", "LOCK TABLE")]).await;
    db.run("begin").await;
    let refused = db.fail("lock s").await;
    assert_eq!(refused.message(), "cannot lock relation \"s\"");
    assert_eq!(refused.detail().as_deref(), Some("This operation is not supported for sequences."));
    assert_eq!(db.run("rollback; begin; insert into t values (1); analyze t; checkpoint; commit").await, "COMMIT");
    assert_eq!(db.run("select count(*) from t").await, "1");
}

/// Bytes of the data files.
fn disk_bytes(db: &TestDb) -> u64 {
    let files = std::fs::read_dir(db.dir.path().join("data")).unwrap();
    files.map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

/// Waits until the data files have at most so many bytes: readers let go of them soon after their ends.
async fn within_bytes(db: &TestDb, bytes_max: u64) {
    eventually(format!("at most {bytes_max} bytes of data files"), || disk_bytes(db) <= bytes_max).await;
}

async fn filled(rows: u32) -> TestDb {
    let db = TestDb::new().await;
    db.run("create table t (id int primary key, v text)").await;
    db.run(&format!("insert into t select n, md5(n::text) from generate_series(1, {rows}) n")).await;
    db
}

#[tokio::test(flavor = "multi_thread")]
async fn vacuum_gives_the_space_of_deleted_rows_back() {
    let db = filled(300_000).await;
    let all = disk_bytes(&db);
    let sum = "select count(*), sum(id), min(v), max(v) from t";
    for (deleted, sql, share) in [
        // Too few in each chunk.
        ("id % 50 = 0", "vacuum t", 1.1),
        ("id % 50 = 1", "vacuum (full) t", 0.98),
        ("id % 50 = 2", "vacuum full t", 0.96),
        ("id % 4 = 3", "vacuum", 0.76),
        ("id > 1000", "vacuum t", 0.02),
    ] {
        db.run(&format!("delete from t where {deleted}")).await;
        let expected = db.run(sum).await;
        assert_eq!(db.run(sql).await, "VACUUM");
        assert_eq!(db.run(sum).await, expected, "{sql}");
        within_bytes(&db, (all as f64 * share) as u64).await;
    }
    // Keys lead to rows where they are now.
    db.check(&[("update t set v = 'x' where id = 101", "UPDATE 0"), ("select count(*) from t where id = 100", "0")])
        .await;
    db.check(&[("insert into t values (105, 'y') on conflict (id) do update set v = 'z'", "INSERT 0 1")]).await;
    db.check(&[("select v from t where id = 105", "z")]).await;
    assert_eq!(db.state("insert into t values (108, 'y')").await, "23505");
    let report = db.database.store().check(|_| {}).await;
    assert!(report.is_sound(), "{report:?}");
    let db = db.reopened().await;
    db.check(&[("select v from t where id = 105", "z")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn worn_tables_are_compacted_without_being_asked() {
    let db = filled(20_000).await;
    let all = disk_bytes(&db);
    db.run("delete from t where id % 3 <> 0").await;
    within_bytes(&db, all / 2).await;
    db.check(&[("select count(*), sum(id) from t", "6666|66663333")]).await;
}

/// Writes all chunks with deleted rows again, beside those that use the table: VACUUM FULL would wait for them.
async fn move_rows(db: &TestDb) {
    let store = db.database.store();
    let table = store.snapshot().table("t").unwrap().def.id;
    store.compact(table, 0.0).await.unwrap();
}

/// Rows move while transactions know them: by inserts of others, which merge small chunks, and by VACUUM.
#[tokio::test(flavor = "multi_thread")]
async fn transactions_do_not_notice_that_their_rows_move() {
    let db = filled(3_000).await;
    let (own, other) = (&db.session, db.database.session("bob"));
    let moves = async |key: u32| {
        for at in key..key + 8 {
            run(&other, &format!("insert into t values ({at}, 'new')")).await.unwrap();
        }
        move_rows(&db).await;
    };
    db.run("insert into t values (5001, 'a'), (5002, 'b'), (5003, 'c');; delete from t where id % 7 = 0").await;
    for (level, key) in [("read committed", 6000), ("repeatable read", 6100), ("serializable", 6200)] {
        db.run(&format!("begin isolation level {level};; update t set v = v || '1' where id = 5001")).await;
        db.run("select v from t where id in (5002, 8) for update;; savepoint s;; delete from t where id = 9").await;
        moves(key).await;
        db.check(&[("select count(*) from t where id in (9, 5001)", "1"), ("rollback to s", "ROLLBACK")]).await;
        db.run("update t set v = v || '2' where id in (5002, 5001);; delete from t where id in (10, 5001)").await;
        db.check(&[("select count(*) from t where id in (9, 10, 5001, 5002)", "2")]).await;
        db.run("insert into t values (5001, 'again');; rollback").await;
    }
    for (level, key) in [("read committed", 6300), ("repeatable read", 6400)] {
        db.run(&format!("begin isolation level {level};; select count(*) from t")).await;
        moves(key).await;
        db.run("update t set v = v || '3' where id in (5001, 8);; delete from t where id = 20 + length((select v from t where id = 8)) * 0").await;
        db.run("insert into t values (20, 'twenty') on conflict (id) do nothing;; commit").await;
        let tail = "select right(v, 2) from t where id = 5001";
        assert_eq!(run(own, tail).await.unwrap(), if level == "read committed" { "a3" } else { "33" });
        db.check(&[("select v from t where id = 20", "twenty")]).await;
    }
}

/// An UPDATE that waits finds its rows where others have put them, and its foreign keys follow.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_keys_follow_rows_that_have_moved() {
    let db = filled(3_000).await;
    db.run("create table u (t int references t on update cascade on delete set null, n int)").await;
    db.run("delete from t where id % 7 = 0;; insert into u select id, id from t where id < 100").await;
    let (holder, other) = (db.database.session("bob"), db.database.session("carol"));
    run(&holder, "begin;; select from t where id in (5, 6) for update").await.unwrap();
    let updates = begun_to_wait(&db, &db.session, "update t set id = id + 100000 where id < 50").await;
    for at in 0..6 {
        run(&other, &format!("insert into t values ({}, 'new')", 7_000 + at)).await.unwrap();
    }
    move_rows(&db).await;
    run(&holder, "commit").await.unwrap();
    assert_eq!(updates.await.unwrap().unwrap(), "UPDATE 42");
    db.check(&[
        ("select count(*) from u where t is null", "0"),
        ("select count(*) from u where n < 50 and t = n + 100000", "42"),
        ("select count(*) from u join t on t.id = u.t where n < 50", "42"),
    ])
    .await;
    let report = db.database.store().check(|_| {}).await;
    assert!(report.is_sound(), "{report:?}");
}

/// A reader of an old state keeps one version of what it reads, whatever others write; a view tells how much, and it comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_reader_keeps_one_version_and_gives_it_back() {
    let db = filled(20_000).await;
    let reader = db.database.session("bob");
    let (all, sum) = (disk_bytes(&db), "select count(*), sum(id), min(v), max(v) from t");
    let before = run(&reader, &format!("begin isolation level repeatable read;; {sum}")).await.unwrap();
    for round in 0..30 {
        db.run(&format!("update t set v = v || 'x' where id % 10 = {}", round % 10)).await;
        // Recent rows, which are in memory.
        db.run(&format!("update t set v = v || 'y' where id between {} and {}", 700 * round, 700 * round + 300)).await;
    }
    db.run("vacuum t").await;
    assert_eq!(run(&reader, sum).await.unwrap(), before);
    // Its snapshot keeps the table as it was: in files here, and nothing of what came in between.
    let kept = "select count(*), max(chunks), max(memory_bytes) < 100000, max(file_bytes) from braid_snapshots where file_bytes > 0";
    let told = db.run(kept).await;
    let told: Vec<&str> = told.split('|').collect();
    assert_eq!(told[..3], ["1", "1", "true"], "{told:?}");
    assert!(told[3].parse::<u64>().unwrap().abs_diff(all) < 10_000, "{told:?} of {all}");
    // The present: updated texts are longer.
    let now = db.run("select file_bytes, deleted_rows from braid_tables where table_name = 't'").await;
    let now: Vec<u64> = now.split('|').map(|count| count.parse().unwrap()).collect();
    assert!(now[0] < 2 * all && now[1] < 8_000, "{now:?}");
    // Headers of files are not counted.
    within_bytes(&db, all + now[0] + 65_536).await;
    run(&reader, "commit").await.unwrap();
    within_bytes(&db, now[0] + 65_536).await;
    db.check(&[("select count(*) from braid_snapshots where file_bytes > 0", "0")]).await;
}
