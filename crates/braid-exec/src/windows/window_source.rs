//! The source of rows with the results of window functions.
//!
//! The rows come in parts, each of which has whole partitions. A worker takes a part, sorts it if that is not done yet, cuts the sorted rows
//! into segments and hands these on with their results, one morsel each. A part that is in memory as a whole is one segment. In a pass a
//! segment comes as the rows of its classes of queries.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use super::class_states::ClassStates;
use super::evaluation::Evaluation;
use super::part::{Part, PartSorter, SortedPart};
use super::query_classes::{ClassPieces, QueryClasses};
use super::segment::WindowKeys;
use super::segmentation::{Cut, CutRows, Segmentation};
use crate::plan::{SetColumn, WindowSpec};
use crate::runtime::pipeline::{Feed, Morsel, RowFilter, Source, StartedSource};
use crate::runtime::result_rows::{Piece, ResultRows};
use crate::runtime::stop::StopFlag;
use crate::runtime::turn::Turn;
use crate::sorting::MergeFeed;
use crate::spill::QuerySpill;
use crate::tuning::SortTuning;
use crate::{ExecError, MemoryBudget};

/// What the rows of parts are evaluated with.
pub(crate) struct WindowRun {
    pub(crate) spec: Arc<WindowSpec>,
    /// The rows' sets, in a pass.
    pub(crate) sets: Option<SetColumn>,
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
    /// The classes of the queries of a pass.
    classes: Option<OfClasses>,
    sorter: PartSorter,
    cancelled: StopFlag,
}

/// A piece of the rows of classes has this share of the rows of a run.
const PIECE_SHARE: usize = 4;

/// What the rows of classes are evaluated with. Their set is their class, and one more key of the partitions.
struct OfClasses {
    spec: Arc<WindowSpec>,
    keys: Arc<WindowKeys>,
    classes: Arc<QueryClasses>,
}

impl OfClasses {
    fn new(
        spec: &WindowSpec,
        sets: SetColumn,
        sorted_by: Arc<WindowKeys>,
        (budget, tuning): (Arc<dyn MemoryBudget>, SortTuning),
    ) -> Self {
        let mut spec = spec.clone();
        spec.partition_by.push(sets.column);
        let keys = Arc::new(WindowKeys::of(&spec));
        let classes = QueryClasses::new(sets, sorted_by, budget, tuning.run_rows / PIECE_SHARE);
        Self { spec: Arc::new(spec), keys, classes: Arc::new(classes) }
    }
}

impl WindowSource {
    /// The rows of all parts, the last part first. Their columns are those of the specification.
    pub(crate) fn new(parts: Vec<Part>, run: WindowRun) -> Self {
        let WindowRun { spec, sets, budget, spill, worker_count, tuning, cancelled } = run;
        let (part_count, keys) = (parts.len(), Arc::new(WindowKeys::of(&spec)));
        let sorter = PartSorter::new(&keys, budget.clone(), spill, (worker_count, tuning));
        let classes = sets.map(|sets| OfClasses::new(&spec, sets, keys.clone(), (budget, tuning)));
        let parts = Mutex::new(parts);
        Self { started: Arc::new(Started { parts, spec, keys, classes, sorter, cancelled }), part_count }
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
    results: Results,
    /// Released when the rows are dropped.
    _admission: Option<OwnedMutexGuard<()>>,
}

/// The rows with their results.
enum Results {
    Segments(Evaluation),
    /// Of a pass: those of the classes of each partition.
    Classes(Evaluation, Arc<QueryClasses>, Option<ClassPieces>),
    /// Of a pass, of a stream of rows: those of classes with states.
    States(ClassStates),
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
        let sorted = self.sorter.sorted(part, turn).await?;
        let (cut, results) = self.results(matches!(sorted, SortedPart::Merged(_)));
        let sorted = match sorted {
            SortedPart::Run(rows) => SortedSegments::Whole(Some(rows)),
            SortedPart::Merged(merge) => {
                let budget = self.sorter.budget().clone();
                SortedSegments::Cut(merge, Segmentation::new(cut, self.keys.clone(), budget))
            }
        };
        Ok(RunningPart { sorted, results, _admission: admission })
    }

    /// Where segments are cut, and what is made of them.
    fn results(&self, is_stream: bool) -> (Cut, Results) {
        let evaluation = Evaluation::new(self.spec.clone(), self.keys.clone(), self.cancelled.clone());
        let Some(OfClasses { spec, keys, classes }) = &self.classes else {
            return (evaluation.cut(), Results::Segments(evaluation));
        };
        let partitions = Cut::Keys(self.keys.partition_keys());
        if is_stream && self.keys.partition_keys() == 0 && evaluation.cut() != partitions {
            let (sets, budget) = (classes.sets.clone(), self.sorter.budget().clone());
            let cut = evaluation.cut();
            return (cut, Results::States(ClassStates::new(sets, self.keys.clone(), evaluation, budget)));
        }
        let evaluation = Evaluation::new(spec.clone(), keys.clone(), self.cancelled.clone());
        (partitions, Results::Classes(evaluation, classes.clone(), None))
    }
}

impl RunningPart {
    /// The rows of the next segment with their results; `None` at the end.
    async fn next_segment(&mut self, turn: &Turn) -> Result<Option<Piece>, ExecError> {
        loop {
            if let Some(results) = self.results.next(turn)? {
                return Ok(Some(Piece::of_all(Arc::new(results))));
            }
            let Some(rows) = self.sorted.next(turn).await? else { return Ok(None) };
            if let Some(results) = self.results.take(rows, turn)? {
                return Ok(Some(Piece::of_all(Arc::new(results))));
            }
        }
    }
}

impl Results {
    /// Takes a segment. Returns its rows with their results if these do not come in pieces.
    fn take(&mut self, rows: CutRows, turn: &Turn) -> Result<Option<ResultRows>, ExecError> {
        turn.go_on_for(rows.row_count, || match self {
            Self::Segments(evaluation) => evaluation.results(rows).map(Some),
            Self::Classes(_, classes, pieces) => {
                *pieces = Some(classes.pieces(rows)?);
                Ok(None)
            }
            Self::States(states) => states.take(rows).map(|()| None),
        })
    }

    /// The next rows of the segment with their results.
    fn next(&mut self, turn: &Turn) -> Result<Option<ResultRows>, ExecError> {
        match self {
            Self::Segments(_) => Ok(None),
            Self::Classes(evaluation, _, of_segment) => {
                let Some(pieces) = of_segment else { return Ok(None) };
                let found = turn.go_on_for(pieces.row_count(), || match pieces.next()? {
                    Some(piece) => evaluation.results(piece).map(Some),
                    None => Ok(None),
                })?;
                if found.is_none() {
                    *of_segment = None;
                }
                Ok(found)
            }
            Self::States(states) => turn.go_on_for(states.row_count(), || states.next()),
        }
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
