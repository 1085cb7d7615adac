//! The result of a pipeline as the source of the next one: groups, sorted rows, the values of a list.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use braid_base::VECTOR_ROWS;
use futures::future::BoxFuture;

use crate::memory::Reservation;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::values::row_numbers::RowNumbers;
use crate::{Batch, ExecError, Origin, Vector};

/// Rows of one morsel. A worker processes them in some tens of microseconds.
const MORSEL_ROWS: usize = 16 * VECTOR_ROWS;

/// Rows in memory.
pub struct ResultRows {
    row_count: usize,
    columns: Vec<Vector>,
    /// The reservation for the memory of the columns, if it is counted.
    reservation: Option<Reservation>,
}

impl ResultRows {
    /// Rows of these columns. Panics unless each column has `row_count` rows.
    pub fn new(row_count: usize, columns: Vec<Vector>) -> Self {
        for column in &columns {
            assert_eq!(column.len(), row_count, "a column has as many rows as its table");
        }
        Self { row_count, columns, reservation: None }
    }

    /// Rows with the reservation for their memory, which is released with them. Panics as [`Self::new`].
    pub(crate) fn holding(row_count: usize, columns: Vec<Vector>, reservation: Reservation) -> Self {
        Self { reservation: Some(reservation), ..Self::new(row_count, columns) }
    }

    /// The number of rows, their columns, and their reservation.
    pub(crate) fn into_parts(self) -> (usize, Vec<Vector>, Option<Reservation>) {
        (self.row_count, self.columns, self.reservation)
    }

    /// Number of rows.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Bytes that the columns take.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Vector::bytes).sum()
    }

    /// All rows as a batch.
    pub(crate) fn into_batch(self) -> Batch {
        let numbers: Vec<u32> = (0..self.row_count as u32).collect();
        let (mut batch, columns) = (Batch::new(numbers.len()), 0..self.columns.len());
        batch.push_deferred(Arc::new(self), numbers, columns);
        batch
    }

    /// The columns.
    pub fn columns(&self) -> &[Vector] {
        &self.columns
    }
}

impl Origin for ResultRows {
    fn read(&self, column: usize, rows: &RowNumbers) -> Vector {
        self.columns[column].take(rows.as_slice())
    }
}

/// Several [`ResultRows`] as a source.
pub struct ResultSource {
    parts: Vec<Arc<ResultRows>>,
    in_order: bool,
}

impl ResultSource {
    /// The rows of all parts, in any order.
    pub fn new(parts: Vec<Arc<ResultRows>>) -> Self {
        Self { parts, in_order: false }
    }

    /// The rows of `rows` in their order, to one worker.
    pub fn in_order(rows: Arc<ResultRows>) -> Self {
        Self { parts: vec![rows], in_order: true }
    }

    /// The rows of all parts in their order, to one worker.
    pub(crate) fn parts_in_order(parts: Vec<Arc<ResultRows>>) -> Self {
        Self { parts, in_order: true }
    }

    fn row_count(&self) -> u64 {
        self.parts.iter().map(|part| part.row_count as u64).sum()
    }

    fn morsels(&self) -> Vec<(usize, usize)> {
        let of_part = |(part, rows): (usize, &Arc<ResultRows>)| {
            (0..rows.row_count).step_by(MORSEL_ROWS).map(move |first| (part, first))
        };
        self.parts.iter().enumerate().flat_map(of_part).collect()
    }
}

impl fmt::Debug for ResultSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for ResultSource {
    fn worker_count_max(&self) -> usize {
        if self.in_order { 1 } else { self.morsels().len() }
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(Arc::new(Running { parts: self.parts.clone(), morsels: self.morsels(), next: AtomicUsize::new(0) }))
    }

    fn row_count_max(&self) -> Option<u64> {
        Some(self.row_count())
    }

    fn describe(&self) -> String {
        format!("rows={}", self.row_count())
    }
}

struct Running {
    parts: Vec<Arc<ResultRows>>,
    morsels: Vec<(usize, usize)>,
    next: AtomicUsize,
}

impl StartedSource for Arc<Running> {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(self.clone())
    }
}

impl Feed for Arc<Running> {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let morsel = self.morsels.get(at).map(|(part, first)| {
            let rows = self.parts[*part].clone();
            let end = (first + MORSEL_ROWS).min(rows.row_count);
            Box::new(Piece { rows, next: *first, end }) as Box<dyn Morsel>
        });
        Box::pin(std::future::ready(Ok(morsel)))
    }
}

/// Consecutive rows of a result.
pub(crate) struct Piece {
    rows: Arc<ResultRows>,
    next: usize,
    end: usize,
}

impl Piece {
    /// All rows of a result.
    pub(crate) fn of_all(rows: Arc<ResultRows>) -> Self {
        Self { next: 0, end: rows.row_count, rows }
    }
}

impl Morsel for Piece {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        if self.next == self.end {
            return Ok(None);
        }
        let end = (self.next + VECTOR_ROWS).min(self.end);
        let rows: Vec<u32> = (self.next as u32..end as u32).collect();
        self.next = end;
        let mut batch = Batch::new(rows.len());
        batch.push_deferred(self.rows.clone(), rows, 0..self.rows.columns.len());
        Ok(Some(batch))
    }
}
