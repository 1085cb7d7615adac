//! Workloads, drivers and the benchmarks that print the papers' figures.
//!
//! | module | what lives there |
//! |---|---|
//! | [`tpch`] | TPC-H: tables, generator, the 22 queries, the eight-query mix of QPipe's figure 12 |
//! | [`answer`] | rows as text that engines can be compared by |
//! | [`client`] | what can be asked a query: a session in this process, or a connection over the wire |
//! | [`closed_loop`] | N clients without think time, and what they measure |
//! | [`benchmark`] | the registry: one command per benchmark, their common options |
//! | [`benchmarks`](mod@benchmarks) | the benchmarks, one file each |
//! | `differential` | random SQL that two engines are asked |
//! | [`parquet_client`] | DataFusion over Parquet files, to compare with |
//! | `duckdb` | DuckDB beside Braid in the same run, where it is installed |
//! | `plot` | curves on logarithmic axes, as SVG |
//! | [`report`] | figures with goals, for people and as JSON |
//! | [`data_directory`] | where databases and Parquet files of a scale lie |
//! | [`server`] | how a caller lends running servers to what must be measured over the wire |
//! | `summary` | many measurements as one number |
//! | [`demo`] | the first thing a user runs: one table, scan sharing off and on |
//! | [`error`] | why a benchmark could not be run |
//!
//! Nothing here knows how the server is built: `braid-server` hands in closures ([`server::Servers`]).

pub mod answer;
pub mod benchmark;
pub mod benchmarks;
pub mod client;
pub mod closed_loop;
pub mod data_directory;
pub mod demo;
mod differential;
mod duckdb;
pub mod error;
pub mod parquet_client;
mod plot;
pub mod report;
pub mod server;
mod summary;
pub mod tpch;

pub use benchmark::{BenchOptions, Benchmark, benchmarks, run_benchmark};
pub use braid_buffer::ScanPolicy;
pub use error::BenchError;
pub use server::{ProcessStarter, RunningServer, ServerProcess, ServerStarter, Servers};
