//! The commands, one file each, and the parts that they share: their error, and the opening of a data directory.

pub(crate) mod allocator;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod demo;
pub(crate) mod load;
pub(crate) mod measured_servers;
pub(crate) mod open;
pub(crate) mod password;
pub(crate) mod process_limits;
pub(crate) mod processor;
pub(crate) mod result_writer;
pub(crate) mod serve;
pub(crate) mod server_address;
pub(crate) mod sql;
pub(crate) mod user;

use std::fmt;
use std::path::PathBuf;

use braid_bench::BenchError;
use braid_engine::EngineError;
use braid_server::ServerError;

/// The error of a command. Its text is one line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The database returned an error.
    #[error("{}", EngineLine(.0))]
    Engine(#[from] EngineError),
    /// The server cannot start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A benchmark, a load of TPC-H or the demo failed.
    #[error("{}", one_line(&.0.to_string()))]
    Bench(#[from] BenchError),
    /// A statement failed.
    #[error("{}", client_line(.0))]
    Client(#[from] tokio_postgres::Error),
    /// A server that refuses the user.
    #[error("{}; name a user that it lets in with --user NAME or PGUSER", client_line(.0))]
    Login(tokio_postgres::Error),
    /// A file or a socket.
    #[error("{what}: {source}")]
    Io {
        /// The action that failed.
        what: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The data directory has faults.
    #[error("found {faults} faults in {}; they are listed above", data.display())]
    Faulty {
        /// The number of faults.
        faults: usize,
        /// The data directory.
        data: PathBuf,
    },
    /// Options that contradict each other, or a missing option.
    #[error("{0}")]
    Usage(String),
}

impl CommandError {
    /// An operating system's error with the action that failed.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

/// An engine's error with its detail, context and hint, on one line.
struct EngineLine<'a>(&'a EngineError);

impl fmt::Display for EngineLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.0;
        let parts = [(None, error.detail()), (Some("in"), error.context()), (Some("hint:"), error.hint())];
        write!(f, "{} (SQLSTATE {})", one_line(error.message()), error.sqlstate())?;
        write_parts(f, parts)
    }
}

fn write_parts(f: &mut impl fmt::Write, parts: [(Option<&str>, Option<String>); 3]) -> fmt::Result {
    for (label, text) in parts {
        if let Some(text) = text {
            write!(f, "; {}{}", label.map_or_else(String::new, |l| format!("{l} ")), one_line(&text))?;
        }
    }
    Ok(())
}

/// The same line for an error that came over the wire.
fn client_line(error: &tokio_postgres::Error) -> String {
    let Some(error) = error.as_db_error() else {
        return one_line(&error.to_string());
    };
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let mut line = format!("{} (SQLSTATE {})", one_line(error.message()), error.code().code());
    let parts =
        [(None, owned(error.detail())), (Some("in"), owned(error.where_())), (Some("hint:"), owned(error.hint()))];
    write_parts(&mut line, parts).expect("writing to a String succeeds");
    line
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use braid_engine::SqlState;

    use super::*;

    #[test]
    fn errors_are_one_line_with_all_particulars() {
        let error = EngineError::new(SqlState::BadCopyFileFormat, "missing\n  data").with_context("file x, line 3");
        let error = CommandError::from(error.with_hint("h"));
        assert_eq!(error.to_string(), "missing data (SQLSTATE 22P04); in file x, line 3; hint: h");
    }
}
