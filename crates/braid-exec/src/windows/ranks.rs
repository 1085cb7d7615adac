//! `row_number`, `rank` and `dense_rank`: counts that begin anew with each partition.

use super::segment::Segment;
use crate::Vector;
use crate::plan::WindowFunction;

/// The counts of a partition up to a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ranks {
    rows: i64,
    rank: i64,
    groups: i64,
}

impl Ranks {
    /// The results for the rows of a segment.
    pub fn results(&mut self, function: &WindowFunction, segment: &Segment<'_>, key_count: usize) -> Vector {
        let (mut partitions, mut peers) =
            (segment.partitions.iter().peekable(), segment.peers(key_count).iter().peekable());
        let numbers = (0..segment.row_count as u32).map(|row| {
            if partitions.next_if(|first| **first == row).is_some() {
                *self = Self::default();
            }
            self.rows += 1;
            if peers.next_if(|first| **first == row).is_some() {
                self.rank = self.rows;
                self.groups += 1;
            }
            match function {
                WindowFunction::Rank => self.rank,
                WindowFunction::DenseRank => self.groups,
                _ => self.rows,
            }
        });
        Vector::integers(numbers.collect())
    }
}
