//! Relations into plans of operators.
//!
//! What operators do not compute yet is refused as unsupported (SQLSTATE 0A000), and never computed otherwise.
//!
//! | module | contents |
//! |---|---|
//! | [`query`] | a whole query, and scalar subqueries before it |
//! | [`relations`] | the operators of a relation, one by one |
//! | [`joins`] | joins: keys, and what is left of the condition |
//! | [`groups`] | groups and aggregates, DISTINCT |
//! | [`expressions`] | expressions: kernels where there are some |
//! | [`chars`] | `char(n)` without the blanks at its end |
//! | [`date_fields`] | fields of dates |
//! | [`forms`] | the forms of columns; where arithmetic may overflow |
//! | [`numerics`] | numerics as integers: arithmetic, CASE |
//! | [`numeric_rounding`] | casts and rounding as integers |
//! | [`numeric_comparisons`] | comparisons of numerics as integers |
//! | [`numeric_aggregates`] | sums, averages and extremes of numerics as integers |
//! | [`numeric_functions`] | functions of numerics as integers that have no kernel |
//! | [`operators`] | which functions are comparisons and arithmetic |
//! | [`parameters`] | expressions that read no row: constants, and parameters of plans for many statements |
//! | [`row_function`] | expressions that are computed row by row |
//! | [`sources`] | constant rows, and rows of set-returning functions |
//! | [`tables`] | stored tables |

mod chars;
mod date_fields;
mod expressions;
mod forms;
mod groups;
mod joins;
mod numeric_aggregates;
mod numeric_comparisons;
mod numeric_functions;
mod numeric_rounding;
mod numerics;
mod operators;
mod parameters;
mod query;
mod relations;
mod row_function;
mod sources;
mod tables;

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
