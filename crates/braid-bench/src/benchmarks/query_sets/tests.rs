//! The representations against plain sets of numbers, and against each other.

use std::collections::BTreeSet;

use braid_storage::{ColumnPredicate, Scalar};
use braid_testing::properties;
use braid_testing::proptest::prelude::*;

use super::bitmap::BitmapSets;
use super::interned::InternedSets;
use super::list::ListSets;
use super::representation::{KeptRows, QuerySets};
use braid_exec::query_sets::query_number::QueryNumber;
use braid_exec::{PredicateIndex, RowClass};

/// Which queries want a value, for each value of a small domain, for each column.
#[derive(Clone, Debug)]
struct Pass {
    query_count: usize,
    /// For each column, its values that each query wants; `None` for all.
    wanted: Vec<Vec<Option<BTreeSet<i64>>>>,
    /// For each column, the value of each row.
    rows: Vec<Vec<i64>>,
}

const DOMAIN: i64 = 5;

fn pass() -> impl Strategy<Value = Pass> {
    (1usize..200, 1usize..4, 1usize..80).prop_flat_map(|(query_count, columns, rows)| {
        let values = prop::option::weighted(0.7, prop::collection::btree_set(0..DOMAIN, 0..3));
        let wanted = prop::collection::vec(prop::collection::vec(values, query_count), columns);
        let rows = prop::collection::vec(prop::collection::vec(0..DOMAIN, rows), columns);
        (Just(query_count), wanted, rows).prop_map(|(query_count, wanted, rows)| Pass { query_count, wanted, rows })
    })
}

impl Pass {
    fn index(&self, column: usize) -> PredicateIndex {
        let queries = self.wanted[column].iter().enumerate();
        let predicates: Vec<_> = queries
            .filter_map(|(query, values)| {
                let values = values.as_ref()?.iter().copied().map(Scalar::Int).collect();
                Some((QueryNumber::at(query), ColumnPredicate::In(values)))
            })
            .collect();
        PredicateIndex::new(self.query_count, &predicates).unwrap()
    }

    /// The definition: the rows with a non-empty set, and their queries.
    fn expected(&self) -> Vec<(usize, Vec<usize>)> {
        let wants = |query: usize, row: usize| {
            (0..self.rows.len()).all(|column| {
                self.wanted[column][query].as_ref().is_none_or(|values| values.contains(&self.rows[column][row]))
            })
        };
        let rows = (0..self.rows[0].len()).map(|row| (row, (0..self.query_count).filter(|q| wants(*q, row)).collect()));
        rows.filter(|(_, queries): &(usize, Vec<usize>)| !queries.is_empty()).collect()
    }

    /// The same by way of a representation.
    fn by<S: QuerySets>(&self) -> Vec<(usize, Vec<usize>)> {
        let mut sets = S::new(self.query_count);
        let mut kept = KeptRows::new();
        let mut rows: Vec<usize> = (0..self.rows[0].len()).collect();
        let mut column: Option<S::Column> = None;
        for (at, values) in self.rows.iter().enumerate() {
            let index = self.index(at);
            let values: Vec<i64> = rows.iter().map(|row| values[*row]).collect();
            let mut classes: Vec<RowClass> = Vec::new();
            index.classes_of_integers(&values, &mut classes);
            match &mut column {
                None => column = Some(sets.begin(index.sets(), &classes, &mut kept)),
                Some(column) => sets.narrow(column, index.sets(), &classes, &mut kept),
            }
            rows = kept.iter().map(|at| rows[usize::from(*at)]).collect();
        }
        let column = column.expect("a pass has a column");
        assert_eq!(sets.row_count(&column), rows.len());
        let queries = |row: usize| {
            let mut queries = Vec::new();
            sets.for_each_query(&column, row, |query| queries.push(query.index()));
            queries
        };
        rows.iter().enumerate().map(|(at, row)| (*row, queries(at))).collect()
    }
}

properties! {
    256 cases;

    #[test]
    fn every_representation_finds_the_queries_of_each_row(pass in pass()) {
        let expected = pass.expected();
        prop_assert_eq!(&pass.by::<ListSets>(), &expected);
        prop_assert_eq!(&pass.by::<BitmapSets>(), &expected);
        prop_assert_eq!(&pass.by::<InternedSets>(), &expected);
    }
}

#[test]
fn equal_sets_have_one_number() {
    let equals = |value: i64| ColumnPredicate::equal(Scalar::Int(value));
    let predicates = [(QueryNumber(0), equals(1)), (QueryNumber(1), equals(1)), (QueryNumber(2), equals(2))];
    let index = PredicateIndex::new(3, &predicates).unwrap();
    let mut sets = InternedSets::new(3);
    let mut classes = Vec::new();
    index.classes_of_integers(&[1, 2, 3, 1], &mut classes);
    let mut kept = KeptRows::new();
    let column = sets.begin(index.sets(), &classes, &mut kept);
    assert_eq!(kept, [0, 1, 3]);
    let [one, two, again] = column.numbers() else { panic!("three rows are kept") };
    assert!(one == again && one != two);
    // The empty set, all queries, and these two.
    assert_eq!(sets.store().set_count(), 4);
    assert_eq!(sets.store().queries(*one), [QueryNumber(0), QueryNumber(1)]);
}

#[test]
#[should_panic(expected = "65537 queries in a pass of at most 65536")]
fn a_pass_has_a_limit() {
    ListSets::new(65_537);
}
