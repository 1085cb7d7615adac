//! Sets as numbers of interned sets: each distinct set is stored once, and rows with equal sets carry equal numbers.
//!
//! Why this wins: constants cut a column into few classes, and the sets of a conjunction are determined by the tuple of
//! its columns' classes. So few sets occur, intersections repeat, and a memo answers them whatever the number of queries.
//! What comes after profits more: rows of equal (key, class) are aggregated once for all their queries.
//!
//! The memo of intersections is direct-mapped, of fixed size: a pair that collides with another replaces it and is
//! computed again when it comes back.

use std::collections::HashMap;
use std::sync::Arc;

use super::{Bucket, KeptRows, PASS_QUERIES_MAX, QueryNumber, QuerySets, check_row_count};
use crate::query_bitmap::{queries_of, words_for};
use crate::{ClassSets, RowClass};

/// Entries of the memo: 2^14 * 12 bytes = 192 KiB, what a second-level cache holds beside the data.
const MEMO_ENTRIES: usize = 1 << 14;

/// Number of one of the [`InternedSets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetNumber(u32);

impl SetNumber {
    /// The empty set. Rows do not carry it: it only says that an intersection is empty.
    const EMPTY: Self = Self(0);

    /// Its index in arrays with an entry for each interned set.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The representation: all distinct sets that have come up in the pass.
#[derive(Debug)]
pub struct InternedSets {
    query_count: usize,
    /// The sets by number; the first is the empty set.
    sets: Vec<Arc<[u64]>>,
    numbers: HashMap<Arc<[u64]>, SetNumber>,
    memo: Box<[MemoEntry]>,
    /// Numbers of the classes of the indexes seen so far, by the identity of their [`ClassSets`].
    classes: HashMap<u64, Arc<[SetNumber]>>,
    scratch: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct MemoEntry {
    a: SetNumber,
    b: SetNumber,
    common: SetNumber,
}

/// The set numbers of some rows.
#[derive(Clone, Debug, Default)]
pub struct InternedColumn {
    numbers: Vec<SetNumber>,
}

impl InternedColumn {
    /// The number of each row's set.
    pub fn numbers(&self) -> &[SetNumber] {
        &self.numbers
    }
}

impl InternedSets {
    /// Number of distinct sets so far, the empty one included.
    pub fn set_count(&self) -> usize {
        self.sets.len()
    }

    /// The queries of a set, ascending.
    pub fn queries(&self, set: SetNumber) -> impl Iterator<Item = QueryNumber> + '_ {
        queries_of(&self.sets[set.index()])
    }

    /// The number of what two sets have in common; `None` when that is nothing.
    pub fn intersect(&mut self, a: SetNumber, b: SetNumber) -> Option<SetNumber> {
        Some(self.common(a, b)).filter(|common| *common != SetNumber::EMPTY)
    }

    fn common(&mut self, a: SetNumber, b: SetNumber) -> SetNumber {
        if a == b {
            return a;
        }
        let (a, b) = if a < b { (a, b) } else { (b, a) };
        let at = memo_entry(a, b);
        let entry = self.memo[at];
        if (entry.a, entry.b) == (a, b) {
            return entry.common;
        }
        let common = self.compute_common(a, b);
        self.memo[at] = MemoEntry { a, b, common };
        common
    }

    fn compute_common(&mut self, a: SetNumber, b: SetNumber) -> SetNumber {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        scratch.extend(self.sets[a.index()].iter().zip(self.sets[b.index()].iter()).map(|(a, b)| a & b));
        let common = self.intern(&scratch);
        self.scratch = scratch;
        common
    }

    fn intern(&mut self, words: &[u64]) -> SetNumber {
        if let Some(number) = self.numbers.get(words) {
            return *number;
        }
        let number = SetNumber(u32::try_from(self.sets.len()).expect("2^32 sets take more memory than there is"));
        let words: Arc<[u64]> = words.into();
        self.sets.push(Arc::clone(&words));
        self.numbers.insert(words, number);
        number
    }

    /// The numbers of an index's classes.
    fn numbers_of(&mut self, sets: &ClassSets) -> Arc<[SetNumber]> {
        if let Some(numbers) = self.classes.get(&sets.identity()) {
            return Arc::clone(numbers);
        }
        let numbers: Arc<[SetNumber]> = sets.bitmaps().map(|bitmap| self.intern(bitmap.words())).collect();
        self.classes.insert(sets.identity(), Arc::clone(&numbers));
        numbers
    }
}

/// Where the memo keeps a pair.
fn memo_entry(a: SetNumber, b: SetNumber) -> usize {
    // 2^64 / golden ratio spreads the pair; the high bits are the mixed ones.
    let mixed = (u64::from(a.0) << 32 | u64::from(b.0)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> (64 - MEMO_ENTRIES.trailing_zeros())) as usize
}

impl QuerySets for InternedSets {
    type Column = InternedColumn;

    fn new(query_count: usize) -> Self {
        assert!(query_count <= PASS_QUERIES_MAX, "{query_count} queries in a pass of at most {PASS_QUERIES_MAX}");
        // Pairs are of different sets, so this entry answers nothing.
        let unused = MemoEntry { a: SetNumber::EMPTY, b: SetNumber::EMPTY, common: SetNumber::EMPTY };
        let mut interned = Self {
            query_count,
            sets: Vec::new(),
            numbers: HashMap::new(),
            memo: vec![unused; MEMO_ENTRIES].into(),
            classes: HashMap::new(),
            scratch: Vec::new(),
        };
        let empty = interned.intern(&vec![0; words_for(query_count)]);
        assert_eq!(empty, SetNumber::EMPTY);
        interned
    }

    fn begin(&mut self, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows) -> InternedColumn {
        check_row_count(classes.len());
        let numbers_of = self.numbers_of(sets);
        kept.clear();
        let mut numbers = Vec::with_capacity(classes.len());
        for (row, class) in classes.iter().enumerate() {
            if *class != RowClass::NOBODY {
                numbers.push(numbers_of[class.index()]);
                kept.push(row as u16);
            }
        }
        InternedColumn { numbers }
    }

    fn narrow(&mut self, column: &mut InternedColumn, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows) {
        assert_eq!(classes.len(), column.numbers.len(), "a class for each row");
        let numbers_of = self.numbers_of(sets);
        kept.clear();
        for (row, class) in classes.iter().enumerate() {
            let common = self.common(column.numbers[row], numbers_of[class.index()]);
            if common != SetNumber::EMPTY {
                column.numbers[kept.len()] = common;
                kept.push(row as u16);
            }
        }
        column.numbers.truncate(kept.len());
    }

    fn row_count(&self, column: &InternedColumn) -> usize {
        column.numbers.len()
    }

    fn for_each_query(&self, column: &InternedColumn, row: usize, visit: impl FnMut(QueryNumber)) {
        self.queries(column.numbers[row]).for_each(visit);
    }

    fn for_each_bucket(&self, column: &InternedColumn, row: usize, mut visit: impl FnMut(Bucket)) {
        visit(Bucket(column.numbers[row].0));
    }

    fn for_each_query_of(&self, bucket: Bucket, visit: impl FnMut(QueryNumber)) {
        self.queries(SetNumber(bucket.0)).for_each(visit);
    }

    fn shared_bytes(&self) -> usize {
        // Each set's words with their reference counts, twice its fat pointer and its number; the memo.
        let set_bytes = words_for(self.query_count) * 8 + 16 + 2 * size_of::<Arc<[u64]>>() + size_of::<SetNumber>();
        self.sets.len() * set_bytes + size_of_val(&*self.memo)
    }

    fn column_bytes(&self, column: &InternedColumn) -> usize {
        size_of_val(column.numbers.as_slice())
    }
}
