//! What one worker collects of the build side: its columns, each in one piece.
//!
//! Columns are copied here, so that a build side does not hold on to whole chunks for a few of their rows.

use crate::byte_strings::ByteStrings;
use crate::exec_error::MemoryExceeded;
use crate::result_rows::ResultRows;
use crate::vector::{NO_ROW, Values};
use crate::{Batch, ExecError, Reservation, Vector};
use braid_base::ByteSize;

/// A reservation grows by an eighth at a time, within these bounds.
const STEP_BYTES_MIN: usize = 1 << 10;
const STEP_BYTES_MAX: usize = 64 << 10;

/// Build rows have 32-bit numbers, of which the last is [`NO_ROW`] and its successor would be zero.
pub(crate) const ROW_COUNT_MAX: usize = NO_ROW as usize - 1;

/// Rows of the build side.
pub struct BuildRows {
    /// `None` before the first row: the first vector tells the kind.
    columns: Vec<Option<Vector>>,
    row_count: usize,
    reservation: Reservation,
}

/// Columns of the build side with the memory that they take.
pub(crate) struct BuildColumns {
    pub(crate) columns: Vec<Vector>,
    pub(crate) row_count: usize,
    pub(crate) reservation: Option<Reservation>,
}

impl BuildRows {
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

    /// Bytes that the rows take.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().flatten().map(Vector::bytes).sum()
    }

    /// The rows as they are read from.
    pub(crate) fn into_result(self) -> ResultRows {
        let column = |column: Option<Vector>| column.map_or_else(|| Vector::repeat(None, 0), closed);
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

    /// All parts as one.
    pub(crate) fn unite(column_count: usize, parts: Vec<Self>) -> Result<BuildColumns, ExecError> {
        let mut parts = parts.into_iter().filter(|part| part.row_count > 0);
        let Some(mut united) = parts.next() else {
            let columns = vec![Vector::repeat(None, 0); column_count];
            return Ok(BuildColumns { columns, row_count: 0, reservation: None });
        };
        for part in parts {
            let Self { columns, row_count, reservation } = part;
            for (to, from) in united.columns.iter_mut().zip(columns) {
                append(to, &from.expect("a part with rows has columns"));
            }
            united.row_count += row_count;
            drop(reservation);
            united.reserve()?;
        }
        check_row_count(united.row_count)?;
        let columns = united.columns.into_iter().map(|column| closed(column.expect("there are rows"))).collect();
        Ok(BuildColumns { columns, row_count: united.row_count, reservation: Some(united.reservation) })
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

/// The column as it is read from: buffers of strings closed, and no validity where nothing is null.
fn closed(column: Vector) -> Vector {
    let (mut values, valid) = column.into_parts();
    if let Values::Bytes(strings) = &mut values {
        strings.shrink();
    }
    Vector::new(values, valid.filter(|valid| valid.contains(&false)))
}

fn check_row_count(row_count: usize) -> Result<(), ExecError> {
    if row_count <= ROW_COUNT_MAX {
        return Ok(());
    }
    Err(ExecError::Memory(MemoryExceeded {
        operator: "hash join",
        asked: ByteSize(0),
        reason: format!("{row_count} rows on the build side, where {ROW_COUNT_MAX} are the most"),
    }))
}
