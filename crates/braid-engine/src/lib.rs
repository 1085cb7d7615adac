//! The database: catalog, sessions, statements, loading. Embeddable.
//!
//! ```text
//! text --Statement::parse--> Statement --Session::execute--> Outcome
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`config`] | the configuration of a database |
//! | [`database`] | one open data directory: device, store, buffer, memory |
//! | [`session`] | one client: user, settings, transaction block; dispatch of statements |
//! | [`statement`] | SQL text into statements |
//! | `statement_limits` | how large and how deep they may be |
//! | `deep_stack` | stacks for deep trees |
//! | `planning_threads` | the threads that queries are planned on |
//! | [`outcome`] | the outcome of a statement |
//! | [`error`], [`sql_state`] | errors as PostgreSQL reports them |
//! | [`copy`] | rows in and out as CSV, text and Parquet |
//!
//! Rule: DataFusion plans only queries. All other statements are dispatched on the syntax tree.

pub mod config;
pub mod copy;
pub mod database;
pub mod error;
pub mod memory;
pub mod outcome;
pub mod session;
pub mod sql_state;
pub mod statement;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod transaction;

mod catalog;
mod conversion;
mod deep_stack;
mod dml;
mod error_mapping;
mod input;
mod load;
mod names;
mod output;
mod planning_threads;
mod query;
mod semantics;
mod settings;
mod sql_types;
mod statement_limits;
mod table;

pub use config::Config;
pub use copy::{CopyIn, CopyOut, CopyRecords};
pub use database::Database;
pub use deep_stack::RUNTIME_STACK_BYTES;
pub use error::EngineError;
pub use outcome::{Outcome, Prepared};
pub use output::shown_digits;
pub use session::Session;
pub use sql_state::SqlState;
pub use statement::{Statement, StatementKind};
pub use transaction::TransactionStatus;
