//! ORDER BY: rows in memory up to a limit, or sorted runs, which spill if they exceed the memory.

use std::sync::Arc;

use super::{Executor, Rows, Wanted, place_among};
use crate::plan::{Plan, SortSpec};
use crate::runtime::pipeline::Source;
use crate::runtime::result_rows::{ResultRows, ResultSource};
use crate::runtime::stop::Stop;
use crate::sorting::{RunSink, SortWorker, SortedRuns, SortedSource, Spilling};
use crate::spill::OperatorMemory;

/// The input of a sort.
pub(super) struct SortInput {
    pub(super) rows: Rows,
    /// The columns that are read. Rows have only these.
    pub(super) kept: Vec<usize>,
    /// The specification for these columns.
    pub(super) spec: Arc<SortSpec>,
}

impl Executor {
    pub(super) async fn sort(&self, input: &Plan, spec: &SortSpec, wanted: Wanted) -> Result<Rows, Stop> {
        let sorted = self.sort_input(input, spec, wanted).await?;
        if sorted.spec.limit.is_none_or(|limit| limit > self.tuning.sorting.run_rows) {
            return self.sort_in_runs(sorted, input.column_count()).await;
        }
        let SortInput { rows, kept, spec } = sorted;
        let workers = self
            .drain(rows, || SortWorker::with_tuning(spec.clone(), self.budget.clone(), self.tuning.sorting))
            .await?;
        Ok(self.of_sorted(SortWorker::finish(workers, kept.len())?, &kept, input.column_count()))
    }

    pub(super) async fn sort_in_runs(&self, input: SortInput, column_count: usize) -> Result<Rows, Stop> {
        let kept = input.kept.clone();
        let source: Arc<dyn Source> = match self.sorted_runs(input).await?.into_only_run() {
            Ok(run) => Arc::new(ResultSource::in_order(run)),
            Err(runs) => Arc::new(SortedSource::new(runs)),
        };
        Ok(self.of_sorted_source(source, &kept, column_count))
    }

    /// The sorted runs of all rows.
    pub(super) async fn sorted_runs(&self, input: SortInput) -> Result<SortedRuns, Stop> {
        let SortInput { rows, spec, .. } = input;
        let memory = self.spill.as_ref().map(|spill| (spill, OperatorMemory::new(spill, self.worker_count)));
        let sink = || {
            let spilling = memory.as_ref().map(|(spill, memory)| Spilling::new((*spill).clone(), memory));
            RunSink::new(spec.clone(), self.budget.clone(), spilling, self.tuning.sorting)
        };
        Ok(SortedRuns::of_workers(self.drain(rows, sink).await?).await?)
    }

    /// The input of a sort, with only the columns that are read.
    pub(super) async fn sort_input(&self, input: &Plan, spec: &SortSpec, wanted: Wanted) -> Result<SortInput, Stop> {
        let mut read = wanted.columns.clone();
        spec.keys.iter().for_each(|key| read[key.column] = true);
        // Dropping rows below a limit would change its first rows.
        let below = wanted.of_input(read.clone(), |column| spec.limit.is_none().then_some(column));
        let mut rows = self.rows(input, below).await?;
        let kept: Vec<usize> = (0..read.len()).filter(|column| read[*column]).collect();
        rows.relayout(kept.iter().copied().map(Some).collect());
        let mut spec = spec.clone();
        for key in &mut spec.keys {
            key.column = place_among(&kept, key.column).expect("sort keys are read");
        }
        Ok(SortInput { rows, kept, spec: Arc::new(spec) })
    }

    /// Sorted rows, with their columns at the positions of the plan.
    pub(super) fn of_sorted(&self, sorted: ResultRows, kept: &[usize], column_count: usize) -> Rows {
        self.of_sorted_source(Arc::new(ResultSource::in_order(Arc::new(sorted))), kept, column_count)
    }

    fn of_sorted_source(&self, source: Arc<dyn Source>, kept: &[usize], column_count: usize) -> Rows {
        let mut rows = self.of_source(source, kept.len(), &Wanted::columns(Vec::new()));
        rows.in_order = true;
        rows.relayout((0..column_count).map(|column| place_among(kept, column)).collect());
        rows
    }
}
