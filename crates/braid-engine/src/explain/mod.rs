//! EXPLAIN: how a query would run, and with ANALYZE how it ran.
//!
//! One column, `QUERY PLAN`, one line a row, or one row of JSON, XML or YAML in PostgreSQL's shape. The first lines are operators: those of the
//! template's plan, of its pass, or of the statement's own plan, each with the optimizer's estimates unless COSTS is off
//! (`braid-plan/src/optimization/plan_estimates.rs`). The next line says which template the statement has, or why it has none. With ANALYZE
//! further ones say in which pass it ran. VERBOSE adds the rewritten query.
//!
//! ANALYZE runs the query to its end as the statement alone would run, and drops the rows. EXPLAIN looks at templates, and neither
//! makes nor widens them.
//!
//! | module | contents |
//! |---|---|
//! | [`execution`] | one EXPLAIN, from the query to its columns |
//! | [`explanation`] | what it says, as lines and as a tree |
//! | `json`, `xml`, `yaml` | the formats of the tree |
//! | [`explained_run`] | the query that it runs or would run |
//! | [`request`] | its options |

mod execution;
mod explained_run;
mod explanation;
mod json;
mod request;
mod xml;
mod yaml;

pub(crate) use execution::{Explained, execute, prepare, schema};
pub(crate) use request::Request;
