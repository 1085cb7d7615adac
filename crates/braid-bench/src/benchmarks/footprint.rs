//! `footprint`: the cost of a server with little load: start time, and resident memory at rest, after queries, with idle
//! connections, and while a slow client reads a large result.
//!
//! The server is a separate process, so that only its memory is measured. Each measurement starts a new process, because memory
//! freed to the allocator earlier would hide later growth. The baseline is the memory after one query. Clients log in with a
//! password, as on a network.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use braid_base::ByteSize;
use braid_io::{ResidentMemory, raise_descriptor_limit};
use futures::stream::{StreamExt, TryStreamExt};
use tokio_postgres::error::SqlState;

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::{database_directory, open_tpch};
use crate::drivers::client::{Client, WireClient};
use crate::drivers::lent_servers::{Login, ProcessStarter, ServerProcess};
use crate::drivers::stored_answers::{STORED_SCALES, check_query};
use crate::report::summary::median;
use crate::report::{Figure, Goal};
use crate::workloads::tpch::query;
use crate::{BenchError, BenchOptions, Servers};

/// The default buffer of the measurement.
const BUFFER: ByteSize = ByteSize::mib(256);

/// Number of starts; the median counts.
const STARTS: usize = 3;

/// Goal for the time from the start of the process to its first answer.
const START_S_MAX: f64 = 0.5;

/// Goal for the server's memory in addition to its buffer: code, catalog, plans, and memory kept by the allocator.
const BESIDES_BUFFER_MB_MAX: f64 = 300.0;

/// Goal for the memory of all idle connections together.
const CONNECTIONS_MB_MAX: f64 = 100.0;

/// Goal for the memory of a result that is being sent.
const RESULT_MB_MAX: f64 = 100.0;

/// Maximum time that the client pauses after the first row of its large result. Shorter if measurements are shorter.
const UNREAD_S_MAX: f64 = 2.0;

/// Time for the server to finish the work after an answer.
const SETTLE: Duration = Duration::from_millis(100);

/// Time after the queries for the server to notice that it is idle, and to return freed memory.
const IDLE: Duration = Duration::from_secs(2);

/// Connections that log in at the same time.
const LOGINS_AT_A_TIME: usize = 32;

const FIRST_QUERY: &str = "select count(*) from lineitem";

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    raise_descriptor_limit().map_err(|e| BenchError::other("raising the limit on open files", e))?;
    // Creates missing data first, because the server needs exclusive access to the directory.
    let database = open_tpch(options, None).await?;
    database.close().await;
    drop(database);
    let footprint = Footprint {
        directory: database_directory(&options.data, options.scale),
        buffer: options.buffer.unwrap_or(BUFFER),
        starter: &*servers.own_process,
    };
    let unread = Duration::from_secs_f64(options.seconds.min(UNREAD_S_MAX));
    let mut figures = footprint.start().await?;
    figures.extend(footprint.queries(options.scale).await?);
    figures.extend(footprint.idle_connections(options.connections).await?);
    figures.extend(footprint.large_result(options.rows, unread).await?);
    Ok(figures)
}

/// The initial state of every measurement.
struct Footprint<'a> {
    directory: PathBuf,
    buffer: ByteSize,
    starter: &'a ProcessStarter,
}

/// A server that has answered one query, and its client.
struct Started {
    server: ServerProcess,
    client: WireClient,
    /// From before the process to after the answer.
    elapsed: Duration,
}

impl Started {
    fn memory(&self) -> Result<ResidentMemory, BenchError> {
        let pid = self.server.child.id();
        ResidentMemory::of(pid).map_err(|e| BenchError::other(format!("reading the memory of process {pid}"), e))
    }
}

impl Footprint<'_> {
    async fn started(&self) -> Result<Started, BenchError> {
        let start = Instant::now();
        let directory: &Path = &self.directory;
        let server = (self.starter)(directory, self.buffer, Login::Password).await;
        let server = server.map_err(|e| BenchError::other("starting the server's process", e))?;
        let mut client = WireClient::log_in(&server).await?;
        client.run(FIRST_QUERY).await?;
        let elapsed = start.elapsed();
        tokio::time::sleep(SETTLE).await;
        Ok(Started { server, client, elapsed })
    }

    /// Time and memory of a start.
    async fn start(&self) -> BenchResult {
        let (mut seconds, mut resident) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let started = self.started().await?;
            seconds.push(started.elapsed.as_secs_f64());
            resident.push(mb(started.memory()?.now_bytes));
        }
        Ok(vec![
            Figure::new("start to first answer, median", median(seconds), "s").with_goal(Goal::AtMost(START_S_MAX)),
            Figure::new("resident after start", median(resident), "MB"),
        ])
    }

    /// Memory after the 22 queries, whose answers are checked if the scale has stored ones. Queries over their memory budget are
    /// counted, because these refusals keep the server's memory bounded.
    async fn queries(&self, scale: f64) -> BenchResult {
        let mut started = self.started().await?;
        let mut over_budget = 0;
        for number in 1..=22 {
            let asked = match STORED_SCALES.contains(&scale) {
                true => check_query(&mut started.client, number, scale).await,
                false => started.client.run(&query(number, scale)).await.map(|_| ()),
            };
            match asked {
                Err(error) if is_over_budget(&error) => over_budget += 1,
                asked => asked?,
            }
        }
        tokio::time::sleep(IDLE).await;
        let memory = started.memory()?;
        let limit = mb(self.buffer.0) + BESIDES_BUFFER_MB_MAX;
        Ok(vec![
            Figure::new("buffer", mb(self.buffer.0), "MB"),
            Figure::new("resident after the 22 queries", mb(memory.now_bytes), "MB").with_goal(Goal::AtMost(limit)),
            Figure::new("peak resident during the 22 queries", mb(memory.peak_bytes), "MB"),
            Figure::new("queries over their memory budget", f64::from(over_budget), "").with_goal(Goal::AtMost(0.0)),
        ])
    }

    /// The memory of idle connections that have run a query.
    async fn idle_connections(&self, count: usize) -> BenchResult {
        let started = self.started().await?;
        let before = started.memory()?.now_bytes;
        let log_ins = futures::stream::iter(0..count).map(|_| log_in_and_ask(&started.server));
        let clients: Vec<WireClient> = log_ins.buffer_unordered(LOGINS_AT_A_TIME).try_collect().await?;
        tokio::time::sleep(SETTLE).await;
        let grown = started.memory()?.now_bytes.saturating_sub(before);
        let name = format!("resident for {} idle connections", clients.len());
        Ok(vec![Figure::new(name, mb(grown), "MB").with_goal(Goal::AtMost(CONNECTIONS_MB_MAX))])
    }

    /// The memory of a result of `rows` rows, while the client pauses and then reads all of it.
    async fn large_result(&self, rows: u64, unread: Duration) -> BenchResult {
        let started = self.started().await?;
        let before = started.memory()?.now_bytes;
        let streamed = started.client.stream_series(rows, unread).await?;
        let grown = started.memory()?.peak_bytes.saturating_sub(before);
        let goal = Goal::AtMost(RESULT_MB_MAX);
        Ok(vec![
            Figure::new("rows of a result that the client reads late", rows as f64, ""),
            Figure::new("peak resident growth while it streams", mb(grown), "MB").with_goal(goal),
            Figure::new("rows per second once the client reads", rows as f64 / streamed.as_secs_f64(), "1/s"),
        ])
    }
}

/// Whether the server refused memory to the query.
fn is_over_budget(error: &BenchError) -> bool {
    matches!(error, BenchError::Wire { source, .. } if source.code() == Some(&SqlState::OUT_OF_MEMORY))
}

async fn log_in_and_ask(server: &ServerProcess) -> Result<WireClient, BenchError> {
    let mut client = WireClient::log_in(server).await?;
    client.run("select 1").await?;
    Ok(client)
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
