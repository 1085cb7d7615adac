//! Keys that are computed: indexes of expressions, and those with a condition.
//!
//! The expressions are SQL, which is not the store's: who opens the store gives it what evaluates them. They are immutable, so that a run is
//! still a function of its chunk.

use std::error::Error;
use std::fmt;

use arrow::array::{ArrayRef, BooleanArray};

use crate::TableDef;
use crate::key_index::KeyForm;

/// Evaluates the expressions of computed keys.
pub trait KeyEvaluator: fmt::Debug + Send + Sync {
    /// The keys of rows of a table. `columns` are those that the keys read, with their places in the table. A row in which an expression
    /// fails is left out, unless it is needed. `rows` are their number, and whether one is needed.
    ///
    /// # Errors
    /// Those of the expressions in needed rows.
    fn evaluate(
        &self,
        def: &TableDef,
        form: &KeyForm,
        columns: &[(usize, ArrayRef)],
        rows: (usize, &dyn Fn(usize) -> bool),
    ) -> Result<ComputedKeys, Box<dyn Error + Send + Sync>>;
}

/// The keys of some rows.
#[derive(Clone, Debug)]
pub struct ComputedKeys {
    /// The values of each member, as a column of its type is stored.
    pub members: Vec<ArrayRef>,
    /// Whether the index has a row: true is yes. `None`: it has all.
    pub has_row: Option<BooleanArray>,
}
