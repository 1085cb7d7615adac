//! The `braid` command: serves, queries, loads, checks and measures a database.
//!
//! Every command ends with exit status 0, or with one line on standard error and status 1. Wrong usage gives status 2
//! (from clap).
//! Commands are in `command/`, one file each; this file parses the command line, checks the processor and starts the
//! runtime.

mod command;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tracing_subscriber::EnvFilter;

use command::CommandError;
use command::{bench, check, demo, load, process_limits, processor, serve, sql};

/// A SQL database server for many concurrent queries over the same data.
#[derive(Parser)]
#[command(name = "braid", version, about, max_term_width = 100)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve a data directory to PostgreSQL clients.
    Serve(serve::Options),
    /// Run SQL statements: on a data directory, or on the server that has it open.
    Sql(sql::Options),
    /// Load CSV or Parquet files, or TPC-H or TPC-DS data, into a data directory.
    Load(load::Options),
    /// Verify every checksum and structure of a data directory.
    Check(check::Options),
    /// Run a benchmark; without a name, list them.
    Bench(bench::Options),
    /// Demonstrate sharing: load TPC-H, serve it, and measure it with many clients.
    Demo(demo::Options),
}

impl Command {
    /// The default log level: `info` for a server, `warn` for other commands. RUST_LOG overrides it.
    fn log_level(&self) -> &'static str {
        if matches!(self, Self::Serve(_)) { "info" } else { "warn" }
    }

    async fn run(self) -> Result<(), CommandError> {
        process_limits::survive_file_size_limit()?;
        match self {
            Self::Serve(options) => serve::run(options).await,
            Self::Sql(options) => sql::run(options).await,
            Self::Load(options) => load::run(options).await,
            Self::Check(options) => check::run(options).await,
            Self::Bench(options) => bench::run(options).await,
            Self::Demo(options) => demo::run(options).await,
        }
    }
}

fn main() -> ExitCode {
    if let Err(missing) = processor::check() {
        eprintln!("braid: {missing}");
        return ExitCode::FAILURE;
    }
    let command = CommandLine::parse().command;
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(command.log_level()));
    let colours = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    log.with_ansi(colours).with_target(false).init();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(braid_engine::RUNTIME_STACK_BYTES)
        .build();
    let result = match runtime {
        Ok(runtime) => runtime.block_on(command.run()),
        Err(source) => Err(CommandError::Io { what: "cannot start threads".to_owned(), source }),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("braid: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::CommandLine;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }
}
