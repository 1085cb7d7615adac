//! The source of rows with the results of window functions.
//!
//! The rows come in parts, each of which has whole partitions. A worker takes a part, sorts it if that is not done yet, cuts the sorted rows
//! into segments and hands these on with their results, one morsel each. A part that is in memory as a whole is one segment.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use super::evaluation::Evaluation;
use super::part::{Part, PartSorter, SortedPart};
use super::segment::WindowKeys;
use super::segmentation::{CutRows, Segmentation};
use crate::plan::WindowSpec;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::runtime::result_rows::Piece;
use crate::runtime::stop::StopFlag;
use crate::runtime::turn::Turn;
use crate::sorting::MergeFeed;
use crate::spill::QuerySpill;
use crate::tuning::SortTuning;
use crate::{ExecError, MemoryBudget};

/// What the rows of parts are evaluated with.
pub(crate) struct WindowRun {
    pub(crate) spec: Arc<WindowSpec>,
    pub(crate) budget: Arc<dyn MemoryBudget>,
    pub(crate) spill: Option<Arc<QuerySpill>>,
    pub(crate) worker_count: usize,
    pub(crate) tuning: SortTuning,
    pub(crate) cancelled: StopFlag,
}

/// The rows with their results.
pub(crate) struct WindowSource {
    started: Arc<Started>,
    part_count: usize,
}

struct Started {
    parts: Mutex<Vec<Part>>,
    spec: Arc<WindowSpec>,
    keys: Arc<WindowKeys>,
    sorter: PartSorter,
    cancelled: StopFlag,
}

impl WindowSource {
    /// The rows of all parts, the last part first. Their columns are those of the specification.
    pub(crate) fn new(parts: Vec<Part>, run: WindowRun) -> Self {
        let WindowRun { spec, budget, spill, worker_count, tuning, cancelled } = run;
        let (part_count, keys) = (parts.len(), Arc::new(WindowKeys::of(&spec)));
        let sorter = PartSorter::new(&keys, budget, spill, (worker_count, tuning));
        Self { started: Arc::new(Started { parts: Mutex::new(parts), spec, keys, sorter, cancelled }), part_count }
    }
}

impl fmt::Debug for WindowSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe())
    }
}

impl Source for WindowSource {
    fn worker_count_max(&self) -> usize {
        self.part_count
    }

    /// The parts go to the feeds of all starts together.
    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(self.started.clone())
    }

    fn describe(&self) -> String {
        "windows".to_owned()
    }
}

impl StartedSource for Arc<Started> {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(WindowFeed { of: self.clone(), part: None, turn: Turn::new(self.cancelled.clone()) })
    }
}

/// One worker's feed.
struct WindowFeed {
    of: Arc<Started>,
    part: Option<RunningPart>,
    turn: Turn,
}

/// A part that is being evaluated.
struct RunningPart {
    sorted: SortedSegments,
    evaluation: Evaluation,
    /// Released when the rows are dropped.
    _admission: Option<OwnedMutexGuard<()>>,
}

/// The segments of a part.
enum SortedSegments {
    /// The only one, and nothing behind it.
    Whole(Option<CutRows>),
    Cut(MergeFeed, Segmentation),
}

impl Feed for WindowFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            self.turn.begin();
            loop {
                let Some(part) = &mut self.part else {
                    let Some(part) = self.of.take_part() else { return Ok(None) };
                    self.part = Some(self.of.running(part, &self.turn).await?);
                    continue;
                };
                if let Some(morsel) = part.next_segment(&self.turn).await? {
                    return Ok(Some(Box::new(morsel) as Box<dyn Morsel>));
                }
                self.part = None;
            }
        })
    }
}

impl Started {
    fn take_part(&self) -> Option<Part> {
        self.parts.lock().pop()
    }

    async fn running(&self, part: Part, turn: &Turn) -> Result<RunningPart, ExecError> {
        let admission = self.sorter.admit(&part).await;
        let evaluation = Evaluation::new(self.spec.clone(), self.keys.clone(), self.cancelled.clone());
        let sorted = match self.sorter.sorted(part, turn).await? {
            SortedPart::Run(rows) => SortedSegments::Whole(Some(rows)),
            SortedPart::Merged(merge) => {
                let budget = self.sorter.budget().clone();
                SortedSegments::Cut(merge, Segmentation::new(evaluation.cut(), self.keys.clone(), budget))
            }
        };
        Ok(RunningPart { sorted, evaluation, _admission: admission })
    }
}

impl RunningPart {
    /// The rows of the next segment with their results; `None` at the end.
    async fn next_segment(&mut self, turn: &Turn) -> Result<Option<Piece>, ExecError> {
        let Some(rows) = self.sorted.next(turn).await? else { return Ok(None) };
        let results = turn.go_on_for(rows.row_count, || self.evaluation.results(rows))?;
        Ok(Some(Piece::of_all(Arc::new(results))))
    }
}

impl SortedSegments {
    async fn next(&mut self, turn: &Turn) -> Result<Option<CutRows>, ExecError> {
        let (merge, segmentation) = match self {
            Self::Whole(rows) => return Ok(rows.take().filter(|rows| rows.row_count > 0)),
            Self::Cut(merge, segmentation) => (merge, segmentation),
        };
        loop {
            turn.check()?;
            let Some(batch) = merge.next_batch().await? else { return Ok(segmentation.finish()) };
            if let Some(rows) = segmentation.push(batch)? {
                return Ok(Some(rows));
            }
            if turn.is_over() {
                tokio::task::yield_now().await;
                turn.begin();
            }
        }
    }
}
