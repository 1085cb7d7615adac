//! The source that merges sorted runs while its rows are read.

use std::fmt;
use std::sync::Arc;

use braid_base::VECTOR_ROWS;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::merge::{Merged, SortMerge};
use super::runs::{RunSink, SpillingRuns, StoredRun};
use crate::plan::{SortKey, SortSpec};
use crate::runtime::backpressure::Backpressure;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource, run_all};
use crate::runtime::result_rows::ResultRows;
use crate::spill::{BlockAhead, QuerySpill};
use crate::{Batch, ExecError};

/// Minimum number of runs that are merged at a time, for any budget.
const FAN_IN_MIN: usize = 4;

/// Bytes of a batch of merged rows, for long rows.
const BATCH_BYTES: usize = 1 << 20;

/// A run that is read from a file, one block ahead. The number of merged runs depends on the free memory. If other operators
/// take this memory meanwhile, the merge exceeds the budget by at most two blocks per run.
struct RunReader {
    spill: Arc<QuerySpill>,
    run: StoredRun,
    ahead: Option<BlockAhead>,
}

impl RunReader {
    fn new(spill: Arc<QuerySpill>, run: StoredRun) -> Self {
        Self { spill, run, ahead: None }
    }

    async fn next(&mut self) -> Result<Option<Arc<ResultRows>>, ExecError> {
        let Some(block) = self.ahead.take().or_else(|| self.begin()) else { return Ok(None) };
        let rows = block.rows().await?;
        self.ahead = self.begin();
        Ok(Some(Arc::new(rows)))
    }

    fn begin(&mut self) -> Option<BlockAhead> {
        let place = self.run.blocks.pop_front()?;
        Some(BlockAhead::begin(&self.spill, &self.run.file, place, "sort"))
    }
}

/// Sorted rows of all workers.
pub(crate) struct SortedRuns {
    keys: Vec<SortKey>,
    limit: Option<usize>,
    runs: Vec<Arc<ResultRows>>,
    stored: Vec<StoredRun>,
    spill: Option<Arc<QuerySpill>>,
}

impl SortedRuns {
    /// The runs of workers that have consumed all rows. All workers sort their remaining rows at the same time.
    ///
    /// # Errors
    /// When memory is refused, or a file cannot be written or read.
    pub(crate) async fn of_workers(sinks: Vec<RunSink>) -> Result<Self, ExecError> {
        let Some(spec) = sinks.first().map(|sink| sink.spec.clone()) else { panic!("there is a worker") };
        let SortSpec { keys, limit } = &*spec;
        let mut closed = run_all(sinks.into_iter().map(|mut sink| async move {
            match sink.close_run() {
                // There is not enough memory to sort the remaining rows while the runs are in memory.
                Err(ExecError::Memory(_)) => sink.spill_runs().await?,
                closed => closed?,
            }
            Ok(sink)
        }))
        .await?;
        for at in 0..closed.len() {
            if let Err(ExecError::Memory(_)) = closed[at].close_run() {
                // Other workers' runs may still hold memory, or be written.
                for sink in &mut closed {
                    sink.spill_runs().await?;
                }
                closed[at].wait_for_writes()?;
                closed[at].close_run()?;
            }
        }
        let mut all = Self { keys: keys.clone(), limit: *limit, runs: Vec::new(), stored: Vec::new(), spill: None };
        for sink in closed {
            all.runs.extend(sink.runs);
            if let Some(spilling) = sink.spilling {
                all.stored.extend(spilling.stored);
                all.spill = Some(spilling.spill);
            }
        }
        all.merge_beforehand().await?;
        Ok(all)
    }

    /// The only run, if it has all rows.
    pub(crate) fn into_only_run(mut self) -> Result<Arc<ResultRows>, Self> {
        let is_only = self.stored.is_empty() && self.runs.len() == 1;
        if is_only { Ok(self.runs.pop().expect("there is one")) } else { Err(self) }
    }

    /// Merges runs into larger ones while one block of each run exceeds the memory.
    async fn merge_beforehand(&mut self) -> Result<(), ExecError> {
        let Some(spill) = self.spill.clone() else { return Ok(()) };
        // Blocks being written count as memory, too.
        spill.until_all_written().await?;
        loop {
            // Each run needs the current block and one block ahead.
            let block_bytes = self.stored.iter().flat_map(|run| &run.blocks).map(|block| block.memory_bytes).max();
            let fan_in = spill.budget().free().min(spill.settings().operator_bytes_max)
                / 2
                / (2 * block_bytes.unwrap_or(1)).max(1);
            let fan_in = fan_in.max(FAN_IN_MIN);
            if self.stored.len() <= fan_in {
                return Ok(());
            }
            let runs: Vec<StoredRun> = self.stored.drain(..fan_in).collect();
            self.stored.insert(0, self.merge_stored(runs, &spill).await?);
        }
    }

    async fn merge_stored(&self, runs: Vec<StoredRun>, spill: &Arc<QuerySpill>) -> Result<StoredRun, ExecError> {
        let row_bytes = runs[0].blocks.front().map_or(1, |block| block.memory_bytes.div_ceil(block.row_count));
        let mut readers: Vec<RunReader> = runs.into_iter().map(|run| RunReader::new(spill.clone(), run)).collect();
        let merge = SortMerge::new(self.keys.clone(), readers.len());
        let mut writing = SpillingRuns::new(merge, spill.clone(), row_bytes)?;
        loop {
            while let Some(run) = writing.merge.waits_for() {
                let rows = readers[run].next().await?;
                writing.merge.go_on(run, rows);
            }
            let Merged { columns, row_count, .. } = writing.merge.step(writing.block_rows);
            if row_count == 0 {
                return Ok(writing.stored);
            }
            writing.write(row_count, &columns)?;
            if spill.is_congested() {
                spill.until_not_congested().await?;
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Sorted runs as a source: merged, for one worker.
pub(crate) struct SortedSource(Mutex<Option<SortedRuns>>);

impl SortedSource {
    pub(crate) fn new(runs: SortedRuns) -> Self {
        Self(Mutex::new(Some(runs)))
    }
}

impl fmt::Debug for SortedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for SortedSource {
    fn worker_count_max(&self) -> usize {
        1
    }

    /// Panics when it is started again.
    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        let runs = self.0.lock().take().expect("sorted runs are read once");
        Arc::new(Mutex::new(Some(MergeFeed::new(runs))))
    }

    fn describe(&self) -> String {
        "sorted runs".to_owned()
    }
}

impl StartedSource for Mutex<Option<MergeFeed>> {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(self.lock().take().expect("sorted runs have one worker"))
    }
}

/// Sorted rows that are merged while they are read.
pub(crate) struct MergeFeed {
    merge: SortMerge,
    readers: Vec<RunReader>,
    /// The remaining number of rows up to the limit.
    left: usize,
}

impl MergeFeed {
    pub(crate) fn new(sorted: SortedRuns) -> Self {
        let SortedRuns { keys, limit, runs, stored, spill } = sorted;
        // Written rows precede the rows in memory.
        let mut merge = SortMerge::new(keys, stored.len() + runs.len());
        let first_here = stored.len();
        runs.into_iter().enumerate().for_each(|(at, run)| merge.go_on(first_here + at, Some(run)));
        let reader = |run| RunReader::new(spill.clone().expect("what was written can be read"), run);
        Self { merge, readers: stored.into_iter().map(reader).collect(), left: limit.unwrap_or(usize::MAX) }
    }
}

impl Feed for MergeFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            let batch = self.next_batch().await?;
            Ok(batch.map(|batch| Box::new(MergedMorsel { feed: self, batch: Some(batch) }) as Box<dyn Morsel>))
        })
    }
}

impl MergeFeed {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// When a part of a run cannot be read.
    pub(crate) async fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        while let Some(run) = self.merge.waits_for() {
            let rows = match self.readers.get_mut(run) {
                Some(reader) => reader.next().await?,
                // A run that was completely in memory has no further part.
                None => None,
            };
            self.merge.go_on(run, rows);
        }
        Ok(self.batch())
    }

    /// The next rows; `None` at the end, or if a run needs its next part.
    fn batch(&mut self) -> Option<Batch> {
        if self.merge.waits_for().is_some() {
            return None;
        }
        let rows = (BATCH_BYTES / self.merge.row_bytes().max(1)).clamp(1, VECTOR_ROWS);
        let Merged { columns, row_count, .. } = self.merge.step(rows.min(self.left));
        self.left -= row_count;
        (row_count > 0).then(|| Batch::of_vectors(row_count, columns.into_iter().map(Arc::new)))
    }
}

/// The rows until a run needs its next part.
struct MergedMorsel<'a> {
    feed: &'a mut MergeFeed,
    batch: Option<Batch>,
}

impl Morsel for MergedMorsel<'_> {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        Ok(self.batch.take().or_else(|| self.feed.batch()))
    }
}
