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
//! | [`operators`] | which functions are comparisons and arithmetic |
//! | [`row_function`] | expressions that are computed row by row |
//! | [`sources`] | constant rows, and rows of set-returning functions |

mod expressions;
mod groups;
mod joins;
mod operators;
mod query;
mod relations;
mod row_function;
mod sources;

use std::fmt;

use braid_sql::functions::SessionFacts;

pub use query::{LoweredQuery, lower};

/// The session, as operators on other threads ask it.
pub trait Session: SessionFacts + Send + Sync + fmt::Debug {}

impl<S: SessionFacts + Send + Sync + fmt::Debug> Session for S {}
