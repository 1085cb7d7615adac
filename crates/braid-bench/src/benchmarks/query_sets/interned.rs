//! Sets as numbers of interned sets: each distinct set is stored once ([`SetStore`]), and rows with equal sets carry equal
//! numbers. Plans use this representation; this module implements the trait for the benchmark.
//!
//! This representation is the fastest because constants divide a column into few classes, and the tuple of a row's classes
//! determines its set. Few sets occur, intersections repeat, and a memo returns them for any number of queries. Later
//! operators gain more: rows of equal (key, set) are aggregated once for all their queries.

use std::collections::HashMap;
use std::sync::Arc;

use braid_base::ByteSize;

use super::representation::{Bucket, KeptRows, QuerySets, check_row_count};
use braid_exec::query_sets::query_number::QueryNumber;
use braid_exec::query_sets::set_calculator::SetCalculator;
use braid_exec::{ClassSets, FixedBudget, RowClass, SetNumber, SetStore};

/// The representation: all distinct sets that have come up in the pass.
#[derive(Debug)]
pub struct InternedSets {
    store: Arc<SetStore>,
    calculator: SetCalculator,
    /// Numbers of the classes of the indexes seen so far, by the identity of their [`ClassSets`].
    classes: HashMap<u64, Arc<[SetNumber]>>,
}

/// The set numbers of some rows.
#[derive(Clone, Debug, Default)]
pub struct InternedColumn {
    numbers: Vec<SetNumber>,
}

impl InternedColumn {
    /// The number of each row's set.
    #[cfg(test)]
    pub fn numbers(&self) -> &[SetNumber] {
        &self.numbers
    }
}

impl InternedSets {
    /// The sets.
    #[cfg(test)]
    pub fn store(&self) -> &SetStore {
        &self.store
    }

    /// The numbers of an index's classes.
    fn numbers_of(&mut self, sets: &ClassSets) -> Arc<[SetNumber]> {
        if let Some(numbers) = self.classes.get(&sets.identity()) {
            return Arc::clone(numbers);
        }
        let number = |queries| self.store.number_of(queries).expect("nothing limits the memory");
        let numbers: Arc<[SetNumber]> = sets.bitmaps().map(number).collect();
        self.classes.insert(sets.identity(), Arc::clone(&numbers));
        numbers
    }
}

impl QuerySets for InternedSets {
    type Column = InternedColumn;

    fn new(query_count: usize) -> Self {
        let store = SetStore::new(query_count, FixedBudget::new(ByteSize(u64::MAX)));
        let store = store.expect("nothing limits the memory");
        Self { calculator: SetCalculator::new(store.clone()), store, classes: HashMap::new() }
    }

    fn begin(&mut self, sets: &ClassSets, classes: &[RowClass], kept: &mut KeptRows) -> InternedColumn {
        check_row_count(classes.len());
        let numbers_of = self.numbers_of(sets);
        kept.clear();
        let mut numbers = Vec::with_capacity(classes.len());
        for (row, class) in classes.iter().enumerate() {
            if *class != RowClass::EMPTY {
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
            let common = self.calculator.intersect(column.numbers[row], numbers_of[class.index()]);
            let common = common.expect("nothing limits the memory");
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
        self.store.queries(column.numbers[row]).into_iter().for_each(visit);
    }

    fn for_each_bucket(&self, column: &InternedColumn, row: usize, mut visit: impl FnMut(Bucket)) {
        visit(Bucket(column.numbers[row].index() as u32));
    }

    fn for_each_query_of(&self, bucket: Bucket, visit: impl FnMut(QueryNumber)) {
        let set = SetNumber::from_value(i64::from(bucket.0));
        self.store.queries(set).into_iter().for_each(visit);
    }
}
