//! Queries: what is done to their syntax before DataFusion plans them, and to their rows after it runs them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`rewrite`] | the syntax tree: what is refused, what is replaced (parameters, `current_user`, `FETCH FIRST`) |
//! | [`exponents`] | `1e15` written out |
//! | [`integer_rows`] | VALUES, series and recursive queries of integer literals hold integers |
//! | [`clock`] | `now()`, `current_date` and similar functions |
//! | [`regular_expressions`] | SIMILAR TO, and patterns as DataFusion understands them |
//! | [`interval_literal`] | `INTERVAL` before a text as a cast |
//! | [`join_columns`] | `JOIN … USING` and `NATURAL JOIN` spelled out with ON |
//! | [`name_check`] | tables and functions that do not exist, with their place in the text |
//! | [`order_by_names`] | names in ORDER BY's expressions are the tables' |
//! | [`row_values`] | comparisons of rows, column by column |
//! | [`named_windows`] | windows that extend a named one |
//! | [`subquery_shapes`] | subqueries that would be answered wrongly |
//! | [`set_returning`] | set-returning functions under ORDER BY and LIMIT |
//! | [`parameters`] | values of `$n` as literals |
//! | [`column_names`] | result columns named as PostgreSQL names them |
//! | [`plan_names`] | names that tell the columns of a plan apart |
//! | [`shown_lengths`] | columns that are shown with blanks up to their length |
//! | [`planner`] | from the rewritten syntax to a physical plan on one snapshot |
//! | [`statement_planner`] | the planner of a session's statement |
//! | [`result_stream`] | rows on their way out: renamed, interruptible, with our errors |
//! | [`execution`] | a query from its syntax to its rows |

pub(crate) mod clock;
pub(crate) mod column_names;
mod execution;
mod exponents;
mod integer_rows;
mod interval_literal;
mod join_columns;
pub(crate) mod name_check;
mod named_windows;
mod order_by_names;
pub(crate) mod parameters;
mod plan_names;
pub(crate) mod planner;
mod regular_expressions;
pub(crate) mod result_stream;
pub(crate) mod rewrite;
mod row_values;
mod set_returning;
mod shown_lengths;
mod statement_planner;
mod subquery_shapes;

pub(crate) use execution::{PlannedQuery, PreparedQuery, QuerySource, execute, parameter_types, plan, prepare};
pub(crate) use shown_lengths::shown_lengths;
