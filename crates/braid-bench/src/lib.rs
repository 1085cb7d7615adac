//! Workloads, drivers and the benchmarks that print the papers' figures.
//!
//! | room | what lives there | knows |
//! |---|---|---|
//! | [`workloads`] | what is asked, and what the right answer is: TPC-H, random SQL | the engine, to load tables |
//! | [`report`] | figures with goals, for people and as JSON; curves | – |
//! | [`drivers`] | who is asked, and how: sessions, connections, the closed loop, DuckDB, DataFusion on Parquet | workloads |
//! | [`benchmarks`](mod@benchmarks) | the registry, one file for each benchmark, the demo | the other rooms |
//! | [`error`] | why a benchmark could not be run | – |
//!
//! No room knows how the server is built: `braid-server` hands in closures ([`drivers::lent_servers`]).

pub mod benchmarks;
pub mod drivers;
pub mod error;
pub mod report;
pub mod workloads;

pub use benchmarks::registry::{BenchOptions, Benchmark, benchmarks, run_benchmark};
pub use braid_buffer::ScanPolicy;
pub use drivers::lent_servers::{ProcessStarter, RunningServer, ServerProcess, ServerStarter, Servers};
pub use error::BenchError;
