//! Queries of tables of which rows are deleted: alone and in passes, with kept results and templates, in blocks, beside deletes, and
//! after a restart.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use braid_engine::{Database, Session};
use braid_storage::{DeletedRows, RowDeletes, Store, StoreError};

use crate::test_db::{TestDb, config, run};

/// Rows of `facts`, numbered from 0 in the order of rows.
const ROW_COUNT: usize = 6000;

async fn database() -> TestDb {
    let db = TestDb::new().await;
    db.run("create table facts (n int, k int, v numeric(10, 2), name text, gap int)").await;
    let row = "n, n % 23, n % 101 / 4.0, 'name ' || n % 57, case when n % 5 <> 0 then n end";
    db.run(&format!("insert into facts select {row} from generate_series(0, {}) as s(n)", ROW_COUNT - 1)).await;
    db
}

/// Deletes rows of a table by their places among those that are left. The table may be compacted meanwhile, which keeps its one chunk's order.
async fn delete_at(store: &Store, table: &str, mut is_deleted: impl FnMut(usize) -> bool) {
    loop {
        let version = store.snapshot().table(table).unwrap().clone();
        let (mut deletes, mut places) = (RowDeletes::new(), 0..);
        for chunk in version.chunks.iter() {
            let is_live = |row: &u32| chunk.deleted.as_ref().is_none_or(|deleted| !deleted.contains(*row));
            let live = (0..chunk.row_count).filter(is_live);
            let deleted = live.filter(|_| is_deleted(places.next().unwrap()));
            deletes.insert(chunk.id, DeletedRows::of(chunk.row_count, deleted));
        }
        match store.delete_rows(table, &deletes).await {
            Err(StoreError::RowConflict { .. }) => {}
            done => return drop(done.unwrap()),
        }
    }
}

const QUERIES: [&str; 24] = [
    "select count(*) from facts",
    "select count(*) from facts where n >= 0",
    "select count(*) from facts where n < 0 or n is null",
    "select count(gap), count(*) - count(gap), count(*) filter (where gap is null) from facts",
    "select min(n), max(n), min(name), max(name), min(v), max(v), min(gap), max(gap) from facts",
    "select sum(n), avg(v), sum(v) from facts",
    "select count(distinct k), count(distinct name) from facts",
    "select k, count(*), sum(v) from facts group by k order by k",
    "select distinct name from facts where n < 2000 order by name",
    "select n from facts where n between 2900 and 3100 order by n",
    "select n from facts order by n limit 7",
    "select n from facts order by n desc offset 3 limit 7",
    "select n from facts where gap is null and k = 7 order by n",
    "select n from facts where n = 3000",
    "select n from facts where n in (0, 2999, 3000, 3001, 5999) order by n",
    "select count(*) from facts a join facts b using (n)",
    "select count(*) from facts a left join facts b on a.n = b.n + 1 where b.n is null",
    "select count(*) from facts a where not exists (select from facts b where b.n = a.n + 1)",
    "select count(*) from facts where n in (select gap from facts where k < 5)",
    "select n, row_number() over (order by n), lag(n) over (order by n) from facts where k = 3 order by n limit 20",
    "select count(*), sum(n) from facts tablesample bernoulli (100)",
    "select count(*), sum(n) from facts tablesample system (100)",
    "select k, name, count(*) from facts group by rollup (k, name) order by k, name limit 50",
    "select max(n) from (select n from facts union select n + 1 from facts) u",
];

fn session(database: &Arc<Database>, settings: &[(&str, &str)]) -> Session {
    let session = database.session("alice");
    settings.iter().for_each(|(name, value)| session.set_setting(name, value).unwrap());
    session
}

/// Compares the answers about `facts` with those about a table that never had the deleted rows.
async fn compare(database: &Arc<Database>, context: &str) {
    let control = session(database, &[("braid.sharing", "off"), ("braid.result_cache", "off")]);
    for settings in [
        &[("braid.sharing", "off"), ("braid.result_cache", "off")][..],
        &[("braid.sharing", "global"), ("braid.result_cache", "off")],
        &[("braid.sharing", "auto"), ("braid.result_cache", "on")],
    ] {
        let session = session(database, settings);
        for query in QUERIES {
            let expected = run(&control, &query.replace("facts", "control")).await.unwrap();
            for _ in 0..2 {
                assert_eq!(run(&session, query).await.unwrap(), expected, "{context}, {settings:?}: {query}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_answer_as_if_the_deleted_rows_had_never_been() {
    let db = database().await;
    db.run("create table control as select * from facts").await;
    compare(&db.database, "all rows").await;
    let store = db.database.store();
    for (context, is_left) in [
        ("without a third", "n % 3 <> 0"),
        ("without many in a row", "n % 3 <> 0 and n not between 1000 and 4000"),
        (
            "without the extremes",
            "n % 3 <> 0 and n not between 1000 and 4000 and n > 500 and n < 5500 and gap is not null",
        ),
        ("without any", "false"),
    ] {
        let left = run(&db.session, &format!("select n, {is_left} from facts order by n")).await.unwrap();
        let left: Vec<bool> = left.lines().map(|line| line.ends_with("true")).collect();
        delete_at(store, "facts", |at| !left[at]).await;
        db.run("drop table control").await;
        let pattern = "n, n % 23 as k, (n % 101 / 4.0)::numeric(10, 2) as v, 'name ' || n % 57 as name";
        let gap = "case when n % 5 <> 0 then n end as gap";
        let all = format!("select {pattern}, {gap} from generate_series(0, {}) as s(n)", ROW_COUNT - 1);
        db.run(&format!("create table control as select * from ({all}) a where {is_left}")).await;
        compare(&db.database, context).await;
    }
    // New rows beside deleted ones.
    for table in ["facts", "control"] {
        db.run(&format!("insert into {table} values (-5, 1, 2.5, 'new', null), (9000, 2, 3.5, 'newer', 1)")).await;
    }
    compare(&db.database, "with new rows").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_rows_stay_deleted_after_a_restart() {
    let TestDb { dir, database, session } = database().await;
    run(&session, "create table control as select * from facts where n % 4 <> 1 and n < 5000").await.unwrap();
    delete_at(database.store(), "facts", |n| n % 4 == 1 || n >= 5000).await;
    compare(&database, "before").await;
    database.close().await;
    drop((session, database));
    let database = Database::open(config(dir.path())).await.unwrap();
    compare(&database, "after").await;
    let report = database.store().check(|_| {}).await;
    assert!(report.is_sound(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_keeps_the_rows_that_others_delete() {
    let db = database().await;
    let settings = &[("braid.result_cache", "on")];
    let (block, other) = (session(&db.database, settings), session(&db.database, settings));
    let sql = "select count(*), sum(n), min(n) from facts where n < 5000";
    let before = run(&other, sql).await.unwrap();
    run(&block, "begin isolation level repeatable read").await.unwrap();
    assert_eq!(run(&block, sql).await.unwrap(), before);
    delete_at(db.database.store(), "facts", |n| n < 100).await;
    for _ in 0..3 {
        assert_eq!(run(&block, sql).await.unwrap(), before);
        assert_eq!(run(&other, sql).await.unwrap(), format!("4900|{}|100", (100..5000).sum::<u64>()));
    }
    run(&block, "commit").await.unwrap();
    assert_eq!(run(&block, sql).await.unwrap(), run(&other, sql).await.unwrap());
}

/// Each query reads one version, though queries share passes: it has all deletes before it began, and some of those until it ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queries_beside_deletes_have_the_rows_of_one_version() {
    const STEPS: usize = 40;
    const STEP_ROWS: usize = 50;
    for sharing in ["global", "auto"] {
        let db = database().await;
        let (begun, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let clients: Vec<_> = (0..6)
            .map(|client| {
                let cache = if client % 2 == 0 { "on" } else { "off" };
                let session = session(&db.database, &[("braid.sharing", sharing), ("braid.result_cache", cache)]);
                let (begun, done) = (begun.clone(), done.clone());
                tokio::spawn(async move {
                    let mut count = 0;
                    while done.load(Ordering::SeqCst) < STEPS {
                        let least = done.load(Ordering::SeqCst);
                        let sql = format!("select count(*), sum(n) from facts where n < {}", 5990 + client / 3);
                        let found = run(&session, &sql).await.unwrap();
                        let most = begun.load(Ordering::SeqCst);
                        let of_version = |step: usize| {
                            let rows = step * STEP_ROWS..5990 + client / 3;
                            format!("{}|{}", rows.len(), rows.sum::<usize>())
                        };
                        let is_of_one = (least..=most).any(|step| found == of_version(step));
                        assert!(is_of_one, "{found} after {least} to {most} deletes");
                        count += 1;
                        // Kept results come without a wait, which would leave no turn for timers.
                        tokio::task::yield_now().await;
                    }
                    count
                })
            })
            .collect();
        for step in 1..=STEPS {
            begun.store(step, Ordering::SeqCst);
            delete_at(db.database.store(), "facts", |at| at < STEP_ROWS).await;
            done.store(step, Ordering::SeqCst);
            tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        }
        for client in clients {
            assert!(client.await.unwrap() > 0);
        }
    }
}
