//! Rows in a pipeline, whose columns are read as late as possible.
//!
//! A column is either a vector, or an *origin* (a chunk's segments, the build side of a join) with row numbers. Operators
//! that drop or multiply rows change only the row numbers. A column that no operator reads is therefore never decoded, and
//! a column of the build side is gathered once, after the last join.
//!
//! Invariant: every vector has as many rows as the batch, and so do the row numbers of every origin that is still used.

use std::fmt;
use std::sync::Arc;

use crate::Vector;
use crate::values::row_numbers::RowNumbers;

/// A source of columns that are read later.
pub trait Origin: Send + Sync {
    /// The values of a column at these rows, which may repeat and come in any order;
    /// [`NO_ROW`](crate::values::vector::NO_ROW) reads as null.
    fn read(&self, column: usize, rows: &RowNumbers) -> Vector;
}

/// Rows in a pipeline.
#[derive(Clone, Default)]
pub struct Batch {
    row_count: usize,
    columns: Vec<Column>,
    origins: Vec<OriginRows>,
    /// Whether an expression whose values would be too long for all rows may ask for fewer.
    is_divisible: bool,
}

#[derive(Clone)]
enum Column {
    Vector(Arc<Vector>),
    Deferred {
        origin: usize,
        column: usize,
    },
    /// No later operator reads it.
    Released,
}

#[derive(Clone)]
struct OriginRows {
    origin: Arc<dyn Origin>,
    rows: Arc<RowNumbers>,
}

/// Vectors whose rows are taken by number.
struct HeldVectors(Vec<Arc<Vector>>);

impl Origin for HeldVectors {
    fn read(&self, column: usize, rows: &RowNumbers) -> Vector {
        self.0[column].take(rows.as_slice())
    }
}

impl Batch {
    /// Rows without columns.
    pub fn new(row_count: usize) -> Self {
        Self { row_count, columns: Vec::new(), origins: Vec::new(), is_divisible: false }
    }

    /// Rows of these columns. Panics unless each column has `row_count` rows.
    pub fn of_vectors(row_count: usize, columns: impl IntoIterator<Item = Arc<Vector>>) -> Self {
        let mut batch = Self::new(row_count);
        columns.into_iter().for_each(|column| batch.push(column));
        batch
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Whether the caller repeats an evaluation that fails with [`ExecError::BatchTooLong`](crate::ExecError::BatchTooLong) on
    /// fewer rows. A batch of one row is never divisible.
    pub fn is_divisible(&self) -> bool {
        self.is_divisible && self.row_count > 1
    }

    /// Sets [`Self::is_divisible`].
    pub(crate) fn set_divisible(&mut self, is_divisible: bool) {
        self.is_divisible = is_divisible;
    }

    /// A range of the rows.
    pub(crate) fn piece(&self, rows: std::ops::Range<usize>) -> Self {
        let mut piece = self.clone();
        if rows.len() < self.row_count {
            let rows: Vec<u32> = rows.map(|row| row as u32).collect();
            piece.take(&rows);
        }
        piece
    }

    /// Number of columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Appends a column. Panics unless it has as many rows as the batch.
    pub fn push(&mut self, column: Arc<Vector>) {
        assert_eq!(column.len(), self.row_count, "a column has as many rows as its batch");
        self.columns.push(Column::Vector(column));
    }

    /// Replaces a column. Panics unless the new column has as many rows as the batch.
    pub fn replace(&mut self, at: usize, column: Arc<Vector>) {
        assert_eq!(column.len(), self.row_count, "a column has as many rows as its batch");
        self.columns[at] = Column::Vector(column);
    }

    /// Appends columns that are read later from `origin` at `rows`. Panics unless `rows` has one entry per row of the batch.
    pub fn push_deferred(
        &mut self,
        origin: Arc<dyn Origin>,
        rows: impl Into<RowNumbers>,
        columns: impl IntoIterator<Item = usize>,
    ) {
        let rows = rows.into();
        assert_eq!(rows.len(), self.row_count, "an origin has as many rows as its batch");
        let at = self.origins.len();
        self.origins.push(OriginRows { origin, rows: Arc::new(rows) });
        self.columns.extend(columns.into_iter().map(|column| Column::Deferred { origin: at, column }));
    }

    /// A column's values, read from the origin at the first call. Panics when the column was released.
    pub fn column(&mut self, at: usize) -> Arc<Vector> {
        match &self.columns[at] {
            Column::Vector(vector) => vector.clone(),
            Column::Deferred { origin, column } => {
                let OriginRows { origin, rows } = &self.origins[*origin];
                let vector = Arc::new(origin.read(*column, rows));
                assert_eq!(vector.len(), self.row_count, "an origin reads as many values as it was asked for");
                self.columns[at] = Column::Vector(vector.clone());
                vector
            }
            Column::Released => panic!("column {at} was released"),
        }
    }

    /// The values of all columns. Panics when one was released.
    pub(crate) fn all_columns(&mut self) -> Vec<Arc<Vector>> {
        (0..self.columns.len()).map(|at| self.column(at)).collect()
    }

    /// Keeps the rows at these positions, in this order and with repetitions. Copies no values: vectors become origins, which
    /// are gathered when they are read.
    pub fn take(&mut self, rows: &[u32]) {
        let mut held: Vec<Arc<Vector>> = Vec::new();
        let at = self.origins.len();
        for column in &mut self.columns {
            if let Column::Vector(vector) = column {
                held.push(vector.clone());
                *column = Column::Deferred { origin: at, column: held.len() - 1 };
            }
        }
        let mut used = vec![false; at];
        for column in &self.columns {
            if let Column::Deferred { origin, .. } = column
                && *origin < at
            {
                used[*origin] = true;
            }
        }
        for (origin, used) in self.origins.iter_mut().zip(used) {
            origin.rows = Arc::new(if used { origin.rows.take(rows) } else { RowNumbers::default() });
        }
        if !held.is_empty() {
            let origin = OriginRows { origin: Arc::new(HeldVectors(held)), rows: Arc::new(rows.to_vec().into()) };
            self.origins.push(origin);
        }
        self.row_count = rows.len();
    }

    /// Keeps the rows whose entry in `keep` is true. Panics unless `keep` has one entry per row.
    pub fn retain(&mut self, keep: &[bool]) {
        assert_eq!(keep.len(), self.row_count, "one decision for each row");
        // The loop has no branch per row, because medium selectivities are common.
        let mut kept = vec![0; self.row_count];
        let mut count = 0;
        for (row, keep) in (0u32..).zip(keep) {
            kept[count] = row;
            count += usize::from(*keep);
        }
        if count < self.row_count {
            self.take(&kept[..count]);
        }
    }

    /// Releases the columns for which `needed` is false. They keep their positions, and reading them panics.
    pub fn release(&mut self, needed: impl Fn(usize) -> bool) {
        for (at, column) in self.columns.iter_mut().enumerate() {
            if !needed(at) {
                *column = Column::Released;
            }
        }
        // Origins are numbered by position. An unused origin stays in the list, without row numbers.
        let used = |origin: usize, columns: &[Column]| {
            columns.iter().any(|column| matches!(column, Column::Deferred { origin: used, .. } if *used == origin))
        };
        let columns = std::mem::take(&mut self.columns);
        let mut numbers = Vec::with_capacity(self.origins.len());
        let mut kept = Vec::new();
        for (at, origin) in std::mem::take(&mut self.origins).into_iter().enumerate() {
            numbers.push(kept.len());
            if used(at, &columns) {
                kept.push(origin);
            }
        }
        self.origins = kept;
        self.columns = columns;
        for column in &mut self.columns {
            if let Column::Deferred { origin, .. } = column {
                *origin = numbers[*origin];
            }
        }
    }

    /// Replaces the columns by these, in this order: positions of old columns, or `None` for a column that is never read.
    pub fn project(&mut self, columns: &[Option<usize>]) {
        let column = |at: &Option<usize>| at.map_or(Column::Released, |at| self.columns[at].clone());
        self.columns = columns.iter().map(column).collect();
        self.release(|_| true);
    }
}

impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("row_count", &self.row_count)
            .field("column_count", &self.columns.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use braid_storage::Scalar;

    use super::*;

    /// Column c of row r is 100 c + r.
    #[derive(Default)]
    struct Grid {
        reads: AtomicUsize,
    }

    impl Origin for Grid {
        fn read(&self, column: usize, rows: &RowNumbers) -> Vector {
            self.reads.fetch_add(1, Ordering::Relaxed);
            Vector::integers(rows.as_slice().iter().map(|row| 100 * column as i64 + i64::from(*row)).collect())
        }
    }

    fn integers(batch: &mut Batch, column: usize) -> Vec<Option<Scalar>> {
        let vector = batch.column(column);
        (0..vector.len()).map(|row| vector.value(row)).collect()
    }

    #[test]
    fn columns_are_read_once_at_the_rows_that_are_left() {
        let (first, second) = (Arc::new(Grid::default()), Arc::new(Grid::default()));
        let mut batch = Batch::new(4);
        batch.push_deferred(first.clone(), vec![0, 2, 4, 6], [0, 1]);
        batch.push(Arc::new(Vector::integers(vec![7, 8, 9, 10])));
        batch.retain(&[false, true, true, true]);
        batch.take(&[2, 0, 0]);
        batch.push_deferred(second.clone(), vec![5, 6, 7], [3]);
        let int = |value| Some(Scalar::Int(value));
        assert_eq!(integers(&mut batch, 1), [int(106), int(102), int(102)]);
        assert_eq!(integers(&mut batch, 2), [int(10), int(8), int(8)]);
        batch.release(|column| column != 0);
        batch.take(&[0, 1]);
        assert_eq!(integers(&mut batch, 1), [int(106), int(102)]);
        assert_eq!(integers(&mut batch, 3), [int(305), int(306)]);
        assert_eq!((first.reads.load(Ordering::Relaxed), second.reads.load(Ordering::Relaxed)), (1, 1));
        batch.project(&[Some(3), None, Some(3)]);
        assert_eq!((batch.column_count(), integers(&mut batch, 2)), (3, vec![int(305), int(306)]));
    }
}
