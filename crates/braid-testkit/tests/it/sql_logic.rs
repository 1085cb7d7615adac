//! The `.slt` files: the SQL dialect, each file on a fresh database, asked in this process and over both sub-protocols
//! of the wire.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_engine::{Config, Database};
use braid_server::{ServerOptions, serve};
use braid_testkit::sql_logic::{SqlLogicClient, SqlLogicSession};
use braid_testkit::wire_client::Protocol;
use sqllogictest::{AsyncDB, MakeConnection, Record, Runner, strict_column_validator};
use tokio_util::sync::CancellationToken;

fn files() -> Vec<PathBuf> {
    // One file while working on it: SLT=joins cargo test -p braid-testkit sql_logic
    let only = std::env::var("SLT").unwrap_or_default();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("slt");
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let is_wanted =
        |path: &PathBuf| path.extension().is_some_and(|e| e == "slt") && path.to_string_lossy().contains(&only);
    let mut files: Vec<_> = entries.filter(is_wanted).collect();
    files.sort();
    assert!(!files.is_empty(), "no .slt file matches {only:?}");
    files
}

/// Runs all records of a file, those after a failed one too; returns the failures.
async fn run_records<D, M>(path: &Path, scratch: &Path, mut runner: Runner<D, M>) -> Vec<String>
where
    D: AsyncDB<ColumnType = sqllogictest::DefaultColumnType>,
    M: MakeConnection<Conn = D>,
{
    runner.set_var("SCRATCH".to_owned(), scratch.display().to_string());
    runner.with_column_validator(strict_column_validator);
    let mut failures = Vec::new();
    for record in sqllogictest::parse_file(path).unwrap() {
        if matches!(record, Record::Halt { .. }) {
            break;
        }
        if let Err(error) = runner.run_async(record).await {
            failures.push(error.display(false).to_string());
        }
    }
    runner.shutdown_async().await;
    failures
}

/// Runs a file in sessions with these settings.
async fn run_in_process(path: &Path, settings: &'static [(&'static str, &'static str)]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(Config::new(directory.path().join("data"))).await.unwrap();
    let opened = Arc::clone(&database);
    let runner = Runner::new(move || {
        let session = SqlLogicSession::new(&opened, settings);
        async move { Ok(session) }
    });
    let failures = run_records(path, directory.path(), runner).await;
    database.close().await;
    failures
}

async fn run_over_the_wire(path: &Path, protocol: Protocol) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(Config::new(directory.path().join("data"))).await.unwrap();
    let options = ServerOptions { listen: ([127, 0, 0, 1], 0).into(), ..ServerOptions::default() };
    let shutdown = CancellationToken::new();
    let server = serve(Arc::clone(&database), options, shutdown.clone()).await.unwrap();
    let address = server.address;
    let runner = Runner::new(move || SqlLogicClient::connect(address, protocol));
    let failures = run_records(path, directory.path(), runner).await;
    shutdown.cancel();
    server.stopped().await;
    failures
}

fn assert_none(failures: &[String]) {
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// All files in one test: each is short, and a failure names its file and line.
#[tokio::test(flavor = "multi_thread")]
async fn sql_logic_files() {
    let mut failures = Vec::new();
    for path in files() {
        failures.extend(run_in_process(&path, &[("braid.templates", "off")]).await);
    }
    assert_none(&failures);
}

/// Every query that can have a template runs by it, with all constants as parameters that may be.
#[tokio::test(flavor = "multi_thread")]
async fn sql_logic_files_by_template() {
    let mut failures = Vec::new();
    for path in files() {
        failures.extend(run_in_process(&path, &[("braid.templates", "eager")]).await);
    }
    assert_none(&failures);
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_logic_files_over_the_simple_protocol() {
    let mut failures = Vec::new();
    for path in files() {
        failures.extend(run_over_the_wire(&path, Protocol::Simple).await);
    }
    assert_none(&failures);
}

/// Binary results, three rows at a time.
#[tokio::test(flavor = "multi_thread")]
async fn sql_logic_files_over_the_extended_protocol() {
    let mut failures = Vec::new();
    for path in files() {
        failures.extend(run_over_the_wire(&path, Protocol::Extended { rows_max: 3 }).await);
    }
    assert_none(&failures);
}
