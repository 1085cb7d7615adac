//! Sets of the rows of random segments, compared with each query's predicates value by value.

use std::ops::Bound;

use arrow::array::{ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, StringViewArray};
use braid_base::{ByteSize, Random, SeededRandom};
use braid_storage::{ColumnPredicate, ColumnType, Scalar, encode_segment};
use braid_testing::cases;
use bytes::Bytes;

use super::*;
use crate::query_sets::index::indexed_predicates::IndexedPredicates;
use crate::{FixedBudget, PredicateIndex, QueryNumber, RowClass, SetStore};

/// The values of a column: close together or far apart, short or long.
#[derive(Clone, Copy, Debug)]
enum Values {
    Near,
    Far,
    /// Integers of 128 bits. The column keeps 128 bits also for small values.
    Wide,
    Text,
    Float,
    Bool,
}

type Value = Option<Scalar>;
type Predicates = Vec<(QueryNumber, ColumnPredicate)>;

impl Values {
    fn scalar(self, number: u64) -> Scalar {
        let n = number as i64;
        match self {
            Self::Near => Scalar::Int(n - 3),
            Self::Far => Scalar::Int((n - 5) << 40),
            Self::Wide if number % 4 == 3 => Scalar::Int128(i128::from(n - 5) << 70),
            Self::Wide => Scalar::Int(n - 3),
            Self::Text if number.is_multiple_of(3) => Scalar::Bytes(format!("a string beyond a view {number}").into()),
            Self::Text => Scalar::Bytes(format!("{number}").into()),
            Self::Float => Scalar::Float([f64::NAN, -0.0, 0.0, 1.5, -2.5, f64::INFINITY][number as usize % 6]),
            Self::Bool => Scalar::Bool(number % 2 == 1),
        }
    }

    fn segment(self, values: &[Value]) -> Arc<Segment> {
        let integers = values.iter().map(|value| match value {
            Some(Scalar::Int(value)) => Some(*value),
            _ => None,
        });
        let wide = values.iter().map(|value| match value {
            Some(Scalar::Int(value)) => Some(i128::from(*value)),
            Some(Scalar::Int128(value)) => Some(*value),
            _ => None,
        });
        let floats = values.iter().map(|value| match value {
            Some(Scalar::Float(value)) => Some(*value),
            _ => None,
        });
        let booleans = values.iter().map(|value| match value {
            Some(Scalar::Bool(value)) => Some(*value),
            _ => None,
        });
        let texts = values.iter().map(|value| match value {
            Some(Scalar::Bytes(value)) => Some(std::str::from_utf8(value).unwrap()),
            _ => None,
        });
        let (array, column_type): (ArrayRef, ColumnType) = match self {
            Self::Near | Self::Far => (Arc::new(integers.collect::<Int64Array>()), ColumnType::BigInt),
            Self::Wide => {
                let array = wide.collect::<Decimal128Array>().with_precision_and_scale(38, 0).unwrap();
                (Arc::new(array), ColumnType::Numeric { precision: 38, scale: 0 })
            }
            Self::Text => (Arc::new(texts.collect::<StringViewArray>()), ColumnType::Text),
            Self::Float => (Arc::new(floats.collect::<Float64Array>()), ColumnType::Double),
            Self::Bool => (Arc::new(booleans.collect::<BooleanArray>()), ColumnType::Boolean),
        };
        let encoded = encode_segment(&array, column_type).unwrap();
        Arc::new(Segment::open(Bytes::from(encoded.bytes), column_type).unwrap())
    }

    fn predicate(self, random: &mut SeededRandom) -> ColumnPredicate {
        // Constants beyond 64 bits are not indexed.
        let mut constant = || match self.scalar(random.below(12)) {
            Scalar::Int128(_) => Scalar::Int(0),
            constant => constant,
        };
        let (a, b) = (constant(), constant());
        match random.below(7) {
            0 => ColumnPredicate::equal(a),
            1 => ColumnPredicate::NotEqual(a),
            2 => ColumnPredicate::In(vec![a]),
            3 => ColumnPredicate::IsNull,
            4 => ColumnPredicate::Range { low: Bound::Included(a), high: Bound::Unbounded },
            5 => ColumnPredicate::Range { low: Bound::Unbounded, high: Bound::Excluded(a) },
            _ => ColumnPredicate::Range { low: Bound::Excluded(a), high: Bound::Included(b) },
        }
    }
}

/// Columns, and the predicates of each query.
struct Case {
    query_count: usize,
    columns: Vec<Values>,
    predicates: Vec<Predicates>,
    store: Arc<SetStore>,
}

impl Case {
    fn new(random: &mut SeededRandom) -> Self {
        let query_count = [1, 2, 20, 130][random.below(4) as usize];
        let kinds = [Values::Near, Values::Far, Values::Wide, Values::Text, Values::Float, Values::Bool];
        let columns: Vec<Values> = (0..1 + random.below(4)).map(|_| kinds[random.below(6) as usize]).collect();
        let mut predicates = Vec::new();
        for column in &columns {
            let share = 1 + random.below(4);
            let mut of_column = Vec::new();
            for query in (0..query_count).map(QueryNumber::at) {
                if random.chance(share, 4) {
                    of_column.push((query, column.predicate(random)));
                }
            }
            predicates.push(of_column);
        }
        let store = SetStore::new(query_count, FixedBudget::new(ByteSize(1 << 24))).unwrap();
        Self { query_count, columns, predicates, store }
    }

    fn filters(&self) -> Vec<SetFilter> {
        let filter = |(column, predicates): (usize, &Predicates)| SetFilter {
            column,
            predicates: IndexedPredicates::new(predicates, &self.store).unwrap(),
        };
        self.predicates.iter().enumerate().map(filter).collect()
    }

    fn is_wanted(&self, row: &[Value], query: QueryNumber) -> bool {
        let of_column = |(value, predicates): (&Value, &Predicates)| {
            let mut own = predicates.iter().filter(|(owner, _)| *owner == query);
            own.all(|(_, predicate)| matches(predicate, value))
        };
        row.iter().zip(&self.predicates).all(of_column)
    }

    fn check_chunk(&self, random: &mut SeededRandom, scan: &mut SetScan, filters: &[SetFilter]) {
        let row_count = [5, 300, VECTOR_ROWS + 100][random.below(3) as usize];
        let value = |random: &mut SeededRandom, column: &Values| {
            (!random.chance(1, 8)).then(|| column.scalar(random.below(12)))
        };
        let rows: Vec<Vec<Value>> =
            (0..row_count).map(|_| self.columns.iter().map(|column| value(random, column)).collect()).collect();
        let column = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<Value>>();
        let segments: Vec<Arc<Segment>> =
            self.columns.iter().enumerate().map(|(at, values)| values.segment(&column(at))).collect();
        let mut chunk = scan.open(|column| segments[column].clone());
        for (vector, rows) in rows.chunks(VECTOR_ROWS).enumerate() {
            let mut wanted = Selection::all(rows.len());
            let drop: Vec<bool> = rows.iter().map(|_| random.chance(7, 8)).collect();
            wanted.retain_where(&drop);
            let before: Vec<usize> = wanted.iter().collect();
            let sets = scan.narrow(&mut chunk, vector, &mut wanted).unwrap();
            let mut found = wanted.iter().zip(sets).peekable();
            for row in before {
                let set = found.next_if(|(at, _)| *at == row).map_or(SetNumber::EMPTY, |(_, set)| set);
                let wanted = (0..self.query_count).map(QueryNumber::at);
                let wanted = wanted.filter(|query| self.is_wanted(&rows[row], *query)).collect::<Vec<_>>();
                assert_eq!(self.store.queries(set), wanted, "{:?}", rows[row]);
            }
            assert!(found.next().is_none());
        }
        for (values, filter) in self.columns.iter().zip(filters) {
            self.check_hull(*values, filter);
        }
    }

    fn check_hull(&self, values: Values, filter: &SetFilter) {
        let Some(hull) = filter.predicates.hull().filter(|_| !matches!(values, Values::Wide)) else { return };
        for value in (0..12).map(|number| Some(values.scalar(number))).chain([None]) {
            let index = filter.predicates.index();
            let class = value.as_ref().map_or(index.class_of_null(), |value| index.class_of(value));
            assert!(class == RowClass::EMPTY || hull.matches(value.as_ref()), "{value:?} is not in {hull:?}");
        }
    }
}

/// A value beyond 64 bits is compared as the nearest value of 64 bits, which is never a constant.
fn matches(predicate: &ColumnPredicate, value: &Value) -> bool {
    match value {
        Some(Scalar::Int128(wide)) => {
            predicate.matches(Some(&Scalar::Int(if *wide < 0 { i64::MIN } else { i64::MAX })))
        }
        value => predicate.matches(value.as_ref()),
    }
}

#[test]
fn sets_are_those_of_the_queries_whose_predicates_hold() {
    for case in cases!(0..80) {
        let mut random = case.random();
        let case = Case::new(&mut random);
        let filters = case.filters();
        let mut scan = SetScan::new(&filters);
        for _ in 0..3 {
            case.check_chunk(&mut random, &mut scan, &filters);
        }
    }
}

#[test]
fn a_hull_lists_few_values_and_bounds_many() {
    let hull = |predicates: &[ColumnPredicate]| {
        let own = (0..).map(QueryNumber).zip(predicates.iter().cloned()).collect::<Vec<_>>();
        PredicateIndex::new(predicates.len(), &own).unwrap().hull()
    };
    let equal = |value| ColumnPredicate::equal(Scalar::Int(value));
    let range = |low, high| ColumnPredicate::Range { low, high };
    let (from, below) = (|v| Bound::Included(Scalar::Int(v)), |v| Bound::Excluded(Scalar::Int(v)));
    assert_eq!(hull(&[equal(7), equal(3)]), Some(ColumnPredicate::In(vec![Scalar::Int(3), Scalar::Int(7)])));
    let both = hull(&[range(from(3), below(5)), range(from(9), below(12))]);
    assert_eq!(both, Some(range(from(3), below(12))));
    let half_open = hull(&[range(from(3), Bound::Unbounded), equal(1)]);
    assert_eq!(half_open, Some(range(from(1), Bound::Unbounded)));
    assert_eq!(hull(&[range(below(3), below(2))]), Some(ColumnPredicate::In(Vec::new())));
    assert_eq!(hull(&[equal(1), ColumnPredicate::IsNull]), None);
    assert_eq!(hull(&[ColumnPredicate::IsNotNull]), Some(range(Bound::Unbounded, Bound::Unbounded)));
}
