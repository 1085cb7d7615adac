//! `histories`: random histories over the wire, in which each answer must equal that of the same query alone on its snapshot.
//!
//! Clients ask random statements in bursts: forms by hand, texts of the random generator, TPC-H; as texts and prepared; with sharing
//! `auto` and `global`. Some cancel their queries or vanish, some read slowly, some have a timeout or a response limit, and some
//! statements fail. Meanwhile a writer adds rows to tables, drops them, and makes them again. Each version of a table has an unchanging
//! copy. An answer is right if a session that shares nothing gives it on one of the versions that were current between the query and its
//! answer.
//!
//! The queries are divided among the client counts, several times in turn. In between all clients leave: then nothing may wait or run,
//! and the server's memory may grow no more. A wrong answer is an error, and so is a history in which few queries shared a pass.
//!
//! | module | contents |
//! |---|---|
//! | `history` | what the tasks have in common |
//! | `versions` | the versions of the tables, and which of them a query may have seen |
//! | `wire_session` | a connection |
//! | `asker` | a client |
//! | `checker` | the right answers |
//! | `writer` | changes of the tables |
//! | `pass_watch` | the passes of the server |

mod asker;
mod checker;
mod history;
mod pass_watch;
mod versions;
mod wire_session;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use braid_base::ByteSize;
use braid_engine::{Config, Database};
use braid_io::{ResidentMemory, raise_descriptor_limit};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::history::{History, Observation, Tally};
use self::versions::Versions;
use self::wire_session::WireSession;
use crate::benchmarks::benchmark::BenchResult;
use crate::drivers::client::SessionClient;
use crate::drivers::lent_servers::Login;
use crate::report::{Figure, Goal};
use crate::workloads::histories::statements::Statements;
use crate::workloads::histories::tables::HistoryTables;
use crate::workloads::tpch::{self, Progress};
use crate::{BenchError, BenchOptions, Servers};

/// TPC-H's scale: lineitem has six thousand rows, more than those of a query that runs at once.
const SCALE: f64 = 0.001;

/// The server's buffer, which the tables fill soon.
const BUFFER: ByteSize = ByteSize::mib(32);

/// How often all client counts have their turn. The first is the warm-up for the server's memory.
const CYCLES: u64 = 3;

/// Tasks that check answers.
const CHECKERS: usize = 2;

/// Answers that wait to be checked.
const UNCHECKED_MAX: usize = 256;

/// Time for the server to return freed memory.
const IDLE: Duration = Duration::from_secs(1);

/// Goal for the growth of the server's memory after the first cycle.
const GROWTH_MB_MAX: f64 = 64.0;

/// Least share of the answered queries that were seen in passes with others.
const SHARED_MIN: f64 = 0.01;

/// Distance of the seeds of two turns, which is more than there are clients.
const SEEDS_OF_TURN: u64 = 1 << 20;

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    raise_descriptor_limit().map_err(|e| BenchError::other("raising the limit on open files", e))?;
    let scratch = options.data.join("histories-scratch");
    remove(&scratch)?;
    std::fs::create_dir_all(&scratch).map_err(|source| BenchError::File { path: scratch.clone(), source })?;
    let result = measure(options, servers, &scratch).await;
    remove(&scratch)?;
    result
}

async fn measure(options: &BenchOptions, servers: &Servers, scratch: &Path) -> BenchResult {
    println!("{} queries of {:?} clients, seed {}", options.cases, options.clients, options.seed);
    let tables = Arc::new(HistoryTables::new(options.seed));
    make_tables(scratch, &tables).await?;
    let buffer = options.buffer.unwrap_or(BUFFER);
    let server = (servers.own_process)(scratch, buffer, Login::Trusted).await;
    let server = server.map_err(|e| BenchError::other("starting the server's process", e))?;
    let control = WireSession::connect(server.address, "").await?;
    let history = Arc::new(History {
        address: server.address,
        seed: options.seed,
        statements: Statements::new(options.seed, &tables, SCALE),
        tables,
        versions: Mutex::new(Versions::new(writer::make_first_copies(&control).await?)),
        tally: Tally::default(),
        writing: tokio::sync::Mutex::new(()),
    });
    let mut background = JoinSet::new();
    background.spawn(writer::write(Arc::clone(&history)));
    background.spawn(pass_watch::watch(Arc::clone(&history)));
    let (sender, receiver) = mpsc::channel(UNCHECKED_MAX);
    let (observations, remembered) = (Arc::new(tokio::sync::Mutex::new(receiver)), checker::Remembered::default());
    for _ in 0..CHECKERS {
        background.spawn(checker::check(Arc::clone(&history), Arc::clone(&observations), Arc::clone(&remembered)));
    }
    let (start, mut resident_mb) = (Instant::now(), Vec::new());
    for cycle in 0..CYCLES {
        let turns = CYCLES * options.clients.len() as u64;
        for (at, &clients) in options.clients.iter().enumerate() {
            let turn = cycle * options.clients.len() as u64 + at as u64;
            let queries = options.cases * (turn + 1) / turns - options.cases * turn / turns;
            let asking = ask(&history, turn, clients, queries, &sender);
            tokio::select! {
                asked = asking => asked?,
                Some(ended) = background.join_next() => {
                    ended.map_err(|e| BenchError::other("a task of the history", e))??;
                }
            }
        }
        let _writing = history.writing.lock().await;
        pass_watch::wait_until_quiet(&control).await?;
        tokio::time::sleep(IDLE).await;
        let memory = ResidentMemory::of(server.child.id());
        let memory = memory.map_err(|e| BenchError::other("reading the server's memory", e))?;
        resident_mb.push(memory.now_bytes as f64 / 1e6);
        println!("{}, {:.0} MB resident", summary(&history.tally), memory.now_bytes as f64 / 1e6);
    }
    // The checkers end with the last sender.
    drop(sender);
    while checked_are_missing(&history, options.cases) {
        let Some(ended) = background.join_next().await else { break };
        ended.map_err(|e| BenchError::other("a task of the history", e))??;
    }
    background.shutdown().await;
    result(&history.tally, start.elapsed(), &resident_mb)
}

/// Whether not all queries are in the tally yet.
fn checked_are_missing(history: &History, cases: u64) -> bool {
    let tally = &history.tally;
    let ended = [&tally.answered, &tally.failed, &tally.cancelled, &tally.refused, &tally.left, &tally.wrong];
    ended.iter().map(|count| count.get()).sum::<u64>() < cases
}

/// Clients ask a number of queries, and leave.
async fn ask(
    history: &Arc<History>,
    turn: u64,
    clients: usize,
    queries: u64,
    sender: &mpsc::Sender<Observation>,
) -> Result<(), BenchError> {
    let left = Arc::new(AtomicU64::new(queries));
    let mut asking = JoinSet::new();
    for client in 0..clients as u64 {
        let seed = history.seed.wrapping_mul(SEEDS_OF_TURN).wrapping_add(turn * SEEDS_OF_TURN + client);
        asking.spawn(asker::ask(Arc::clone(history), seed, Arc::clone(&left), sender.clone()));
    }
    while let Some(asked) = asking.join_next().await {
        asked.map_err(|e| BenchError::other("a client's task", e))??;
    }
    Ok(())
}

fn summary(tally: &Tally) -> String {
    format!(
        "{} answered, {} failed alike, {} cancelled, {} refused, {} left, {} wrong",
        tally.answered.get(),
        tally.failed.get(),
        tally.cancelled.get(),
        tally.refused.get(),
        tally.left.get(),
        tally.wrong.get()
    )
}

fn result(tally: &Tally, elapsed: Duration, resident_mb: &[f64]) -> BenchResult {
    let count = |name: &str, count: &history::Count| Figure::new(name, count.get() as f64, "");
    if tally.wrong.get() > 0 {
        let difference = format!("{} of the answers of this history", tally.wrong.get());
        return Err(BenchError::WrongAnswer { query: "random statements".to_owned(), difference });
    }
    let (answered, shared) = (tally.answered.get(), tally.shared.get());
    if (shared as f64) < SHARED_MIN * answered as f64 {
        let few = format!("only {shared} of {answered} answered queries shared a pass, so that little was checked");
        return Err(BenchError::other("the history", few));
    }
    let grown = resident_mb.last().zip(resident_mb.first()).map_or(0.0, |(last, first)| (last - first).max(0.0));
    Ok(vec![
        count("queries with the answer of the query alone", &tally.answered),
        count("queries with the error of the query alone", &tally.failed),
        count("cancelled queries", &tally.cancelled),
        count("refused queries", &tally.refused),
        count("queries whose client left", &tally.left),
        count("wrong answers", &tally.wrong).with_goal(Goal::AtMost(0.0)),
        count("answers computed alone", &tally.computed),
        count("versions of the tables", &tally.versions),
        count("passes seen", &tally.passes),
        count("queries in passes with others, at least", &tally.shared),
        Figure::new("resident after the first third", resident_mb.first().copied().unwrap_or(0.0), "MB"),
        Figure::new("growth until the end", grown, "MB").with_goal(Goal::AtMost(GROWTH_MB_MAX)),
        Figure::new("time", elapsed.as_secs_f64(), "s"),
    ])
}

async fn make_tables(directory: &Path, tables: &HistoryTables) -> Result<(), BenchError> {
    let mut config = Config::new(directory.to_owned());
    config.buffer = BUFFER;
    let database = Database::open(config).await?;
    tpch::ensure(&database, SCALE, Progress::Silent).await?;
    let session = SessionClient::new(&database);
    for statement in tables.statements() {
        session.batches(&statement, tokio_util::sync::CancellationToken::new()).await?;
    }
    drop(session);
    database.close().await;
    Ok(())
}

fn remove(directory: &Path) -> Result<(), BenchError> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(BenchError::File { path: directory.to_owned(), source: error })
        }
        _ => Ok(()),
    }
}
