//! Many sessions at once: whatever they do to each other, every answer equals the one the query has alone.
//!
//! Sessions draw queries from a pool of the TPC-H mix, under a scan policy that changes while they run, on a buffer
//! smaller than the data. Some queries are cancelled at a random moment, by token or by dropping their stream; those may
//! answer nothing, but what is answered is right, and nothing of them stays behind in the buffer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use braid_base::{ByteSize, Random, SeededRandom};
use braid_bench::drivers::client::{Client, SessionClient};
use braid_bench::workloads::answer::{Answer, RowOrder};
use braid_bench::workloads::tpch::QueryMix;
use braid_bench::{BenchError, ScanPolicy};
use braid_engine::Database;
use braid_testing::{PAUSE, Wait, cases};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::small_tpch;

const SESSIONS: u64 = 8;
const QUERIES_PER_SESSION: usize = 12;
const POOL: usize = 24;

/// SQLSTATE of a cancelled query.
const QUERY_CANCELED: &str = "57014";

/// How a query of a session ends.
enum Ending {
    /// With its last row.
    Complete,
    /// Its token is cancelled after a while.
    Cancelled(Duration),
    /// The client disconnects after a while: the future, and with it the stream, is dropped.
    Dropped(Duration),
}

impl Ending {
    fn choose(random: &mut SeededRandom) -> Self {
        // A query takes some 10 ms to some 100 ms here: both waits end some queries at any stage.
        let wait = Duration::from_micros(random.below(60_000));
        match random.below(6) {
            0 => Self::Cancelled(wait),
            1 => Self::Dropped(wait),
            _ => Self::Complete,
        }
    }
}

/// How the queries of sessions ended.
#[derive(Debug, Default)]
struct Endings {
    complete: usize,
    cancelled: usize,
    dropped: usize,
}

async fn one_session(
    database: Arc<Database>,
    seed: u64,
    alone: Arc<BTreeMap<String, Answer>>,
) -> Result<Endings, String> {
    let mut random = SeededRandom::new(seed);
    let client = SessionClient::new(&database);
    let mut endings = Endings::default();
    for _ in 0..QUERIES_PER_SESSION {
        let at = random.below(alone.len() as u64) as usize;
        let (sql, expected) = alone.iter().nth(at).expect("drawn below the pool's size");
        let token = CancellationToken::new();
        let asked = client.batches(sql, token.clone());
        let batches = match Ending::choose(&mut random) {
            Ending::Complete => asked.await,
            Ending::Cancelled(wait) => {
                let cancel = async {
                    tokio::time::sleep(wait).await;
                    token.cancel();
                };
                tokio::join!(asked, cancel).0
            }
            Ending::Dropped(wait) => match tokio::time::timeout(wait, asked).await {
                Ok(batches) => batches,
                Err(_) => {
                    endings.dropped += 1;
                    continue;
                }
            },
        };
        let batches = match batches {
            Err(BenchError::Engine(error)) if error.sqlstate() == QUERY_CANCELED && token.is_cancelled() => {
                endings.cancelled += 1;
                continue;
            }
            other => other.map_err(|error| format!("{error}\n{sql}"))?,
        };
        let found = Answer::from_batches(&batches).map_err(|error| error.to_string())?;
        expected.compare(&found, RowOrder::Kept).map_err(|difference| format!("{difference}\n{sql}"))?;
        endings.complete += 1;
    }
    Ok(endings)
}

/// Changes the policy every few milliseconds until it is told to stop; answers how often.
async fn switch_policies(database: Arc<Database>, stop: Arc<AtomicBool>) -> usize {
    let mut client = SessionClient::new(&database);
    let mut random = SeededRandom::new(99);
    let mut switches = 0;
    while !stop.load(Ordering::Relaxed) {
        let policy = ScanPolicy::ALL[random.below(4) as usize];
        client.run(&format!("set braid.scan_policy = '{policy}'")).await.expect("the policy can always be set");
        switches += 1;
        tokio::time::sleep(Duration::from_millis(1 + random.below(15))).await;
    }
    switches
}

/// Waits until no scan is registered and nothing is pinned: dropped streams end in their own time, but soon.
async fn assert_quiet(database: &Database) {
    let wait = Wait::new("scans to end");
    loop {
        let stats = database.buffer().stats();
        if (stats.scans, stats.pinned_bytes, stats.waiting_scans) == (0, 0, 0) {
            assert!(stats.used_bytes <= stats.capacity_bytes, "{stats:?}");
            return;
        }
        wait.check(|| format!("{stats:?}"));
        tokio::time::sleep(PAUSE).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_answer_equals_the_query_alone() {
    let case = cases!(2026..2027).next().expect("there is one");
    let seed = case.seed;
    let directory = tempfile::tempdir().unwrap();
    let database = small_tpch::open_copy(directory.path(), ByteSize::mib(1)).await;
    let mut client = SessionClient::new(&database);
    let mut alone = BTreeMap::new();
    for query in QueryMix::new(seed).take(POOL) {
        let answer = client.answer(&query.sql).await.unwrap();
        alone.insert(query.sql, answer);
    }
    assert!(alone.values().filter(|answer| !answer.rows.is_empty()).count() > POOL / 2, "most queries answer rows");

    let alone = Arc::new(alone);
    let stop = Arc::new(AtomicBool::new(false));
    let switcher = tokio::spawn(switch_policies(Arc::clone(&database), Arc::clone(&stop)));
    let mut sessions = JoinSet::new();
    for number in 0..SESSIONS {
        sessions.spawn(one_session(Arc::clone(&database), seed + number, Arc::clone(&alone)));
    }
    let mut all = Endings::default();
    while let Some(session) = sessions.join_next().await {
        let endings = session.unwrap().unwrap_or_else(|failure| panic!("{failure}"));
        all.complete += endings.complete;
        all.cancelled += endings.cancelled;
        all.dropped += endings.dropped;
    }
    stop.store(true, Ordering::Relaxed);
    assert!(switcher.await.unwrap() > 4, "the policy was hardly switched");
    let asked = SESSIONS as usize * QUERIES_PER_SESSION;
    assert!(all.complete >= asked / 2, "of {asked} queries: {all:?}");
    // What ends before its cancellation has come counts as complete.
    assert!(all.cancelled > 0 && all.dropped > 0, "of {asked} queries: {all:?}");
    assert_quiet(&database).await;
    database.close().await;
}
