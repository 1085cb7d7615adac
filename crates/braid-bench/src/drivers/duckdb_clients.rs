//! The closed loop on DuckDB, embedded in one process with tables in memory: a thread with its own cursor for each client.
//!
//! Each client gets a list of its first texts, and starts again after the last. DuckDB keeps no answers, so that a repeated text
//! takes as long as a new one.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::BenchError;
use crate::drivers::closed_loop::{ClientFigures, Load, LoopFigures};
use crate::drivers::duckdb::DuckDbSession;
use crate::workloads::answer::Answer;
use crate::workloads::workload::{AddedTable, Texts};

/// Number of texts of all clients together, and the minimum of one client. A text has less than a kilobyte, so that a request has
/// less than 16 MB.
const TEXTS: usize = 8192;
const TEXTS_OF_CLIENT_MIN: usize = 16;

/// A DuckDB process. It ends when it is dropped.
pub(crate) struct DuckDbClients {
    session: DuckDbSession,
}

/// A closed loop on DuckDB.
pub(crate) struct DuckDbLoop {
    /// The figures of the clients.
    pub(crate) figures: LoopFigures,
    /// Processor time of the process, including `driver`.
    pub(crate) processor: Duration,
    /// Processor time of the clients' loops outside of DuckDB's calls.
    pub(crate) driver: Duration,
}

#[derive(serde::Deserialize)]
struct LoopReply {
    elapsed_s: f64,
    processor_s: f64,
    loop_s: f64,
    clients: Vec<ClientReply>,
}

#[derive(serde::Deserialize)]
struct ClientReply {
    latency_us: Vec<u64>,
    errors: Vec<String>,
}

impl DuckDbClients {
    /// Starts DuckDB, and loads a directory of Parquet files and the added tables. `None` if DuckDB is not installed. Blocks.
    pub(crate) fn start(parquet: &Path, added: &[AddedTable]) -> Result<Option<Self>, BenchError> {
        let script = include_str!("../../../../bench/peers/duckdb_clients.py");
        let Some(mut session) = DuckDbSession::start_script(script, &[parquet])? else { return Ok(None) };
        let statement = |table: &AddedTable| format!("create table {} as {}", table.name, table.query);
        let statements: Vec<String> = added.iter().map(statement).collect();
        session.request::<Vec<()>>(&json!({ "execute": statements }))?;
        Ok(Some(Self { session }))
    }

    /// DuckDB's version.
    pub(crate) fn version(&self) -> &str {
        &self.session.version
    }

    /// The answers of queries. Blocks.
    pub(crate) fn answers(&mut self, queries: &[String]) -> Result<Vec<Answer>, BenchError> {
        let answers: Vec<Vec<Vec<Option<String>>>> = self.session.request(&json!({ "answers": queries }))?;
        let answer = |rows: &Vec<Vec<Option<String>>>| {
            Answer::from_wire(rows.iter().map(|row| row.iter().map(Option::as_deref).collect()))
        };
        Ok(answers.iter().map(answer).collect())
    }

    /// Runs a closed loop with the texts that [`closed_loop`](super::closed_loop::closed_loop) sends. Blocks.
    pub(crate) fn closed_loop(&mut self, client_count: usize, load: &Load<'_>) -> Result<DuckDbLoop, BenchError> {
        let text_count = (TEXTS / client_count).max(TEXTS_OF_CLIENT_MIN);
        let texts_of = |client| Texts::of_client(load.workload, client, load.seed).take(text_count).collect();
        let texts: Vec<Vec<String>> = (0..client_count).map(texts_of).collect();
        let request = json!({ "clients": texts, "seconds": load.duration.as_secs_f64() });
        let reply: LoopReply = self.session.request(&request)?;
        let figures = texts.iter().zip(reply.clients).map(|(texts, reply)| client_figures(texts, reply)).collect();
        Ok(DuckDbLoop {
            figures: ClientFigures::merge(figures, Duration::from_secs_f64(reply.elapsed_s)),
            processor: Duration::from_secs_f64(reply.processor_s),
            driver: Duration::from_secs_f64(reply.loop_s.max(0.0)),
        })
    }
}

fn client_figures(texts: &[String], reply: ClientReply) -> ClientFigures {
    let mut figures = ClientFigures::new();
    let sent_count = reply.latency_us.len() + reply.errors.len();
    texts.iter().take(sent_count).for_each(|text| figures.sent(text));
    reply.latency_us.into_iter().for_each(|latency_us| figures.answered(latency_us));
    reply.errors.into_iter().for_each(|error| figures.failed(error));
    figures
}
