//! The errors of benchmarks, loads and the demo. A missed goal is a figure, not an error.

use std::path::PathBuf;

use braid_engine::EngineError;

/// An error of another crate that is only shown.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The error that stopped a benchmark.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// No benchmark has this name.
    #[error("benchmark \"{name}\" does not exist; the benchmarks are: {known}")]
    UnknownBenchmark {
        /// The unknown name.
        name: String,
        /// The known names.
        known: String,
    },
    /// An option is out of its range.
    #[error("--{option} {value}: {reason}")]
    BadOption {
        /// The option, without dashes.
        option: &'static str,
        /// Its value.
        value: String,
        /// The allowed range.
        reason: String,
    },
    /// A table to be loaded is already there.
    #[error("table \"{table}\" already exists; drop it, or use another data directory")]
    TableExists {
        /// The table.
        table: &'static str,
    },
    /// The data directory holds the data of another scale.
    #[error(
        "table \"{table}\" has {found} rows, but scale {scale} has {expected}: the directory holds data of another scale; \
         use another data directory or that scale"
    )]
    OtherScale {
        /// The table.
        table: &'static str,
        /// Its number of rows.
        found: u64,
        /// The number of rows at the requested scale.
        expected: u64,
        /// The requested scale.
        scale: f64,
    },
    /// The database returned an error.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A query over the wire failed.
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
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// An error of another crate that is only shown.
    #[error("{what}: {source}")]
    Other {
        /// What was being done.
        what: String,
        /// The cause.
        source: BoxError,
    },
    /// An answer was wrong, which makes the figures of the run meaningless.
    #[error("wrong answer to {query}: {difference}")]
    WrongAnswer {
        /// The query.
        query: String,
        /// The difference.
        difference: String,
    },
}

impl BenchError {
    /// Wraps an error of another crate with what was being done.
    pub fn other(what: impl Into<String>, source: impl Into<BoxError>) -> Self {
        Self::Other { what: what.into(), source: source.into() }
    }

    /// The SQLSTATE, if the server or the database reported this error.
    pub fn sqlstate(&self) -> Option<&str> {
        match self {
            Self::Engine(error) => Some(error.sqlstate()),
            Self::Wire { source, .. } => source.code().map(tokio_postgres::error::SqlState::code),
            _ => None,
        }
    }

    /// Whether the connection broke, so that later queries on it would fail, too.
    pub fn is_lost_connection(&self) -> bool {
        matches!(self, Self::Wire { source, .. } if source.as_db_error().is_none())
    }
}

/// The server's message with its SQLSTATE, or the client library's message if the server sent none.
fn server_message(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} (SQLSTATE {})", said.message(), said.code().code()),
        None => error.to_string(),
    }
}
