//! The classes of values, compared with [`ColumnPredicate::matches`], which also defines the results of codecs.

use std::ops::Bound;

use braid_storage::{ColumnPredicate, Scalar};
use braid_testing::properties;
use braid_testing::proptest::prelude::*;

use super::{PredicateIndex, Unordered};
use crate::QueryNumber;

/// Checks the class of `value` (`None` for null): it has a query exactly when all its predicates match.
fn check_class(index: &PredicateIndex, predicates: &[(QueryNumber, ColumnPredicate)], value: Option<&Scalar>) {
    let class = value.map_or(index.class_of_null(), |value| index.class_of(value));
    let set = index.sets().bitmap(class);
    for query in (0..index.sets().query_count()).map(QueryNumber::at) {
        let of_query = predicates.iter().filter(|(owner, _)| *owner == query);
        let wanted = of_query.clone().all(|(_, predicate)| predicate.matches(value));
        assert_eq!(set.contains(query), wanted, "{value:?} for {query:?} with {:?}", of_query.collect::<Vec<_>>());
    }
}

fn bound(value: impl Strategy<Value = Scalar> + Clone) -> impl Strategy<Value = Bound<Scalar>> {
    prop_oneof![Just(Bound::Unbounded), value.clone().prop_map(Bound::Included), value.prop_map(Bound::Excluded),]
}

fn predicate(value: impl Strategy<Value = Scalar> + Clone + 'static) -> impl Strategy<Value = ColumnPredicate> {
    let values = || prop::collection::vec(value.clone(), 0..6);
    prop_oneof![
        4 => (bound(value.clone()), bound(value.clone())).prop_map(|(low, high)| ColumnPredicate::Range { low, high }),
        2 => value.clone().prop_map(ColumnPredicate::equal),
        1 => value.clone().prop_map(ColumnPredicate::NotEqual),
        1 => values().prop_map(ColumnPredicate::In),
        1 => values().prop_map(ColumnPredicate::NotIn),
        1 => Just(ColumnPredicate::IsNull),
        1 => Just(ColumnPredicate::IsNotNull),
    ]
}

fn predicates(
    value: impl Strategy<Value = Scalar> + Clone + 'static,
) -> impl Strategy<Value = (usize, Vec<(QueryNumber, ColumnPredicate)>)> {
    (1usize..150).prop_flat_map(move |query_count| {
        let one = ((0..query_count).prop_map(QueryNumber::at), predicate(value.clone()));
        (Just(query_count), prop::collection::vec(one, 0..query_count * 2))
    })
}

/// Integers close together, far apart, and at the ends of their type.
fn integer() -> impl Strategy<Value = i64> + Clone {
    prop_oneof![6 => -20i64..20, 2 => any::<i64>(), 1 => Just(i64::MIN), 1 => Just(i64::MAX)]
}

properties! {
    256 cases;

    #[test]
    fn integers_near_each_other((query_count, predicates) in predicates((-20i64..20).prop_map(Scalar::Int))) {
        let index = PredicateIndex::new(query_count, &predicates).unwrap();
        let values: Vec<i64> = (-25..25).chain([i64::MIN, i64::MAX]).collect();
        let mut classes = Vec::new();
        index.classes_of_integers(&values, &mut classes);
        for (value, class) in values.iter().zip(classes) {
            check_class(&index, &predicates, Some(&Scalar::Int(*value)));
            prop_assert_eq!(index.class_of(&Scalar::Int(*value)), class);
        }
        check_class(&index, &predicates, None);
    }

    #[test]
    fn integers_anywhere(
        (query_count, predicates) in predicates(integer().prop_map(Scalar::Int)),
        values in prop::collection::vec(integer(), 1..60),
    ) {
        let index = PredicateIndex::new(query_count, &predicates).unwrap();
        let mut classes = Vec::new();
        index.classes_of_integers(&values, &mut classes);
        for (value, class) in values.iter().zip(classes) {
            check_class(&index, &predicates, Some(&Scalar::Int(*value)));
            prop_assert_eq!(index.class_of(&Scalar::Int(*value)), class);
        }
    }

    #[test]
    fn strings(
        (query_count, predicates) in predicates("[ab]{0,3}".prop_map(|s| Scalar::Bytes(s.into_bytes()))),
        values in prop::collection::vec("[abc]{0,4}", 1..60),
    ) {
        let index = PredicateIndex::new(query_count, &predicates).unwrap();
        for value in values {
            check_class(&index, &predicates, Some(&Scalar::Bytes(value.into_bytes())));
        }
        check_class(&index, &predicates, None);
    }

    #[test]
    fn floats_with_nan_and_both_zeros(
        (query_count, predicates) in predicates(
            prop_oneof![Just(f64::NAN), Just(0.0), Just(-0.0), Just(f64::INFINITY), -2.0..2.0].prop_map(Scalar::Float)
        ),
        value in prop_oneof![Just(f64::NAN), Just(-0.0), Just(f64::NEG_INFINITY), -3.0..3.0],
    ) {
        let index = PredicateIndex::new(query_count, &predicates).unwrap();
        check_class(&index, &predicates, Some(&Scalar::Float(value)));
    }
}

#[test]
fn ranges_of_many_queries_make_few_classes() {
    // Section 1 of the measurements that this follows: Q ranges have at most 2Q bounds, so at most 2Q + 1 sets.
    let range = |query: usize| ColumnPredicate::Range {
        low: Bound::Included(Scalar::Int(query as i64 * 3)),
        high: Bound::Excluded(Scalar::Int(query as i64 * 5 + 100)),
    };
    let predicates: Vec<_> = (0..1000).map(|query| (QueryNumber::at(query), range(query))).collect();
    let index = PredicateIndex::new(1000, &predicates).unwrap();
    assert!(index.sets().class_count() <= 2 * 1000 + 2, "{} classes", index.sets().class_count());
    assert!(index.table.is_some());
}

#[test]
fn equal_constants_share_their_classes() {
    let predicates: Vec<_> = (0..1000)
        .map(|query| (QueryNumber::at(query), ColumnPredicate::equal(Scalar::Int(query as i64 % 5))))
        .collect();
    let index = PredicateIndex::new(1000, &predicates).unwrap();
    assert_eq!(index.sets().class_count(), 6, "five values and the empty set");
}

#[test]
fn without_predicates_every_value_is_in_one_class_of_all_queries() {
    let index = PredicateIndex::new(3, &[]).unwrap();
    let mut classes = Vec::new();
    index.classes_of_integers(&[1, 2], &mut classes);
    assert_eq!(classes, [index.class_of_null(); 2]);
    assert_eq!(index.sets().bitmap(classes[0]).len(), 3);
}

#[test]
fn intervals_are_refused() {
    let predicate = ColumnPredicate::equal(Scalar::Interval(1, 0, 0));
    assert_eq!(PredicateIndex::new(1, &[(QueryNumber(0), predicate)]).unwrap_err(), Unordered);
}
