//! Sorted rows, and where partitions and groups of peers begin among them.

use crate::Vector;
use crate::plan::{SortKey, WindowSpec};
use crate::sorting::compare_rows;
use crate::values::vector::Values;

/// The keys that rows are sorted by: those of the partitions, then those of the order.
#[derive(Debug)]
pub(crate) struct WindowKeys {
    keys: Vec<SortKey>,
    partition_keys: usize,
}

/// The values of a row's keys, one row each.
pub(super) type KeyRow = Vec<Vector>;

/// Sorted rows.
pub(super) struct Segment<'a> {
    pub columns: &'a [Vector],
    pub row_count: usize,
    /// The first row of each partition. The first row of the segment may go on a partition of the segment before.
    pub partitions: Vec<u32>,
    /// The first row of each group of peers, by the number of keys that tell them apart; empty for a number that no call has.
    peers: Vec<Vec<u32>>,
}

impl WindowKeys {
    pub fn of(spec: &WindowSpec) -> Self {
        let partition_by = spec.partition_by.iter();
        let ascending = |column: &usize| SortKey { column: *column, descending: false, nulls_first: false };
        let keys = partition_by.map(ascending).chain(spec.order_by.iter().copied()).collect();
        Self { keys, partition_keys: spec.partition_by.len() }
    }

    /// The keys, most significant first.
    pub fn keys(&self) -> &[SortKey] {
        &self.keys
    }

    /// Number of keys of the partitions.
    pub fn partition_keys(&self) -> usize {
        self.partition_keys
    }

    /// The keys of a row.
    pub fn row(&self, columns: &[Vector], row: usize) -> KeyRow {
        self.keys.iter().map(|key| columns[key.column].take(&[row as u32])).collect()
    }

    /// The first row of each partition, and the number of rows, of whole partitions.
    pub fn partition_bounds(&self, columns: &[Vector], row_count: usize) -> Vec<u32> {
        let mut changed = vec![false; row_count];
        changed.iter_mut().take(1).for_each(|first| *first = true);
        self.mark_changes(0..self.partition_keys, columns, None, &mut changed);
        let mut bounds = numbers(&changed);
        bounds.push(row_count as u32);
        bounds
    }

    /// Marks the rows that differ from the row before in some of the first keys, from `keys.start` to before `keys.end`. The first row
    /// follows `before`, and differs from nothing.
    pub fn mark_changes(
        &self,
        keys: std::ops::Range<usize>,
        columns: &[Vector],
        before: Option<&KeyRow>,
        changed: &mut [bool],
    ) {
        for at in keys {
            let key = self.keys[at];
            let column = &columns[key.column];
            mark_changes(column, key, changed);
            if let (Some(before), Some(first)) = (before, changed.first_mut()) {
                *first |= compare_rows(&before[at], 0, column, 0, key).is_ne();
            }
        }
    }
}

impl<'a> Segment<'a> {
    /// Rows of these columns, after a row with the keys `before`.
    pub fn new(
        columns: &'a [Vector],
        row_count: usize,
        (keys, spec): (&WindowKeys, &WindowSpec),
        before: Option<&KeyRow>,
    ) -> Self {
        let mut changed = vec![false; row_count];
        if let (None, Some(first)) = (before, changed.first_mut()) {
            *first = true;
        }
        let partition_keys = keys.partition_keys();
        keys.mark_changes(0..partition_keys, columns, before, &mut changed);
        let partitions = numbers(&changed);
        let counts = 0..=spec.order_by.len();
        let mut peers = Vec::with_capacity(counts.clone().count());
        for count in counts {
            if count > 0 {
                let at = partition_keys + count - 1;
                keys.mark_changes(at..at + 1, columns, before, &mut changed);
            }
            let is_asked_for = spec.calls.iter().any(|call| call.key_count == count);
            peers.push(if is_asked_for { numbers(&changed) } else { Vec::new() });
        }
        Self { columns, row_count, partitions, peers }
    }

    /// The rows of each partition, of whole partitions.
    pub fn partition_ranges(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let ends = self.partitions.iter().skip(1).copied().chain([self.row_count as u32]);
        self.partitions.iter().copied().zip(ends)
    }

    /// The first row of each group of rows that are equal in so many keys of the order.
    pub fn peers(&self, key_count: usize) -> &[u32] {
        &self.peers[key_count]
    }
}

fn numbers(marked: &[bool]) -> Vec<u32> {
    (0..).zip(marked).filter(|(_, marked)| **marked).map(|(row, _)| row).collect()
}

/// Marks the rows whose value differs from that of the row before.
fn mark_changes(vector: &Vector, key: SortKey, changed: &mut [bool]) {
    let Some((_, later)) = changed.split_first_mut() else { return };
    match (vector.values(), vector.valid()) {
        (Values::Int(values), None) => {
            later.iter_mut().zip(values.windows(2)).for_each(|(changed, pair)| *changed |= pair[0] != pair[1]);
        }
        (Values::Coded(coded), None) => {
            for (changed, pair) in later.iter_mut().zip(coded.codes.windows(2)) {
                let differ = || coded.dictionary.get(pair[0] as usize) != coded.dictionary.get(pair[1] as usize);
                *changed |= pair[0] != pair[1] && differ();
            }
        }
        _ => {
            for (row, changed) in later.iter_mut().enumerate().filter(|(_, changed)| !**changed) {
                *changed = compare_rows(vector, row, vector, row + 1, key).is_ne();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{WindowCall, WindowFunction};

    #[test]
    fn partitions_and_peers_begin_where_their_keys_change() {
        let columns = [vec![1, 1, 1, 2, 2], vec![5, 5, 6, 6, 6], vec![0, 1, 1, 1, 1]].map(Vector::integers);
        let key = |column| SortKey { column, descending: false, nulls_first: false };
        let call = |key_count| WindowCall { key_count, function: WindowFunction::Rank };
        let spec = WindowSpec { partition_by: vec![0], order_by: vec![key(1), key(2)], calls: vec![call(1), call(2)] };
        let keys = WindowKeys::of(&spec);
        let segment = Segment::new(&columns, 5, (&keys, &spec), None);
        assert_eq!(segment.partitions, [0, 3]);
        assert_eq!((segment.peers(1), segment.peers(2)), (&[0, 2, 3][..], &[0, 1, 2, 3][..]));
        let before = keys.row(&columns, 0);
        let segment = Segment::new(&columns, 5, (&keys, &spec), Some(&before));
        assert_eq!(segment.partitions, [3]);
        assert_eq!((segment.peers(1), segment.peers(2)), (&[2, 3][..], &[1, 2, 3][..]));
    }

    #[test]
    fn nulls_are_equal_to_each_other() {
        let column = Vector::new(Values::Int(vec![7, 1, 2, 2]), Some(vec![true, false, false, true]));
        let mut changed = vec![false; 4];
        mark_changes(&column, SortKey { column: 0, descending: false, nulls_first: false }, &mut changed);
        assert_eq!(changed, [false, true, false, true]);
    }
}
