//! Random aggregations, compared with a definition that groups row by row. They cover every way to find groups, and several
//! workers.

mod shared_passes;

use std::collections::BTreeMap;

use braid_base::ByteSize;
use braid_base::random::{Random, SeededRandom};
use braid_storage::Scalar;
use braid_storage::scalar::compare_floats;
use braid_testing::properties;
use braid_testing::proptest::prelude::*;

use super::*;
use crate::FixedBudget;
use crate::plan::{AggregateCall, AggregateFunction, AverageKind};
use crate::values::byte_strings::ByteStrings;
use crate::values::narrow_integers::narrow;
use crate::values::numeric_quotient::{Numeric, numeric_quotient};
use crate::values::vector::CodedStrings;

/// The values of a column.
#[derive(Clone, Copy, Debug)]
enum ColumnKind {
    Bool,
    /// Few distinct integers.
    Small,
    /// Integers in clusters that are far apart.
    Clustered,
    /// Any integers of 64 bits.
    Sparse,
    /// Integers; some need 128 bits.
    Wide,
    Float,
    Text,
}

const KINDS: [ColumnKind; 7] = [
    ColumnKind::Bool,
    ColumnKind::Small,
    ColumnKind::Clustered,
    ColumnKind::Sparse,
    ColumnKind::Wide,
    ColumnKind::Float,
    ColumnKind::Text,
];

/// The columns: two of each kind, without and with nulls, followed by a filter.
const FILTER: usize = 2 * KINDS.len();

type Row = Vec<Option<Scalar>>;

fn value(kind: ColumnKind, random: &mut SeededRandom) -> Scalar {
    let variety = 1 + random.below(300);
    let small = random.below(variety) as i64;
    match kind {
        ColumnKind::Bool => Scalar::Bool(random.chance(1, 2)),
        ColumnKind::Small => Scalar::Int(small - 20),
        ColumnKind::Clustered => Scalar::Int(small + (random.below(5) as i64 - 2) * 1_000_000),
        ColumnKind::Sparse if random.chance(1, 20) => Scalar::Int([i64::MAX, i64::MIN][small as usize % 2]),
        ColumnKind::Sparse => Scalar::Int(small.wrapping_mul(0x3E37_79B9_7F4A_7C15)),
        ColumnKind::Wide if random.chance(1, 10) => Scalar::Int128((small as i128 - 150) << 70 | 1 << 69),
        ColumnKind::Wide => Scalar::Int(small),
        ColumnKind::Float => match random.below(6) {
            0 => Scalar::Float(f64::NAN),
            1 => Scalar::Float(-0.0),
            2 => Scalar::Float(0.0),
            _ => Scalar::Float(small as f64 / 4.0),
        },
        ColumnKind::Text => {
            Scalar::Bytes("text".repeat(small as usize % 7).into_bytes().into_iter().chain([small as u8]).collect())
        }
    }
}

fn rows(count: usize, random: &mut SeededRandom) -> Vec<Row> {
    let row = |random: &mut SeededRandom| {
        let mut row: Row = KINDS.iter().map(|kind| Some(value(*kind, random))).collect();
        row.extend(KINDS.map(|kind| random.chance(9, 10).then(|| value(kind, random))));
        row.push(random.chance(9, 10).then(|| Scalar::Bool(random.chance(2, 3))));
        row
    };
    (0..count).map(|_| row(random)).collect()
}

/// A column in one of the representations of its values. The values below nulls are arbitrary.
fn vector(kind: ColumnKind, column: &[Option<Scalar>], random: &mut SeededRandom) -> Vector {
    if column.iter().all(Option::is_none) && random.chance(1, 2) {
        return Vector::repeat(None, column.len());
    }
    let valid: Vec<bool> = column.iter().map(Option::is_some).collect();
    let filled: Vec<Scalar> = column.iter().map(|known| known.clone().unwrap_or_else(|| value(kind, random))).collect();
    let wide = |scalar: &Scalar| match scalar {
        Scalar::Int(value) => i128::from(*value),
        Scalar::Int128(value) => *value,
        _ => unreachable!(),
    };
    let bytes = |scalar: &Scalar| if let Scalar::Bytes(bytes) = scalar { bytes.clone() } else { unreachable!() };
    let values = match kind {
        ColumnKind::Bool => Values::Bool(filled.iter().map(|scalar| *scalar == Scalar::Bool(true)).collect()),
        ColumnKind::Float => {
            Values::Float(filled.iter().map(|s| if let Scalar::Float(f) = s { *f } else { unreachable!() }).collect())
        }
        ColumnKind::Text => {
            let strings: Vec<Vec<u8>> = filled.iter().map(bytes).collect();
            if random.chance(1, 4) {
                Values::Bytes(ByteStrings::from_strings(strings.iter().map(Vec::as_slice)))
            } else {
                // Dictionaries need not be sorted.
                let order = random.below(8) as usize;
                let mut distinct = strings.clone();
                distinct.sort_by_key(|string| (string.len() ^ order, string.clone()));
                distinct.dedup();
                let code = |string| distinct.iter().position(|known| known == string).unwrap() as u32;
                let codes = strings.iter().map(code).collect();
                let dictionary = Arc::new(ByteStrings::from_strings(distinct.iter().map(Vec::as_slice)));
                Values::Coded(CodedStrings { codes, dictionary })
            }
        }
        _ => {
            let integers: Vec<i128> = filled.iter().map(wide).collect();
            match narrow(&integers, Some(&valid)).filter(|_| random.chance(2, 3)) {
                Some(narrow) => Values::Int(narrow),
                None => Values::Int128(integers),
            }
        }
    };
    Vector::new(values, (valid.contains(&false) || random.chance(1, 4)).then_some(valid))
}

fn kind_of(column: usize) -> ColumnKind {
    if column == FILTER { ColumnKind::Bool } else { KINDS[column % KINDS.len()] }
}

fn batch(rows: &[Row], random: &mut SeededRandom) -> Batch {
    let columns: Vec<Arc<Vector>> = (0..=FILTER)
        .map(|at| {
            let column: Vec<Option<Scalar>> = rows.iter().map(|row| row[at].clone()).collect();
            Arc::new(vector(kind_of(at), &column, random))
        })
        .collect();
    Batch::of_vectors(rows.len(), columns)
}

/// A text of a value; equal values have equal texts.
fn form(value: &Option<Scalar>) -> String {
    match value {
        Some(Scalar::Float(float)) if *float == 0.0 => "Float(0)".to_owned(),
        Some(Scalar::Float(float)) => format!("{:.6}", float),
        other => format!("{other:?}"),
    }
}

/// An aggregate of the rows of one group, by its definition.
fn naive(call: &AggregateCall, rows: &[&Row]) -> Option<Scalar> {
    use AggregateFunction as F;
    let kept = rows.iter().filter(|row| call.filter.is_none_or(|at| row[at] == Some(Scalar::Bool(true))));
    if call.function == F::CountRows {
        return Some(Scalar::Int(kept.count() as i64));
    }
    let mut values: Vec<Scalar> = kept.filter_map(|row| row[call.argument.unwrap()].clone()).collect();
    if call.distinct {
        let mut distinct: BTreeMap<String, Scalar> = BTreeMap::new();
        values.into_iter().for_each(|value| _ = distinct.insert(form(&Some(value.clone())), value));
        values = distinct.into_values().collect();
    }
    let count = values.len() as i128;
    let integer = |scalar: &Scalar| match scalar {
        Scalar::Int(value) => Some(i128::from(*value)),
        Scalar::Int128(value) => Some(*value),
        _ => None,
    };
    let fit = |value: i128| i64::try_from(value).map_or(Scalar::Int128(value), Scalar::Int);
    let float = |scalar: &Scalar| match scalar {
        Scalar::Float(value) => *value,
        other => integer(other).unwrap() as f64,
    };
    let order = |a: &Scalar, b: &Scalar| match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => compare_floats(*a, *b),
        (Scalar::Bool(_) | Scalar::Bytes(_), _) => a.compare(b).unwrap(),
        _ => integer(a).cmp(&integer(b)),
    };
    match call.function {
        F::Count => Some(Scalar::Int(count as i64)),
        _ if values.is_empty() => None,
        F::Minimum | F::BoolAnd => values.into_iter().min_by(order),
        F::Maximum | F::BoolOr => values.into_iter().max_by(order),
        F::Sum if integer(&values[0]).is_some() => Some(fit(values.iter().filter_map(integer).sum())),
        F::Sum => Some(Scalar::Float(values.iter().map(float).sum())),
        F::Average(AverageKind::Numeric { scale, result_scale }) => {
            let sum = Numeric { unscaled: values.iter().filter_map(integer).sum(), scale };
            Some(fit(numeric_quotient(sum, Numeric { unscaled: count, scale: 0 }, result_scale).unwrap()))
        }
        F::Average(AverageKind::Float) if integer(&values[0]).is_some() => {
            Some(Scalar::Float(values.iter().filter_map(integer).sum::<i128>() as f64 / count as f64))
        }
        F::Average(AverageKind::Float) => Some(Scalar::Float(values.iter().map(float).sum::<f64>() / count as f64)),
        F::CountRows => unreachable!(),
    }
}

fn call(random: &mut SeededRandom) -> AggregateCall {
    use AggregateFunction as F;
    let function = match random.below(9) {
        0 => F::CountRows,
        1 => F::Count,
        2 | 3 => F::Sum,
        4 => F::Minimum,
        5 => F::Maximum,
        6 => F::Average(AverageKind::Numeric { scale: 0, result_scale: random.below(7) as u8 }),
        7 => F::Average(AverageKind::Float),
        _ => [F::BoolAnd, F::BoolOr][random.below(2) as usize],
    };
    let takes = |kind: ColumnKind| match function {
        F::Sum | F::Average(AverageKind::Float) => !matches!(kind, ColumnKind::Bool | ColumnKind::Text),
        F::Average(_) => !matches!(kind, ColumnKind::Bool | ColumnKind::Text | ColumnKind::Float),
        F::BoolAnd | F::BoolOr => matches!(kind, ColumnKind::Bool),
        _ => true,
    };
    let columns: Vec<usize> = (0..FILTER).filter(|at| takes(kind_of(*at))).collect();
    let argument = (function != F::CountRows).then(|| columns[random.below(columns.len() as u64) as usize]);
    let distinct = argument.is_some() && random.chance(1, 4);
    AggregateCall { function, argument, distinct, filter: random.chance(1, 4).then_some(FILTER) }
}

fn tuning(random: &mut SeededRandom) -> AggregationTuning {
    AggregationTuning {
        dense_index_bits: random.below(17) as u32,
        direct_slots: 1 << random.below(22),
        groups_per_partition: 1 << random.below(12),
        generation_groups: 1 << random.below(12),
        ..crate::tuning::Tuning::small().aggregation
    }
}

fn run(
    spec: &Arc<AggregationSpec>,
    sets: Option<SetColumn>,
    batches: Vec<Batch>,
    worker_count: usize,
    tuning: AggregationTuning,
) -> Vec<Row> {
    let budget = FixedBudget::new(ByteSize(1 << 30));
    let worker = || AggregationWorker::with_tuning(spec, sets.clone(), budget.clone(), tuning);
    let mut workers: Vec<AggregationWorker> = (0..worker_count).map(|_| worker()).collect();
    for (at, mut batch) in batches.into_iter().enumerate() {
        workers[at % worker_count].consume(&mut batch).unwrap();
    }
    let aggregation = Aggregation::of_workers(spec.clone(), workers).unwrap();
    let mut found = Vec::new();
    for partition in (0..aggregation.partition_count()).rev() {
        let columns = aggregation.partition(partition).unwrap();
        assert!(columns.iter().all(|column| column.len() == columns[0].len()));
        let row_count = columns.first().map_or(0, Vector::len);
        found.extend((0..row_count).map(|row| columns.iter().map(|column| column.value(row)).collect::<Row>()));
    }
    drop(aggregation);
    assert_eq!(budget.used(), 0);
    found
}

fn expected(spec: &AggregationSpec, rows: &[Row]) -> Vec<Row> {
    let mut groups: BTreeMap<Vec<String>, Vec<&Row>> = BTreeMap::new();
    if spec.keys.is_empty() {
        groups.insert(Vec::new(), Vec::new());
    }
    for row in rows {
        groups.entry(spec.keys.iter().map(|key| form(&row[*key])).collect()).or_default().push(row);
    }
    let result = |rows: &Vec<&Row>| {
        let keys = spec.keys.iter().map(|key| rows[0][*key].clone());
        keys.chain(spec.aggregates.iter().map(|call| naive(call, rows))).collect()
    };
    groups.values().map(result).collect()
}

fn sorted(rows: &[Row]) -> Vec<Vec<String>> {
    let mut forms: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(form).collect()).collect();
    forms.sort();
    forms
}

fn check(seed: u64, row_count: usize, key_count: usize, aggregate_count: usize, worker_count: usize) {
    let mut random = SeededRandom::new(seed);
    let rows = rows(row_count, &mut random);
    let keys = (0..key_count).map(|_| random.below(1 + FILTER as u64) as usize).collect();
    let aggregates = (0..aggregate_count).map(|_| call(&mut random)).collect();
    let spec = Arc::new(AggregationSpec { keys, aggregates });
    let mut batches = Vec::new();
    let mut rest = &rows[..];
    while !rest.is_empty() {
        let (rows, after) = rest.split_at(rest.len().min(random.below(400) as usize));
        batches.push(batch(rows, &mut random));
        rest = after;
    }
    let tuning = tuning(&mut random);
    let found = run(&spec, None, batches, worker_count, tuning);
    assert_eq!(sorted(&found), sorted(&expected(&spec, &rows)), "{spec:?} {tuning:?}");
}

properties! {
    200 cases;

    #[test]
    fn aggregations_are_what_they_are_defined_to_be(
        seed in any::<u64>(),
        row_count in 0..2000_usize,
        key_count in 0..4_usize,
        aggregate_count in 0..6_usize,
        worker_count in 1..4_usize,
    ) {
        // Without columns, nothing says how many rows there are.
        let aggregate_count = aggregate_count.max(usize::from(key_count == 0));
        check(seed, row_count, key_count, aggregate_count, worker_count);
    }
}

fn integers_of(column: &Vector) -> Vec<Option<Scalar>> {
    (0..column.len()).map(|row| column.value(row)).collect()
}

fn aggregate(function: AggregateFunction, argument: Option<usize>) -> AggregateCall {
    AggregateCall { function, argument, distinct: false, filter: None }
}

fn one_worker(spec: AggregationSpec, batches: &mut [Batch]) -> Result<Vec<Vector>, ExecError> {
    let spec = Arc::new(spec);
    let mut worker = AggregationWorker::new(spec.clone(), FixedBudget::new(ByteSize(1 << 26)));
    batches.iter_mut().try_for_each(|batch| worker.consume(batch))?;
    Aggregation::of_workers(spec, vec![worker])?.partition(0)
}

#[test]
fn no_rows_are_one_group_without_keys_and_none_with() {
    let aggregates = vec![aggregate(AggregateFunction::CountRows, None), aggregate(AggregateFunction::Sum, Some(0))];
    let spec = Arc::new(AggregationSpec { keys: Vec::new(), aggregates: aggregates.clone() });
    let without_workers = Aggregation::of_workers(spec.clone(), Vec::new()).unwrap();
    for columns in [without_workers.partition(0).unwrap(), one_worker((*spec).clone(), &mut []).unwrap()] {
        assert_eq!(integers_of(&columns[0]), [Some(Scalar::Int(0))]);
        assert_eq!(integers_of(&columns[1]), [None]);
    }
    let columns = one_worker(AggregationSpec { keys: vec![0], aggregates }, &mut []).unwrap();
    assert!(columns.len() == 3 && columns.iter().all(Vector::is_empty));
}

#[test]
fn sums_widen_and_report_what_does_not_fit() {
    let sum = || AggregationSpec { keys: Vec::new(), aggregates: vec![aggregate(AggregateFunction::Sum, Some(0))] };
    let batch = |values| Batch::of_vectors(2, [Arc::new(Vector::new(values, None))]);
    let columns = one_worker(sum(), &mut [batch(Values::Int(vec![i64::MAX, i64::MAX]))]).unwrap();
    assert_eq!(columns[0].value(0), Some(Scalar::Int128(2 * i128::from(i64::MAX))));
    let error = one_worker(sum(), &mut [batch(Values::Int128(vec![i128::MAX, 1]))]).unwrap_err();
    assert_eq!(error.to_string(), "numeric out of range");
    let error = one_worker(sum(), &mut [batch(Values::Float(vec![f64::MAX, f64::MAX]))]).unwrap_err();
    assert_eq!(error.to_string(), "double precision out of range");
    let infinite = batch(Values::Float(vec![f64::INFINITY, 1.0]));
    assert_eq!(one_worker(sum(), &mut [infinite]).unwrap()[0].value(0), Some(Scalar::Float(f64::INFINITY)));
}

#[test]
fn groups_beyond_the_budget_are_refused() {
    let spec = Arc::new(AggregationSpec { keys: vec![0], aggregates: Vec::new() });
    let budget = FixedBudget::new(ByteSize(64 << 10));
    let mut worker = AggregationWorker::new(spec, budget);
    let consumed = (0..100).try_for_each(|at| {
        let keys: Vec<i64> = (at * 1000..(at + 1) * 1000).collect();
        worker.consume(&mut Batch::of_vectors(1000, [Arc::new(Vector::integers(keys))]))
    });
    let error = consumed.unwrap_err().to_string();
    assert!(error.starts_with("aggregation needs "), "{error}");
}

#[test]
fn keys_in_descending_and_scattered_order_are_found_by_address() {
    for step in [-3_i64, 5_000_011] {
        let key = |row: i64| step * (row / 4);
        let spec = AggregationSpec { keys: vec![0], aggregates: vec![aggregate(AggregateFunction::CountRows, None)] };
        let mut batches: Vec<Batch> = (0..50)
            .map(|at| {
                let keys = (at * 1000..(at + 1) * 1000).map(key).collect();
                Batch::of_vectors(1000, [Arc::new(Vector::integers(keys))])
            })
            .collect();
        let columns = one_worker(spec, &mut batches).unwrap();
        assert_eq!(columns[0].len(), 50 * 250);
        assert!(integers_of(&columns[1]).iter().all(|count| *count == Some(Scalar::Int(4))));
    }
}
