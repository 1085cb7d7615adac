//! Queries and their right answers. This room knows no client, no other engine and no clock.
//!
//! | module | contents |
//! |---|---|
//! | [`generated`] | tables with a generator, and their rows |
//! | [`loading`] | from a generator into a database |
//! | [`tpch`] | TPC-H: tables, generator, the 22 queries, the eight-query mix of QPipe's figure 12 |
//! | [`tpcds`] | TPC-DS: tables, generator, the 99 queries |
//! | `look_ups` | light queries: look-ups by key |
//! | `panels` | a tenant's dashboard: selective statements on one key |
//! | `star` | a star schema made from TPC-H's tables, and statements on it |
//! | `refresh` | TPC-H's refresh function 1: new orders |
//! | `unlike` | statements that share nothing |
//! | `union` | several workloads as one |
//! | `histories` | tables that change, and random statements on them, on fixed ones and on TPC-H's |
//! | `random_sql` | random tables and random queries on them, as pure functions of a seed |
//! | [`workload`] | what clients send: added tables, and a seeded stream of texts |
//! | [`answer`] | rows as canonical text, for comparison between engines |

pub mod answer;
pub mod generated;
pub(crate) mod histories;
pub mod loading;
pub(crate) mod look_ups;
pub(crate) mod panels;
pub(crate) mod random_sql;
pub(crate) mod refresh;
pub(crate) mod star;
pub mod tpcds;
pub mod tpch;
pub(crate) mod union;
pub(crate) mod unlike;
pub mod workload;
