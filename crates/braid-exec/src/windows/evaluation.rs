//! The calls of a segment: each makes a column.

use std::sync::Arc;

use super::foreign_calls::foreign_results;
use super::ranks::Ranks;
use super::segment::{Segment, WindowKeys};
use super::segmentation::{Cut, CutRows};
use crate::plan::{WindowFunction, WindowSpec};
use crate::runtime::result_rows::ResultRows;
use crate::runtime::stop::StopFlag;
use crate::{ExecError, Vector};

/// The calls, with what they know of the current partition.
pub(super) struct Evaluation {
    spec: Arc<WindowSpec>,
    keys: Arc<WindowKeys>,
    calls: Vec<CallState>,
    cancelled: StopFlag,
}

/// What a call knows of the rows of the current partition before the segment.
enum CallState {
    Ranks(Ranks),
    /// It gets whole partitions.
    Foreign,
}

impl Evaluation {
    pub fn new(spec: Arc<WindowSpec>, keys: Arc<WindowKeys>, cancelled: StopFlag) -> Self {
        let state = |function: &WindowFunction| match function {
            WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => {
                CallState::Ranks(Ranks::default())
            }
            WindowFunction::Foreign(_) => CallState::Foreign,
        };
        let calls = spec.calls.iter().map(|call| state(&call.function)).collect();
        Self { spec, keys, calls, cancelled }
    }

    /// The rows of a segment with the results of all calls.
    ///
    /// # Errors
    /// When a function fails, memory is refused, or the query is cancelled.
    pub fn results(&mut self, rows: CutRows) -> Result<ResultRows, ExecError> {
        let CutRows { row_count, mut columns, mut reservation, before } = rows;
        let mut held: usize = columns.iter().map(Vector::bytes).sum();
        let mut results = Vec::with_capacity(self.calls.len());
        let segment = Segment::new(&columns, row_count, (&self.keys, &self.spec), before.as_ref());
        for (call, state) in self.spec.calls.iter().zip(&mut self.calls) {
            let mut watch = |bytes: usize| match self.cancelled.is_raised() {
                true => Err(ExecError::Cancelled),
                false => reservation.resize(held + bytes),
            };
            watch(0)?;
            let result = match (state, &call.function) {
                (CallState::Ranks(ranks), function) => ranks.results(function, &segment, call.key_count),
                (CallState::Foreign, WindowFunction::Foreign(foreign)) => {
                    foreign_results(foreign, &segment, call.key_count, &mut watch)?
                }
                _ => unreachable!("states are made for the functions of their calls"),
            };
            held += result.bytes();
            reservation.resize(held)?;
            results.push(result);
        }
        columns.extend(results);
        let columns = columns.into_iter().map(Vector::closed).collect();
        Ok(ResultRows::holding(row_count, columns, reservation))
    }
}

/// Where segments may end for all calls.
pub(super) fn cut_of(spec: &WindowSpec) -> Cut {
    let cut = |function: &WindowFunction| match function {
        WindowFunction::RowNumber | WindowFunction::Rank | WindowFunction::DenseRank => Cut::Anywhere,
        WindowFunction::Foreign(_) => Cut::Partition,
    };
    spec.calls.iter().map(|call| cut(&call.function)).max().unwrap_or(Cut::Anywhere)
}
