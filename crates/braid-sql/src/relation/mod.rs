//! Queries as trees of relational operators: what the binder makes of a query, and what is rewritten until it can be run.
//!
//! A column is named by a number that one operator of the statement makes, and no other. Operators hand on the columns of their input,
//! so that rewriting moves operators without renumbering anything. A relation that reads a column which no operator below makes is
//! *correlated*: the right side of a lateral join reads the left one's columns, a subquery those of the query around it.
//!
//! | module | contents |
//! |---|---|
//! | [`operators`] | the operators |
//! | [`columns`] | the columns of a statement |
//! | [`column_set`] | sets of them |
//! | [`subquery`] | queries within expressions |
//! | [`traversal`] | what an operator reads, makes and contains |
//! | `sameness` | whether two expressions mean the same |

pub mod column_set;
pub mod columns;
pub mod operators;
mod parameters;
mod sameness;
pub mod subquery;
pub mod traversal;

pub use column_set::ColumnSet;
pub use columns::{ColumnId, Columns};
pub use operators::{
    AggregateCall, Aggregation, CteId, Expansion, FrameBound, FrameExclusion, FrameMode, JoinKind, Recursion, Relation,
    Rows, Sample, SampleMethod, SetFunctionCall, SetOperator, SortKey, TableScan, WindowCall, WindowFrame, Windowing,
};
pub use subquery::{Subquery, SubqueryKind};

use crate::SqlType;

/// A query, bound.
#[derive(Clone, Debug)]
pub struct Query {
    /// Its rows.
    pub relation: Relation,
    /// Its columns, in order.
    pub outputs: Vec<Output>,
}

/// A column of a query's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// What the client sees.
    pub name: String,
    /// The column.
    pub column: ColumnId,
    /// Its type.
    pub sql_type: SqlType,
}
