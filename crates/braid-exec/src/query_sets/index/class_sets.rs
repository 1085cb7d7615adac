//! The classes that the predicates of many queries divide one column's values into, and the queries of each.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::QueryNumber;
use crate::query_sets::query_bitmap::QueryBitmap;

/// The class of a row by one column. Rows of one class satisfy the conditions of the same queries on that column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowClass(pub u32);

impl RowClass {
    /// The class of the values that satisfy no query.
    pub const EMPTY: Self = Self(0);

    /// Its index in arrays with an entry for each class.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The query set of each class of one column. The sets of different classes differ.
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
    /// Classes with these query sets. The first set must be empty.
    pub(crate) fn new(query_count: usize, bitmaps: Vec<QueryBitmap>) -> Self {
        static NEXT_IDENTITY: AtomicU64 = AtomicU64::new(0);
        assert!(bitmaps[RowClass::EMPTY.index()].is_empty(), "the first class is that of the empty set");
        let identity = NEXT_IDENTITY.fetch_add(1, Ordering::Relaxed);
        Self { identity, query_count, bitmaps, lists: OnceLock::new() }
    }

    /// An identifier that is unique among the indexes of this process.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Number of classes, including the class of the empty set.
    pub fn class_count(&self) -> usize {
        self.bitmaps.len()
    }

    /// Number of queries of the pass.
    pub fn query_count(&self) -> usize {
        self.query_count
    }

    /// The queries of a class. Panics when the class does not exist.
    pub fn bitmap(&self, class: RowClass) -> &QueryBitmap {
        &self.bitmaps[class.index()]
    }

    /// The queries of the classes, by class.
    pub fn bitmaps(&self) -> impl Iterator<Item = &QueryBitmap> {
        self.bitmaps.iter()
    }

    /// The queries of a class, ascending. Panics when the class does not exist.
    pub fn list(&self, class: RowClass) -> &[QueryNumber] {
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
