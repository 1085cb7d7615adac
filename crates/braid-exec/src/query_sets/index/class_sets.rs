//! The classes that the predicates of many queries divide one column's values into, and the queries of each.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::QueryNumber;
use crate::query_sets::query_bitmap::QueryBitmap;

/// The class of a row by one column: rows of one class are wanted, as far as the column goes, by the same queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowClass(pub u32);

impl RowClass {
    /// The class of the values that no query wants.
    pub const NOBODY: Self = Self(0);

    /// Its index in arrays with an entry for each class.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The queries of each class of one column; no two classes have the same.
#[derive(Debug)]
pub struct ClassSets {
    identity: u64,
    query_count: usize,
    bitmaps: Vec<QueryBitmap>,
    lists: OnceLock<Lists>,
}

/// The queries of all classes, one class after the other.
#[derive(Debug)]
struct Lists {
    queries: Vec<QueryNumber>,
    ends: Vec<usize>,
}

impl ClassSets {
    /// Classes with these queries. The first must be nobody's.
    pub(crate) fn new(query_count: usize, bitmaps: Vec<QueryBitmap>) -> Self {
        static NEXT_IDENTITY: AtomicU64 = AtomicU64::new(0);
        assert!(bitmaps[RowClass::NOBODY.index()].is_empty(), "the first class is nobody's");
        let identity = NEXT_IDENTITY.fetch_add(1, Ordering::Relaxed);
        Self { identity, query_count, bitmaps, lists: OnceLock::new() }
    }

    /// What tells these classes from those of every other index of this process.
    pub(crate) fn identity(&self) -> u64 {
        self.identity
    }

    /// Number of classes, nobody's included.
    pub fn class_count(&self) -> usize {
        self.bitmaps.len()
    }

    /// Number of queries of the pass.
    pub fn query_count(&self) -> usize {
        self.query_count
    }

    /// The queries of a class. Panics when there is no such class.
    pub fn bitmap(&self, class: RowClass) -> &QueryBitmap {
        &self.bitmaps[class.index()]
    }

    /// The queries of the classes, by class.
    pub(crate) fn bitmaps(&self) -> impl Iterator<Item = &QueryBitmap> {
        self.bitmaps.iter()
    }

    /// The queries of a class, ascending. Panics when there is no such class.
    pub(crate) fn list(&self, class: RowClass) -> &[QueryNumber] {
        let lists = self.lists.get_or_init(|| {
            let mut lists = Lists { queries: Vec::new(), ends: Vec::with_capacity(self.bitmaps.len()) };
            for bitmap in &self.bitmaps {
                lists.queries.extend(bitmap.iter());
                lists.ends.push(lists.queries.len());
            }
            lists
        });
        let start = class.index().checked_sub(1).map_or(0, |before| lists.ends[before]);
        &lists.queries[start..lists.ends[class.index()]]
    }
}
