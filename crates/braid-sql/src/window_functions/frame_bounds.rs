//! Where frames begin and end: from the places, the groups of peers, or the values of the one ordering column (ROWS, GROUPS, RANGE).
//!
//! The bounds of RANGE frames with offsets only move forward, as PostgreSQL's do; so each row is compared only a few times.

use std::cmp::Ordering;
use std::ops::Range;

use super::frames::{FrameBound, FrameMode, FrameOffset, OrderingColumn};
use super::peers::Peers;
use super::range_offsets::{Sense, Side};
use crate::functions::SessionFacts;
use crate::functions::ordering::{Direction, Nulls, SortKey};
use crate::{SqlError, Value};

/// Finds bounds in a partition.
pub(super) struct Finder<'a> {
    peers: &'a Peers,
    column: Option<OrderingColumn<'a>>,
    session: &'a dyn SessionFacts,
    mode: FrameMode,
}

/// Which way an offset goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Preceding,
    Following,
}

impl<'a> Finder<'a> {
    pub(super) fn new(
        mode: FrameMode,
        peers: &'a Peers,
        column: Option<OrderingColumn<'a>>,
        session: &'a dyn SessionFacts,
    ) -> Self {
        Self { peers, column, session, mode }
    }

    /// The first row of the frame. That of the row before is `before`.
    pub(super) fn start(&self, bound: &FrameBound, row: usize, before: usize) -> Result<usize, SqlError> {
        match bound {
            FrameBound::UnboundedPreceding => Ok(0),
            FrameBound::UnboundedFollowing => Ok(self.peers.row_count()),
            FrameBound::CurrentRow if self.mode == FrameMode::Rows => Ok(row),
            FrameBound::CurrentRow => Ok(self.peers.peers_of(row).start),
            FrameBound::Preceding(offset) => self.start_at(offset, Way::Preceding, row, before),
            FrameBound::Following(offset) => self.start_at(offset, Way::Following, row, before),
        }
    }

    /// The row behind the last of the frame. That of the row before is `before`.
    pub(super) fn end(&self, bound: &FrameBound, row: usize, before: usize) -> Result<usize, SqlError> {
        match bound {
            FrameBound::UnboundedPreceding => Ok(0),
            FrameBound::UnboundedFollowing => Ok(self.peers.row_count()),
            FrameBound::CurrentRow if self.mode == FrameMode::Rows => Ok(row + 1),
            FrameBound::CurrentRow => Ok(self.peers.peers_of(row).end),
            FrameBound::Preceding(offset) => self.end_at(offset, Way::Preceding, row, before),
            FrameBound::Following(offset) => self.end_at(offset, Way::Following, row, before),
        }
    }

    fn start_at(&self, offset: &FrameOffset, way: Way, row: usize, before: usize) -> Result<usize, SqlError> {
        match offset {
            FrameOffset::Count(count) => Ok(match self.counted(count, way, row) {
                Counted::Before => 0,
                Counted::Within(rows) => rows.start,
                Counted::Behind => self.peers.row_count(),
            }),
            FrameOffset::Distance(in_range, distance) => self.advanced(
                before,
                row,
                |value, base, column| {
                    let (sense, side) = senses(way, column.key, Side::AtLeast);
                    in_range.holds(value, (base, distance, sense), side, self.session).map(|is_start| !is_start)
                },
                true,
            ),
        }
    }

    fn end_at(&self, offset: &FrameOffset, way: Way, row: usize, before: usize) -> Result<usize, SqlError> {
        match offset {
            FrameOffset::Count(count) => Ok(match self.counted(count, way, row) {
                Counted::Before => 0,
                Counted::Within(rows) => rows.end,
                Counted::Behind => self.peers.row_count(),
            }),
            FrameOffset::Distance(in_range, distance) => self.advanced(
                before,
                row,
                |value, base, column| {
                    let (sense, side) = senses(way, column.key, Side::AtMost);
                    in_range.holds(value, (base, distance, sense), side, self.session)
                },
                false,
            ),
        }
    }

    /// The row, or the rows of the group, at so many rows or groups from a row.
    fn counted(&self, count: &Value, way: Way, row: usize) -> Counted {
        let count = i128::from(count.as_int8());
        let count = if way == Way::Preceding { -count } else { count };
        let (current, places) = match self.mode {
            FrameMode::Rows => (row, self.peers.row_count()),
            FrameMode::Range | FrameMode::Groups => (self.peers.group_of(row), self.peers.group_count()),
        };
        let place = current as i128 + count;
        match usize::try_from(place) {
            Err(_) if place < 0 => Counted::Before,
            Ok(place) if place < places => Counted::Within(match self.mode {
                FrameMode::Rows => place..place + 1,
                FrameMode::Range | FrameMode::Groups => self.peers.rows_of(place),
            }),
            _ => Counted::Behind,
        }
    }

    /// The first row from `place` on that is not passed. Rows whose value, or the current row's, is null are passed by the order of nulls:
    /// `is_start` says whether the frame begins, and not ends, behind what is passed.
    fn advanced(
        &self,
        place: usize,
        row: usize,
        passes: impl Fn(&Value, &Value, &OrderingColumn<'_>) -> Result<bool, SqlError>,
        is_start: bool,
    ) -> Result<usize, SqlError> {
        let column = self.column.as_ref().expect("RANGE with offsets has an ordering column");
        let current = &column.values[row];
        let mut place = place;
        while let Some(value) = column.values.get(place) {
            let passed = match (value.is_null(), current.is_null()) {
                (false, false) => passes(value, current, column)?,
                (value_is_null, current_is_null) => {
                    let order = nulls_order(value_is_null, current_is_null, column.key.nulls());
                    order.is_lt() || (order.is_eq() && !is_start)
                }
            };
            if !passed {
                break;
            }
            place += 1;
        }
        Ok(place)
    }
}

/// A place at a distance in rows or groups.
enum Counted {
    Before,
    Within(Range<usize>),
    Behind,
}

/// How `in_range` is asked: with the greatest value first, distances go the other way.
fn senses(way: Way, key: &SortKey, ascending: Side) -> (Sense, Side) {
    match (way, key.direction()) {
        (Way::Preceding, Direction::Ascending) => (Sense::Subtracted, ascending),
        (Way::Following, Direction::Ascending) => (Sense::Added, ascending),
        (Way::Preceding, Direction::Descending) => (Sense::Added, opposite(ascending)),
        (Way::Following, Direction::Descending) => (Sense::Subtracted, opposite(ascending)),
    }
}

fn opposite(side: Side) -> Side {
    match side {
        Side::AtMost => Side::AtLeast,
        Side::AtLeast => Side::AtMost,
    }
}

/// Which of two values comes first, of which at least one is null.
fn nulls_order(left_is_null: bool, right_is_null: bool, nulls: Nulls) -> Ordering {
    match nulls {
        Nulls::First => right_is_null.cmp(&left_is_null),
        Nulls::Last => left_is_null.cmp(&right_is_null),
    }
}
