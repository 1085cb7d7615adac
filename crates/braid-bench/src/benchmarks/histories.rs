//! `histories`: random histories over the wire, in which each answer must equal that of the same query alone on its snapshot.
//!
//! Clients ask random statements in bursts: forms by hand, texts of the random generator, TPC-H; as texts and prepared; mostly with
//! sharing `global`, some `auto`. At a time most clients ask a theme of three forms, each with few sets of constants, so that queries
//! wait for passes together, different ones and equal ones. Some cancel their queries or vanish, some read slowly, some have a timeout
//! or a response limit, and some statements fail. Meanwhile a writer adds rows to tables, drops them, and makes them again.
//!
//! Each version of a table has an unchanging copy. An answer is compared with that of the same statement on the copies of each version
//! that was current between the query and its answer, in a session without sharing, templates and kept results. Compared are the
//! columns' names (of prepared statements also their types), the number of rows, and a hash of their bytes on the wire, sorted unless the
//! statement has an order; of errors the SQLSTATE and the message. The answers on copies do not change, so that each is computed once.
//!
//! Whether an answer came from a pass with others is not in it. The server's totals (`braid_sharing`) tell how many of all queries
//! were in passes with different queries.
//!
//! The queries are divided among the client counts, several times in turn. In between all clients leave: then nothing may wait or run,
//! and the server's memory may grow no more. A wrong answer is an error, and so is a history in which few queries shared a pass. Tests
//! make some answers wrong before their checks, which must then find as many.
//!
//! | module | contents |
//! |---|---|
//! | `history` | what the tasks have in common |
//! | `versions` | the versions of the tables, and which of them a query may have seen |
//! | `asker` | a client |
//! | `checker` | the right answers |
//! | `writer` | changes of the tables |
//! | `pass_watch` | the passes of the server, and how many queries shared one |

mod asker;
mod checker;
mod history;
mod pass_watch;
mod versions;
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
use self::pass_watch::PassTotals;
use self::versions::Versions;
use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::remove_directory;
use crate::drivers::client::SessionClient;
use crate::drivers::lent_servers::Login;
use crate::drivers::wire_session::WireSession;
use crate::report::{Figure, Goal};
use crate::workloads::histories::statements::Statements;
use crate::workloads::histories::tables::HistoryTables;
use crate::workloads::loading::{Progress, ensure};
use crate::workloads::tpch::TpchTable;
use crate::{BenchError, BenchOptions, Servers};

/// TPC-H's scale: lineitem has six thousand rows, more than those of a query that runs at once.
const SCALE: f64 = 0.001;

/// The server's buffer, which the tables fill soon.
const BUFFER: ByteSize = ByteSize::mib(32);

/// How often all client counts have their turn. The first is the warm-up for the server's memory.
const CYCLES: u64 = 3;

/// Tasks that check answers: enough that some of them wait for the server at any time.
const CHECKERS: usize = 6;

/// Answers that wait to be checked: several for each client, so that bursts of queries meet in the server, undisturbed by checks.
const UNCHECKED_MAX: usize = 2048;

/// Time for the server to return freed memory.
const IDLE: Duration = Duration::from_secs(1);

/// Goal for the growth of the server's memory after the first cycle.
const GROWTH_MB_MAX: f64 = 64.0;

/// Least percentage of the queries that must be in passes with different ones, and the goal. A single client shares nothing, and neither
/// do the first queries of each form.
const SHARED_PERCENT_MIN: f64 = 5.0;
const SHARED_PERCENT_GOAL: f64 = 50.0;

/// Distance of the seeds of two turns, which is more than a turn has clients and themes.
const SEEDS_OF_TURN: u64 = 1 << 20;

/// Distance of the turns of two histories, which is more than a history has.
const TURNS_OF_HISTORY: u64 = 1 << 10;

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    raise_descriptor_limit().map_err(|e| BenchError::other("raising the limit on open files", e))?;
    let scratch = options.data.join("histories-scratch");
    remove_directory(&scratch)?;
    std::fs::create_dir_all(&scratch).map_err(|source| BenchError::File { path: scratch.clone(), source })?;
    let result = measure(options, servers, &scratch).await;
    remove_directory(&scratch)?;
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
        started: Instant::now(),
        planted_every: options.planted_every,
        statements: Statements::new(options.seed, &tables, SCALE),
        tables,
        versions: Mutex::new(Versions::new(writer::make_first_copies(&control).await?)),
        tally: Tally::default(),
        writing: tokio::sync::Mutex::new(()),
    });
    let mut background = JoinSet::new();
    background.spawn(writer::write(Arc::clone(&history)));
    let (sender, receiver) = mpsc::channel(UNCHECKED_MAX);
    let (observations, remembered) = (Arc::new(tokio::sync::Mutex::new(receiver)), checker::Remembered::default());
    for _ in 0..CHECKERS {
        background.spawn(checker::check(Arc::clone(&history), Arc::clone(&observations), Arc::clone(&remembered)));
    }
    let (before, mut resident_mb) = (PassTotals::read(&control).await?, Vec::new());
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
    while ended(&history.tally) < options.cases {
        let Some(ended) = background.join_next().await else { break };
        ended.map_err(|e| BenchError::other("a task of the history", e))??;
    }
    background.shutdown().await;
    let passes = PassTotals::read(&control).await?.since(before);
    result(&history, passes, &resident_mb)
}

/// Queries whose outcome is known and checked.
fn ended(tally: &Tally) -> u64 {
    let ended = [&tally.answered, &tally.failed, &tally.cancelled, &tally.refused, &tally.left, &tally.wrong];
    ended.iter().map(|count| count.get()).sum()
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
    // Histories of different seeds have no turn in common.
    let seeds = history.seed.wrapping_mul(TURNS_OF_HISTORY).wrapping_add(turn).wrapping_mul(SEEDS_OF_TURN);
    for client in 0..clients as u64 {
        let seed = seeds.wrapping_add(client);
        asking.spawn(asker::ask(Arc::clone(history), seed, seeds, Arc::clone(&left), sender.clone()));
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

fn result(history: &History, passes: PassTotals, resident_mb: &[f64]) -> BenchResult {
    let (tally, elapsed) = (&history.tally, history.started.elapsed());
    let count = |name: &str, count: &history::Count| Figure::new(name, count.get() as f64, "");
    let total = |name: &str, total: u64| Figure::new(name, total as f64, "");
    if tally.wrong.get() > 0 {
        let planted = tally.planted.get();
        let difference = format!("{} of the answers of this history, {planted} of them planted", tally.wrong.get());
        return Err(BenchError::WrongAnswer { query: "random statements".to_owned(), difference });
    }
    let asked = ended(tally);
    let shared_percent = 100.0 * passes.shared_queries as f64 / asked.max(1) as f64;
    if shared_percent < SHARED_PERCENT_MIN {
        let few =
            format!("only {} of {asked} queries shared a pass, so that little was checked", passes.shared_queries);
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
        total("passes", passes.passes),
        total("passes with different queries", passes.shared_passes),
        total("queries in passes", passes.queries),
        total("queries in passes with different ones", passes.shared_queries),
        Figure::new("of all queries", shared_percent, "%").with_goal(Goal::AtLeast(SHARED_PERCENT_GOAL)),
        total("distinct queries in the largest pass", passes.distinct_queries_max),
        Figure::new("resident after the first third", resident_mb.first().copied().unwrap_or(0.0), "MB"),
        Figure::new("growth until the end", grown, "MB").with_goal(Goal::AtMost(GROWTH_MB_MAX)),
        Figure::new("time", elapsed.as_secs_f64(), "s"),
        Figure::new("queries per second", asked as f64 / elapsed.as_secs_f64(), "1/s"),
    ])
}

async fn make_tables(directory: &Path, tables: &HistoryTables) -> Result<(), BenchError> {
    let mut config = Config::new(directory.to_owned());
    config.buffer = BUFFER;
    let database = Database::open(config).await?;
    ensure::<TpchTable>(&database, SCALE, Progress::Silent).await?;
    let session = SessionClient::new(&database);
    for statement in tables.statements() {
        session.batches(&statement, tokio_util::sync::CancellationToken::new()).await?;
    }
    drop(session);
    database.close().await;
    Ok(())
}
