//! Groups with foreign aggregates.

use std::sync::Arc;

use super::{Executor, Rows, Wanted};
use crate::aggregation::spilled_source::MakeWorker;
use crate::aggregation::{AggregationWorker, ForeignCalls};
use crate::plan::{AggregationSpec, ForeignCall, Plan, SetColumn};
use crate::runtime::stop::Stop;

impl Executor {
    /// Groups all rows. One worker takes them in if a call needs their order.
    pub(super) async fn accumulate(
        &self,
        input: &Plan,
        spec: &Arc<AggregationSpec>,
        foreign: &Arc<[ForeignCall]>,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let mut read = vec![false; input.column_count()];
        spec.columns().chain(foreign.iter().flat_map(ForeignCall::columns)).for_each(|column| read[column] = true);
        // A filter on the keys drops all rows of a group, so that it also applies to the input.
        let mut below = wanted.of_input(read, |column| spec.keys.get(column).copied());
        below.may_restart = true;
        let needs_order = foreign.iter().any(|call| call.function.needs_order());
        let make_worker = self.accumulating(spec, foreign, None);
        let groups = loop {
            let made = async {
                let mut rows = self.rows(input, below.clone()).await?;
                rows.in_order |= needs_order;
                self.groups(rows, spec, make_worker.clone()).await
            };
            match made.await {
                Err(Stop::Restart(join)) => self.avoid(join),
                groups => break groups?,
            }
        };
        Ok(self.of_source(groups, spec.keys.len() + spec.aggregates.len() + foreign.len(), &wanted))
    }

    /// The groups of each query of a pass.
    pub(super) async fn shared_accumulate(
        &self,
        input: &Plan,
        (spec, foreign): (&Arc<AggregationSpec>, &Arc<[ForeignCall]>),
        sets: &SetColumn,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let mut read = vec![false; input.column_count()];
        spec.columns().chain(foreign.iter().flat_map(ForeignCall::columns)).for_each(|column| read[column] = true);
        read[sets.column] = true;
        let below = wanted.of_input(read, |column| spec.keys.get(column).copied());
        let mut rows = self.rows(input, below).await?;
        rows.in_order |= foreign.iter().any(|call| call.function.needs_order());
        let groups = self.groups(rows, spec, self.accumulating(spec, foreign, Some(sets.clone()))).await?;
        Ok(self.of_source(groups, spec.keys.len() + spec.aggregates.len() + foreign.len() + 1, &wanted))
    }

    fn accumulating(
        &self,
        spec: &Arc<AggregationSpec>,
        foreign: &Arc<[ForeignCall]>,
        sets: Option<SetColumn>,
    ) -> MakeWorker {
        let spec = spec.clone();
        let calls = ForeignCalls { calls: foreign.clone(), cancelled: self.cancelled.clone() };
        let (budget, tuning) = (self.budget.clone(), self.tuning.aggregation);
        Arc::new(move || AggregationWorker::with_foreign(&spec, calls.clone(), sets.clone(), budget.clone(), tuning))
    }
}
