//! Operators that process one batch at a time: filter, projection, limit.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::expression::{Evaluator, PieceRows};
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::{Stop, StopFlag};
use crate::{Batch, ExecError, Expression, MemoryBudget};

/// WHERE and HAVING: keeps the rows for which the condition is true.
pub struct Filter {
    condition: Evaluator,
    /// Whether a later operator reads the column; other columns are released.
    needed: Arc<[bool]>,
}

impl Filter {
    /// A filter. `needed` has an entry for each column of its batches: whether a later operator reads it. Long values are counted under
    /// `budget`.
    pub fn new(condition: Expression, needed: Arc<[bool]>, budget: &Arc<dyn MemoryBudget>) -> Self {
        Self { condition: Evaluator::new(condition, budget), needed }
    }
}

impl Operator for Filter {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let keep = self.condition.select(&mut batch)?;
        batch.release(|column| self.needed[column]);
        batch.retain(&keep);
        if batch.row_count() == 0 { Ok(()) } else { next(batch) }
    }
}

/// SELECT: new columns replace the old ones. Plain columns stay unread. Rows with long values continue in smaller batches.
pub struct Projection {
    columns: Vec<Projected>,
    /// Whether values may be long.
    is_foreign: bool,
    piece_rows: PieceRows,
}

enum Projected {
    /// A column of the input.
    Column(usize),
    Computed(Evaluator),
    /// No later operator reads it.
    Unused,
}

impl Projection {
    /// A projection, which skips the expressions whose entry in `needed` is false. Long values are counted under `budget`.
    pub fn new(expressions: &[Expression], needed: &[bool], budget: &Arc<dyn MemoryBudget>) -> Self {
        let projected = |(expression, needed): (&Expression, &bool)| match expression {
            _ if !needed => Projected::Unused,
            Expression::Column(column) => Projected::Column(*column),
            other => Projected::Computed(Evaluator::new(other.clone(), budget)),
        };
        let columns: Vec<Projected> = expressions.iter().zip(needed).map(projected).collect();
        let is_foreign =
            columns.iter().any(|column| matches!(column, Projected::Computed(evaluator) if evaluator.is_foreign()));
        Self { columns, is_foreign, piece_rows: PieceRows::default() }
    }

    /// Whether a column may have long values, so that a divisible batch may have too many rows.
    pub(crate) fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Replaces the columns of all rows.
    ///
    /// # Errors
    /// When the evaluation fails. [`ExecError::BatchTooLong`] if the batch is divisible and has too many rows.
    pub(crate) fn project(&mut self, batch: &mut Batch) -> Result<(), ExecError> {
        let mut computed = batch.column_count();
        let mut order = Vec::with_capacity(self.columns.len());
        let mut vectors = Vec::new();
        for column in &mut self.columns {
            order.push(match column {
                Projected::Column(column) => Some(*column),
                Projected::Computed(evaluator) => {
                    vectors.push(evaluator.evaluate(batch)?);
                    computed += 1;
                    Some(computed - 1)
                }
                Projected::Unused => None,
            });
        }
        vectors.into_iter().for_each(|vector| batch.push(vector));
        batch.project(&order);
        Ok(())
    }
}

impl Operator for Projection {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        if !self.is_foreign {
            self.project(&mut batch)?;
            return next(batch);
        }
        let (mut first, row_count) = (0, batch.row_count());
        while first < row_count {
            let rows = self.piece_rows.of(row_count - first);
            let mut piece = batch.piece(first..first + rows);
            piece.set_divisible(true);
            match self.project(&mut piece) {
                Err(ExecError::BatchTooLong) => self.piece_rows.exceeded(rows),
                projected => {
                    projected?;
                    self.piece_rows.fitted();
                    first += rows;
                    piece.set_divisible(false);
                    next(piece)?;
                }
            }
        }
        Ok(())
    }
}

/// LIMIT and OFFSET over all workers together. The choice of rows is deterministic only with one worker.
pub struct Limit {
    window: Arc<LimitWindow>,
}

/// The remaining rows to skip and to pass on, shared by all workers of a limit.
#[derive(Debug)]
pub struct LimitWindow {
    skip: u64,
    /// The end of the rows that are passed on. The first one has number `skip`.
    end: u64,
    seen: AtomicU64,
    enough: StopFlag,
}

impl LimitWindow {
    /// A window of at most `limit` rows, from row `offset` on.
    pub fn new(offset: u64, limit: Option<u64>, enough: StopFlag) -> Arc<Self> {
        let end = limit.map_or(u64::MAX, |limit| offset.saturating_add(limit));
        if end == offset {
            enough.raise();
        }
        Arc::new(Self { skip: offset, end, seen: AtomicU64::new(0), enough })
    }
}

impl Limit {
    /// One worker's operator.
    pub fn new(window: Arc<LimitWindow>) -> Self {
        Self { window }
    }
}

impl Operator for Limit {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let LimitWindow { skip, end, seen, enough } = &*self.window;
        if enough.is_raised() {
            // The source stops. Rows that have already passed continue to the sink.
            return Err(Stop::Enough);
        }
        let row_count = batch.row_count() as u64;
        let first = seen.fetch_add(row_count, Ordering::Relaxed);
        if first + row_count >= *end {
            enough.raise();
        }
        let wanted = first.max(*skip)..(first + row_count).min(*end);
        if wanted.is_empty() {
            return Ok(());
        }
        if wanted.end - wanted.start < row_count {
            let rows: Vec<u32> = wanted.map(|row| (row - first) as u32).collect();
            batch.take(&rows);
        }
        next(batch)
    }
}

/// Moves columns to other positions, and drops the others.
pub struct Relayout {
    columns: Arc<[Option<usize>]>,
}

impl Relayout {
    /// For each output column, its position in the input, or `None` for a column that is never read.
    pub fn new(columns: Arc<[Option<usize>]>) -> Self {
        Self { columns }
    }
}

impl Operator for Relayout {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        batch.project(&self.columns);
        next(batch)
    }
}
