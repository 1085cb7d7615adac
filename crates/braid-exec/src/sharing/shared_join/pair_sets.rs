//! Pairs with equal keys and a non-empty query set.
//!
//! The sets of both rows are intersected first, because that costs least. The columns of the remaining pairs are then combined
//! as far as they are read, and the conditions are evaluated.

use std::sync::Arc;

use crate::expression::Evaluator;
use crate::joins::hash::Pairs;
use crate::plan::shared_operator::SetEvaluator;
use crate::query_sets::set_calculator::{SetCalculator, SetOperation};
use crate::sharing::shared_join::{SharedJoinLayout, SharedTable};
use crate::{Batch, ExecError, MemoryBudget, SetNumber};

/// Pairs with non-empty sets.
pub(super) struct SetPairs {
    pub(super) probe_rows: Vec<u32>,
    pub(super) build_rows: Vec<u32>,
    pub(super) sets: Vec<SetNumber>,
    /// Their columns, if they are read.
    pub(super) batch: Option<Batch>,
}

/// One worker's conditions on pairs.
pub(super) struct PairConditions {
    residual: Option<Evaluator>,
    by_query: Option<SetEvaluator>,
}

impl SetPairs {
    /// The pairs with the intersections of both rows' sets.
    pub(super) fn of(
        pairs: Pairs,
        wanted: &[SetNumber],
        build_set: impl Fn(u32) -> SetNumber,
        calculator: &mut SetCalculator,
    ) -> Result<Self, ExecError> {
        let Pairs { probe_rows, build_rows } = pairs;
        let mut sets = Vec::with_capacity(probe_rows.len());
        for (probe_row, build_row) in probe_rows.iter().zip(&build_rows) {
            sets.push(calculator.intersect(wanted[*probe_row as usize], build_set(*build_row))?);
        }
        let mut pairs = Self { probe_rows, build_rows, sets, batch: None };
        pairs.drop_empty();
        Ok(pairs)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Combines the columns of both rows.
    pub(super) fn join(&mut self, batch: &Batch, shared: &SharedTable) {
        let mut joined = batch.clone();
        let are_all = self.probe_rows.len() == batch.row_count()
            && self.probe_rows.iter().zip(0u32..).all(|(probe_row, row)| *probe_row == row);
        if !are_all {
            joined.take(&self.probe_rows);
        }
        let table = shared.table.clone();
        self.batch = Some(shared.layout.join(joined, table, self.build_rows.clone()));
    }

    /// Drops the pairs with an empty set.
    fn drop_empty(&mut self) {
        if self.sets.contains(&SetNumber::EMPTY) {
            let keep: Vec<bool> = self.sets.iter().map(|set| *set != SetNumber::EMPTY).collect();
            self.retain(&keep);
        }
    }

    fn retain(&mut self, keep: &[bool]) {
        let Self { probe_rows, build_rows, sets, batch } = self;
        assert_eq!(keep.len(), sets.len(), "one decision for each pair");
        let mut count = 0;
        for (at, keep) in keep.iter().enumerate() {
            probe_rows[count] = probe_rows[at];
            build_rows[count] = build_rows[at];
            sets[count] = sets[at];
            count += usize::from(*keep);
        }
        probe_rows.truncate(count);
        build_rows.truncate(count);
        sets.truncate(count);
        batch.iter_mut().for_each(|batch| batch.retain(keep));
    }
}

impl PairConditions {
    /// The conditions of a join, whose long values are counted under `budget`.
    pub(super) fn new(layout: &SharedJoinLayout, budget: &Arc<dyn MemoryBudget>) -> Self {
        Self {
            residual: layout.residual.clone().map(|residual| Evaluator::new(residual, budget)),
            by_query: layout.condition.as_ref().map(|condition| (condition.evaluator)()),
        }
    }

    /// Removes from each pair's set the queries for which the conditions do not hold, and drops pairs with an empty set.
    pub(super) fn apply(&mut self, pairs: &mut SetPairs, calculator: &mut SetCalculator) -> Result<(), ExecError> {
        if let (Some(residual), Some(batch)) = (&mut self.residual, &mut pairs.batch) {
            let keep = residual.select(batch)?;
            pairs.retain(&keep);
        }
        if let (Some(by_query), Some(batch)) = (&mut self.by_query, &mut pairs.batch)
            && batch.row_count() > 0
        {
            let holds = by_query(batch)?;
            calculator.apply(SetOperation::Intersect, &mut pairs.sets, &holds)?;
            pairs.drop_empty();
        }
        Ok(())
    }
}
