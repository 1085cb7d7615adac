//! Passes that fail as a whole: their queries run alone, a few at a time, whoever leaves meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use braid_base::{ByteSize, Random};
use braid_engine::{Database, Session};
use braid_testing::{PAUSE, Wait, cases};
use futures::future::join_all;

use crate::test_db::{TestDb, config, run};

/// Queries of one pass, each with rows of its own.
const QUERIES: usize = 64;

/// Workers of a pass.
const WORKERS: usize = 2;

/// A pass that groups the whole table needs more memory than it gets, and more temporary files than there may be. A query alone
/// needs little.
async fn database() -> TestDb {
    let dir = tempfile::TempDir::new().unwrap();
    let mut config = config(dir.path());
    config.query_memory = ByteSize::mib(2);
    config.total_memory = ByteSize::mib(16);
    config.temporary_files = Some(ByteSize::mib(1));
    config.target_partitions = WORKERS;
    let database = Database::open(config).await.unwrap();
    let session = database.session("alice");
    let db = TestDb { dir, database, session };
    db.session.set_setting("braid.query_memory", "16MB").unwrap();
    db.run(&format!(
        "create table wide as select n % {QUERIES} as v, repeat('x', 200) || n as pad from generate_series(1, 80000) as s(n)"
    ))
    .await;
    db
}

fn session(db: &TestDb, sharing: &str) -> Session {
    let session = db.database.session("alice");
    session.set_setting("braid.sharing", sharing).unwrap();
    session.set_setting("braid.templates", if sharing == "off" { "off" } else { "eager" }).unwrap();
    session
}

fn text(v: usize) -> String {
    format!(
        "select count(*), max(c), min(p) from (select pad as p, count(*) as c from wide where v = {v} group by pad) g"
    )
}

async fn expected(db: &TestDb) -> Vec<String> {
    let alone = session(db, "off");
    let mut expected = Vec::new();
    for v in 0..QUERIES {
        expected.push(run(&alone, &text(v)).await.unwrap());
    }
    expected
}

/// The most passes that ran at one time during `asked`.
async fn most_running<T>(db: &TestDb, asked: impl Future<Output = T>) -> (T, usize) {
    let is_over = AtomicBool::new(false);
    let watch = async {
        let mut most = 0;
        while !is_over.load(Ordering::Relaxed) {
            most = most.max(db.database.sharing_figures().running);
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
        most
    };
    let asked = async {
        let answers = asked.await;
        is_over.store(true, Ordering::Relaxed);
        answers
    };
    futures::join!(asked, watch)
}

async fn assert_nothing_left(db: &TestDb) {
    let wait = Wait::new("passes to end and to hold nothing");
    loop {
        let (figures, memory) = (db.database.sharing_figures(), db.database.memory().used());
        if (figures.waiting, figures.running, memory.0) == (0, 0, 0) {
            return;
        }
        wait.check(|| format!("{figures:?}, {memory}"));
        tokio::time::sleep(PAUSE).await;
    }
}

async fn failed_passes(db: &TestDb) -> usize {
    let text = "select count(*) from braid_passes where form = 'shared' and ending = 'out of memory'";
    db.run(text).await.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_a_pass_that_fails_run_alone_a_few_at_a_time() {
    let db = database().await;
    let expected = expected(&db).await;
    let clients: Vec<(usize, Session)> = (0..QUERIES).map(|v| (v, session(&db, "global"))).collect();
    let asked = join_all(clients.iter().map(|(v, client)| async { (*v, run(client, &text(*v)).await) }));
    let (answers, most) = most_running(&db, asked).await;
    for (v, found) in answers {
        assert_eq!(found.unwrap(), expected[v], "{v}");
    }
    assert!(failed_passes(&db).await > 0, "no pass failed as a whole");
    // One more in each lane.
    assert!((2..=WORKERS + 2).contains(&most), "{most} ran at a time");
    assert_nothing_left(&db).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queries_of_a_pass_that_fails_may_leave_while_they_wait() {
    let db = database().await;
    let expected = expected(&db).await;
    for case in cases!(0..4) {
        let mut random = case.random();
        let asked = (0..QUERIES).map(|v| {
            let client = session(&db, "global");
            let patience = random.chance(1, 2).then(|| Duration::from_millis(random.below(400)));
            match random.below(5) {
                0 => client.set_setting("statement_timeout", "50ms").unwrap(),
                1 => client.set_setting("braid.response_limit", "50ms").unwrap(),
                _ => {}
            }
            async move {
                match patience {
                    None => Some(run(&client, &text(v)).await),
                    Some(patience) => tokio::time::timeout(patience, run(&client, &text(v))).await.ok(),
                }
            }
        });
        let (answers, most) = most_running(&db, join_all(asked)).await;
        for (v, found) in answers.into_iter().enumerate() {
            match found {
                None => {}
                Some(Ok(found)) => assert_eq!(found, expected[v], "{v}"),
                Some(Err(error)) => assert!(["57014", "53000"].contains(&error.sqlstate()), "{error:?}"),
            }
        }
        assert!(most <= WORKERS + 2, "{most} ran at a time");
        assert_nothing_left(&db).await;
    }
    assert!(failed_passes(&db).await > 0, "no pass failed as a whole");
}
