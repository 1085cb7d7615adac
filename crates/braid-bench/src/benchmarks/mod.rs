//! The benchmarks, one file each, named as on the command line, with their registry and the demo.
//!
//! | module | contents |
//! |---|---|
//! | [`benchmark`] | a benchmark, and the options that all of them share |
//! | [`registry`] | every benchmark by name |
//! | [`data_directory`] | the databases and Parquet files of a scale |
//! | `measured_server` | a server in a process of its own: logging in, processor time, waiting until it is idle |
//! | `client_pool` | connections to it that run closed and open loops |
//! | `answer_checks` | answers under load against answers alone, of other plans, and of DuckDB |
//! | `concurrent_clients` | a workload with many clients, sharing off and on, beside DuckDB: for `tpch-mix`, `panels`, `star`, `unlike` |
//! | `power_run` | each query alone, on Braid and DuckDB: for `tpch-power`, `tpcds-power` |
//! | [`demo`] | the demo: one database, sharing off and on |
//! | all others | one benchmark each |

mod answer_checks;
pub mod benchmark;
mod client_pool;
mod cold_scan;
mod concurrent_clients;
pub mod data_directory;
pub mod demo;
mod differential;
mod footprint;
mod heavy_light;
mod histories;
mod isolation;
mod join_order;
mod load;
mod measured_server;
mod one_pass;
mod overload;
mod panels;
mod power_run;
mod query_sets;
mod refresh_mix;
pub mod registry;
mod scan_sharing;
mod spilling;
mod star;
mod star_merged;
mod tpcds_power;
mod tpch_check;
mod tpch_memory;
mod tpch_mix;
mod tpch_power;
mod unlike;
