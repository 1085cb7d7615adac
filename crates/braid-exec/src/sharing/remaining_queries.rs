//! One worker's view of the queries that still need rows, and the rows for which an expression fails.
//!
//! A step evaluates a whole batch. If that fails, it evaluates ever smaller pieces, down to the failing row. The queries to
//! which that row belongs at this point have failed; they are gone for the rest of the pass, and run alone afterwards. The
//! pass continues for the others, without the row. A row that belongs to gone queries only is dropped before it is evaluated
//! again.

use std::sync::Arc;

use crate::expression::PieceRows;
use crate::query_sets::set_calculator::{SetCalculator, drop_unwanted};
use crate::runtime::stop::Stop;
use crate::{Batch, ExecError, SetNumber, SetStore};

/// The queries of a pass that are not gone, as of the last look.
#[derive(Debug)]
pub(crate) struct RemainingQueries {
    store: Arc<SetStore>,
    change_count: u64,
    gone: SetNumber,
    /// Rows that are evaluated at a time.
    piece_rows: PieceRows,
}

/// A part of a step that may fail. It narrows the sets, and may drop rows and change the columns.
pub(crate) type FallibleStep<'a> =
    dyn FnMut(&mut Batch, &mut Vec<SetNumber>, &mut SetCalculator) -> Result<(), ExecError> + 'a;

/// What follows the step: takes rows with their sets.
pub(crate) type NextRows<'a> = dyn FnMut(Batch, Vec<SetNumber>) -> Result<(), Stop> + 'a;

impl RemainingQueries {
    /// All queries of the pass.
    pub(crate) fn new(store: Arc<SetStore>) -> Self {
        Self { store, change_count: 0, gone: SetNumber::EMPTY, piece_rows: PieceRows::default() }
    }

    /// Whether all queries need rows.
    pub(crate) fn are_all(&self) -> bool {
        self.store.gone().change_count() == 0
    }

    /// Removes gone queries from the sets, and drops the rows that belong to no other query.
    pub(crate) fn narrow(
        &mut self,
        batch: &mut Batch,
        sets: &mut Vec<SetNumber>,
        calculator: &mut SetCalculator,
    ) -> Result<(), ExecError> {
        let change_count = self.store.gone().change_count();
        if change_count != self.change_count {
            self.gone = self.store.intern(&self.store.gone().words())?;
            self.change_count = change_count;
        }
        if self.gone == SetNumber::EMPTY {
            return Ok(());
        }
        for set in sets.iter_mut() {
            *set = calculator.subtract(*set, self.gone)?;
        }
        drop_unwanted(batch, sets);
        Ok(())
    }

    /// Applies a step to rows with these sets, in pieces where it fails.
    ///
    /// # Errors
    /// Those of `next`, and those of the step that are not of evaluation.
    pub(crate) fn apply(
        &mut self,
        batch: &Batch,
        sets: &[SetNumber],
        calculator: &mut SetCalculator,
        step: &mut FallibleStep<'_>,
        next: &mut NextRows<'_>,
    ) -> Result<(), Stop> {
        let mut first = 0;
        while first < sets.len() {
            let rows = self.piece_rows.of(sets.len() - first);
            let (mut piece, mut of_piece) = (batch.piece(first..first + rows), sets[first..first + rows].to_vec());
            self.narrow(&mut piece, &mut of_piece, calculator)?;
            match if of_piece.is_empty() { Ok(()) } else { step(&mut piece, &mut of_piece, calculator) } {
                Ok(()) => {
                    self.piece_rows.fitted();
                    first += rows;
                    if !of_piece.is_empty() {
                        next(piece, of_piece)?;
                    }
                }
                Err(error) if !error.is_of_evaluation() => return Err(error.into()),
                Err(_) if rows > 1 => self.piece_rows.exceeded(rows),
                Err(error) => {
                    self.store.gone().fail(&self.store.words(of_piece[0]), error);
                    first += 1;
                }
            }
        }
        Ok(())
    }
}
