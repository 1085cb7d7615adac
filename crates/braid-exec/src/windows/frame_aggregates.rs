//! Counts, sums and extremes of frames whose bounds move forward, in linear time.
//!
//! A count or a sum is the difference of those up to both bounds. An extreme is the first of the candidates of the frame: the rows that no
//! later row of the frame is as good as, in their order (Leis et al., VLDB 2015, section 4.2, on removable aggregates; the queue of
//! candidates is that of a sliding minimum).

use std::collections::VecDeque;

use super::arguments::{Arguments, Numbers};
use super::frames::Frames;
use super::running_aggregates::{sum_of_floats, sum_of_wide, vector_of_sums};
use super::segment::Segment;
use crate::ExecError;
use crate::plan::SortKey;
use crate::sorting::compare_rows;
use crate::values::vector::{NO_ROW, Values, Vector};

/// Bytes per row while counts and sums are made: both up to the row, the result and its validity.
pub(super) const AGGREGATED_ROW_BYTES: usize = size_of::<u32>() + 2 * size_of::<i128>() + 1;

/// The number of rows that count in each frame.
pub(super) fn counts(arguments: &Arguments<'_>, frames: &Frames) -> Vector {
    let bounds = frames.starts.iter().zip(&frames.ends);
    if arguments.counts_all() {
        return Vector::integers(bounds.map(|(start, end)| i64::from(end.saturating_sub(*start))).collect());
    }
    let before = counts_before(arguments, frames.starts.len());
    let count = |(start, end): (&u32, &u32)| count_between(&before, *start, *end);
    Vector::integers(bounds.map(|bounds| i64::from(count(bounds))).collect())
}

/// The sum of each frame; null where no row counts.
///
/// # Errors
/// When a sum goes out of range.
pub(super) fn sums(arguments: &Arguments<'_>, frames: &Frames) -> Result<Vector, ExecError> {
    let row_count = frames.starts.len();
    let before = counts_before(arguments, row_count);
    let bounds = || frames.starts.iter().copied().zip(frames.ends.iter().copied());
    let valid: Vec<bool> = bounds().map(|(start, end)| count_between(&before, start, end) > 0).collect();
    let number = |row: usize| match arguments.numbers {
        Numbers::Int(values) => i128::from(values[row]),
        Numbers::Int128(values) => values[row],
        Numbers::Nothing | Numbers::Float(_) => 0,
    };
    if let Numbers::Float(values) = arguments.numbers {
        let sum = |(start, end): (u32, u32)| {
            let rows = (start as usize..end as usize).filter(|row| arguments.counts(*row));
            rows.map(|row| values[row]).try_fold(0.0, sum_of_floats)
        };
        let sums = bounds().map(sum).collect::<Result<Vec<_>, _>>()?;
        return Ok(Vector::new(Values::Float(sums), Some(valid)));
    }
    let mut sums_before = Vec::with_capacity(row_count + 1);
    let mut sum = 0;
    sums_before.push(sum);
    for row in 0..row_count {
        if arguments.counts(row) {
            sum = sum_of_wide(sum, number(row))?;
        }
        sums_before.push(sum);
    }
    // Both are sums of a partition's rows and of partitions before, whose difference may need one more bit.
    let between = |(start, end): (u32, u32)| match start < end {
        true => sums_before[end as usize]
            .checked_sub(sums_before[start as usize])
            .ok_or(ExecError::OutOfRange { type_name: "numeric" }),
        false => Ok(0),
    };
    Ok(vector_of_sums(bounds().map(between).collect::<Result<_, _>>()?, valid))
}

/// The number of rows that count before each row, and in all.
fn counts_before(arguments: &Arguments<'_>, row_count: usize) -> Vec<u32> {
    let mut count = 0;
    let mut before = Vec::with_capacity(row_count + 1);
    before.push(count);
    before.extend((0..row_count).map(|row| {
        count += u32::from(arguments.counts(row));
        count
    }));
    before
}

fn count_between(before: &[u32], start: u32, end: u32) -> u32 {
    if start < end { before[end as usize] - before[start as usize] } else { 0 }
}

/// The smallest value of each frame, or the largest one if `is_descending`; of equal ones the last.
pub(super) fn extremes(
    values: &Vector,
    arguments: &Arguments<'_>,
    (segment, frames): (&Segment<'_>, &Frames),
    is_descending: bool,
) -> Vector {
    let key = SortKey { column: 0, descending: is_descending, nulls_first: false };
    let precedes = |a: u32, b: u32| match arguments.numbers {
        Numbers::Int(values) if is_descending => values[a as usize] > values[b as usize],
        Numbers::Int(values) => values[a as usize] < values[b as usize],
        _ => compare_rows(values, a as usize, values, b as usize, key).is_lt(),
    };
    let mut rows = Vec::with_capacity(segment.row_count);
    let mut candidates: VecDeque<u32> = VecDeque::new();
    for (first, end) in segment.partition_ranges() {
        candidates.clear();
        let mut seen = first;
        for row in first as usize..end as usize {
            let (start, end) = (frames.starts[row], frames.ends[row]);
            for row in seen..end {
                if arguments.counts(row as usize) {
                    while candidates.back().is_some_and(|last| !precedes(*last, row)) {
                        candidates.pop_back();
                    }
                    candidates.push_back(row);
                }
            }
            seen = seen.max(end);
            while candidates.front().is_some_and(|first| *first < start) {
                candidates.pop_front();
            }
            rows.push(candidates.front().copied().filter(|_| start < end).unwrap_or(NO_ROW));
        }
    }
    values.take(&rows)
}
