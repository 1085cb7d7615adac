//! Cutting a stream of sorted rows into segments.

use std::sync::Arc;

use braid_base::ByteSize;

use super::OPERATOR;
use super::segment::{KeyRow, WindowKeys};
use crate::exec_error::MemoryExceeded;
use crate::{Batch, ExecError, MemoryBudget, Reservation, Vector};

/// Where segments may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// Behind any row.
    Anywhere,
    /// Before a row that differs from the row before it in so many first keys.
    Keys(usize),
}

impl Cut {
    /// Where segments may end for both.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Keys(own), Self::Keys(other)) => Self::Keys(own.min(other)),
            (Self::Anywhere, cut) | (cut, Self::Anywhere) => cut,
        }
    }
}

/// The rows that are not in a segment yet.
pub(super) struct Segmentation {
    cut: Cut,
    keys: Arc<WindowKeys>,
    budget: Arc<dyn MemoryBudget>,
    waiting: Waiting,
    /// The keys of the last row before those that wait. Partitions and peers are told by it.
    before: Option<KeyRow>,
}

/// Rows that wait for the rows up to the next cut, with their memory.
struct Waiting {
    row_count: usize,
    columns: Vec<Vector>,
    reservation: Reservation,
}

/// Rows up to a cut, with their memory.
pub(super) struct CutRows {
    pub row_count: usize,
    pub columns: Vec<Vector>,
    pub reservation: Reservation,
    /// The keys of the row before.
    pub before: Option<KeyRow>,
}

impl Segmentation {
    pub fn new(cut: Cut, keys: Arc<WindowKeys>, budget: Arc<dyn MemoryBudget>) -> Self {
        Self { cut, keys, waiting: Waiting::new(&budget), budget, before: None }
    }

    /// Adds rows. Returns the rows up to the last cut, if there is one.
    ///
    /// # Errors
    /// When memory is refused.
    pub fn push(&mut self, mut batch: Batch) -> Result<Option<CutRows>, ExecError> {
        let row_count = batch.row_count();
        if row_count == 0 {
            return Ok(None);
        }
        let columns = batch.all_columns();
        drop(batch);
        let columns: Vec<Vector> = columns.into_iter().map(Arc::unwrap_or_clone).collect();
        let Some(end) = self.last_cut(&columns, row_count) else {
            self.waiting.append(columns, row_count)?;
            return Ok(None);
        };
        let (first, rest) = divided(columns, end, row_count);
        self.waiting.append(first, end)?;
        let cut = self.take();
        self.waiting.append(rest, row_count - end)?;
        Ok(cut)
    }

    /// The last rows.
    pub fn finish(&mut self) -> Option<CutRows> {
        self.take()
    }

    /// The last row of a batch before which the rows can be cut. It may be the first one, if rows wait.
    fn last_cut(&self, columns: &[Vector], row_count: usize) -> Option<usize> {
        let key_count = match self.cut {
            Cut::Anywhere => return Some(row_count),
            Cut::Keys(count) => count,
        };
        let last = self.waiting.row_count.checked_sub(1).map(|last| self.keys.row(&self.waiting.columns, last));
        let mut changed = vec![false; row_count];
        self.keys.mark_changes(0..key_count, columns, last.as_ref(), &mut changed);
        changed.iter().rposition(|changed| *changed)
    }

    fn take(&mut self) -> Option<CutRows> {
        let Waiting { row_count, columns, reservation } =
            std::mem::replace(&mut self.waiting, Waiting::new(&self.budget));
        if row_count == 0 {
            return None;
        }
        let before = self.before.replace(self.keys.row(&columns, row_count - 1));
        Some(CutRows { row_count, columns, reservation, before })
    }
}

impl Waiting {
    fn new(budget: &Arc<dyn MemoryBudget>) -> Self {
        Self { row_count: 0, columns: Vec::new(), reservation: Reservation::new(budget.clone(), OPERATOR) }
    }

    fn append(&mut self, columns: Vec<Vector>, row_count: usize) -> Result<(), ExecError> {
        if row_count == 0 {
            return Ok(());
        }
        match self.columns.is_empty() {
            true => self.columns = columns,
            false => self.columns.iter_mut().zip(&columns).for_each(|(to, from)| to.append(from)),
        }
        self.row_count += row_count;
        if u32::try_from(self.row_count).is_err() {
            return Err(ExecError::Memory(MemoryExceeded {
                operator: OPERATOR,
                asked: ByteSize(0),
                reason: format!("a partition has {} rows; one has at most 2^32 in memory", self.row_count),
            }));
        }
        self.reservation.resize(self.columns.iter().map(Vector::bytes).sum())
    }
}

/// The rows before `at`, and copies of the others.
fn divided(columns: Vec<Vector>, at: usize, row_count: usize) -> (Vec<Vector>, Vec<Vector>) {
    if at == row_count {
        return (columns, Vec::new());
    }
    let numbers: Vec<u32> = (0..row_count as u32).collect();
    let (first, rest) = numbers.split_at(at);
    let rest = columns.iter().map(|column| column.copy(rest)).collect();
    (columns.iter().map(|column| column.take(first)).collect(), rest)
}
