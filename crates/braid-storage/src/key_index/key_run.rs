//! A sorted run: the keys of some rows in order, each with its row.
//!
//! Rows with a null in a key whose nulls are distinct are left out: they are unlike all others.
//!
//! A run takes the bytes of its keys and 8 more for each.

use arrow::array::{Array, ArrayRef};
use braid_base::CHUNK_ROWS;

use super::key_columns::{KeyShape, integer_bounds};
use super::key_def::KeyNulls;

/// Longest key, in bytes as it is encoded.
pub(crate) const KEY_BYTES_MAX: usize = 8192;

/// Keys in order, with their rows.
#[derive(Debug)]
pub(crate) struct KeyRun {
    bytes: Vec<u8>,
    /// Where each key ends in `bytes`.
    ends: Vec<u32>,
    rows: Vec<u32>,
    /// The smallest and largest value of the first column, if that is one of integers.
    integer_bounds: Option<(i64, i64)>,
}

/// A key with too many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyTooLong {
    pub bytes: usize,
}

impl KeyRun {
    /// The run of at most a chunk's rows with these columns of a key.
    ///
    /// # Errors
    /// For a key of more than [`KEY_BYTES_MAX`] bytes.
    pub fn new(shape: &KeyShape, columns: &[ArrayRef]) -> Result<Self, KeyTooLong> {
        Self::of_rows(shape, columns, |_| true)
    }

    /// The same, of those rows that the index has.
    ///
    /// # Errors
    /// As [`Self::new`], for keys of these rows.
    pub fn of_rows(
        shape: &KeyShape,
        columns: &[ArrayRef],
        has_row: impl Fn(usize) -> bool,
    ) -> Result<Self, KeyTooLong> {
        let comparable = shape.comparable(columns);
        let encoded = shape.encode(&comparable);
        assert!(encoded.num_rows() <= CHUNK_ROWS, "a run is of at most a chunk");
        let has_null = |row: usize| comparable.iter().any(|column| column.is_null(row));
        let is_member = |row: usize| shape.nulls == KeyNulls::Equal || !has_null(row);
        let is_key = |row: &u32| has_row(*row as usize) && is_member(*row as usize);
        let mut rows: Vec<u32> = (0..encoded.num_rows() as u32).filter(is_key).collect();
        rows.sort_unstable_by(|a, b| encoded.row(*a as usize).cmp(&encoded.row(*b as usize)).then(a.cmp(b)));
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(rows.len()));
        for row in &rows {
            let key = encoded.row(*row as usize);
            let key = key.as_ref();
            if key.len() > KEY_BYTES_MAX {
                return Err(KeyTooLong { bytes: key.len() });
            }
            bytes.extend_from_slice(key);
            // 2^17 rows of 2^13 bytes are 2^30 bytes.
            ends.push(bytes.len() as u32);
        }
        Ok(Self { bytes, ends, rows, integer_bounds: comparable.first().and_then(integer_bounds) })
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The key at a place, from 0.
    pub fn key(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start as usize..self.ends[at] as usize]
    }

    /// All keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.key(at))
    }

    /// The row of the key at a place.
    pub fn row(&self, at: usize) -> u32 {
        self.rows[at]
    }

    /// The smallest and largest value of the first column, if that is one of integers.
    pub fn integer_bounds(&self) -> Option<(i64, i64)> {
        self.integer_bounds
    }

    /// The first place from `from` on whose key is not below this one.
    pub fn lower_bound(&self, key: &[u8], from: usize) -> usize {
        let (mut low, mut high) = (from, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(middle) < key { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The places of a key, from a place on that is not behind it.
    pub fn places_of<'a>(&'a self, key: &'a [u8], from: usize) -> impl Iterator<Item = usize> + 'a {
        (self.lower_bound(key, from)..self.len()).take_while(move |at| self.key(*at) == key)
    }

    /// Whether it has a key.
    pub fn has(&self, key: &[u8]) -> bool {
        self.places_of(key, 0).next().is_some()
    }

    /// The first key that comes twice.
    pub fn first_repeated(&self) -> Option<&[u8]> {
        (1..self.len()).find(|at| self.key(*at) == self.key(*at - 1)).map(|at| self.key(at))
    }

    /// The run without some rows.
    pub fn without(&self, is_left_out: impl Fn(u32) -> bool) -> Self {
        self.only(|at| !is_left_out(self.row(at)))
    }

    /// Each of its keys once, with the first of its rows.
    pub fn distinct(self) -> Self {
        match self.first_repeated() {
            Some(_) => self.only(|at| at == 0 || self.key(at) != self.key(at - 1)),
            None => self,
        }
    }

    /// The keys at some places.
    pub fn only(&self, is_kept: impl Fn(usize) -> bool) -> Self {
        let (mut bytes, mut ends, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for at in (0..self.len()).filter(|at| is_kept(*at)) {
            bytes.extend_from_slice(self.key(at));
            ends.push(bytes.len() as u32);
            rows.push(self.row(at));
        }
        Self { bytes, ends, rows, integer_bounds: self.integer_bounds }
    }

    /// Bytes that it takes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + 4 * (self.ends.capacity() + self.rows.capacity())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringViewArray};
    use braid_base::{ColumnId, Random, SeededRandom};

    use super::super::key_summary::KeySummary;
    use super::*;
    use crate::ColumnType;

    fn shape(nulls: KeyNulls) -> KeyShape {
        KeyShape::new(
            vec![(ColumnId(0), ColumnType::BigInt), (ColumnId(1), ColumnType::Text)],
            [None; 2].into_iter(),
            nulls,
        )
    }

    fn run(nulls: KeyNulls, rows: &[(Option<i64>, Option<&str>)]) -> Result<KeyRun, KeyTooLong> {
        let a = Int64Array::from_iter(rows.iter().map(|(a, _)| *a));
        let b = StringViewArray::from_iter(rows.iter().map(|(_, b)| *b));
        KeyRun::new(&shape(nulls), &[Arc::new(a), Arc::new(b)])
    }

    #[test]
    fn keys_are_in_the_order_of_their_values() {
        let rows = [(Some(3), Some("a")), (Some(-1), Some("b")), (Some(3), Some("")), (Some(-1), Some("ab"))];
        let run = run(KeyNulls::Distinct, &rows).unwrap();
        assert_eq!((0..run.len()).map(|at| run.row(at)).collect::<Vec<_>>(), [3, 1, 2, 0]);
        assert_eq!((run.integer_bounds(), run.first_repeated()), (Some((-1, 3)), None));
        for at in 0..run.len() {
            assert_eq!(run.places_of(run.key(at), 0).collect::<Vec<_>>(), [at]);
        }
        let left = run.without(|row| row == 1);
        assert_eq!((left.len(), left.has(run.key(0)), left.has(run.key(1))), (3, true, false));
    }

    #[test]
    fn nulls_are_left_out_or_alike() {
        let rows = [(None, Some("a")), (Some(1), None), (None, Some("a")), (Some(1), Some("a"))];
        let distinct = run(KeyNulls::Distinct, &rows).unwrap();
        assert_eq!((distinct.len(), distinct.row(0), distinct.first_repeated()), (1, 3, None));
        let equal = run(KeyNulls::Equal, &rows).unwrap();
        assert_eq!((equal.len(), equal.first_repeated().is_some()), (4, true));
    }

    #[test]
    fn keys_have_a_greatest_length() {
        let longest = "x".repeat(2 * KEY_BYTES_MAX);
        let error = run(KeyNulls::Distinct, &[(Some(1), Some("a")), (Some(2), Some(&longest))]).unwrap_err();
        assert!(error.bytes > 2 * KEY_BYTES_MAX, "{error:?}");
    }

    #[test]
    fn a_summary_passes_over_no_key_and_few_others_pass() {
        let mut random = SeededRandom::new(1);
        let mut keys = |count: usize| -> Vec<(Option<i64>, Option<&str>)> {
            (0..count).map(|_| (Some(random.next_u64() as i64), Some("t"))).collect()
        };
        let (present, absent) = (run(KeyNulls::Distinct, &keys(20_000)), run(KeyNulls::Distinct, &keys(20_000)));
        let (present, absent) = (present.unwrap(), absent.unwrap());
        let summary = KeySummary::of(&present);
        assert!(present.keys().all(|key| summary.may_have(key)));
        let passed = absent.keys().filter(|key| summary.may_have(key)).count();
        assert!(passed < 20_000 / 150, "{passed}");
        assert!(!KeySummary::of(&present.without(|_| true)).may_have(present.key(0)));
    }
}
