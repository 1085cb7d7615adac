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
//! | [`transaction`] | the state of a session's transaction block |
//! | [`statement`] | SQL text into statements |
//! | `statement_limits` | how large and how deep they may be |
//! | `deep_stack` | stacks for deep trees |
//! | `planning` | the threads, functions, types and rules that queries are planned with |
//! | `query` | a query from its syntax to its rows: names, rewriting, planning, results |
//! | `semantics` | rules that give DataFusion's plans PostgreSQL's meaning |
//! | `conversion`, `arrow_cast`, `sql_types`, `names` | casts; types and names as PostgreSQL has them |
//! | `input`, `output` | values from text, and as text |
//! | `catalog` | the tables of one snapshot, and the system tables |
//! | `table`, `dml`, `load` | CREATE TABLE and DROP TABLE; INSERT; loading from generators and files |
//! | `copy` | rows in and out as CSV, text and Parquet |
//! | `settings` | SET, SHOW and RESET |
//! | `interrupt`, `clock` | what stops a statement; what time it is |
//! | [`outcome`] | the outcome of a statement, with the data of a COPY |
//! | [`error`], `error_mapping`, [`sql_state`] | errors as PostgreSQL reports them |
//! | [`memory`] | the budgets of all queries and of each |
//!
//! Rule: DataFusion plans only queries. All other statements are dispatched on the syntax tree.

pub mod config;
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

mod arrow_cast;
mod catalog;
mod clock;
mod conversion;
mod copy;
mod deep_stack;
mod dml;
mod error_mapping;
mod input;
mod interrupt;
mod load;
mod names;
mod output;
mod planning;
mod query;
mod semantics;
mod settings;
mod sql_types;
mod statement_limits;
mod table;

pub use config::Config;
pub use database::Database;
pub use deep_stack::RUNTIME_STACK_BYTES;
pub use error::EngineError;
pub use outcome::{CopyIn, CopyOut, CopyRecords, Outcome, Prepared};
pub use output::shown_digits;
pub use session::Session;
pub use sql_state::SqlState;
pub use statement::{Statement, StatementKind};
pub use transaction::TransactionStatus;
