//! Many queries in one pass: the operators that look at query sets (SharedDB, VLDB 2012, section 3).
//!
//! The operators of one query serve wherever sets do not matter: to them, the number of a set is one more column.
//!
//! | module | what lives there |
//! |---|---|
//! | [`shared_plan`] | from a plan with parameters, and those of each query, to one plan for all |
//! | [`shared_operator`] | the operators that look at sets |
//! | `shared_steps` | those that look at one batch at a time: conditions, columns, meeting sets |
//! | `query_conditions` | conditions with parameters: from a row to the queries for which they are true |
//! | `shared_join` | the hash join in which it depends on the query whether a row has partners |
//! | `shared_sort`, `shared_limit`, `query_windows` | ORDER BY and LIMIT, counted for each query on its own |
//! | [`routing`] | from shared rows to each query's own |

pub(crate) mod query_conditions;
pub(crate) mod query_windows;
pub mod routing;
pub(crate) mod shared_join;
pub(crate) mod shared_limit;
pub mod shared_plan;
pub(crate) mod shared_sort;
pub(crate) mod shared_steps;
