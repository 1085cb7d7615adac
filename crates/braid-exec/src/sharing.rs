//! Many queries in one pass: the operators that use query sets (SharedDB, VLDB 2012, section 3).
//!
//! Where sets do not matter, the ordinary operators are used; they treat the number of a set as one more column.
//!
//! | module | contents |
//! |---|---|
//! | [`shared_plan`] | the transformation of a plan with parameters into one plan for all queries |
//! | [`shared_operator`] | the operators that use sets |
//! | `shared_steps`, `projection_step`, `apart_step` | steps on one batch at a time: conditions, intersections; columns; the rows of each query apart |
//! | `remaining_queries` | rows for which an expression fails, and queries that are gone |
//! | `query_conditions` | conditions with parameters: from a row to its query set |
//! | `shared_join` | the hash join in which partners depend on the query |
//! | `shared_sort`, `shared_limit`, `shared_peers`, `query_windows` | ORDER BY, LIMIT and DISTINCT ON, for each query separately |
//! | [`pass_members`] | the queries of a pass while it runs: they may leave, or fail on their own |
//! | [`routing`] | the distribution of rows to queries |

pub(crate) mod apart_step;
pub mod pass_members;
pub(crate) mod projection_step;
pub(crate) mod query_conditions;
pub(crate) mod query_windows;
pub(crate) mod remaining_queries;
pub mod routing;
pub(crate) mod shared_join;
pub(crate) mod shared_limit;
pub(crate) mod shared_peers;
pub mod shared_plan;
pub(crate) mod shared_sort;
pub(crate) mod shared_steps;
