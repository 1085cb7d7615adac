//! Relations into plans of operators.
//!
//! What operators do not compute yet is refused as unsupported (SQLSTATE 0A000), and never computed otherwise.
//!
//! | module | contents |
//! |---|---|
//! | [`query`] | a whole query, and scalar subqueries before it |
//! | [`recursions`] | recursions: columns of one form, and what rows are compared by |
//! | [`relations`] | the operators of a relation, one by one |
//! | [`joins`] | joins: keys, and what is left of the condition |
//! | [`marks`] | which parts of a mark's condition are keys |
//! | [`accumulations`] | aggregates that the operators have no states for |
//! | [`grouping_levels`] | grouping sets whose groups are made of those of larger sets |
//! | [`grouping_sets`] | rows for several grouping sets |
//! | [`groups`] | groups and aggregates, DISTINCT |
//! | [`expansions`] | set-returning functions |
//! | [`expressions`] | expressions: kernels where there are some |
//! | [`chars`] | `char(n)` without the blanks at its end |
//! | [`common_tables`] | common table expressions, read once or kept |
//! | [`counted_sets`] | INTERSECT ALL and EXCEPT ALL |
//! | [`date_fields`] | fields of dates |
//! | [`filtered_arguments`] | arguments of aggregates with FILTER, which fail for no other rows |
//! | [`forms`] | the forms of columns; where arithmetic may overflow |
//! | [`numerics`] | numerics as integers: arithmetic, CASE |
//! | [`numeric_quotients`] | quotients of numerics as integers |
//! | [`numeric_rounding`] | casts and rounding as integers |
//! | [`numeric_comparisons`] | comparisons of numerics as integers |
//! | [`numeric_aggregates`] | sums, averages and extremes of numerics as integers |
//! | [`float_averages`] | averages of floats as sums and counts |
//! | [`numeric_functions`] | functions of numerics as integers that have no kernel |
//! | [`operators`] | which functions are comparisons and arithmetic |
//! | [`parameters`] | expressions that read no row: constants, and parameters of plans for many statements |
//! | [`peers`] | DISTINCT ON and WITH TIES |
//! | [`row_order`] | expressions that see what others do to the session, row by row |
//! | [`row_function`] | expressions that are computed row by row |
//! | [`session_dependence`] | functions that give other results in other sessions |
//! | [`sources`] | constant rows |
//! | [`tables`] | stored tables |
//! | [`windows`] | window functions |

mod accumulations;
mod chars;
mod common_tables;
mod counted_sets;
mod date_fields;
mod expansions;
mod expressions;
mod filtered_arguments;
mod float_averages;
mod forms;
mod grouping_levels;
mod grouping_sets;
mod groups;
mod joins;
mod marks;
mod numeric_aggregates;
mod numeric_comparisons;
mod numeric_functions;
mod numeric_quotients;
mod numeric_rounding;
mod numerics;
mod operators;
mod parameters;
mod peers;
mod query;
mod recursions;
mod relations;
mod row_function;
mod row_order;
mod session_dependence;
mod sources;
mod tables;
mod windows;

use std::fmt;

use braid_sql::functions::SessionFacts;

pub use chars::pad;
pub use forms::{Numerics, is_too_narrow};
pub use parameters::{PlanParameter, Reading};
pub use query::{Environment, LoweredQuery, NoPlan, Purpose, lower};
pub use tables::{NoStoredTables, StoredTables};

/// The session, as operators on other threads ask it.
pub trait Session: SessionFacts + Send + Sync + fmt::Debug {}

impl<S: SessionFacts + Send + Sync + fmt::Debug> Session for S {}
