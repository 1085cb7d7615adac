//! DuckDB in the same run as Braid: a script of `bench/peers` in the Python environment of `bench/peers/run.sh`.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

use serde::de::DeserializeOwned;

use crate::BenchError;
use crate::workloads::answer::Answer;

/// Environment variable for a Python with DuckDB other than that of `bench/peers/run.sh`.
pub(crate) const PEERS_PYTHON: &str = "BRAID_PEERS_PYTHON";

/// Loads a directory's Parquet files into a DuckDB file in another directory: its arguments.
pub(crate) const DUCKDB_LOAD: &str = include_str!("../../../../bench/peers/duckdb_load.py");

/// The output of [`DUCKDB_LOAD`].
#[derive(serde::Deserialize)]
pub(crate) struct DuckDbLoad {
    /// All of the loading.
    pub(crate) seconds: f64,
    /// Of the file.
    pub(crate) bytes: f64,
    /// DuckDB's version.
    pub(crate) version: String,
}

/// Runs a script with arguments and standard input, and returns its output, which is JSON. `None` if DuckDB is not installed.
///
/// # Errors
/// When the script fails or prints something else.
pub(crate) async fn run_duckdb<T: DeserializeOwned>(
    script: &'static str,
    arguments: &[&Path],
    input: Vec<u8>,
) -> Result<Option<T>, BenchError> {
    let Some(python) = peers_python() else { return Ok(None) };
    let mut command = Command::new(&python);
    command.arg("-c").arg(script).args(arguments);
    let output = tokio::task::spawn_blocking(move || run(command, &input))
        .await
        .map_err(|e| BenchError::other("waiting for DuckDB", e))?
        .map_err(|source| BenchError::File { path: python.clone(), source })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(BenchError::other(format!("DuckDB with {}", python.display()), message));
    }
    let printed = serde_json::from_slice(&output.stdout);
    printed.map(Some).map_err(|e| BenchError::other("reading DuckDB's figures", e))
}

/// A Python that has DuckDB.
fn peers_python() -> Option<PathBuf> {
    let installed = std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache/braid/peers/venv/bin/python"));
    std::env::var_os(PEERS_PYTHON).map(PathBuf::from).or(installed).filter(|python| python.exists())
}

/// A DuckDB process that runs many queries, with tables in memory. It ends when it is dropped.
pub(crate) struct DuckDbSession {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// DuckDB's version.
    pub(crate) version: String,
}

#[derive(serde::Deserialize)]
struct Version {
    version: String,
}

/// The measurement of a query.
#[derive(serde::Deserialize)]
pub(crate) struct QueryRun {
    /// Seconds until all rows were there.
    pub(crate) seconds: f64,
}

/// The result of a statement of [`DuckDbSession::ask`].
#[derive(serde::Deserialize)]
pub(crate) struct StatementReply {
    /// Values in PostgreSQL's text format.
    pub(crate) rows: Vec<Vec<Option<String>>>,
    /// The error.
    pub(crate) error: Option<String>,
}

impl DuckDbSession {
    /// Starts DuckDB and loads the tables of a directory of Parquet files, for [`Self::run`]; `None` if DuckDB is not installed.
    /// Blocks.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start(parquet: &Path) -> Result<Option<Self>, BenchError> {
        Self::start_script(include_str!("../../../../bench/peers/duckdb_session.py"), &[parquet])
    }

    /// Starts DuckDB without tables, for [`Self::ask`]; `None` if DuckDB is not installed. Blocks.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn without_tables() -> Result<Option<Self>, BenchError> {
        Self::start_script(include_str!("../../../../bench/peers/duckdb_statements.py"), &[])
    }

    /// Starts a script that prints DuckDB's version, and then answers each line with a line; `None` if DuckDB is not installed.
    /// Blocks.
    ///
    /// # Errors
    /// When it does not start.
    pub(crate) fn start_script(script: &str, arguments: &[&Path]) -> Result<Option<Self>, BenchError> {
        let Some(python) = peers_python() else { return Ok(None) };
        let mut command = Command::new(&python);
        command.arg("-c").arg(script).args(arguments);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|source| BenchError::File { path: python, source })?;
        let input = child.stdin.take().expect("standard input is piped");
        let output = BufReader::new(child.stdout.take().expect("standard output is piped"));
        let mut session = Self { child, input, output, version: String::new() };
        session.version = session.reply::<Version>()?.version;
        Ok(Some(session))
    }

    /// Runs a query to its end. Blocks.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn run(&mut self, sql: &str) -> Result<QueryRun, BenchError> {
        self.request(&sql.into())
    }

    /// The answer of a query of a session with tables. Blocks.
    ///
    /// # Errors
    /// When it fails.
    pub(crate) fn answer(&mut self, sql: &str) -> Result<Answer, BenchError> {
        let rows: Vec<Vec<Option<String>>> = self.request(&serde_json::json!([sql]))?;
        Ok(Answer::from_wire(rows.iter().map(|row| row.iter().map(Option::as_deref).collect())))
    }

    /// Runs statements one after the other, and returns their rows or errors. Blocks.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) fn ask(&mut self, statements: &[String]) -> Result<Vec<StatementReply>, BenchError> {
        self.request(&statements.into())
    }

    /// Sends a line to the script and reads its answer. Blocks.
    ///
    /// # Errors
    /// When it does not answer.
    pub(crate) fn request<T: DeserializeOwned>(&mut self, request: &serde_json::Value) -> Result<T, BenchError> {
        writeln!(self.input, "{request}").map_err(|e| BenchError::other("asking DuckDB", e))?;
        self.reply()
    }

    fn reply<T: DeserializeOwned>(&mut self) -> Result<T, BenchError> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|e| BenchError::other("reading from DuckDB", e))?;
        serde_json::from_str(&line).map_err(|e| BenchError::other("DuckDB's answer; it says why above", e))
    }
}

impl Drop for DuckDbSession {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(mut command: Command, input: &[u8]) -> std::io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // The scripts read all of their input before they print anything.
    child.stdin.take().expect("standard input is piped").write_all(input)?;
    child.wait_with_output()
}
