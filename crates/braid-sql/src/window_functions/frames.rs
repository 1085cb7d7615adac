//! Frames: which rows of the partition a row's window has.
//!
//! A frame is found for each row from its bounds (`frame_bounds`), and then loses rows by EXCLUDE.

use std::ops::Range;

use super::frame_bounds::Finder;
use super::peers::Peers;
use super::range_offsets::InRange;
use crate::functions::SessionFacts;
use crate::functions::ordering::SortKey;
use crate::{SqlError, SqlState, Value};

/// What bounds count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameMode {
    /// Rows.
    Rows,
    /// Differences of values.
    Range,
    /// Groups of peers.
    Groups,
}

/// How far a bound is from the current row.
#[derive(Clone, Debug)]
pub enum FrameOffset {
    /// Rows or groups: a bigint.
    Count(Value),
    /// A difference of values, of the function's [`InRange::offset_type`].
    Distance(InRange, Value),
}

impl FrameOffset {
    fn value(&self) -> &Value {
        match self {
            Self::Count(value) | Self::Distance(_, value) => value,
        }
    }
}

/// Where a frame begins or ends. Before its offset is evaluated, `O` is what stands for it.
#[derive(Clone, Debug)]
pub enum FrameBound<O = FrameOffset> {
    /// The first row.
    UnboundedPreceding,
    /// Before the current row.
    Preceding(O),
    /// The current row; with RANGE and GROUPS its peers, too.
    CurrentRow,
    /// Behind the current row.
    Following(O),
    /// The last row.
    UnboundedFollowing,
}

impl<O> FrameBound<O> {
    fn offset(&self) -> Option<&O> {
        match self {
            Self::Preceding(offset) | Self::Following(offset) => Some(offset),
            _ => None,
        }
    }
}

/// Refuses a frame clause that contradicts itself, or its ORDER BY of so many expressions. Without BETWEEN there is no end: it is the
/// current row.
pub fn check_bounds<O>(
    mode: FrameMode,
    start: &FrameBound<O>,
    end: Option<&FrameBound<O>>,
    key_count: usize,
) -> Result<(), SqlError> {
    use FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
    let has_offset = start.offset().is_some() || end.is_some_and(|end| end.offset().is_some());
    let message = match (start, end) {
        (UnboundedFollowing, _) => "frame start cannot be UNBOUNDED FOLLOWING",
        (_, Some(UnboundedPreceding)) => "frame end cannot be UNBOUNDED PRECEDING",
        (CurrentRow, Some(Preceding(_))) => "frame starting from current row cannot have preceding rows",
        (Following(_), None) => "frame starting from following row cannot end with current row",
        (Following(_), Some(Preceding(_) | CurrentRow)) => {
            "frame starting from following row cannot have preceding rows"
        }
        _ if mode == FrameMode::Groups && key_count == 0 => "GROUPS mode requires an ORDER BY clause",
        _ if mode == FrameMode::Range && has_offset && key_count != 1 => {
            "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column"
        }
        _ => return Ok(()),
    };
    Err(SqlError::new(SqlState::WindowingError, message))
}

/// Which rows a frame loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exclusion {
    /// EXCLUDE NO OTHERS
    Nothing,
    /// EXCLUDE CURRENT ROW
    CurrentRow,
    /// EXCLUDE GROUP: the current row and its peers.
    Group,
    /// EXCLUDE TIES: its peers.
    Ties,
}

/// A frame clause, with the values of its offsets.
#[derive(Clone, Debug)]
pub struct FrameSpecification {
    /// What bounds count.
    pub mode: FrameMode,
    /// Where frames begin.
    pub start: FrameBound,
    /// Where frames end; that row is in the frame.
    pub end: FrameBound,
    /// Which rows they lose.
    pub exclusion: Exclusion,
}

impl Default for FrameSpecification {
    /// Without a frame clause: RANGE UNBOUNDED PRECEDING.
    fn default() -> Self {
        Self {
            mode: FrameMode::Range,
            start: FrameBound::UnboundedPreceding,
            end: FrameBound::CurrentRow,
            exclusion: Exclusion::Nothing,
        }
    }
}

/// The rows of a frame: at most three runs of rows in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Rows before what is excluded, the row that stays, and rows behind.
    runs: [Range<usize>; 3],
    /// Whether `first_value`, `last_value` and `nth_value` find null where the current row would stay: with EXCLUDE TIES, PostgreSQL
    /// counts it there even if it is outside the frame and only peers are in.
    counts_absent_row: bool,
}

impl Frame {
    /// The rows of a range without those of another.
    fn without(rows: Range<usize>, hole: Range<usize>) -> Self {
        let before = rows.start..rows.end.min(hole.start).max(rows.start);
        let behind = rows.start.max(hole.end)..rows.end;
        Self { runs: [before, 0..0, behind], counts_absent_row: false }
    }

    /// The rows of a range without the peers of a row.
    fn without_ties(rows: Range<usize>, peers: Range<usize>, row: usize) -> Self {
        let has_peers = rows.start.max(peers.start) < rows.end.min(peers.end);
        let mut frame = Self::without(rows.clone(), peers);
        if rows.contains(&row) {
            frame.runs[1] = row..row + 1;
        } else {
            frame.counts_absent_row = has_peers;
        }
        frame
    }

    /// Runs of rows that follow each other, without empty ones.
    pub fn runs(&self) -> impl Iterator<Item = Range<usize>> {
        self.runs.iter().filter(|run| !run.is_empty()).cloned()
    }

    /// The only run of rows.
    pub(super) fn run(&self) -> Option<Range<usize>> {
        let mut runs = self.runs();
        runs.next().filter(|_| runs.next().is_none())
    }

    /// All rows.
    pub fn rows(&self) -> impl Iterator<Item = usize> {
        self.runs().flatten()
    }

    /// The row that `first_value` reads.
    pub fn first(&self) -> Option<usize> {
        self.nth(0)
    }

    /// The row that `last_value` reads.
    pub fn last(&self) -> Option<usize> {
        let [before, kept, behind] = &self.runs;
        match () {
            () if !behind.is_empty() => Some(behind.end - 1),
            () if self.counts_absent_row => None,
            () if !kept.is_empty() => Some(kept.start),
            () => (!before.is_empty()).then(|| before.end - 1),
        }
    }

    /// The row at an index, from 0, that `nth_value` reads.
    pub fn nth(&self, index: usize) -> Option<usize> {
        let [before, kept, behind] = &self.runs;
        let kept_count = kept.len() + usize::from(self.counts_absent_row);
        match index.checked_sub(before.len()) {
            None => Some(before.start + index),
            Some(index) if index < kept_count => (!kept.is_empty()).then_some(kept.start),
            Some(index) => (index - kept_count < behind.len()).then(|| behind.start + index - kept_count),
        }
    }
}

/// The ordering column of RANGE frames with offsets.
#[derive(Clone, Copy, Debug)]
pub struct OrderingColumn<'a> {
    /// Its value in each row.
    pub values: &'a [Value],
    /// Its order.
    pub key: &'a SortKey,
}

impl FrameSpecification {
    /// The frame of each row of a partition. The column is read for RANGE with offsets only, and must be there then.
    pub fn frames(
        &self,
        peers: &Peers,
        column: Option<OrderingColumn<'_>>,
        session: &dyn SessionFacts,
    ) -> Result<Vec<Frame>, SqlError> {
        self.check_offsets()?;
        self.each_frame(peers, column, session).collect()
    }

    /// The same one by one, without a look at the offsets.
    pub fn each_frame<'a>(
        &'a self,
        peers: &'a Peers,
        column: Option<OrderingColumn<'a>>,
        session: &'a dyn SessionFacts,
    ) -> impl Iterator<Item = Result<Frame, SqlError>> {
        let finder = Finder::new(self.mode, peers, column, session);
        let (mut start, mut end) = (0, 0);
        (0..peers.row_count()).map(move |row| {
            start = finder.start(&self.start, row, start)?;
            end = finder.end(&self.end, row, end)?;
            let rows = start..end.max(start);
            Ok(match self.exclusion {
                Exclusion::Nothing => Frame::without(rows, 0..0),
                Exclusion::CurrentRow => Frame::without(rows, row..row + 1),
                Exclusion::Group => Frame::without(rows, peers.peers_of(row)),
                Exclusion::Ties => Frame::without_ties(rows, peers.peers_of(row), row),
            })
        })
    }

    /// Whether a bound is at a distance of values.
    pub fn has_distance(&self) -> bool {
        let offsets = [&self.start, &self.end].into_iter().filter_map(FrameBound::offset);
        offsets.into_iter().any(|offset| matches!(offset, FrameOffset::Distance(..)))
    }

    /// Refuses offsets that are null, and negative counts. PostgreSQL does so once, even without rows.
    pub fn check_offsets(&self) -> Result<(), SqlError> {
        for (bound, name) in [(&self.start, "starting"), (&self.end, "ending")] {
            match bound.offset().map(FrameOffset::value) {
                Some(Value::Null) => {
                    let message = format!("frame {name} offset must not be null");
                    return Err(SqlError::new(SqlState::NullValueNotAllowed, message));
                }
                Some(Value::Int8(count)) if *count < 0 && self.mode != FrameMode::Range => {
                    let message = format!("frame {name} offset must not be negative");
                    return Err(SqlError::new(SqlState::InvalidPrecedingOrFollowingSize, message));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_are_refused_in_postgresqls_words() {
        use FrameBound::{CurrentRow, Following, Preceding, UnboundedFollowing, UnboundedPreceding};
        let refused = |mode, start: FrameBound<i32>, end: FrameBound<i32>, key_count| {
            check_bounds(mode, &start, Some(&end), key_count).err().map(|error| error.message().to_owned())
        };
        for (mode, start, end, key_count, message) in [
            (FrameMode::Rows, UnboundedFollowing, CurrentRow, 1, "frame start cannot be UNBOUNDED FOLLOWING"),
            (FrameMode::Rows, UnboundedFollowing, UnboundedPreceding, 1, "frame start cannot be UNBOUNDED FOLLOWING"),
            (FrameMode::Rows, CurrentRow, UnboundedPreceding, 1, "frame end cannot be UNBOUNDED PRECEDING"),
            (
                FrameMode::Rows,
                CurrentRow,
                Preceding(1),
                1,
                "frame starting from current row cannot have preceding rows",
            ),
            (
                FrameMode::Groups,
                Following(1),
                CurrentRow,
                0,
                "frame starting from following row cannot have preceding rows",
            ),
            (FrameMode::Groups, UnboundedPreceding, CurrentRow, 0, "GROUPS mode requires an ORDER BY clause"),
            (
                FrameMode::Range,
                Preceding(1),
                CurrentRow,
                2,
                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
            ),
        ] {
            assert_eq!(refused(mode, start, end, key_count).as_deref(), Some(message));
        }
        let error = check_bounds(FrameMode::Rows, &Following(1), None, 1).expect_err("it ends before it begins");
        assert_eq!(error.message(), "frame starting from following row cannot end with current row");
        assert_eq!(refused(FrameMode::Range, Preceding(1), Following(1), 1), None);
        assert_eq!(refused(FrameMode::Range, UnboundedPreceding, CurrentRow, 0), None);
    }
}
