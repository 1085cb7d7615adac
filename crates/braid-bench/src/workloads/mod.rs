//! What is asked, and what the right answer is. This room knows no client, no peer and no clock.
//!
//! | module | what lives there |
//! |---|---|
//! | [`tpch`] | TPC-H: tables, generator, loading, the 22 queries, the eight-query mix of QPipe's figure 12 |
//! | `random_sql` | random tables and random queries on them, as pure functions of a seed |
//! | [`answer`] | rows as text that engines can be compared by |

pub mod answer;
pub(crate) mod random_sql;
pub mod tpch;
