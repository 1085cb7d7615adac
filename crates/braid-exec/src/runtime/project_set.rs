//! Each row once for every row that a function returns for it, as PostgreSQL's ProjectSet.
//!
//! The function's rows come in pieces of at most one batch. After a piece the worker may yield, wait for its sink and stop; the rest
//! stays with the operator ([`Operator::go_on`]). A row with 10^9 rows therefore needs no more memory than one with a thousand. Where an
//! operator below makes several batches of one, all rows of a batch but the last are passed on within the push.

use std::sync::Arc;

use braid_base::VECTOR_ROWS;

use super::set_functions::{SetFunctionCall, SetFunctionError, SetFunctionRows};
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::Stop;
use crate::{Batch, ExecError, MemoryBudget, Vector};

/// One worker's operator. Its rows have the input's columns, followed by the function's.
pub struct ProjectSet {
    call: Arc<SetFunctionCall>,
    /// Whether a later operator reads the column, for each column of the output.
    needed: Arc<[bool]>,
    /// What the function's long values are counted under.
    budget: Arc<dyn MemoryBudget>,
    /// The batch whose rows are being returned.
    current: Option<Current>,
}

struct Current {
    batch: Batch,
    rows: Box<dyn SetFunctionRows>,
}

impl ProjectSet {
    /// `needed` has an entry for each column of the output.
    pub fn new(call: Arc<SetFunctionCall>, needed: Arc<[bool]>, budget: Arc<dyn MemoryBudget>) -> Self {
        Self { call, needed, budget, current: None }
    }

    fn start(&self, mut batch: Batch) -> Result<Current, ExecError> {
        let arguments = self.call.arguments.iter().map(|(column, data_type)| {
            batch.column(*column).to_array(data_type).map_err(|error| ExecError::Foreign(Box::new(error)))
        });
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
        let rows = self.call.function.start(arguments, batch.row_count(), &self.budget).map_err(of_function)?;
        // What only the function reads is not repeated.
        batch.release(|column| self.needed[column]);
        Ok(Current { batch, rows })
    }

    /// The next rows of the current batch.
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        let Some(Current { batch, rows }) = &mut self.current else { return Ok(None) };
        let Some(piece) = rows.next_piece(VECTOR_ROWS).map_err(of_function)? else {
            self.current = None;
            return Ok(None);
        };
        let (row_count, width) = (piece.input_rows.len(), batch.column_count());
        assert!((1..=VECTOR_ROWS).contains(&row_count), "a piece of {row_count} rows");
        assert_eq!(piece.columns.len(), self.call.column_count, "a function returns its columns");
        let mut expanded = batch.clone();
        expanded.take(&piece.input_rows);
        for array in &piece.columns {
            let vector = Vector::from_array(array)
                .ok_or_else(|| ExecError::Foreign(format!("{} is not supported", array.data_type()).into()))?;
            expanded.push(Arc::new(vector));
        }
        expanded.release(|column| self.needed[column]);
        assert_eq!(expanded.column_count(), width + self.call.column_count, "released columns keep their positions");
        Ok(Some(expanded))
    }
}

impl Operator for ProjectSet {
    fn push(&mut self, batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        while self.go_on(next)? {}
        self.current = Some(self.start(batch)?);
        self.go_on(next).map(drop)
    }

    fn go_on(&mut self, next: &mut Next<'_>) -> Result<bool, Stop> {
        match self.next_batch()? {
            Some(batch) => next(batch).map(|()| true),
            None => Ok(false),
        }
    }
}

/// The error of a function. An [`ExecError`] is returned unchanged.
fn of_function(error: SetFunctionError) -> ExecError {
    match error.downcast::<ExecError>() {
        Ok(error) => *error,
        Err(error) => ExecError::Foreign(error),
    }
}
