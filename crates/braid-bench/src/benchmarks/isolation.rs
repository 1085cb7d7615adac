//! `isolation`: random transactions of many clients, with faults, whose history must be one that their isolation level allows.
//!
//! Transactions append numbers to lists and read lists, and a fault may end each of them: conflicts, deadlocks, cancel requests,
//! clients that vanish, and the end of the server's process by SIGKILL, after which another one opens the same directory. Meanwhile
//! tables are vacuumed and checkpoints made. A number is appended only once, so that a list tells which transactions wrote it, and in
//! which order. What each transaction read then gives the dependencies among all of them, and a level is kept if the graph of these
//! has no cycle that the level forbids: Kingsbury, Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations",
//! VLDB 2020, with the anomalies of Adya's thesis. The graph's edges include that of a transaction that ended to those that began
//! later: who begins after a commit sees it. The crate `adya` searches for the cycles.
//!
//! | level | the model that it must keep |
//! |---|---|
//! | read committed | strong read committed (PL-2) |
//! | repeatable read | strong snapshot isolation |
//! | serializable | strict serializability (PL-SS) |
//!
//! In the end all lists are read once more, by a transaction of the history, by look-ups and by scans, which must agree. An append
//! that was acknowledged must be there.
//!
//! A history that its level forbids is an error. Tests spoil reads before the check, which must then find it. How many cycles the
//! histories at repeatable read have that serializability forbids is a figure: they are allowed, and show that the transactions meet.
//!
//! | module | contents |
//! |---|---|
//! | `lists` | the lists, how they are stored, and the statements on them |
//! | `transactions` | random transactions |
//! | `recorder` | the history |
//! | `client` | a client: it runs transactions, cancels, vanishes |
//! | `faults` | kills of the server; VACUUM and CHECKPOINT |
//! | `verdict` | the check |

mod client;
mod faults;
mod lists;
mod recorder;
mod transactions;
mod verdict;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use braid_base::ByteSize;
use parking_lot::Mutex;
use tokio::task::JoinSet;

use self::lists::Lists;
use self::recorder::Recorder;
use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::remove_directory;
use crate::drivers::lent_servers::Login;
use crate::drivers::wire_session::WireSession;
use crate::report::{Figure, Goal};
use crate::{BenchError, BenchOptions, Servers};

/// The server's buffer.
const BUFFER: ByteSize = ByteSize::mib(32);

/// Distance of the seeds of two histories, which is more than one has clients.
const SEEDS_OF_HISTORY: u64 = 1 << 20;

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Level {
    const ALL: [Self; 3] = [Self::ReadCommitted, Self::RepeatableRead, Self::Serializable];

    /// Its name in SQL.
    fn name(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }

    /// The consistency model that its histories must keep.
    fn model(self) -> &'static str {
        match self {
            Self::ReadCommitted => "strong-read-committed",
            Self::RepeatableRead => "strong-snapshot-isolation",
            Self::Serializable => "strict-serializable",
        }
    }
}

/// What the tasks of a history have in common.
struct History {
    level: Level,
    /// Where the server listens, which changes when it is killed.
    address: Mutex<SocketAddr>,
    lists: Lists,
    recorder: Recorder,
    /// Transactions that have not begun.
    left: AtomicU64,
    /// Every how many reads one is spoiled, to see that the check finds it.
    planted_every: Option<u64>,
    reads: AtomicU64,
}

impl History {
    /// Whether there is another transaction to run, which this takes.
    fn take(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Whether a read is to be spoiled.
    fn is_spoiled(&self) -> bool {
        let read = self.reads.fetch_add(1, Ordering::Relaxed) + 1;
        self.planted_every.is_some_and(|every| read.is_multiple_of(every))
    }

    fn address(&self) -> SocketAddr {
        *self.address.lock()
    }
}

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let scratch = options.data.join("isolation-scratch");
    remove_directory(&scratch)?;
    std::fs::create_dir_all(&scratch).map_err(|source| BenchError::File { path: scratch.clone(), source })?;
    let result = measure(options, servers, &scratch).await;
    remove_directory(&scratch)?;
    result
}

async fn measure(options: &BenchOptions, servers: &Servers, directory: &Path) -> BenchResult {
    println!("{} transactions of {:?} clients at three levels, seed {}", options.cases, options.clients, options.seed);
    let buffer = options.buffer.unwrap_or(BUFFER);
    let mut server = (servers.own_process)(directory, buffer, Login::Trusted).await.map_err(faults::not_started)?;
    let measured: Vec<(Level, usize)> =
        options.clients.iter().flat_map(|&clients| Level::ALL.map(|level| (level, clients))).collect();
    let (start, mut figures) = (Instant::now(), Vec::new());
    for (at, &(level, clients)) in measured.iter().enumerate() {
        let count = measured.len() as u64;
        let transactions = options.cases * (at as u64 + 1) / count - options.cases * at as u64 / count;
        let history = Arc::new(History {
            level,
            address: Mutex::new(server.address),
            lists: Lists::new(clients, transactions),
            recorder: Recorder::default(),
            left: AtomicU64::new(transactions),
            planted_every: options.planted_every,
            reads: AtomicU64::new(0),
        });
        history.lists.make(&WireSession::connect(server.address, "").await?).await?;
        let seeds =
            options.seed.wrapping_mul(measured.len() as u64).wrapping_add(at as u64).wrapping_mul(SEEDS_OF_HISTORY);
        let restart = || (servers.own_process)(directory, buffer, Login::Trusted);
        let (kills, ()) = tokio::try_join!(
            faults::kill(&history, &mut server, restart, transactions),
            run_clients(&history, clients, seeds)
        )?;
        let session = WireSession::connect(server.address, "").await?;
        verdict::read_all(&history, session).await?;
        figures.extend(verdict::of(&history, clients, kills)?);
    }
    figures.push(Figure::new("time", start.elapsed().as_secs_f64(), "s"));
    Ok(figures)
}

/// The clients, and beside them maintenance, until no transaction is left.
async fn run_clients(history: &Arc<History>, clients: usize, seeds: u64) -> Result<(), BenchError> {
    let mut tasks = JoinSet::new();
    for client in 0..clients as u64 {
        tasks.spawn(client::run(Arc::clone(history), seeds.wrapping_add(client)));
    }
    tasks.spawn(faults::maintain(Arc::clone(history), seeds.wrapping_add(clients as u64)));
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|e| BenchError::other("a client's task", e))??;
    }
    Ok(())
}
