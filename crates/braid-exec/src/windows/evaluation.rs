//! The calls of a segment: each makes a column.

use std::sync::Arc;

use super::arguments::Arguments;
use super::foreign_calls::foreign_results;
use super::frame_aggregates::{AGGREGATED_ROW_BYTES, counts, extremes, sums};
use super::frames::{FRAME_BYTES, Frames};
use super::places::{values_at_distance, values_in_frames};
use super::ranks::Ranks;
use super::running_aggregates::{Reach, RunningAggregate};
use super::segment::{Segment, WindowKeys};
use super::segmentation::{Cut, CutRows};
use crate::plan::{FrameAggregate, WindowCall, WindowFrame, WindowFunction, WindowSpec};
use crate::runtime::result_rows::ResultRows;
use crate::runtime::stop::StopFlag;
use crate::values::distinct_bytes::DistinctBytes;
use crate::{ExecError, Vector};

/// The calls, with what they know of the current partition.
#[derive(Clone)]
pub(super) struct Evaluation {
    spec: Arc<WindowSpec>,
    keys: Arc<WindowKeys>,
    calls: Vec<CallState>,
    cancelled: StopFlag,
}

/// What a call knows of the rows of the current partition before the segment.
#[derive(Clone, Copy)]
enum CallState {
    Ranks(Ranks),
    Running(RunningAggregate, Reach),
    /// It gets whole partitions.
    Nothing,
}

/// Is told how many bytes a call holds beside the rows.
type Hold<'a> = dyn FnMut(usize) -> Result<(), ExecError> + 'a;

impl CallState {
    fn of(call: &WindowCall) -> Self {
        match &call.function {
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => {
                Self::Ranks(Ranks::default())
            }
            WindowFunction::Aggregate { function, frame, .. } => match (function, Reach::of(*frame, call)) {
                (FrameAggregate::Minimum | FrameAggregate::Maximum, _) | (_, None) => Self::Nothing,
                (_, Some(reach)) => Self::Running(RunningAggregate::default(), reach),
            },
            _ => Self::Nothing,
        }
    }

    /// Where segments may end for it.
    fn cut(&self, call: &WindowCall, partition_keys: usize) -> Cut {
        match self {
            Self::Ranks(_) | Self::Running(_, Reach::Row) => Cut::Anywhere,
            Self::Running(_, Reach::Peers) => Cut::Keys(partition_keys + call.key_count),
            Self::Running(_, Reach::Partition) | Self::Nothing => Cut::Keys(partition_keys),
        }
    }

    /// The results for the rows of a segment.
    fn results(&mut self, call: &WindowCall, segment: &Segment<'_>, hold: &mut Hold<'_>) -> Result<Vector, ExecError> {
        let column = |column: &usize| &segment.columns[*column];
        let frames = |frame: &WindowFrame, hold: &mut Hold<'_>| {
            hold(segment.row_count * (FRAME_BYTES + AGGREGATED_ROW_BYTES))?;
            Ok::<_, ExecError>(Frames::of(segment, call.key_count, *frame))
        };
        match (self, &call.function) {
            (Self::Ranks(ranks), function) => Ok(ranks.results(function, segment, call.key_count)),
            (Self::Running(running, reach), WindowFunction::Aggregate { function, argument, filter, .. }) => {
                hold(segment.row_count * AGGREGATED_ROW_BYTES)?;
                let arguments = Arguments::new(argument.as_ref().map(column), filter.as_ref().map(column));
                running.results(*function, &arguments, segment, (call.key_count, *reach))
            }
            (_, WindowFunction::Aggregate { function, argument, filter, frame }) => {
                let frames = frames(frame, hold)?;
                let arguments = Arguments::new(argument.as_ref().map(column), filter.as_ref().map(column));
                match (function, argument) {
                    (FrameAggregate::Sum, _) => sums(&arguments, &frames),
                    (FrameAggregate::Minimum | FrameAggregate::Maximum, Some(argument)) => {
                        let is_descending = *function == FrameAggregate::Maximum;
                        Ok(extremes(column(argument), &arguments, (segment, &frames), is_descending))
                    }
                    _ => Ok(counts(&arguments, &frames)),
                }
            }
            (_, WindowFunction::ValueInFrame { argument, place, frame }) => {
                Ok(values_in_frames(column(argument), &frames(frame, hold)?, *place))
            }
            (_, WindowFunction::ValueAtDistance { argument, distance }) => {
                hold(segment.row_count * FRAME_BYTES)?;
                Ok(values_at_distance(column(argument), segment, *distance))
            }
            (_, WindowFunction::Foreign(foreign)) => foreign_results(foreign, segment, call.key_count, hold),
            _ => unreachable!("ranks have states"),
        }
    }
}

impl Evaluation {
    pub fn new(spec: Arc<WindowSpec>, keys: Arc<WindowKeys>, cancelled: StopFlag) -> Self {
        let calls = spec.calls.iter().map(CallState::of).collect();
        Self { spec, keys, calls, cancelled }
    }

    /// Where segments may end for all calls.
    pub fn cut(&self) -> Cut {
        let calls = self.spec.calls.iter().zip(&self.calls);
        let cuts = calls.map(|(call, state)| state.cut(call, self.keys.partition_keys()));
        cuts.fold(Cut::Anywhere, Cut::and)
    }

    /// The rows of a segment with the results of all calls.
    ///
    /// # Errors
    /// When a function fails, memory is refused, or the query is cancelled.
    pub fn results(&mut self, rows: CutRows) -> Result<ResultRows, ExecError> {
        let CutRows { row_count, columns, mut reservation, before } = rows;
        // Values of other rows share closed buffers.
        let mut columns: Vec<Vector> = columns.into_iter().map(Vector::closed).collect();
        let mut bytes = DistinctBytes::default();
        let mut held = columns.iter().fold(0, |_, column| bytes.add(column));
        let mut results = Vec::with_capacity(self.calls.len());
        let segment = Segment::new(&columns, row_count, (&self.keys, &self.spec), before.as_ref());
        for (call, state) in self.spec.calls.iter().zip(&mut self.calls) {
            let mut hold = |bytes: usize| match self.cancelled.is_raised() {
                true => Err(ExecError::Cancelled),
                false => reservation.resize(held + bytes),
            };
            hold(0)?;
            let result = state.results(call, &segment, &mut hold)?.closed();
            held = bytes.add(&result);
            reservation.resize(held)?;
            results.push(result);
        }
        columns.extend(results);
        Ok(ResultRows::holding(row_count, columns, reservation))
    }
}
