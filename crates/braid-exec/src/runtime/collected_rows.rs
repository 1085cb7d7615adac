//! The rows of a build side that one worker has collected: each column in one piece.
//!
//! Values are copied, so that a build side does not keep whole chunks in memory for a few of their rows.

use std::sync::Arc;

use crate::runtime::result_rows::ResultRows;
use crate::values::byte_strings::ByteStrings;
use crate::values::vector::Values;
use crate::{Batch, ExecError, Reservation, Vector};

/// A reservation grows by an eighth at a time, within these bounds.
const STEP_BYTES_MIN: usize = 1 << 10;
const STEP_BYTES_MAX: usize = 64 << 10;

/// Rows of the build side.
pub struct CollectedRows {
    /// `None` before the first row: the first vector tells the kind.
    columns: Vec<Option<Vector>>,
    row_count: usize,
    reservation: Reservation,
}

impl CollectedRows {
    /// No rows yet.
    pub fn new(column_count: usize, reservation: Reservation) -> Self {
        Self { columns: vec![None; column_count], row_count: 0, reservation }
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Appends the rows of a batch. Panics unless it has as many columns.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub fn consume(&mut self, batch: &mut Batch) -> Result<(), ExecError> {
        assert_eq!(batch.column_count(), self.columns.len(), "batches of a side have the same columns");
        if batch.row_count() == 0 {
            return Ok(());
        }
        for (at, column) in self.columns.iter_mut().enumerate() {
            append(column, &batch.column(at));
        }
        self.row_count += batch.row_count();
        self.reserve()
    }

    /// Appends some rows of these columns. Panics unless there are as many columns.
    ///
    /// # Errors
    /// When there is not enough memory.
    pub(crate) fn consume_rows(&mut self, columns: &[Arc<Vector>], rows: &[u32]) -> Result<(), ExecError> {
        assert_eq!(columns.len(), self.columns.len(), "rows of a side have the same columns");
        for (column, added) in self.columns.iter_mut().zip(columns) {
            match column {
                Some(column) => column.append_rows(added, rows),
                None => append(column, &added.take(rows)),
            }
        }
        self.row_count += rows.len();
        self.reserve()
    }

    /// Bytes that the rows take.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().flatten().map(Vector::bytes).sum()
    }

    /// The rows as they are read from.
    pub(crate) fn into_result(self) -> ResultRows {
        let column = |column: Option<Vector>| column.map_or_else(|| Vector::repeat(None, 0), Vector::closed);
        ResultRows::holding(self.row_count, self.columns.into_iter().map(column).collect(), self.reservation)
    }

    /// Holds as much memory as the rows take, or more.
    pub(crate) fn reserve(&mut self) -> Result<(), ExecError> {
        let bytes = self.bytes();
        if bytes > self.reservation.held() {
            let step = (bytes / 8).clamp(STEP_BYTES_MIN, STEP_BYTES_MAX);
            self.reservation.resize(bytes.next_multiple_of(step))?;
        }
        Ok(())
    }

    /// The columns and their reservation. Panics without rows.
    pub(crate) fn into_vectors(self) -> (Vec<Vector>, Reservation) {
        let Self { columns, reservation, .. } = self;
        (columns.into_iter().map(|column| column.expect("a part with rows has columns")).collect(), reservation)
    }
}

fn append(column: &mut Option<Vector>, added: &Vector) {
    if let Some(column) = column {
        return column.append(added);
    }
    *column = Some(match added.values() {
        // A copy of the strings, not a share of a chunk's buffers.
        Values::Bytes(strings) => {
            let mut copied = ByteStrings::default();
            copied.append(strings);
            Vector::new(Values::Bytes(copied), added.valid().map(<[bool]>::to_vec))
        }
        _ => added.clone(),
    });
}
