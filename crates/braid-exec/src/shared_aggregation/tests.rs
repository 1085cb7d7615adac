//! One pass against each query row by row, over random tables, queries, representations and workers.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringViewArray};
use braid_base::ByteSize;
use braid_storage::{ColumnPredicate, ColumnType, Scalar, Segment, encode_segment};
use bytes::Bytes;
use proptest::prelude::*;

use super::{AggregationPlan, PassError, SharedAggregation};
use crate::query_set::bitmap::BitmapSets;
use crate::query_set::class::InternedSets;
use crate::query_set::list::ListSets;
use crate::{
    Aggregate, GroupRow, IntegerExpression, IntegerOperation, KeyValue, PredicateIndex, QueryNumber, QuerySets,
};

/// Two integers and a string.
type Row = (Option<i64>, Option<i64>, Option<String>);

type Query = Vec<(usize, ColumnPredicate)>;

/// Chunks of rows, and queries with their predicates by column.
#[derive(Clone, Debug)]
struct Case {
    chunks: Vec<Vec<Row>>,
    queries: Vec<Query>,
    keys: Vec<usize>,
}

fn row() -> impl Strategy<Value = Row> {
    let integer = || prop_oneof![1 => Just(None), 8 => (-6i64..6).prop_map(Some), 1 => any::<i64>().prop_map(Some)];
    let string = prop_oneof![1 => Just(None), 6 => "[ab]{0,2}".prop_map(Some), 1 => "[a-z]{20}".prop_map(Some)];
    (integer(), integer(), string)
}

fn predicate() -> impl Strategy<Value = (usize, ColumnPredicate)> {
    let integer = (-7i64..7).prop_map(Scalar::Int);
    let string = "[abc]{0,2}".prop_map(|s| Scalar::Bytes(s.into_bytes()));
    let of = |value: BoxedStrategy<Scalar>| {
        let bounds = (value.clone(), value.clone(), 0..6);
        bounds.prop_map(|(a, b, kind)| match kind {
            0 => ColumnPredicate::equal(a),
            1 => ColumnPredicate::NotEqual(a),
            2 => ColumnPredicate::In(vec![a, b]),
            3 => ColumnPredicate::IsNull,
            4 => ColumnPredicate::Range { low: Bound::Included(a), high: Bound::Unbounded },
            _ => ColumnPredicate::Range { low: Bound::Included(a), high: Bound::Excluded(b) },
        })
    };
    let column = (0usize..2, of(integer.boxed()));
    prop_oneof![2 => column, 1 => (Just(2), of(string.boxed()))]
}

fn case() -> impl Strategy<Value = Case> {
    let chunk = prop_oneof![4 => prop::collection::vec(row(), 1..60), 1 => prop::collection::vec(row(), 1000..1100)];
    let queries = prop::collection::vec(prop::collection::vec(predicate(), 0..3), 1..90);
    let keys = prop::sample::subsequence(vec![0usize, 1, 2], 0..3);
    (prop::collection::vec(chunk, 1..4), queries, keys).prop_map(|(chunks, queries, keys)| Case {
        chunks,
        queries,
        keys,
    })
}

/// a + b * 3, which nulls in either make null and large values make wide.
fn argument() -> IntegerExpression {
    let product = IntegerExpression::binary(
        IntegerOperation::Multiply,
        IntegerExpression::Column(1),
        IntegerExpression::Constant(3),
    );
    IntegerExpression::binary(IntegerOperation::Add, IntegerExpression::Column(0), product)
}

fn aggregates() -> Vec<Aggregate> {
    vec![
        Aggregate::CountRows,
        Aggregate::Count(IntegerExpression::Column(1)),
        Aggregate::Sum(argument()),
        Aggregate::Minimum(IntegerExpression::Column(0)),
        Aggregate::Maximum(argument()),
        Aggregate::Sum(IntegerExpression::Column(0)),
    ]
}

impl Case {
    fn plan(&self, queries: &[Query]) -> AggregationPlan {
        let index = |column: usize| {
            let of_column = queries.iter().enumerate().flat_map(|(query, predicates)| {
                let of_query = predicates.iter().filter(move |(at, _)| *at == column);
                of_query.map(move |(_, predicate)| (QueryNumber::at(query), predicate.clone()))
            });
            let predicates: Vec<_> = of_column.collect();
            let index = PredicateIndex::new(queries.len(), &predicates).unwrap();
            (!predicates.is_empty()).then(|| (column, Arc::new(index)))
        };
        AggregationPlan {
            query_count: queries.len(),
            filters: (0..3).filter_map(index).collect(),
            keys: self.keys.clone(),
            aggregates: aggregates(),
            memory_limit: ByteSize(1 << 30),
        }
    }

    /// A pass of some of the queries, by so many workers that take chunks in turn; forgetful ones distribute their
    /// buckets after each chunk.
    fn pass<S: QuerySets>(&self, queries: &[Query], workers: usize, forgetful: bool) -> Vec<Vec<GroupRow>> {
        let plan = self.plan(queries);
        let mut workers: Vec<_> = (0..workers).map(|_| SharedAggregation::<S>::new(plan.clone())).collect();
        let count = workers.len();
        if forgetful {
            workers.iter_mut().for_each(|worker| worker.sets_bytes_max = 0);
        }
        for (number, chunk) in self.chunks.iter().enumerate() {
            let segments = segments(chunk);
            let segments: Vec<&Segment> = segments.iter().collect();
            workers[number % count].consume(&segments, chunk.len()).unwrap();
        }
        let mut found = workers.into_iter().map(|worker| worker.finish().unwrap());
        let mut merged = found.next().unwrap();
        found.for_each(|other| merged.merge(other).unwrap());
        merged.into_rows()
    }

    /// One query, row by row: the definition.
    fn alone(&self, query: &Query) -> Vec<GroupRow> {
        let mut groups: BTreeMap<Vec<KeyValue>, Vec<&Row>> = BTreeMap::new();
        if self.keys.is_empty() {
            groups.insert(Vec::new(), Vec::new());
        }
        for row in self.chunks.iter().flatten() {
            if query.iter().all(|(column, predicate)| predicate.matches(scalar(row, *column).as_ref())) {
                let key = self.keys.iter().map(|column| match scalar(row, *column) {
                    None => KeyValue::Null,
                    Some(Scalar::Int(value)) => KeyValue::Integer(value),
                    Some(Scalar::Bytes(bytes)) => KeyValue::Bytes(bytes.into()),
                    Some(other) => panic!("{other:?} in a test table"),
                });
                groups.entry(key.collect()).or_default().push(row);
            }
        }
        let rows = groups.into_iter();
        rows.map(|(key, rows)| GroupRow { key: key.into(), results: results(&rows) }).collect()
    }
}

/// The aggregates of [`aggregates`] over some rows.
fn results(rows: &[&Row]) -> Box<[Option<i128>]> {
    let a = || rows.iter().filter_map(|row| row.0).map(i128::from);
    let both = || rows.iter().filter_map(|row| Some(i128::from(row.0?) + i128::from(row.1?) * 3));
    let sum = |values: &mut dyn Iterator<Item = i128>| values.fold(None, |sum, value| Some(sum.unwrap_or(0) + value));
    Box::new([
        Some(rows.len() as i128),
        Some(rows.iter().filter(|row| row.1.is_some()).count() as i128),
        sum(&mut both()),
        a().min(),
        both().max(),
        sum(&mut a()),
    ])
}

fn scalar(row: &Row, column: usize) -> Option<Scalar> {
    match column {
        0 => row.0.map(Scalar::Int),
        1 => row.1.map(Scalar::Int),
        _ => row.2.clone().map(|string| Scalar::Bytes(string.into_bytes())),
    }
}

fn segments(rows: &[Row]) -> Vec<Segment> {
    let a: ArrayRef = Arc::new(rows.iter().map(|row| row.0).collect::<Int64Array>());
    let b: ArrayRef = Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>());
    let c: ArrayRef = Arc::new(rows.iter().map(|row| row.2.as_deref()).collect::<StringViewArray>());
    let columns = [(a, ColumnType::BigInt), (b, ColumnType::BigInt), (c, ColumnType::Text)];
    let open = |(array, column_type): (ArrayRef, ColumnType)| {
        let encoded = encode_segment(&array, column_type).unwrap();
        Segment::open(Bytes::from(encoded.bytes), column_type).unwrap()
    };
    columns.into_iter().map(open).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_pass_gives_each_query_what_it_gets_alone(case in case(), workers in 1usize..4, forgetful: bool) {
        let expected: Vec<Vec<GroupRow>> = case.queries.iter().map(|query| case.alone(query)).collect();
        prop_assert_eq!(&case.pass::<InternedSets>(&case.queries, workers, forgetful), &expected);
        prop_assert_eq!(&case.pass::<BitmapSets>(&case.queries, workers, forgetful), &expected);
        prop_assert_eq!(&case.pass::<ListSets>(&case.queries, workers, forgetful), &expected);
        let single = case.pass::<InternedSets>(&case.queries[..1], workers, forgetful);
        prop_assert_eq!(&single[0], &expected[0]);
    }
}

#[test]
fn a_pass_over_its_memory_fails_and_says_by_how_much() {
    let rows: Vec<Row> = (0..1000).map(|value| (Some(value), None, None)).collect();
    let case = Case { chunks: vec![rows.clone()], queries: vec![Vec::new()], keys: vec![0] };
    let plan = AggregationPlan { memory_limit: ByteSize(4096), ..case.plan(&case.queries) };
    let mut worker = SharedAggregation::<ListSets>::new(plan);
    let segments = segments(&rows);
    let error = worker.consume(&segments.iter().collect::<Vec<_>>(), rows.len()).unwrap_err();
    assert!(matches!(error, PassError::Memory { limit: ByteSize(4096), used } if used > ByteSize(4096)), "{error}");
}

#[test]
fn the_groups_of_all_queries_count_as_well() {
    // 50 groups in one bucket are little; distributed to 1000 queries they are 50 000.
    let rows: Vec<Row> = (0..50).map(|value| (Some(value), None, None)).collect();
    let case = Case { chunks: vec![rows.clone()], queries: vec![Vec::new(); 1000], keys: vec![0] };
    let plan = AggregationPlan { memory_limit: ByteSize(2 << 20), ..case.plan(&case.queries) };
    let mut worker = SharedAggregation::<InternedSets>::new(plan);
    let segments = segments(&rows);
    worker.consume(&segments.iter().collect::<Vec<_>>(), rows.len()).unwrap();
    let error = worker.finish().unwrap_err();
    assert!(matches!(error, PassError::Memory { limit: ByteSize(0x20_0000), .. }), "{error}");
}
