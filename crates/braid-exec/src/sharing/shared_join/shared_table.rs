//! The build side of a shared join: its rows by key, their query sets, and their remaining sets, which hold the queries for
//! which a row has found no partner.
//!
//! All probing workers share the table. Only the remaining sets change during the probe, and each only loses queries. Relaxed
//! ordering therefore suffices, because they are read after the workers have been joined.
//!
//! Without further conditions, a semi, anti or mark join needs only the union of the sets of a key's rows. It is computed once
//! for each key, so that the cost of a probe does not depend on the number of rows with the key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::joins::hash::{Elsewhere, JoinTable, Pace};
use crate::query_sets::set_calculator::SetCalculator;
use crate::runtime::stop::StopFlag;
use crate::sharing::shared_join::SharedJoinLayout;
use crate::values::vector::{NO_ROW, Values};
use crate::{ExecError, Reservation, SetNumber, SetStore};

/// The build side during the probe.
pub(crate) struct SharedTable {
    pub(super) table: Arc<JoinTable>,
    pub(super) layout: Arc<SharedJoinLayout>,
    pub(super) store: Arc<SetStore>,
    /// The remaining set of each row; empty if the kind does not need it.
    waiting: Vec<AtomicU32>,
    /// The union of the rows' sets of each group, followed by the empty set. Empty if rows or pairs decide.
    group_sets: Vec<SetNumber>,
    /// The queries with any build row, and the queries with a build row whose key is null, in all partitions of the build side.
    /// Empty sets if the kind does not need them.
    rows_for: SetNumber,
    null_keys_for: SetNumber,
    _reservation: Reservation,
}

/// The sets of the build side's rows.
#[derive(Clone, Copy)]
pub(super) struct BuildSets<'a>(Option<&'a [i64]>);

impl BuildSets<'_> {
    #[inline]
    pub(super) fn get(self, row: u32) -> SetNumber {
        self.0.map_or(SetNumber::ALL, |sets| SetNumber::from_value(sets[row as usize]))
    }
}

impl SharedTable {
    /// A table of the layout's columns. `reservation` counts the memory beside the hash table. The construction yields to other
    /// tasks.
    ///
    /// # Errors
    /// When memory is refused, or the query is cancelled.
    pub(crate) async fn build(
        table: Arc<JoinTable>,
        layout: Arc<SharedJoinLayout>,
        store: Arc<SetStore>,
        reservation: Reservation,
        cancelled: &StopFlag,
    ) -> Result<Self, ExecError> {
        let mut shared = Self {
            table,
            layout,
            store,
            waiting: Vec::new(),
            group_sets: Vec::new(),
            rows_for: SetNumber::EMPTY,
            null_keys_for: SetNumber::EMPTY,
            _reservation: reservation,
        };
        let mut pace = Pace::new(Some(cancelled.clone()));
        if shared.layout.kind.marks_build_rows() {
            shared._reservation.resize(shared.table.row_count * size_of::<AtomicU32>())?;
            shared.waiting = shared.all_waiting(&mut pace).await?;
        }
        if shared.decides_by_group() {
            shared.unite_groups(&mut pace).await?;
        }
        Ok(shared)
    }

    /// The initial remaining sets.
    async fn all_waiting(&self, pace: &mut Pace) -> Result<Vec<AtomicU32>, ExecError> {
        let sets = self.build_sets();
        let mut waiting = Vec::with_capacity(self.table.row_count);
        for row in 0..self.row_count() {
            waiting.push(AtomicU32::new(sets.get(row).to_u32()));
            pace.step(1).await?;
        }
        Ok(waiting)
    }

    /// Whether the union of the sets of a key's rows decides.
    pub(super) fn decides_by_group(&self) -> bool {
        self.layout.kind.tests_probe_rows() && !self.layout.has_conditions()
    }

    async fn unite_groups(&mut self, pace: &mut Pace) -> Result<(), ExecError> {
        let mut calculator = SetCalculator::new(self.store.clone());
        let (table, sets) = (self.table.clone(), self.build_sets());
        if self.layout.null_keys.are_unknown() {
            let null_key_rows = table.null_key_rows.iter().copied();
            let null_keys_for = union(&mut calculator, sets, null_key_rows, pace).await?;
            let rows_for = union(&mut calculator, sets, 0..self.row_count(), pace).await?;
            let Elsewhere { rows_for: rows_elsewhere, null_keys_for: null_keys_elsewhere, .. } = table.elsewhere();
            self.null_keys_for = calculator.unite(null_keys_for, null_keys_elsewhere)?;
            self.rows_for = calculator.unite(rows_for, rows_elsewhere)?;
        }
        let Some(lists) = &table.lists else { return Ok(()) };
        let group_count = lists.group_count();
        self._reservation.resize((group_count + 1) * size_of::<SetNumber>())?;
        let mut group_sets = Vec::with_capacity(group_count + 1);
        let sets = self.build_sets();
        for group in 0..group_count as u32 {
            let (start, end) = lists.range(group);
            let rows = &lists.rows()[start as usize..end as usize];
            group_sets.push(union(&mut calculator, sets, rows.iter().copied(), pace).await?);
            // Groups without rows need a set, too.
            pace.step(1).await?;
        }
        group_sets.push(SetNumber::EMPTY);
        self.group_sets = group_sets;
        Ok(())
    }

    pub(super) fn row_count(&self) -> u32 {
        self.table.row_count as u32
    }

    /// The sets of the build side's rows.
    pub(super) fn build_sets(&self) -> BuildSets<'_> {
        BuildSets(self.layout.kept_set.map(|column| match self.table.column(column).values() {
            Values::Int(sets) => &sets[..],
            _ => panic!("columns of sets hold integers"),
        }))
    }

    /// The union of the rows' sets of a group, if that decides.
    #[inline]
    pub(super) fn group_set(&self, sets: BuildSets<'_>, group: u32) -> SetNumber {
        match self.group_sets.len().checked_sub(1) {
            Some(group_count) => self.group_sets[(group as usize).min(group_count)],
            None if group == NO_ROW => SetNumber::EMPTY,
            None => sets.get(group),
        }
    }

    /// The queries for which a key may equal a build key, because one of them is null.
    #[inline]
    pub(super) fn perhaps_equal(&self, key_is_valid: bool) -> SetNumber {
        if key_is_valid { self.null_keys_for } else { self.rows_for }
    }

    /// The remaining set of a row: the queries for which it has found no partner.
    #[inline]
    pub(super) fn waiting(&self, row: u32) -> SetNumber {
        SetNumber::from_u32(self.waiting[row as usize].load(Ordering::Relaxed))
    }

    /// Removes these queries from the row's remaining set.
    #[inline]
    pub(super) fn found(&self, row: u32, queries: SetNumber, calculator: &mut SetCalculator) -> Result<(), ExecError> {
        let mut before = self.waiting(row);
        loop {
            let after = calculator.subtract(before, queries)?;
            // A read keeps the cache line shared between workers if there is nothing to remove.
            if after == before {
                return Ok(());
            }
            let entry = &self.waiting[row as usize];
            match entry.compare_exchange_weak(before.to_u32(), after.to_u32(), Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(changed) => before = SetNumber::from_u32(changed),
            }
        }
    }
}

/// The union of these rows' sets.
async fn union(
    calculator: &mut SetCalculator,
    sets: BuildSets<'_>,
    rows: impl Iterator<Item = u32>,
    pace: &mut Pace,
) -> Result<SetNumber, ExecError> {
    let mut union = SetNumber::EMPTY;
    for row in rows {
        union = calculator.unite(union, sets.get(row))?;
        pace.step(1).await?;
    }
    Ok(union)
}
