//! The rows of a recursion between two steps: those that were not there before, kept for the next step.

use std::sync::Arc;

use braid_base::ByteSize;
use parking_lot::Mutex;

use crate::aggregation::groups::hashed_groups::HashedGroups;
use crate::aggregation::groups::stored_keys::StoredKeys;
use crate::exec_error::MemoryExceeded;
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::Stop;
use crate::spill::Spool;
use crate::tuning::AggregationTuning;
use crate::{Batch, ExecError, MemoryBudget, Reservation};

/// The operator's name in errors.
const OPERATOR: &str = "recursion";

/// The keys of the rows so far, of all workers.
pub(super) struct SeenRows {
    key_columns: Vec<usize>,
    seen: Mutex<Seen>,
}

struct Seen {
    keys: StoredKeys,
    table: HashedGroups,
    /// The number of each row's key in a batch.
    numbers: Vec<u32>,
    reservation: Reservation,
}

/// One worker's operator that drops rows whose key was there before.
pub(super) struct NewRows(Arc<SeenRows>);

/// One worker's operator that keeps rows for the next step.
pub(super) struct KeptRows(Arc<Spool>);

impl SeenRows {
    /// No rows, which are compared by these columns.
    pub(super) fn new(key_columns: Vec<usize>, budget: Arc<dyn MemoryBudget>, tuning: AggregationTuning) -> Self {
        let keys = StoredKeys::new(key_columns.len());
        let table = HashedGroups::of_keys(&keys, tuning.hash_slots_min);
        let seen = Seen { keys, table, numbers: Vec::new(), reservation: Reservation::new(budget, OPERATOR) };
        Self { key_columns, seen: Mutex::new(seen) }
    }

    /// Whether each row of a batch is the first one with its key.
    fn are_new(&self, batch: &mut Batch) -> Result<Vec<bool>, ExecError> {
        let keys: Vec<_> = self.key_columns.iter().map(|column| batch.column(*column)).collect();
        let row_count = batch.row_count();
        let Seen { keys: stored, table, numbers, reservation } = &mut *self.seen.lock();
        let known = stored.count();
        if u32::try_from(known + row_count).is_err() {
            return Err(ExecError::Memory(MemoryExceeded {
                operator: OPERATOR,
                asked: ByteSize(0),
                reason: format!("it has {known} rows; a recursion with UNION has at most 2^32 rows"),
            }));
        }
        table.find(&keys, row_count, stored, numbers);
        reservation.resize(table.bytes() + stored.bytes())?;
        let mut is_found = vec![false; stored.count() - known];
        let mut is_first = |number: &u32| match (*number as usize).checked_sub(known) {
            Some(new) => !std::mem::replace(&mut is_found[new], true),
            None => false,
        };
        Ok(numbers.iter().map(&mut is_first).collect())
    }
}

impl NewRows {
    pub(super) fn new(seen: Arc<SeenRows>) -> Self {
        Self(seen)
    }
}

impl Operator for NewRows {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        let are_new = self.0.are_new(&mut batch)?;
        batch.retain(&are_new);
        if batch.row_count() == 0 { Ok(()) } else { next(batch) }
    }
}

impl KeptRows {
    pub(super) fn new(spool: Arc<Spool>) -> Self {
        Self(spool)
    }
}

impl Operator for KeptRows {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        self.0.add(&mut batch)?;
        next(batch)
    }
}
