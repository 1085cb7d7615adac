//! EXPLAIN: how a query would run, and with ANALYZE how it ran.
//!
//! One column, `QUERY PLAN`, one line a row, as in PostgreSQL. The first line says which template the statement has, or why it has
//! none. With ANALYZE the next ones say in which pass it ran. The others are operators: those of the template's plan, of its pass, or
//! of the statement's own plan. VERBOSE adds the rewritten query.
//!
//! ANALYZE runs the query to its end as the statement alone would run, and drops the rows. EXPLAIN looks at templates, and neither
//! makes nor widens them.
//!
//! | module | contents |
//! |---|---|
//! | [`execution`] | one EXPLAIN: its lines |
//! | [`explained_run`] | the query that it runs or would run |
//! | [`request`] | its options |

mod execution;
mod explained_run;
mod request;

pub(crate) use execution::{execute, prepare};
