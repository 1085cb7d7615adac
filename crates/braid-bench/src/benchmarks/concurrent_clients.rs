//! A workload with many clients over the wire, with sharing off and on, beside DuckDB: throughput, latency, processor time.
//!
//! The server is a process of its own, and so is DuckDB, which is embedded in Python and asked by as many threads. The clients are
//! this process, so that their processor time is known: clients on the same cores take time from the server.
//! Texts are sent with the simple protocol. All contestants get the same texts.
//!
//! For each number of clients, the contestants are measured in turn, round after round, each second round in reverse order, so that
//! a machine that slows down slows down all of them. A figure is the median of the rounds, and a ratio is the median of the rounds'
//! ratios. Before each measurement the contestant is warmed up with other parameters: templates and the costs of passes are
//! learned from the first statements.
//!
//! | module | contents |
//! |---|---|
//! | `answer_checks` | answers under load against answers alone, of other operators, and of DuckDB |
//! | `measurement` | a closed loop with its processor time; the rounds of a contestant |
//! | `comparison_figures` | the table, and the figures with their goals |

mod answer_checks;
mod comparison_figures;
mod measurement;

use std::sync::Arc;

use braid_base::ByteSize;
use braid_io::raise_descriptor_limit;
use futures::stream::{StreamExt, TryStreamExt};

use crate::benchmarks::benchmark::{BenchResult, Peer};
use crate::benchmarks::data_directory::{database_directory, ensure_added_tables, open_tpch, tpch_parquet};
use crate::drivers::client::{Client, WireClient};
use crate::drivers::closed_loop::Clients;
use crate::drivers::duckdb_clients::DuckDbClients;
use crate::drivers::lent_servers::Login;
use crate::workloads::workload::Workload;
use crate::{BenchError, BenchOptions, ServerProcess, Servers};
use measurement::Contest;

/// Connections that log in at the same time.
const LOGINS_AT_A_TIME: usize = 32;

/// What is measured, and how good it should be.
pub(crate) struct Comparison {
    /// What the clients send.
    pub(crate) workload: Arc<dyn Workload>,
    /// The TPC-H queries whose stored answers are checked before.
    pub(crate) stored_answers: &'static [u8],
    /// Numbers of clients.
    pub(crate) clients: Vec<usize>,
    /// Whether DuckDB is a contestant where it is installed.
    pub(crate) with_duckdb: bool,
    /// The goals.
    pub(crate) goals: Goals,
}

/// Goals by number of clients. One more applies to every workload: the latency of one client with sharing on.
pub(crate) struct Goals {
    /// Throughput with sharing on / DuckDB's.
    pub(crate) to_duckdb_min: &'static [(usize, f64)],
    /// 95th percentile of latency with sharing on / DuckDB's.
    pub(crate) p95_to_duckdb_max: &'static [(usize, f64)],
    /// Throughput with sharing on / with sharing off.
    pub(crate) to_off_min: &'static [(usize, f64)],
}

impl Comparison {
    /// Makes missing data, checks answers, measures, prints the table.
    pub(crate) async fn run(&self, options: &BenchOptions, servers: &Servers) -> BenchResult {
        raise_descriptor_limit().map_err(|e| BenchError::other("raising the limit on open files", e))?;
        let buffer = self.prepare(options).await?;
        let mut duckdb = self.start_duckdb(options).await?;
        let server =
            (servers.own_process)(&database_directory(&options.data, options.scale), buffer, Login::Trusted).await;
        let server = server.map_err(|e| BenchError::other("starting the server's process", e))?;
        let client_count = self.clients.iter().copied().max().unwrap_or(0).max(answer_checks::CLIENTS);
        let mut clients = connect(&server, client_count).await?;
        clients = self.check_answers(&server, clients, options.scale, duckdb.as_mut()).await?;
        let mut contest = Contest::new(&self.workload, options, server.child.id(), clients, duckdb);
        let mut rows = Vec::with_capacity(self.clients.len());
        for &client_count in &self.clients {
            rows.push(contest.measure(client_count).await?);
        }
        Ok(comparison_figures::report(&rows, contest.duckdb_version(), &self.goals))
    }

    /// Makes missing tables, and returns the size of the server's buffer. By default the tables fit.
    async fn prepare(&self, options: &BenchOptions) -> Result<ByteSize, BenchError> {
        let database = open_tpch(options, None).await?;
        ensure_added_tables(&database, self.workload.added_tables()).await?;
        let buffer = database.config().buffer;
        // The server needs exclusive access to the directory.
        database.close().await;
        Ok(buffer)
    }

    async fn start_duckdb(&self, options: &BenchOptions) -> Result<Option<DuckDbClients>, BenchError> {
        if !self.with_duckdb || options.peer.is_some_and(|wanted| wanted != Peer::Duckdb) {
            return Ok(None);
        }
        let parquet = tpch_parquet(options).await?;
        let started = tokio::task::block_in_place(|| DuckDbClients::start(&parquet, self.workload.added_tables()))?;
        if started.is_none() {
            println!("DuckDB is not installed: bench/peers/run.sh installs it");
        }
        Ok(started)
    }
}

async fn connect(server: &ServerProcess, count: usize) -> Result<Clients, BenchError> {
    let log_ins = futures::stream::iter(0..count).map(|_| log_in(server));
    log_ins.buffered(LOGINS_AT_A_TIME).try_collect().await
}

async fn log_in(server: &ServerProcess) -> Result<Box<dyn Client>, BenchError> {
    Ok(Box::new(WireClient::log_in(server).await?))
}
