//! Results of passes that exceed the memory for them, and readers that are slow, leave early or never begin.

use std::time::Duration;

use arrow::array::RecordBatch;
use braid_base::{ByteSize, Random};
use braid_engine::{Config, Database, EngineError, Outcome, RowBatches, Session};
use braid_testing::cases;
use futures::StreamExt;
use futures::future::join_all;
use tokio_util::sync::CancellationToken;

use crate::test_db::{TestDb, config, run};

/// A table of about 6 MB, with each kind of column.
async fn database(change: impl FnOnce(&mut Config)) -> TestDb {
    let dir = tempfile::TempDir::new().unwrap();
    let mut config = config(dir.path());
    change(&mut config);
    let database = Database::open(config).await.unwrap();
    let session = database.session("alice");
    let db = TestDb { dir, database, session };
    db.session.set_setting("braid.query_memory", "64MB").unwrap();
    db.run(
        "create table wide as select n, n % 100 as v, case when n % 7 = 0 then null else 'few ' || (n % 9) end as few, \
         repeat('x', 200 + n % 90) || n as pad, n * 1.25 as amount, n % 3 = 0 as flag, n * 0.1e0 as real, \
         date '2020-01-01' + n % 900 as day from generate_series(1, 20000) as s(n)",
    )
    .await;
    db
}

fn session(db: &TestDb, sharing: &str) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.sharing", sharing).unwrap();
    session.set_setting("braid.templates", if sharing == "off" { "off" } else { "eager" }).unwrap();
    session
}

async fn rows_of(session: &Session, sql: &str) -> Result<RowBatches, EngineError> {
    let statement = session.parse(sql)?.remove(0);
    match session.execute(&statement, vec![], CancellationToken::new()).await? {
        Outcome::Rows { stream, .. } => Ok(stream),
        _ => panic!("{sql} is a query"),
    }
}

/// The rows of batches as text.
fn lines(batches: &[RecordBatch]) -> Vec<String> {
    let text = arrow::util::pretty::pretty_format_batches(batches).unwrap().to_string();
    text.lines().filter(|line| line.starts_with("| ")).skip(1).map(str::to_owned).collect()
}

async fn rest(stream: RowBatches) -> Vec<RecordBatch> {
    stream.map(Result::unwrap).collect().await
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort_unstable();
    lines
}

/// The pass ends while its readers have hardly begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_pass_waits_for_no_reader() {
    let db = database(|config| config.query_memory = ByteSize::mib(2)).await;
    let alone = session(&db, "off");
    let text = |v: usize| format!("select * from wide where v <> {v}");
    let constants = [3, 4, 4, 4, 5, 6];
    let clients = constants.map(|v| (session(&db, "global"), text(v)));
    let mut streams = join_all(clients.iter().map(|(client, text)| rows_of(client, text))).await;
    assert_eq!((db.database.sharing_figures().waiting, db.database.sharing_figures().running), (0, 0));
    assert!(db.database.spill_space().used() > ByteSize::mib(4), "{}", db.database.spill_space().used());
    // One of three equal queries leaves before its first row, another in the middle.
    drop(streams.remove(1));
    let mut streams: Vec<RowBatches> = streams.into_iter().map(Result::unwrap).collect();
    let mut firsts = Vec::new();
    for stream in &mut streams {
        firsts.push(stream.next().await.unwrap().unwrap());
    }
    drop(streams.remove(1));
    firsts.remove(1);
    for ((stream, first), v) in streams.into_iter().zip(firsts).zip([3, 4, 5, 6]) {
        let found = [vec![first], rest(stream).await].concat();
        let expected = rest(rows_of(&alone, &text(v)).await.unwrap()).await;
        assert_eq!(sorted(lines(&found)), sorted(lines(&expected)), "{v}");
    }
    db.until_nothing_is_held().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ordered_rows_stay_in_order() {
    let db = database(|config| config.query_memory = ByteSize::mib(4)).await;
    let alone = session(&db, "off");
    let text = |v: usize| format!("select pad, few, n from wide where v > {v} order by n % 1000 desc, n");
    let asked = [10, 20, 20, 30].map(|v| (session(&db, "global"), text(v)));
    let answers = join_all(asked.iter().map(|(client, text)| run(client, text))).await;
    for ((_, text), found) in asked.iter().zip(answers) {
        assert_eq!(found.unwrap(), run(&alone, text).await.unwrap(), "{text}");
    }
    assert!(db.database.spill_space().file_count() > 0);
    db.until_nothing_is_held().await;
}

/// `EXPLAIN ANALYZE` tells which way a query took.
#[tokio::test(flavor = "multi_thread")]
async fn large_results_are_of_a_pass_unless_the_disk_is_full() {
    for (limit, is_of_pass) in [(ByteSize::mib(64), true), (ByteSize::mib(1), false)] {
        let db = database(|config| {
            config.query_memory = ByteSize::mib(2);
            config.temporary_files = Some(limit);
        })
        .await;
        let client = session(&db, "global");
        // EXPLAIN makes no template.
        drop(rows_of(&client, "select * from wide where v <> 2").await.unwrap());
        let explained = run(&client, "explain analyze select * from wide where v <> 3").await.unwrap();
        assert_eq!(explained.contains(" distinct, "), is_of_pass, "{explained}");
        let found = rest(rows_of(&client, "select * from wide where v <> 5").await.unwrap()).await;
        let expected = rest(rows_of(&session(&db, "off"), "select * from wide where v <> 5").await.unwrap()).await;
        assert_eq!(sorted(lines(&found)), sorted(lines(&expected)));
        db.until_nothing_is_held().await;
    }
}

/// Statements are cancelled and clients vanish at any time, with small and large results.
#[tokio::test(flavor = "multi_thread")]
async fn readers_that_vanish_leave_nothing_behind() {
    let db = database(|config| config.query_memory = ByteSize::mib(2)).await;
    let alone = session(&db, "off");
    for case in cases!(0..6) {
        let mut random = case.random();
        let asked = (0..10).map(|_| {
            let (client, v) = (session(&db, "global"), random.below(6));
            let text = format!("select n, pad, few from wide where v < {}", 1 << v);
            let (patience_ms, batches_max) = (1 + random.below(120), random.below(9) as usize);
            let is_patient = random.chance(1, 3);
            async move {
                if is_patient {
                    let batches = rest(rows_of(&client, &text).await.unwrap()).await;
                    return Some((text, lines(&batches)));
                }
                let some = async { rows_of(&client, &text).await.unwrap().take(batches_max).count().await };
                let _ = tokio::time::timeout(Duration::from_millis(patience_ms), some).await;
                None
            }
        });
        for (text, found) in join_all(asked).await.into_iter().flatten() {
            let expected = rest(rows_of(&alone, &text).await.unwrap()).await;
            assert_eq!(sorted(found), sorted(lines(&expected)), "{text}");
        }
    }
    db.until_nothing_is_held().await;
}
