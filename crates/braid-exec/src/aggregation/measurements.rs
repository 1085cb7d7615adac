//! The time that an aggregation takes per row, for several shapes of keys. Run with
//! `cargo test --release -p braid-exec --lib aggregation::measurements -- --ignored --nocapture --test-threads 1`.

use braid_base::ByteSize;
use braid_base::random::{Random, SeededRandom};

use super::*;
use crate::plan::{AggregateCall, AggregateFunction, AverageKind};
use crate::values::byte_strings::ByteStrings;
use crate::values::vector::CodedStrings;
use crate::{FixedBudget, QueryBitmap};

const BATCH_ROWS: usize = 1024;

/// Rows of one dictionary.
const CHUNK_ROWS: usize = 120 * BATCH_ROWS;

fn integers(values: &[i64]) -> Vec<Arc<Vector>> {
    values.chunks(BATCH_ROWS).map(|values| Arc::new(Vector::integers(values.to_vec()))).collect()
}

fn random_integers(row_count: usize, bound: u64) -> Vec<Arc<Vector>> {
    let mut random = SeededRandom::new(bound);
    integers(&(0..row_count).map(|_| random.below(bound) as i64).collect::<Vec<_>>())
}

fn coded(row_count: usize, strings: &[String]) -> Vec<Arc<Vector>> {
    let mut random = SeededRandom::new(strings.len() as u64);
    let mut vectors = Vec::new();
    while vectors.len() * BATCH_ROWS < row_count {
        let dictionary = Arc::new(ByteStrings::from_strings(strings.iter().map(String::as_bytes)));
        for _ in 0..CHUNK_ROWS / BATCH_ROWS {
            let codes = (0..BATCH_ROWS).map(|_| random.below(strings.len() as u64) as u32).collect();
            let values = Values::Coded(CodedStrings { codes, dictionary: dictionary.clone() });
            vectors.push(Arc::new(Vector::new(values, None)));
        }
    }
    vectors
}

fn plain(row_count: usize, strings: &[String]) -> Vec<Arc<Vector>> {
    let held = coded(row_count, strings);
    let plain = |vector: &Arc<Vector>| {
        let Values::Coded(coded) = vector.values() else { unreachable!() };
        let strings = (0..coded.codes.len()).map(|row| coded.get(row));
        Arc::new(Vector::new(Values::Bytes(ByteStrings::from_strings(strings)), None))
    };
    held.iter().map(plain).collect()
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("Brand#{number} of some length")).collect()
}

fn call(function: AggregateFunction, argument: usize) -> AggregateCall {
    AggregateCall { function, argument: Some(argument), distinct: false, filter: None }
}

fn count_rows() -> AggregateCall {
    AggregateCall { function: AggregateFunction::CountRows, argument: None, distinct: false, filter: None }
}

/// Processor time of this thread, which other processes affect little. Linux counts it in ticks of some milliseconds.
fn processor_time_ns() -> f64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse().unwrap()
}

/// Prints the time per consumed row, and the time per group at the end.
fn measure(name: &str, spec: AggregationSpec, columns: &[Vec<Arc<Vector>>], worker_count: usize) {
    measure_with_sets(name, spec, None, columns, worker_count);
}

fn measure_with_sets(
    name: &str,
    spec: AggregationSpec,
    sets: Option<SetColumn>,
    columns: &[Vec<Arc<Vector>>],
    worker_count: usize,
) {
    let spec = Arc::new(spec);
    let batch_count = columns.iter().map(Vec::len).min().unwrap();
    let mut best = (f64::MAX, f64::MAX);
    let mut group_count = 0;
    let mut bytes = 0;
    for _ in 0..3 {
        let budget = FixedBudget::new(ByteSize(8 << 30));
        let worker =
            || AggregationWorker::with_tuning(&spec, sets.clone(), budget.clone(), AggregationTuning::default());
        let mut workers: Vec<AggregationWorker> = (0..worker_count).map(|_| worker()).collect();
        let begin = processor_time_ns();
        for at in 0..batch_count {
            let vectors = columns.iter().map(|column| column[at].clone());
            let mut batch = Batch::of_vectors(columns[0][at].len(), vectors);
            workers[at / 120 % worker_count].consume(&mut batch).unwrap();
        }
        let consumed = processor_time_ns() - begin;
        bytes = budget.used();
        let begin = processor_time_ns();
        let aggregation = Aggregation::of_workers(spec.clone(), workers).unwrap();
        group_count = (0..aggregation.partition_count())
            .map(|partition| aggregation.partition(partition).unwrap()[0].len())
            .sum::<usize>();
        let merged = processor_time_ns() - begin;
        best = (best.0.min(consumed), best.1.min(merged));
    }
    let row_count = batch_count * BATCH_ROWS;
    println!(
        "{name}: {:.2} ns a row of {row_count}, {:.1} ns a group of {group_count} by {worker_count}, {} held",
        best.0 / row_count as f64,
        best.1 / group_count as f64,
        ByteSize(bytes as u64),
    );
}

#[test]
#[ignore = "a measurement"]
fn few_groups_of_two_coded_keys() {
    use AggregateFunction::{Average, Sum};
    let rows = 24 * CHUNK_ROWS;
    let flags = |flags: &[&str]| coded(rows, &flags.iter().map(|flag| (*flag).to_owned()).collect::<Vec<_>>());
    let columns = vec![
        flags(&["A", "N", "R"]),
        flags(&["O", "F"]),
        random_integers(rows, 5000),
        random_integers(rows, 10_000_000),
        random_integers(rows, 1_000_000_000),
        random_integers(rows, 100_000_000_000),
        random_integers(rows, 11),
    ];
    // Vectors come from the processor's caches, where they have just been decoded.
    let again = |column: Vec<Arc<Vector>>| column[..8].iter().cycle().take(column.len()).cloned().collect();
    let columns: Vec<Vec<Arc<Vector>>> = columns.into_iter().map(again).collect();
    let average = Average(AverageKind::Numeric { scale: 2, result_scale: 6 });
    let aggregates = vec![
        call(Sum, 2),
        call(Sum, 3),
        call(Sum, 4),
        call(Sum, 5),
        call(average, 2),
        call(average, 3),
        call(average, 6),
        count_rows(),
    ];
    measure("few groups, 8 aggregates", AggregationSpec { keys: vec![0, 1], aggregates }, &columns, 2);
    let keys_only = AggregationSpec { keys: vec![0, 1], aggregates: Vec::new() };
    measure("few groups, none", keys_only, &columns, 2);
    let one_group = AggregationSpec { keys: Vec::new(), aggregates: vec![call(Sum, 5), count_rows()] };
    measure("one group, sum and count", one_group, &columns, 2);
}

#[test]
#[ignore = "a measurement"]
fn many_groups_of_one_integer() {
    let rows = 6_000_000;
    let clustered = integers(&(0..rows as i64).map(|row| row / 32 * 32 + row % 32 / 4).collect::<Vec<_>>());
    let sum = || AggregationSpec { keys: vec![0], aggregates: vec![call(AggregateFunction::Sum, 1)] };
    let amounts = random_integers(rows, 5000);
    for worker_count in [1, 2] {
        let columns = |keys: Vec<Arc<Vector>>| vec![keys, amounts.clone()];
        measure("clustered", sum(), &columns(clustered.clone()), worker_count);
        measure("random of 1 million", sum(), &columns(random_integers(rows, 1 << 20)), worker_count);
        let mut random = SeededRandom::new(7);
        let scattered: Vec<i64> =
            (0..rows).map(|_| (random.below(1 << 20) as i64).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)).collect();
        measure("random of 1 million, scattered", sum(), &columns(integers(&scattered)), worker_count);
    }
}

#[test]
#[ignore = "a measurement"]
fn groups_of_strings_and_distinct_values() {
    let rows = 24 * CHUNK_ROWS;
    let columns = vec![
        coded(rows, &names(25)),
        coded(rows, &names(150)),
        plain(rows, &names(25)),
        plain(rows, &names(150)),
        coded(rows, &names(5000)),
        random_integers(rows, 10_000),
        random_integers(rows, 50),
    ];
    let count = |keys: &[usize]| AggregationSpec { keys: keys.to_vec(), aggregates: vec![count_rows()] };
    measure("two coded strings", count(&[0, 1]), &columns, 2);
    measure("two plain strings", count(&[2, 3]), &columns, 2);
    measure("coded strings of large dictionaries", count(&[4, 1]), &columns, 2);
    measure("two integers", count(&[5, 6]), &columns, 2);
    let distinct = AggregateCall { distinct: true, ..call(AggregateFunction::Count, 5) };
    let spec = |keys: &[usize]| AggregationSpec { keys: keys.to_vec(), aggregates: vec![distinct] };
    measure("distinct integers", spec(&[]), &columns, 2);
    measure("distinct integers by strings", spec(&[0, 6]), &columns, 2);
}

/// Compares grouping with sets to grouping without them. Rows carry one of a number of sets of 256 queries, random for each
/// row or fixed for each key.
#[test]
#[ignore = "a measurement"]
fn groups_that_many_queries_share() {
    let rows = 24 * CHUNK_ROWS;
    let store = SetStore::new(256, FixedBudget::new(ByteSize(1 << 28))).unwrap();
    let mut random = SeededRandom::new(1);
    let mut set = || {
        let words: Vec<bool> = (0..256).map(|_| random.chance(1, 2)).collect();
        store.number_of(&QueryBitmap::from_fn(256, |query| words[query.index()])).unwrap()
    };
    let numbers: Vec<i64> = (0..100).map(|_| set().value()).collect();
    let amounts = random_integers(rows, 5000);
    let names = |count: usize| coded(rows, &names(count));
    let clustered: Vec<i64> = (0..rows as i64).map(|row| row / 32 * 32 + row % 32 / 4).collect();
    let mut random = SeededRandom::new(2);
    let scattered: Vec<i64> = (0..rows).map(|_| random.below(1 << 18) as i64).collect();
    let sum =
        |keys: &[usize]| AggregationSpec { keys: keys.to_vec(), aggregates: vec![call(AggregateFunction::Sum, 0)] };
    let cases: [(&str, Vec<Vec<Arc<Vector>>>); 4] = [
        ("no keys", vec![]),
        ("two coded strings", vec![names(25), names(7)]),
        ("a clustered integer", vec![integers(&clustered)]),
        ("an integer of 262144", vec![integers(&scattered)]),
    ];
    for (name, keys) in cases {
        let spec = || sum(&(1..=keys.len()).collect::<Vec<_>>());
        let columns: Vec<_> = [amounts.clone()].into_iter().chain(keys.iter().cloned()).collect();
        measure(name, spec(), &columns, 2);
        for set_count in [1, 4, 100] {
            let set = |row: usize| numbers[(row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) as usize % set_count];
            let by_row: Vec<i64> = (0..rows).map(|row| set(row >> 1 ^ row << 7)).collect();
            let by_key: Vec<i64> = scattered.iter().map(|key| set(*key as usize)).collect();
            let shapes = [("by row", by_row), ("by key", by_key)];
            for (shape, sets) in &shapes[..if name == "an integer of 262144" { 2 } else { 1 }] {
                let columns: Vec<_> = columns.iter().cloned().chain([integers(sets)]).collect();
                let sets = Some(SetColumn { store: store.clone(), column: columns.len() - 1 });
                measure_with_sets(&format!("{name}, {set_count} sets {shape}"), spec(), sets, &columns, 2);
            }
        }
    }
}
