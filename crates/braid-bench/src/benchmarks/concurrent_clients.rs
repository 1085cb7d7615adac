//! A workload with many clients over the wire, with sharing off and on, beside DuckDB: throughput, latency, processor time.
//!
//! The server is a process of its own, and so is DuckDB, which is embedded in Python and asked by as many threads. The clients are
//! this process, so that their processor time is known: clients on the same cores take time from the server.
//! Texts are sent with the simple protocol. All contestants get the same texts.
//!
//! For each number of clients, the contestants are measured in turn, round after round, each second round in reverse order, so that
//! a machine that slows down slows down all of them. A figure is the median of the rounds, and a ratio is the median of the rounds'
//! ratios. The server's peak memory is that of the loop, and the largest of the rounds; the memory of the loop before it is given back in a
//! pause. DuckDB's is not told: its process has clients and tables as well. Before each measurement the contestant is warmed up with other parameters: templates and the costs of passes are
//! learned from the first statements.
//!
//! | module | contents |
//! |---|---|
//! | `measurement` | a closed loop with its processor time; the rounds of a contestant |
//! | `comparison_figures` | the table, and the figures with their goals |

mod comparison_figures;
mod measurement;

use std::sync::Arc;

use crate::benchmarks::answer_checks::{self, AnswerChecks};
use crate::benchmarks::benchmark::{BenchResult, Peer};
use crate::benchmarks::data_directory::tpch_parquet;
use crate::benchmarks::measured_server::MeasuredServer;
use crate::drivers::duckdb_clients::DuckDbClients;
use crate::workloads::workload::Workload;
use crate::{BenchError, BenchOptions, Servers};
use measurement::Contest;

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
    /// The server's peak memory beyond its buffer with sharing on, in MB.
    pub(crate) beyond_buffer_mb_max: &'static [(usize, f64)],
}

impl Comparison {
    /// Makes missing data, checks answers, measures, prints the table.
    pub(crate) async fn run(&self, options: &BenchOptions, servers: &Servers) -> BenchResult {
        let mut duckdb = self.start_duckdb(options).await?;
        let server = MeasuredServer::start(options, servers, self.workload.added_tables()).await?;
        let client_count = self.clients.iter().copied().max().unwrap_or(0).max(answer_checks::CLIENTS);
        let checks = AnswerChecks { workload: &self.workload, stored_answers: self.stored_answers };
        let clients = checks.run(&server, server.connect(client_count).await?, options.scale, duckdb.as_mut()).await?;
        let mut contest = Contest::new(&self.workload, options, &server, clients, duckdb);
        let mut rows = Vec::with_capacity(self.clients.len());
        for &client_count in &self.clients {
            rows.push(contest.measure(client_count).await?);
        }
        if let Some(path) = &options.plot {
            // Without an answer there is nothing to draw.
            if let Some(plot) = comparison_figures::throughput_plot(&rows, options) {
                plot.write_svg(path)?;
            }
        }
        Ok(comparison_figures::report(&rows, contest.duckdb_version(), &self.goals))
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
