//! The sorted runs of workers.
//!
//! A worker sorts its rows whenever it has [`run_rows`](crate::tuning::SortTuning::run_rows) of them, so that all cores sort,
//! each for a short time. If its runs exceed the memory, it merges them into one run in a file.

use std::collections::VecDeque;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::merge::{Merged, SortMerge};
use super::{SortRows, sorted_rows};
use crate::plan::SortSpec;
use crate::runtime::pipeline::Sink;
use crate::runtime::result_rows::ResultRows;
use crate::runtime::stop::Stop;
use crate::spill::{BlockPlace, OperatorMemory, QuerySpill, SpillFile, WorkerMemory};
use crate::tuning::SortTuning;
use crate::{Batch, ExecError, MemoryBudget, Vector};

/// Maximum bytes of a run, for long rows.
const RUN_BYTES: usize = 8 << 20;

/// One worker's rows.
pub(crate) struct RunSink {
    pub(super) spec: Arc<SortSpec>,
    budget: Arc<dyn MemoryBudget>,
    rows: SortRows,
    run_rows: usize,
    pub(super) runs: Vec<Arc<ResultRows>>,
    /// The bytes of all runs.
    run_bytes: usize,
    pub(super) spilling: Option<Spilling>,
}

/// The spilling of a worker.
pub(crate) struct Spilling {
    pub(super) spill: Arc<QuerySpill>,
    memory: WorkerMemory,
    run_bytes: usize,
    is_full: bool,
    pub(super) stored: Vec<StoredRun>,
}

/// A run in a file.
pub(super) struct StoredRun {
    pub(super) file: Arc<SpillFile>,
    pub(super) blocks: VecDeque<BlockPlace>,
}

impl Spilling {
    pub(crate) fn new(spill: Arc<QuerySpill>, memory: &Arc<OperatorMemory>) -> Self {
        let run_bytes = (memory.share() / 8).clamp(1, RUN_BYTES);
        Self { spill, memory: memory.of_worker(), run_bytes, is_full: false, stored: Vec::new() }
    }
}

impl RunSink {
    /// A sink without rows. Without `spilling`, exceeding the budget is an error.
    pub(crate) fn new(
        spec: Arc<SortSpec>,
        budget: Arc<dyn MemoryBudget>,
        spilling: Option<Spilling>,
        tuning: SortTuning,
    ) -> Self {
        let run_rows = tuning.run_rows;
        Self { spec, run_rows, rows: SortRows::new(budget.clone()), budget, runs: Vec::new(), run_bytes: 0, spilling }
    }

    /// Sorts the rows that are in no run into a new run.
    pub(super) fn close_run(&mut self) -> Result<(), ExecError> {
        if self.rows.row_count() == 0 {
            return Ok(());
        }
        let SortSpec { keys, limit } = &*self.spec;
        self.rows.arrange(0, |columns, row_count| sorted_rows(columns, row_count, keys, *limit))?;
        let rows = std::mem::replace(&mut self.rows, SortRows::new(self.budget.clone()));
        let run = Arc::new(rows.into_result());
        self.run_bytes += run.bytes();
        self.runs.push(run);
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.rows.bytes() + self.run_bytes
    }

    /// Spills all runs if memory was refused. Rows that are too few to be worth writing stay in memory without a reservation;
    /// other workers hold the memory, and release it when they spill.
    fn settle(&mut self, taken: Result<(), ExecError>) -> Result<(), ExecError> {
        let bytes = self.bytes();
        let Some(spilling) = &mut self.spilling else { return taken };
        spilling.is_full |= spilling.memory.set_held(bytes);
        let taken = match taken {
            Err(ExecError::Memory(_)) => {
                spilling.spill.wait_for_writes()?;
                self.rows.reserve()
            }
            taken => taken,
        };
        let Err(ExecError::Memory(_)) = taken else { return taken };
        let (bytes_min, is_worth_writing) = (spilling.memory.bytes_min(), spilling.memory.is_worth_writing());
        if is_worth_writing {
            if let Some(mut writing) = self.start_spilling()? {
                while writing.write_next()? {}
                self.finish_spilling(writing);
            }
            // The rows that are in no run are in memory, although memory was refused for them.
            self.wait_for_writes()?;
        }
        match self.rows.reserve() {
            Err(ExecError::Memory(_)) if self.rows.bytes() < bytes_min => Ok(()),
            reserved => reserved,
        }
    }

    pub(super) fn wait_for_writes(&self) -> Result<(), ExecError> {
        self.spilling.as_ref().map_or(Ok(()), |spilling| spilling.spill.wait_for_writes())
    }

    fn start_spilling(&mut self) -> Result<Option<SpillingRuns>, ExecError> {
        let Some(spilling) = &self.spilling else { return Ok(None) };
        let runs = std::mem::take(&mut self.runs);
        let rows: usize = runs.iter().map(|run| run.row_count()).sum();
        if rows == 0 {
            return Ok(None);
        }
        let bytes = std::mem::take(&mut self.run_bytes);
        let mut merge = SortMerge::new(self.spec.keys.clone(), runs.len());
        runs.into_iter().enumerate().for_each(|(at, run)| merge.go_on(at, Some(run)));
        Ok(Some(SpillingRuns::new(merge, spilling.spill.clone(), bytes.div_ceil(rows))?))
    }

    fn finish_spilling(&mut self, writing: SpillingRuns) {
        let bytes = self.bytes();
        let spilling = self.spilling.as_mut().expect("there is a file");
        spilling.stored.push(writing.stored);
        spilling.memory.set_held(bytes);
        spilling.is_full = false;
    }

    /// Spills the rows in memory, if other rows have been spilled.
    pub(crate) async fn spill_the_rest(&mut self) -> Result<(), ExecError> {
        let has_spilled = self.spilling.as_ref().is_some_and(|spilling| !spilling.stored.is_empty());
        if has_spilled { self.close_run_and_spill().await } else { Ok(()) }
    }

    async fn close_run_and_spill(&mut self) -> Result<(), ExecError> {
        self.close_run()?;
        self.spill_runs().await
    }

    pub(super) async fn spill_runs(&mut self) -> Result<(), ExecError> {
        match self.start_spilling()? {
            Some(mut writing) => {
                while writing.write_next()? {
                    tokio::task::yield_now().await;
                }
                self.finish_spilling(writing);
            }
            None => self.spilling.iter_mut().for_each(|spilling| spilling.is_full = false),
        }
        Ok(())
    }
}

impl Sink for RunSink {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        let mut taken = self.rows.collect(batch);
        let run_bytes = self.spilling.as_ref().map_or(RUN_BYTES, |spilling| spilling.run_bytes);
        if taken.is_ok() && (self.rows.row_count() >= self.run_rows || self.rows.bytes() >= run_bytes) {
            taken = self.close_run();
        }
        Ok(self.settle(taken)?)
    }

    fn is_ready(&self) -> bool {
        self.spilling.as_ref().is_none_or(|spilling| !spilling.is_full)
    }

    fn ready(&mut self) -> BoxFuture<'_, Result<(), ExecError>> {
        Box::pin(self.close_run_and_spill())
    }
}

/// Runs that are being merged into one run in a file.
pub(super) struct SpillingRuns {
    pub(super) merge: SortMerge,
    spill: Arc<QuerySpill>,
    pub(super) block_rows: usize,
    pub(super) stored: StoredRun,
}

impl SpillingRuns {
    pub(super) fn new(merge: SortMerge, spill: Arc<QuerySpill>, row_bytes: usize) -> Result<Self, ExecError> {
        let block_rows = (spill.settings().block_bytes / row_bytes.max(1)).max(1);
        let stored = StoredRun { file: spill.create_file()?, blocks: VecDeque::new() };
        Ok(Self { merge, spill, block_rows, stored })
    }

    /// Writes the next rows; false at the end. All runs are in memory.
    fn write_next(&mut self) -> Result<bool, ExecError> {
        let Merged { columns, row_count, waits_for } = self.merge.step(self.block_rows);
        // A run that is completely in memory has no further part.
        waits_for.into_iter().for_each(|run| self.merge.go_on(run, None));
        self.write(row_count, &columns)?;
        Ok(row_count > 0)
    }

    pub(super) fn write(&mut self, row_count: usize, columns: &[Vector]) -> Result<(), ExecError> {
        if row_count > 0 {
            self.stored.blocks.push_back(self.spill.write(&self.stored.file, row_count, columns.iter())?);
        }
        Ok(())
    }
}
