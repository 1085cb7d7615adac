//! Why a benchmark, a load or the demo could not be run. A missed goal is not an error: it is a figure.

use std::path::PathBuf;

use braid_engine::EngineError;

/// Any error of another crate that only needs to be shown.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What stopped a benchmark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No benchmark has this name.
    #[error("there is no benchmark \"{name}\" (there are: {known})")]
    UnknownBenchmark {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// An option is out of its range.
    #[error("--{option} {value}: {reason}")]
    BadOption {
        /// The option, without dashes.
        option: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        reason: String,
    },
    /// A table to be loaded is already there.
    #[error("table \"{table}\" already exists (drop it first, or use another data directory)")]
    TableExists {
        /// Which.
        table: &'static str,
    },
    /// The data directory holds the data of another scale.
    #[error(
        "table \"{table}\" has {found} rows where scale {scale} has {expected}: the directory holds other data (use \
         another data directory, or the scale it was made with)"
    )]
    OtherScale {
        /// Which table.
        table: &'static str,
        /// Rows it has.
        found: u64,
        /// Rows it should have.
        expected: u64,
        /// The scale asked for.
        scale: f64,
    },
    /// The database said no.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A query through the wire failed.
    #[error("{what}: {}", server_message(source))]
    Wire {
        /// What was being done.
        what: String,
        /// The client library's error.
        source: tokio_postgres::Error,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Something below failed in a way only worth showing.
    #[error("{what}: {source}")]
    Other {
        /// What was being done.
        what: String,
        /// Why it failed.
        source: BoxError,
    },
    /// An answer was wrong: the figures of such a run would mean nothing.
    #[error("wrong answer to {query}: {difference}")]
    WrongAnswer {
        /// Which query.
        query: String,
        /// Where it differs.
        difference: String,
    },
}

impl BenchError {
    /// Wraps an error of another crate with what was being done.
    pub fn other(what: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self::Other { what: what.into(), source: source.into() }
    }
}

/// What the server said, with its SQLSTATE; what the library says where no server spoke.
fn server_message(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} (SQLSTATE {})", said.message(), said.code().code()),
        None => error.to_string(),
    }
}
