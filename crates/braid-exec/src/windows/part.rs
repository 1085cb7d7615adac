//! A part of the rows, with whole partitions, on its way to sorted rows.

use std::sync::{Arc, OnceLock};

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::OPERATOR;
use super::segment::WindowKeys;
use super::segmentation::CutRows;
use crate::plan::SortSpec;
use crate::runtime::backpressure::Backpressure;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::pipeline::{Feed, Morsel, Sink, Source};
use crate::runtime::result_rows::{Piece, ResultRows};
use crate::runtime::stop::Stop;
use crate::runtime::turn::Turn;
use crate::sorting::{MergeFeed, RunSink, SortedRuns, Spilling, sorted_rows};
use crate::spill::{OperatorMemory, QuerySpill, SpilledRows, StoredRowsSource};
use crate::tuning::SortTuning;
use crate::{ExecError, MemoryBudget, Reservation, Vector};

/// Runs up to which rows are sorted at once: some tens of milliseconds.
const RUNS_AT_ONCE: usize = 4;

/// Bytes per row during a sort, beside the rows: a prefix and a number, and both again as a pair.
const SORTED_ROW_BYTES: usize = 8 + 4 + 16;

/// A part that takes more than this share of a worker's memory is evaluated while no other such part is.
const LARGE_PART_SHARE: usize = 4;

/// Rows of whole partitions.
pub(crate) enum Part {
    /// In the order of the partitions and their windows.
    Sorted(SortedRuns),
    /// In memory, in the order in which they came.
    Collected(CollectedRows),
    /// The same in a file.
    Spilled(SpilledRows),
}

/// Sorted rows.
pub(super) enum SortedPart {
    /// All in memory.
    Run(CutRows),
    /// Merged while they are read.
    Merged(MergeFeed),
}

impl Part {
    /// Bytes that its rows take in memory when they come from a file; 0 if they are in memory already, or stream.
    fn bytes_to_read(&self) -> usize {
        match self {
            Self::Sorted(_) | Self::Collected(_) => 0,
            Self::Spilled(rows) => {
                rows.blocks.iter().map(|block| block.memory_bytes).sum::<usize>() + rows.here.bytes()
            }
        }
    }
}

/// What sorts parts.
pub(super) struct PartSorter {
    spec: Arc<SortSpec>,
    budget: Arc<dyn MemoryBudget>,
    spill: Option<Arc<QuerySpill>>,
    worker_count: usize,
    tuning: SortTuning,
    /// The memory of all workers that sort parts in runs.
    memory: OnceLock<Arc<OperatorMemory>>,
    /// Held by the worker that evaluates a large part.
    large: Arc<Mutex<()>>,
}

impl PartSorter {
    pub fn new(
        keys: &WindowKeys,
        budget: Arc<dyn MemoryBudget>,
        spill: Option<Arc<QuerySpill>>,
        (worker_count, tuning): (usize, SortTuning),
    ) -> Self {
        let spec = Arc::new(SortSpec { keys: keys.keys().to_vec(), limit: None });
        Self { spec, budget, spill, worker_count, tuning, memory: OnceLock::new(), large: Arc::default() }
    }

    pub fn budget(&self) -> &Arc<dyn MemoryBudget> {
        &self.budget
    }

    /// Waits until a part may be evaluated. A large one waits for the end of another one, because each may have a partition
    /// that takes most of the query's memory.
    pub async fn admit(&self, part: &Part) -> Option<OwnedMutexGuard<()>> {
        let is_large = part.bytes_to_read() > self.budget.free() / (LARGE_PART_SHARE * self.worker_count);
        if is_large { Some(self.large.clone().lock_owned().await) } else { None }
    }

    /// The rows of a part in order.
    ///
    /// # Errors
    /// When memory is refused, a file cannot be written or read, or the query is cancelled.
    pub async fn sorted(&self, part: Part, turn: &Turn) -> Result<SortedPart, ExecError> {
        match part {
            Part::Sorted(runs) => Ok(match runs.into_only_run() {
                Ok(run) => match Arc::try_unwrap(run) {
                    Ok(run) => SortedPart::Run(self.run(run)),
                    Err(_) => unreachable!("no one else has the run"),
                },
                Err(runs) => SortedPart::Merged(MergeFeed::new(runs)),
            }),
            Part::Collected(rows) => self.sorted_at_once(rows, turn).await,
            Part::Spilled(rows) => {
                let spill = self.spill.clone().expect("what was written can be read");
                let source = StoredRowsSource::new(spill, Arc::new(rows));
                let mut feed = source.start(&[]).feed();
                self.sorted_in_runs(&mut *feed, turn).await
            }
        }
    }

    fn run(&self, run: ResultRows) -> CutRows {
        let (row_count, columns, reservation) = run.into_parts();
        let reservation = reservation.unwrap_or_else(|| Reservation::new(self.budget.clone(), OPERATOR));
        CutRows { row_count, columns, reservation, before: None }
    }

    /// Sorts rows in memory, unless these are many, or there is too little memory for a copy.
    async fn sorted_at_once(&self, rows: CollectedRows, turn: &Turn) -> Result<SortedPart, ExecError> {
        let (row_count, bytes) = (rows.row_count(), rows.bytes());
        let mut run = self.run(rows.into_result());
        let is_small = row_count <= RUNS_AT_ONCE * self.tuning.run_rows;
        if is_small {
            match run.reservation.resize(2 * bytes + SORTED_ROW_BYTES * row_count) {
                Err(ExecError::Memory(_)) if self.spill.is_some() => {}
                reserved => {
                    reserved?;
                    run.columns = turn.go_on_for(row_count, || {
                        let order = sorted_rows(&run.columns, row_count, &self.spec.keys, None);
                        Ok(run.columns.iter().map(|column| column.take(&order)).collect::<Vec<Vector>>())
                    })?;
                    run.reservation.resize(run.columns.iter().map(Vector::bytes).sum())?;
                    return Ok(SortedPart::Run(run));
                }
            }
        }
        let CutRows { columns, reservation, .. } = run;
        let rows = Arc::new(ResultRows::holding(row_count, columns, reservation));
        self.sorted_in_runs(&mut OneMorsel(Some(rows)), turn).await
    }

    /// Sorts rows in runs, which spill if they exceed the memory.
    async fn sorted_in_runs(&self, feed: &mut dyn Feed, turn: &Turn) -> Result<SortedPart, ExecError> {
        let spilling = self.spill.as_ref().map(|spill| {
            let memory = self.memory.get_or_init(|| OperatorMemory::new(spill, self.worker_count));
            Spilling::new(spill.clone(), memory)
        });
        let mut sink = RunSink::new(self.spec.clone(), self.budget.clone(), spilling, self.tuning);
        while let Some(mut morsel) = feed.next().await? {
            while let Some(batch) = morsel.next_batch()? {
                turn.go_on(|| sink.consume(batch)).map_err(Stop::into_error)?;
                if !sink.is_ready() {
                    sink.ready().await?;
                }
                if let Some(spill) = self.spill.as_ref().filter(|spill| spill.is_congested()) {
                    spill.until_not_congested().await?;
                }
                if turn.is_over() {
                    tokio::task::yield_now().await;
                    turn.begin();
                }
            }
        }
        // A partition may need the memory that the last runs hold.
        sink.spill_the_rest().await?;
        Ok(SortedPart::Merged(MergeFeed::new(SortedRuns::of_workers(vec![sink]).await?)))
    }
}

/// Rows in memory as one morsel.
struct OneMorsel(Option<Arc<ResultRows>>);

impl Feed for OneMorsel {
    fn next(&mut self) -> futures::future::BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let morsel = self.0.take().map(|rows| Box::new(Piece::of_all(rows)) as Box<dyn Morsel>);
        Box::pin(std::future::ready(Ok(morsel)))
    }
}
