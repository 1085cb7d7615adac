//! Rows that are counted on their way, to stop what makes too many of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Rows;
use crate::pipeline::{Enough, Next, Operator};
use crate::{Batch, ExecError};

/// A worker tells the others of so many rows at a time.
const TOLD_ROWS: u64 = if cfg!(test) { 1 } else { 8 << 10 };

/// One worker's count of rows, of which all workers together may make so many, or a few more.
#[derive(Clone)]
pub(super) struct Tally {
    all: Arc<AtomicU64>,
    own: u64,
    max: u64,
    too_many: Enough,
    /// Is told as well.
    reached: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Tally {
    /// Beyond `max`, `too_many` is reached and `reached` called, perhaps more than once.
    pub(super) fn new(max: u64, too_many: Enough, reached: Option<Arc<dyn Fn() + Send + Sync>>) -> Self {
        Self { all: Arc::default(), own: 0, max, too_many, reached }
    }
}

impl Operator for Tally {
    fn push(&mut self, batch: Batch, next: &mut Next<'_>) -> Result<(), ExecError> {
        self.own += batch.row_count() as u64;
        if self.own >= TOLD_ROWS {
            let told = std::mem::take(&mut self.own);
            if self.all.fetch_add(told, Ordering::Relaxed) + told > self.max {
                self.reached.iter().for_each(|reached| reached());
                self.too_many.reached();
                return Err(ExecError::Enough);
            }
        }
        next(batch)
    }
}

impl Rows {
    /// Counts the rows; all stages stop when there are too many.
    pub(super) fn count(&mut self, tally: Tally) {
        let (column_count, too_many) = (self.column_count, tally.too_many.clone());
        self.push(Arc::new(move || Box::new(tally.clone())), column_count);
        self.stages.iter_mut().for_each(|stage| stage.tallies.push(too_many.clone()));
    }
}
