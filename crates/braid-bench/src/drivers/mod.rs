//! Clients and engines: Braid in this process or over the wire, and the engines that it is compared with.
//!
//! | module | contents |
//! |---|---|
//! | [`client`] | the trait of clients; a session in this process; a connection over the wire |
//! | [`closed_loop`] | N clients without think time, and their figures |
//! | `open_loop` | queries that arrive at given times, whether earlier ones are answered or not |
//! | `poisson_arrivals` | random times of arrivals, at a rate |
//! | [`stored_answers`] | a client's answers to the 22 queries of TPC-H, checked against stored ones |
//! | [`lent_servers`] | the interface through which a caller provides running servers |
//! | `duckdb` | DuckDB in a process of its own, where it is installed |
//! | `duckdb_clients` | the closed loop in such a process |
//! | `processor_time` | processor time of a process |
//! | `disk_reads` | what a process has read from disks |
//! | `wire_session` | a connection whose statements are prepared or not, read slowly, cancelled |

pub mod client;
pub mod closed_loop;
pub(crate) mod disk_reads;
pub(crate) mod duckdb;
pub(crate) mod duckdb_clients;
pub mod lent_servers;
pub(crate) mod open_loop;
pub(crate) mod poisson_arrivals;
pub(crate) mod processor_time;
pub mod stored_answers;
pub(crate) mod wire_session;
