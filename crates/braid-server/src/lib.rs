//! PostgreSQL's wire protocol over a Braid database, and (in `main.rs`) the `braid` command.
//!
//! ```text
//! socket -> wire -> frontend_message -> connection -> simple_query | extended_query | cursor -> Session (engine)
//!                                                                                                    |
//! socket <- wire <----------------- value::row_encoder <- row_stream <- running <---- Arrow batches -+
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`server`] | options, listener, limits, shutdown |
//! | [`tls`], [`authentication`] | certificate and key; SCRAM-SHA-256 |
//! | [`admission`], [`startup`] | from a socket to a client: TLS, startup packet, login, limits |
//! | [`connection`] | a client's loop over messages; errors, ReadyForQuery, reported settings |
//! | [`simple_query`], [`extended_query`], [`cursor`], [`copy`] | the sub-protocols |
//! | [`cursor_command`] | statements for the engine, and those about cursors |
//! | [`portal`] | prepared statements and portals by name |
//! | [`statement_log`] | what the log tells of statements that fail or take long |
//! | [`hidden_passwords`] | the texts of statements without their passwords |
//! | [`running`] | a running statement, until it ends, is cancelled, loses its client or panics |
//! | [`scrolled_rows`] | the rows of a SCROLL cursor, kept |
//! | [`row_stream`] | the rows that a query sends, suspended and resumed |
//! | [`idle_memory`], [`each_worker`] | gives freed memory back while no statement runs, on each of the threads |
//! | [`cancel_registry`] | the secret keys of connections and the statements that they cancel |
//! | [`wire`], [`frontend_message`] | buffers and frames; decoding with every length checked |
//! | [`error_report`] | the errors and notices that a client gets |
//! | [`client_text`] | texts of messages and rows in the client's encoding |
//! | [`value`] | values in text and binary form, both ways |
//!
//! pgwire provides the messages to clients, SCRAM and the TLS stream. Braid has its own connection loop and handlers,
//! because pgwire's buffer whole results, cancel only the planning, and cannot watch the socket while a statement runs.

pub(crate) mod admission;
pub(crate) mod authentication;
pub(crate) mod cancel_registry;
pub(crate) mod client_text;
pub(crate) mod connection;
pub(crate) mod copy;
pub(crate) mod cursor;
pub(crate) mod cursor_command;
pub(crate) mod each_worker;
pub(crate) mod error_report;
pub(crate) mod extended_query;
pub(crate) mod frontend_message;
pub(crate) mod hidden_passwords;
pub(crate) mod idle_memory;
pub(crate) mod portal;
pub(crate) mod row_stream;
pub(crate) mod running;
pub(crate) mod scrolled_rows;
pub mod server;
pub(crate) mod simple_query;
pub(crate) mod startup;
pub(crate) mod statement_log;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tls;
pub(crate) mod value;
pub(crate) mod wire;

pub use server::{RunningServer, ServerError, ServerOptions, serve, serve_local};
pub use tls::{TlsError, TlsFiles};
