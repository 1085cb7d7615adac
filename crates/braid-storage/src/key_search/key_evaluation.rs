//! The run of some rows of a table, whose keys may have to be computed.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};

use crate::key_evaluator::ComputedKeys;
use crate::key_index::{KeyRun, KeyShape, KeyTooLong};
use crate::store_shared::StoreShared;
use crate::{StoreError, TableDef};

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
