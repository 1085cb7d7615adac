//! Unions of slots: the values that satisfy a predicate, relative to the constants of all predicates.

use std::ops::Range;

/// A set of slots as ascending ranges, which are not empty and not adjacent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotRanges {
    ranges: Vec<Range<usize>>,
}

impl SlotRanges {
    pub(super) fn none() -> Self {
        Self { ranges: Vec::new() }
    }

    pub(super) fn all(slot_count: usize) -> Self {
        Self::one(0..slot_count)
    }

    /// The slots of a range; no slots if it ends before it starts.
    pub(super) fn one(range: Range<usize>) -> Self {
        Self { ranges: if range.start < range.end { vec![range] } else { Vec::new() } }
    }

    /// Single slots, in any order. Two constants never have neighbouring slots.
    pub(super) fn points(slots: impl IntoIterator<Item = usize>) -> Self {
        let mut slots: Vec<usize> = slots.into_iter().collect();
        slots.sort_unstable();
        slots.dedup();
        Self { ranges: slots.into_iter().map(|slot| slot..slot + 1).collect() }
    }

    /// All other slots.
    pub(super) fn not(&self, slot_count: usize) -> Self {
        let starts = std::iter::once(0).chain(self.ranges.iter().map(|range| range.end));
        let ends = self.ranges.iter().map(|range| range.start).chain(std::iter::once(slot_count));
        Self { ranges: starts.zip(ends).map(|(start, end)| start..end).filter(|range| !range.is_empty()).collect() }
    }

    /// The slots in both.
    pub(super) fn intersect(&self, other: &Self) -> Self {
        let mut common = Vec::new();
        let (mut i, mut j) = (0, 0);
        while i < self.ranges.len() && j < other.ranges.len() {
            let (a, b) = (&self.ranges[i], &other.ranges[j]);
            let range = a.start.max(b.start)..a.end.min(b.end);
            if !range.is_empty() {
                common.push(range);
            }
            if a.end <= b.end { i += 1 } else { j += 1 }
        }
        Self { ranges: common }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Range<usize>> {
        self.ranges.iter()
    }
}
