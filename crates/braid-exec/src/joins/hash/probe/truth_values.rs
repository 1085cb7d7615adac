//! The value of a condition over all partners: true, null or false for each probe row ([`ProbeTruth`](crate::plan::JoinKind::ProbeTruth)).
//!
//! It is true if the condition is true for a build row, otherwise null if it is null for one, otherwise false. This is the mark join of
//! Neumann, Leis and Kemper, *The Complete Story of Joins (in HyPer)*, BTW 2017, for any condition. Pairs with equal keys are found in the
//! hash table, and decide most rows. Where null keys make the comparison unknown ([`NullKeys::Unknown`](crate::plan::NullKeys::Unknown)),
//! two slow ways are left, for probe rows that no pair makes true: a row without null keys is compared with the build rows that have some,
//! and a row with null keys with all build rows, each up to the first for which the condition is not false.

use std::sync::Arc;

use super::join_probe::{JoinProbe, Outcome, Test};
use crate::joins::hash::probe::candidates::Candidates;
use crate::runtime::stop::Stop;
use crate::{Batch, Vector};

impl JoinProbe {
    /// Finds the rows that have no partner, and for which the condition is null for a build row. Those with a partner are noted, too, and
    /// are looked at no further.
    pub(super) fn decide_on_unknown(
        &mut self,
        batch: &Batch,
        keys: &[Arc<Vector>],
        outcome: &mut Outcome,
    ) -> Result<(), Stop> {
        let table = self.table.clone();
        let Outcome { paired, perhaps_paired } = outcome;
        perhaps_paired.copy_from_slice(paired);
        let emit: &mut dyn FnMut(Batch) -> Result<(), Stop> = &mut |_| unreachable!("marks make no pairs");
        let of_groups = Candidates::of_groups(&self.groups, table.lists.as_ref());
        match &table.lists {
            Some(lists) => {
                let row_at = |place: u32| lists.rows()[place as usize];
                self.decide(Test::Possible, batch, of_groups, row_at, perhaps_paired, emit)?;
            }
            None => self.decide(Test::Possible, batch, of_groups, |row| row, perhaps_paired, emit)?,
        }
        if !table.spec.null_keys.are_unknown() {
            return Ok(());
        }
        let has_null = |row: usize| keys.iter().any(|key| !key.is_valid(row));
        let open = |with_null: bool| {
            let rows = (0..paired.len()).filter(move |row| has_null(*row) == with_null);
            rows.map(|row| row as u32).collect::<Vec<u32>>()
        };
        let with_null_keys = Candidates::of_all(open(false).into_iter(), table.null_key_rows.len());
        let with_all = Candidates::of_all(open(true).into_iter(), table.row_count);
        let row_at = |place: u32| table.null_key_rows[place as usize];
        self.decide(Test::Possible, batch, with_null_keys, row_at, perhaps_paired, emit)?;
        self.decide(Test::Possible, batch, with_all, |row| row, perhaps_paired, emit)
    }
}
