//! What NOT IN needs to know of a whole build side that is partitioned by key: whether it has rows, and whether it has null keys;
//! in a pass, for which queries.
//!
//! `x NOT IN (…)` with a null `x` is true if there are no rows, otherwise unknown. With an `x` that equals no key it is true if no
//! key is null, otherwise unknown. Rows of any partition decide that for the rows of all others. So it is noted while the build
//! side is partitioned, before any row is probed. Rows with null keys are then no longer needed, and are dropped: they would all
//! be in one partition, which could not be partitioned again.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::joins::hash::Elsewhere;
use crate::query_sets::set_calculator::{SetCalculator, sets_of};
use crate::{Batch, ExecError, SetNumber, SetStore};

/// The columns of a build side that are looked at, by their positions among the kept ones.
#[derive(Clone)]
pub(crate) struct NotInBuild {
    /// The key.
    pub(crate) key: usize,
    /// The sets of a pass; `None` for a join of one query.
    pub(crate) sets: Option<NotInSets>,
}

/// The sets of a build side's rows.
#[derive(Clone)]
pub(crate) struct NotInSets {
    pub(crate) store: Arc<SetStore>,
    /// The column of the rows' sets; `None` if every row is for all queries.
    pub(crate) column: Option<usize>,
}

/// One worker's notes.
pub(crate) struct NotInNotes {
    build: NotInBuild,
    calculator: Option<SetCalculator>,
    /// What this worker has noted, and all of which is in the common notes.
    noted: Elsewhere,
}

impl NotInNotes {
    /// A worker's notes, which are empty.
    pub(crate) fn new(build: NotInBuild) -> Self {
        let calculator = build.sets.as_ref().map(|sets| SetCalculator::new(sets.store.clone()));
        Self { build, calculator, noted: Elsewhere::default() }
    }

    /// Notes rows of the build side in `all`, and drops those with a null key.
    ///
    /// # Errors
    /// When memory for a new set is refused.
    pub(crate) fn note(&mut self, batch: &mut Batch, all: &Mutex<Elsewhere>) -> Result<(), ExecError> {
        let key = batch.column(self.build.key);
        let before = self.noted;
        self.noted.has_rows |= batch.row_count() > 0;
        self.noted.has_null_keys |= (0..batch.row_count()).any(|row| !key.is_valid(row));
        if let (Some(sets), Some(calculator)) = (&self.build.sets, &mut self.calculator) {
            let sets = match sets.column {
                Some(column) => sets_of(&batch.column(column)),
                None => vec![SetNumber::ALL; batch.row_count()],
            };
            let Elsewhere { rows_for, null_keys_for, .. } = &mut self.noted;
            for (row, set) in sets.into_iter().enumerate() {
                *rows_for = calculator.unite(*rows_for, set)?;
                if !key.is_valid(row) {
                    *null_keys_for = calculator.unite(*null_keys_for, set)?;
                }
            }
        }
        if self.noted != before {
            let mut all = all.lock();
            all.has_rows |= self.noted.has_rows;
            all.has_null_keys |= self.noted.has_null_keys;
            if let Some(calculator) = &mut self.calculator {
                all.rows_for = calculator.unite(all.rows_for, self.noted.rows_for)?;
                all.null_keys_for = calculator.unite(all.null_keys_for, self.noted.null_keys_for)?;
            }
        }
        if key.valid().is_some_and(|valid| valid.contains(&false)) {
            let keep: Vec<bool> = (0..batch.row_count()).map(|row| key.is_valid(row)).collect();
            batch.retain(&keep);
        }
        Ok(())
    }
}
