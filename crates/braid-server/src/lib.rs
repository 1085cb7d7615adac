//! PostgreSQL's wire protocol over a Braid database, and (in `main.rs`) the `braid` command.
//!
//! ```text
//! socket -> wire -> frontend_message -> connection -> simple_query | extended_query | cursor -> Session (engine)
//!                                                                                                    |
//! socket <- wire <----------------- value::row_encoder <- row_stream <- running <---- Arrow batches -+
//! ```
//!
//! | module | what lives there |
//! |---|---|
//! | [`server`] | options, listener, limits, shutdown |
//! | [`tls`], [`authentication`] | certificate and key; SCRAM-SHA-256 |
//! | [`admission`], [`startup`] | from a socket to a client: TLS, startup packet, login, limits |
//! | [`connection`] | a client's loop over messages; errors, ReadyForQuery, reported settings |
//! | [`simple_query`], [`extended_query`], [`cursor`], [`copy`] | the sub-protocols |
//! | [`portal`] | prepared statements and portals by name |
//! | [`running`] | a statement at work: cancelled, abandoned by its client, or panicking |
//! | [`row_stream`] | a query's rows on their way out, suspended and resumed |
//! | [`idle_memory`] | what statements have freed goes back to the system |
//! | [`cancel_registry`] | who may cancel what |
//! | [`wire`], [`frontend_message`] | buffers and frames; decoding with every length checked |
//! | [`error_report`] | what a client is told when something fails |
//! | [`value`] | values in text and binary form, both ways |
//!
//! Messages to clients, SCRAM and the TLS stream are pgwire's. Its own connection loop and handlers are not used: they
//! buffer whole results, cancel only the planning, and cannot watch the socket while a statement runs.

pub(crate) mod admission;
pub(crate) mod authentication;
pub(crate) mod cancel_registry;
pub(crate) mod connection;
pub(crate) mod copy;
pub(crate) mod cursor;
pub(crate) mod error_report;
pub(crate) mod extended_query;
pub(crate) mod frontend_message;
pub(crate) mod idle_memory;
pub(crate) mod portal;
pub(crate) mod row_stream;
pub(crate) mod running;
pub mod server;
pub(crate) mod simple_query;
pub(crate) mod startup;
pub mod tls;
pub(crate) mod value;
pub(crate) mod wire;

pub use server::{RunningServer, ServerError, ServerOptions, serve, serve_local};
pub use tls::{TlsError, TlsFiles};
