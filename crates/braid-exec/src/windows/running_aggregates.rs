//! Counts and sums from the first row of the partition to the current row, its last peer, or the last row.
//!
//! They need only what they are so far, which is carried from segment to segment.

use super::arguments::{Arguments, Numbers};
use super::segment::Segment;
use crate::plan::{FrameAggregate, FrameBound, FrameMode, WindowFrame};
use crate::values::vector::{Values, Vector};
use crate::{ExecError, plan::WindowCall};

/// How far frames reach that begin with the partition. Rows that see the same have the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// To the current row.
    Row,
    /// To its last peer.
    Peers,
    /// To the last row.
    Partition,
}

/// The aggregate of the rows of a partition so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RunningAggregate {
    count: i64,
    sum: i128,
    float_sum: f64,
}

/// The results of the rows so far.
enum Results {
    Counts(Vec<i64>),
    Sums(Vec<i128>, Vec<bool>),
    FloatSums(Vec<f64>, Vec<bool>),
}

impl Reach {
    /// The reach of the frames of a call; `None` if they begin elsewhere, or end before.
    pub fn of(frame: WindowFrame, call: &WindowCall) -> Option<Self> {
        match (frame.start, frame.end, frame.mode) {
            (FrameBound::UnboundedPreceding, FrameBound::UnboundedFollowing, _) => Some(Self::Partition),
            (FrameBound::UnboundedPreceding, FrameBound::CurrentRow, FrameMode::Rows) => Some(Self::Row),
            (FrameBound::UnboundedPreceding, FrameBound::CurrentRow, FrameMode::Groups) if call.key_count == 0 => {
                Some(Self::Partition)
            }
            (FrameBound::UnboundedPreceding, FrameBound::CurrentRow, FrameMode::Groups) => Some(Self::Peers),
            _ => None,
        }
    }
}

impl RunningAggregate {
    /// The results for the rows of a segment, which ends where a reach ends.
    ///
    /// # Errors
    /// When a sum goes out of range.
    pub fn results(
        &mut self,
        function: FrameAggregate,
        arguments: &Arguments<'_>,
        segment: &Segment<'_>,
        (key_count, reach): (usize, Reach),
    ) -> Result<Vector, ExecError> {
        let row_count = segment.row_count as u32;
        let mut partitions = segment.partitions.iter().copied().peekable();
        let seen_alike = match reach {
            Reach::Row => &[][..],
            Reach::Peers => segment.peers(key_count),
            Reach::Partition => &segment.partitions,
        };
        let mut later = seen_alike.iter().copied().peekable();
        let mut results = Results::new(function, arguments);
        let mut row = 0;
        while row < row_count {
            if partitions.next_if_eq(&row).is_some() {
                *self = Self::default();
            }
            later.next_if_eq(&row);
            let end = if reach == Reach::Row { row + 1 } else { later.peek().copied().unwrap_or(row_count) };
            for row in row..end {
                self.add(arguments, row as usize)?;
            }
            results.add(self, (end - row) as usize);
            row = end;
        }
        Ok(results.finish())
    }

    fn add(&mut self, arguments: &Arguments<'_>, row: usize) -> Result<(), ExecError> {
        if !arguments.counts(row) {
            return Ok(());
        }
        self.count += 1;
        match arguments.numbers {
            Numbers::Nothing => {}
            // As many rows as there can be do not make more than 128 bits.
            Numbers::Int(values) => self.sum += i128::from(values[row]),
            Numbers::Int128(values) => self.sum = sum_of_wide(self.sum, values[row])?,
            Numbers::Float(values) => self.float_sum = sum_of_floats(self.float_sum, values[row])?,
        }
        Ok(())
    }
}

impl Results {
    fn new(function: FrameAggregate, arguments: &Arguments<'_>) -> Self {
        match (function, &arguments.numbers) {
            (FrameAggregate::Sum, Numbers::Float(_)) => Self::FloatSums(Vec::new(), Vec::new()),
            (FrameAggregate::Sum, _) => Self::Sums(Vec::new(), Vec::new()),
            _ => Self::Counts(Vec::new()),
        }
    }

    fn add(&mut self, so_far: &RunningAggregate, times: usize) {
        let is_valid = so_far.count > 0;
        match self {
            Self::Counts(counts) => counts.extend(std::iter::repeat_n(so_far.count, times)),
            Self::Sums(sums, valid) => {
                sums.extend(std::iter::repeat_n(so_far.sum, times));
                valid.extend(std::iter::repeat_n(is_valid, times));
            }
            Self::FloatSums(sums, valid) => {
                sums.extend(std::iter::repeat_n(so_far.float_sum, times));
                valid.extend(std::iter::repeat_n(is_valid, times));
            }
        }
    }

    fn finish(self) -> Vector {
        match self {
            Self::Counts(counts) => Vector::integers(counts),
            Self::Sums(sums, valid) => vector_of_sums(sums, valid),
            Self::FloatSums(sums, valid) => Vector::new(Values::Float(sums), Some(valid)),
        }
    }
}

/// Sums as a vector, of 64 bits if these are enough for all.
pub(super) fn vector_of_sums(sums: Vec<i128>, valid: Vec<bool>) -> Vector {
    let narrow: Result<Vec<i64>, _> = sums.iter().map(|sum| i64::try_from(*sum)).collect();
    let values = narrow.map_or(Values::Int128(sums), Values::Int);
    let valid = valid.contains(&false).then_some(valid);
    Vector::new(values, valid)
}

/// A sum of numerics.
///
/// # Errors
/// When it needs more than 128 bits.
pub(super) fn sum_of_wide(sum: i128, value: i128) -> Result<i128, ExecError> {
    sum.checked_add(value).ok_or(ExecError::OutOfRange { type_name: "numeric" })
}

/// A sum of floats.
///
/// # Errors
/// When it overflows.
pub(super) fn sum_of_floats(sum: f64, value: f64) -> Result<f64, ExecError> {
    let added = sum + value;
    match added.is_infinite() && sum.is_finite() && value.is_finite() {
        true => Err(ExecError::OutOfRange { type_name: "double precision" }),
        false => Ok(added),
    }
}
