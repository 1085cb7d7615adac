//! DuckDB beside Braid, in the same run: a script of `bench/peers` in the Python that `bench/peers/run.sh` has set up.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::de::DeserializeOwned;

use crate::BenchError;

/// A Python that has DuckDB, for when it is elsewhere than `bench/peers/run.sh` puts it.
pub(crate) const PEERS_PYTHON: &str = "BRAID_PEERS_PYTHON";

/// Runs a script with arguments and standard input; answers what it prints, which is JSON. `None` where DuckDB is not
/// installed.
///
/// # Errors
/// When the script fails or prints something else.
pub(crate) async fn run_duckdb<T: DeserializeOwned>(
    script: &'static str,
    arguments: &[&Path],
    input: Vec<u8>,
) -> Result<Option<T>, BenchError> {
    let installed = std::env::var_os("HOME").map(|h| PathBuf::from(h).join(".cache/braid/peers/venv/bin/python"));
    let Some(python) = std::env::var_os(PEERS_PYTHON).map(PathBuf::from).or(installed).filter(|p| p.exists()) else {
        return Ok(None);
    };
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

fn run(mut command: Command, input: &[u8]) -> std::io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // The scripts read all of their input before they print anything.
    child.stdin.take().expect("standard input is piped").write_all(input)?;
    child.wait_with_output()
}
