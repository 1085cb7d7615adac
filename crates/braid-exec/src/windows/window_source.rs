//! The source of rows with the results of window functions.
//!
//! The rows come in parts, each of which has whole partitions. A worker takes a part, sorts it if that is not done yet, cuts the sorted rows
//! into segments and hands these on with their results, one morsel each.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::evaluation::Evaluation;
use super::segment::WindowKeys;
use super::segmentation::Segmentation;
use crate::plan::WindowSpec;
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::runtime::result_rows::Piece;
use crate::runtime::stop::StopFlag;
use crate::runtime::turn::Turn;
use crate::sorting::{MergeFeed, SortedRuns};
use crate::{ExecError, MemoryBudget};

/// Rows of whole partitions.
pub(crate) enum Part {
    /// In the order of the partitions and their windows.
    Sorted(SortedRuns),
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
    budget: Arc<dyn MemoryBudget>,
    cancelled: StopFlag,
}

impl WindowSource {
    /// The rows of all parts, whose columns are those of the specification.
    pub(crate) fn new(
        parts: Vec<Part>,
        spec: Arc<WindowSpec>,
        budget: Arc<dyn MemoryBudget>,
        cancelled: StopFlag,
    ) -> Self {
        let (part_count, keys) = (parts.len(), Arc::new(WindowKeys::of(&spec)));
        Self { started: Arc::new(Started { parts: Mutex::new(parts), spec, keys, budget, cancelled }), part_count }
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
    sorted: MergeFeed,
    segmentation: Segmentation,
    evaluation: Evaluation,
}

impl Feed for WindowFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        Box::pin(async move {
            self.turn.begin();
            loop {
                let Some(part) = &mut self.part else {
                    let Some(part) = self.of.parts.lock().pop() else { return Ok(None) };
                    self.part = Some(self.of.running(part));
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
    fn running(&self, part: Part) -> RunningPart {
        let Part::Sorted(runs) = part;
        let evaluation = Evaluation::new(self.spec.clone(), self.keys.clone(), self.cancelled.clone());
        let segmentation = Segmentation::new(evaluation.cut(), self.keys.clone(), self.budget.clone());
        RunningPart { sorted: MergeFeed::new(runs), segmentation, evaluation }
    }
}

impl RunningPart {
    /// The rows of the next segment; `None` at the end.
    async fn next_segment(&mut self, turn: &Turn) -> Result<Option<Piece>, ExecError> {
        loop {
            turn.check()?;
            let batch = self.sorted.next_batch().await?;
            let is_last = batch.is_none();
            let cut = match batch {
                Some(batch) => self.segmentation.push(batch)?,
                None => self.segmentation.finish(),
            };
            if let Some(rows) = cut {
                let results = turn.go_on_for(rows.row_count, || self.evaluation.results(rows))?;
                return Ok(Some(Piece::of_all(Arc::new(results))));
            }
            if is_last {
                return Ok(None);
            }
            if turn.is_over() {
                tokio::task::yield_now().await;
                turn.begin();
            }
        }
    }
}
