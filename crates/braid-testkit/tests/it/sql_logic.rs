//! The `.slt` files: the SQL dialect, each file on a fresh database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_engine::{Config, Database};
use braid_testkit::sql_logic::SqlLogicSession;
use sqllogictest::{Record, Runner, strict_column_validator};

fn files() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("slt");
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "slt")).collect();
    files.sort();
    files
}

/// Runs all records of a file, those after a failed one too; answers the failures.
async fn run_file(path: &Path) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(Config::new(directory.path().join("data"))).await.unwrap();
    let opened = Arc::clone(&database);
    let mut runner = Runner::new(move || {
        let session = SqlLogicSession::new(&opened);
        async move { Ok(session) }
    });
    runner.set_var("SCRATCH".to_owned(), directory.path().display().to_string());
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
    database.close().await;
    failures
}

/// All files in one test: each is short, and a failure names its file and line.
#[tokio::test(flavor = "multi_thread")]
async fn sql_logic_files() {
    // One file while working on it: SLT=joins cargo test -p braid-testkit sql_logic
    let only = std::env::var("SLT").unwrap_or_default();
    let files: Vec<_> = files().into_iter().filter(|path| path.to_string_lossy().contains(&only)).collect();
    assert!(!files.is_empty(), "no .slt file matches {only:?}");
    let mut failures = Vec::new();
    for path in files {
        failures.extend(run_file(&path).await);
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}
