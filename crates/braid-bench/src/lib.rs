//! Workloads, drivers and the benchmarks that print the papers' figures.
//!
//! | module | what lives there |
//! |---|---|
//! | [`tpch`] | TPC-H: tables, generator, the 22 queries, the eight-query mix of QPipe's figure 12 |
//! | [`benchmark`] | the registry: one command per benchmark, their common options |
//! | [`server`] | how a caller lends a running server to what must be measured over the wire |
//! | [`demo`] | the first thing a user runs: one table, scan sharing off and on |
//! | [`error`] | why a benchmark could not be run |
//!
//! Nothing here knows how the server is built: `braid-server` hands in a closure ([`server::ServerStarter`]).

pub mod benchmark;
pub mod demo;
pub mod error;
pub mod server;
pub mod tpch;

pub use benchmark::{BenchOptions, Benchmark, benchmarks, run_benchmark};
pub use error::BenchError;
pub use server::{RunningServer, ServerStarter};
