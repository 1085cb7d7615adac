//! The frames of rows: bounds that are counted in rows, or in groups of peers.
//!
//! Both bounds only move forward from row to row of a partition.

use super::segment::Segment;
use crate::plan::{FrameBound, FrameMode, WindowFrame};

/// The rows of each frame as a range of rows of the segment. One whose end is not behind its start is empty.
pub(super) struct Frames {
    pub starts: Vec<u32>,
    pub ends: Vec<u32>,
}

/// Bytes of the frame of a row while the frames are made.
pub(super) const FRAME_BYTES: usize = 2 * size_of::<u32>();

impl Frames {
    /// The frames of the rows of whole partitions.
    pub fn of(segment: &Segment<'_>, key_count: usize, frame: WindowFrame) -> Self {
        let (mut starts, mut ends) = (Vec::with_capacity(segment.row_count), Vec::with_capacity(segment.row_count));
        let mut peers = segment.peers(key_count);
        for (first, end) in segment.partition_ranges() {
            let (own, later) = peers.split_at(peers.partition_point(|peer| *peer < end));
            peers = later;
            match frame.mode {
                FrameMode::Rows => {
                    let places = Places { firsts: None, first, end };
                    for row in first..end {
                        let (start, end) = places.frame(row - first, frame);
                        starts.push(start);
                        ends.push(end);
                    }
                }
                FrameMode::Groups => {
                    let places = Places { firsts: Some(own), first, end };
                    for group in 0..own.len() as u32 {
                        let frame = places.frame(group, frame);
                        let rows = places.start_of(group + 1) - places.start_of(group);
                        starts.extend(std::iter::repeat_n(frame.0, rows as usize));
                        ends.extend(std::iter::repeat_n(frame.1, rows as usize));
                    }
                }
            }
        }
        Self { starts, ends }
    }
}

/// The places of a partition that bounds count: its rows, or its groups.
struct Places<'a> {
    /// The first row of each group.
    firsts: Option<&'a [u32]>,
    /// The first row of the partition.
    first: u32,
    /// The row behind its last.
    end: u32,
}

impl Places<'_> {
    /// The first row of a place; the row behind the last for places behind the last.
    fn start_of(&self, place: u32) -> u32 {
        match self.firsts {
            None => self.first.saturating_add(place).min(self.end),
            Some(firsts) => firsts.get(place as usize).copied().unwrap_or(self.end),
        }
    }

    /// The frame of the rows of a place.
    fn frame(&self, place: u32, frame: WindowFrame) -> (u32, u32) {
        let start = match frame.start {
            FrameBound::UnboundedPreceding => self.first,
            FrameBound::Preceding(count) => self.start_of(place.saturating_sub(saturated(count))),
            FrameBound::CurrentRow => self.start_of(place),
            FrameBound::Following(count) => self.start_of(place.saturating_add(saturated(count))),
            FrameBound::UnboundedFollowing => self.end,
        };
        let end = match frame.end {
            FrameBound::UnboundedPreceding => self.first,
            FrameBound::Preceding(count) => match place.checked_sub(saturated(count)) {
                Some(place) => self.start_of(place.saturating_add(1)),
                None => self.first,
            },
            FrameBound::CurrentRow => self.start_of(place.saturating_add(1)),
            FrameBound::Following(count) => self.start_of(place.saturating_add(saturated(count)).saturating_add(1)),
            FrameBound::UnboundedFollowing => self.end,
        };
        (start, end)
    }
}

/// A partition has fewer places than the largest number.
fn saturated(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Vector;
    use crate::plan::{SortKey, WindowCall, WindowFunction, WindowSpec};
    use crate::windows::segment::WindowKeys;

    /// The frames of two partitions, of 3 rows in 2 groups and of one row.
    fn frames(mode: FrameMode, start: FrameBound, end: FrameBound) -> Vec<(u32, u32)> {
        let columns = [vec![1, 1, 1, 2], vec![5, 5, 6, 6]].map(Vector::integers);
        let order_by = vec![SortKey { column: 1, descending: false, nulls_first: false }];
        let calls = vec![WindowCall { key_count: 1, function: WindowFunction::Rank }];
        let spec = WindowSpec { partition_by: vec![0], order_by, calls };
        let keys = WindowKeys::of(&spec);
        let segment = Segment::new(&columns, 4, (&keys, &spec), None);
        let frames = Frames::of(&segment, 1, WindowFrame { mode, start, end });
        frames.starts.into_iter().zip(frames.ends).collect()
    }

    #[test]
    fn bounds_count_rows_or_groups_within_the_partition() {
        use FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
        use FrameMode::{Groups, Rows};
        for (mode, start, end, expected) in [
            (Rows, UnboundedPreceding, CurrentRow, [(0, 1), (0, 2), (0, 3), (3, 4)]),
            (Groups, UnboundedPreceding, CurrentRow, [(0, 2), (0, 2), (0, 3), (3, 4)]),
            (Rows, Preceding(1), Following(1), [(0, 2), (0, 3), (1, 3), (3, 4)]),
            (Groups, Preceding(1), Preceding(1), [(0, 0), (0, 0), (0, 2), (3, 3)]),
            (Rows, Preceding(2), Preceding(1), [(0, 0), (0, 1), (0, 2), (3, 3)]),
            (Rows, Following(1), Following(u64::MAX), [(1, 3), (2, 3), (3, 3), (4, 4)]),
            (Groups, Following(1), UnboundedFollowing, [(2, 3), (2, 3), (3, 3), (4, 4)]),
            (Groups, CurrentRow, UnboundedFollowing, [(0, 3), (0, 3), (2, 3), (3, 4)]),
        ] {
            assert_eq!(frames(mode, start, end), expected, "{mode:?} {start:?} {end:?}");
        }
    }
}
