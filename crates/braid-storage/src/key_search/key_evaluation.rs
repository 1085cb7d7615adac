//! Keys that are computed: indexes of expressions, and those with a condition.
//!
//! The expressions are SQL, which is not the store's: who opens the store gives it what evaluates them. They are immutable, so that a run is
//! still a function of its chunk.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};

use crate::key_index::{KeyForm, KeyRun, KeyShape, KeyTooLong};
use crate::store_shared::StoreShared;
use crate::{StoreError, TableDef};

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

/// The run of rows with these columns, which keys of the shape are made of. A row in which an expression fails is left out, unless it is needed:
/// it may have been deleted before there was the index.
///
/// # Errors
/// For a key that is too long, and those of expressions.
pub(crate) fn run_of(
    shared: &StoreShared,
    def: &TableDef,
    shape: &KeyShape,
    columns: &[ArrayRef],
    (row_count, is_needed): (usize, &dyn Fn(usize) -> bool),
) -> Result<KeyRun, StoreError> {
    let too_long = |KeyTooLong { bytes }| StoreError::KeyTooLong { table: def.name.clone(), bytes };
    let Some(form) = shape.form() else { return KeyRun::new(shape, columns).map_err(too_long) };
    let evaluator = shared.key_evaluator.get().ok_or_else(|| StoreError::KeyExpression {
        table: def.name.clone(),
        source: "this program does not evaluate expressions of indexes".into(),
    })?;
    let places = shape.columns().filter_map(|column| def.position(column));
    let columns: Vec<(usize, ArrayRef)> = places.zip(columns.iter().map(Arc::clone)).collect();
    let evaluated = evaluator.evaluate(def, form, &columns, (row_count, is_needed));
    let ComputedKeys { members, has_row } =
        evaluated.map_err(|source| StoreError::KeyExpression { table: def.name.clone(), source })?;
    let is_in = |row: usize| has_row.as_ref().is_none_or(|has_row| has_row.is_valid(row) && has_row.value(row));
    KeyRun::of_rows(shape, &members, is_in).map_err(too_long)
}
