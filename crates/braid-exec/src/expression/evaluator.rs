//! One worker's evaluator of an expression. It evaluates a tree of prepared operations for each batch.

use std::sync::Arc;

use crate::exec_error::ExecError;
use crate::expression::Expression;
use crate::expression::compilation::compile;
use crate::expression::node::Node;
use crate::expression::piece_rows::PieceRows;
use crate::expression::row_subset::is_foreign;
use crate::{Batch, MemoryBudget, Vector};

/// One worker's evaluator of an expression. It holds prepared patterns and lists, and caches results for dictionaries.
#[derive(Debug)]
pub struct Evaluator {
    root: Node,
    /// Whether it contains a foreign expression, whose values may be long.
    is_foreign: bool,
    piece_rows: PieceRows,
}

impl Evaluator {
    /// Prepares an expression, whose long values are counted under `budget`.
    pub fn new(expression: Expression, budget: &Arc<dyn MemoryBudget>) -> Self {
        let is_foreign = is_foreign(&expression);
        Self { root: compile(expression, budget), is_foreign, piece_rows: PieceRows::default() }
    }

    /// Whether its values may be so long that a divisible batch has too many of them.
    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// The value for each row. A column is returned without a copy.
    ///
    /// # Errors
    /// When the expression fails for a row: a number is out of range, or a foreign expression returns an error.
    /// [`ExecError::BatchTooLong`] when the batch is divisible and has too many rows.
    pub fn evaluate(&mut self, batch: &mut Batch) -> Result<Arc<Vector>, ExecError> {
        Ok(self.root.evaluate(batch)?.into_vector(batch.row_count()))
    }

    /// For each row, whether the condition is true (not false or null). Later parts of a conjunction read their columns, and
    /// are evaluated, only for the rows that earlier parts have not decided.
    ///
    /// # Errors
    /// As [`Self::evaluate`]. Rows whose values are long are looked at piece by piece.
    pub fn select(&mut self, batch: &mut Batch) -> Result<Vec<bool>, ExecError> {
        if !self.is_foreign {
            return self.root.select(batch);
        }
        let row_count = batch.row_count();
        let mut selected = Vec::with_capacity(row_count);
        while selected.len() < row_count {
            let rows = self.piece_rows.of(row_count - selected.len());
            match self.select_piece(batch, selected.len(), rows) {
                Err(ExecError::BatchTooLong) => self.piece_rows.exceeded(rows),
                piece => {
                    selected.extend(piece?);
                    self.piece_rows.fitted();
                }
            }
        }
        Ok(selected)
    }

    /// The decisions for `rows` rows from `first` on; columns are read in the batch itself where these are all its rows.
    fn select_piece(&mut self, batch: &mut Batch, first: usize, rows: usize) -> Result<Vec<bool>, ExecError> {
        if rows == batch.row_count() {
            batch.set_divisible(true);
            let selected = self.root.select(batch);
            batch.set_divisible(false);
            return selected;
        }
        let mut piece = batch.piece(first..first + rows);
        piece.set_divisible(true);
        self.root.select(&mut piece)
    }
}
