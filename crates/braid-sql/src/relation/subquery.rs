//! Queries within expressions.

use super::{ColumnId, Relation};
use crate::Expression;

/// A query within an expression. It may read columns of the query around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subquery {
    /// What the expression takes of its rows.
    pub kind: SubqueryKind,
    /// Its rows.
    pub relation: Relation,
    /// Its columns, in order.
    pub columns: Vec<ColumnId>,
}

/// What an expression takes of a subquery's rows.
#[derive(Clone, Debug, PartialEq)]
pub enum SubqueryKind {
    /// `EXISTS (…)`
    Exists,
    /// `(…)`: the only column of the only row; null without a row, an error for a second one.
    Scalar,
    /// `ARRAY(…)`: the values of the only column.
    Array,
    /// `x op ANY (…)`, or ALL: whether the comparison is true for one row, or for all. It reads columns of both sides.
    Quantified {
        /// The comparison of a row.
        comparison: Box<Expression>,
        /// ALL instead of ANY.
        is_all: bool,
    },
}
