//! LIMIT and OFFSET for many queries at once, applied to each query's own rows.
//!
//! A row keeps the queries whose window contains it ([`QueryWindows`]). As for one query, the choice of rows is deterministic
//! only with one worker. All workers share the counts behind a lock, which is taken once per batch: a batch has about a
//! thousand rows, and most limits end after few batches.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::memory::Reservation;
use crate::plan::shared_operator::SetColumn;
use crate::query_sets::set_calculator::{SetCalculator, drop_unwanted, set_column, sets_of};
use crate::query_sets::set_memo::{SetMemo, SetWords};
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::{Stop, StopFlag};
use crate::sharing::query_windows::QueryWindows;
use crate::{Batch, ExecError, MemoryBudget, SetNumber};

/// One worker's operator.
pub(crate) struct SharedLimit {
    window: Arc<SharedLimitWindow>,
    calculator: SetCalculator,
    words: SetWords,
}

/// The state that all workers of a limit share. The lock guards the counts of rows.
pub(crate) struct SharedLimitWindow {
    sets: SetColumn,
    windows: Mutex<Windows>,
    /// Reached when all queries have their rows.
    enough: StopFlag,
    /// The memory of the counts.
    _reservation: Reservation,
}

struct Windows {
    windows: QueryWindows,
    /// The number of changes of the gone queries that the windows know of.
    change_count: u64,
}

impl SharedLimitWindow {
    /// A window of at most `limit` rows, from row `offset` on, for each query.
    ///
    /// # Errors
    /// When memory for the counts is refused.
    pub(crate) fn new(
        sets: SetColumn,
        offset: u64,
        limit: Option<u64>,
        enough: StopFlag,
        budget: Arc<dyn MemoryBudget>,
    ) -> Result<Arc<Self>, ExecError> {
        let query_count = sets.store.query_count();
        let mut reservation = Reservation::new(budget, "limit");
        reservation.resize(QueryWindows::bytes(query_count))?;
        let windows = QueryWindows::new(query_count, offset, limit);
        if windows.are_over() {
            enough.raise();
        }
        Ok(Arc::new(Self {
            sets,
            windows: Mutex::new(Windows { windows, change_count: 0 }),
            enough,
            _reservation: reservation,
        }))
    }
}

impl SharedLimit {
    /// One worker's operator.
    pub(crate) fn new(window: Arc<SharedLimitWindow>) -> Self {
        let calculator = SetCalculator::new(window.sets.store.clone());
        Self { window, calculator, words: SetMemo::new() }
    }

    fn narrow(&mut self, sets: &[SetNumber]) -> Result<Vec<SetNumber>, ExecError> {
        let Windows { windows, change_count } = &mut *self.window.windows.lock();
        let gone = self.window.sets.store.gone();
        if gone.change_count() != *change_count {
            *change_count = gone.change_count();
            windows.give_up(&gone.words());
        }
        let narrowed = windows.narrow(sets, &mut self.calculator, &mut self.words)?;
        if windows.are_over() {
            self.window.enough.raise();
        }
        Ok(narrowed)
    }
}

impl Operator for SharedLimit {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        if self.window.enough.is_raised() {
            // The source stops. Rows that have already passed continue to the sink.
            return Err(Stop::Enough);
        }
        let column = self.window.sets.column;
        let sets = sets_of(&batch.column(column));
        let mut narrowed = self.narrow(&sets)?;
        if narrowed != sets {
            drop_unwanted(&mut batch, &mut narrowed);
            batch.replace(column, Arc::new(set_column(&narrowed)));
        }
        if batch.row_count() == 0 { Ok(()) } else { next(batch) }
    }
}
