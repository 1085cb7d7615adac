//! Queries and their right answers. This room knows no client, no other engine and no clock.
//!
//! | module | contents |
//! |---|---|
//! | [`tpch`] | TPC-H: tables, generator, loading, the 22 queries, the eight-query mix of QPipe's figure 12 |
//! | `look_ups` | light queries: look-ups by key |
//! | `panels` | a tenant's dashboard: selective statements on one key |
//! | `star` | a star schema made from TPC-H's tables, and statements on it |
//! | `unlike` | statements that share nothing |
//! | `union` | several workloads as one |
//! | `histories` | tables that change, and random statements on them, on fixed ones and on TPC-H's |
//! | `random_sql` | random tables and random queries on them, as pure functions of a seed |
//! | [`workload`] | what clients send: added tables, and a seeded stream of texts |
//! | [`answer`] | rows as canonical text, for comparison between engines |

pub mod answer;
pub(crate) mod histories;
pub(crate) mod look_ups;
pub(crate) mod panels;
pub(crate) mod random_sql;
pub(crate) mod star;
pub mod tpch;
pub(crate) mod union;
pub(crate) mod unlike;
pub mod workload;
