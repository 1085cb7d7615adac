//! Values of other rows: `first_value`, `last_value` and `nth_value` in the frame, `lag` and `lead` in the partition.
//!
//! The number of the other row is computed, and then its value is copied, of any kind.

use super::frames::Frames;
use super::segment::Segment;
use crate::Vector;
use crate::plan::FramePlace;
use crate::values::vector::NO_ROW;

/// The value of a row in each frame; null where the frame has no such row.
pub(super) fn values_in_frames(values: &Vector, frames: &Frames, place: FramePlace) -> Vector {
    let row = |(start, end): (&u32, &u32)| {
        let row = match place {
            FramePlace::First => Some(*start),
            FramePlace::Last => end.checked_sub(1),
            FramePlace::Nth(index) => u32::try_from(index).ok().and_then(|index| start.checked_add(index)),
        };
        row.filter(|row| (*start..*end).contains(row)).unwrap_or(NO_ROW)
    };
    let rows: Vec<u32> = frames.starts.iter().zip(&frames.ends).map(row).collect();
    values.take(&rows)
}

/// The value of the row at a distance from each row, behind it if the distance is positive; null beyond the partition.
pub(super) fn values_at_distance(values: &Vector, segment: &Segment<'_>, distance: i64) -> Vector {
    let mut rows = Vec::with_capacity(segment.row_count);
    for (first, end) in segment.partition_ranges() {
        rows.extend((first..end).map(|row| {
            let there = i64::from(row).checked_add(distance).and_then(|there| u32::try_from(there).ok());
            there.filter(|there| (first..end).contains(there)).unwrap_or(NO_ROW)
        }));
    }
    values.take(&rows)
}
