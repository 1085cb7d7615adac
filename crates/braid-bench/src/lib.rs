//! Workloads, drivers and the benchmarks that print the papers' figures.
//!
//! | room | contents | knows |
//! |---|---|---|
//! | [`workloads`] | queries and their right answers: TPC-H, random SQL | the engine, to load tables |
//! | [`report`] | figures with goals, for people and as JSON; curves | – |
//! | [`drivers`] | clients and engines: sessions, connections, the closed loop, DuckDB | workloads |
//! | [`benchmarks`](mod@benchmarks) | the registry, one file for each benchmark, the demo | the other rooms |
//! | [`error`] | the errors of benchmarks | – |
//!
//! No room knows how the server is built: `braid-server` passes closures ([`drivers::lent_servers`]).

pub mod benchmarks;
pub mod drivers;
pub mod error;
pub mod report;
pub mod workloads;

pub use benchmarks::benchmark::{BenchOptions, Benchmark};
pub use benchmarks::registry::{benchmarks, run_benchmark};
pub use braid_buffer::ScanPolicy;
pub use drivers::lent_servers::{Login, ProcessStarter, RunningServer, ServerProcess, ServerStarter, Servers};
pub use error::BenchError;
