//! Random joins, compared with a nested loop over rows, and cases of single parts.

use std::collections::HashMap;
use std::sync::Arc;

use braid_base::{ByteSize, VECTOR_ROWS};
use braid_storage::Scalar;
use braid_testing::properties;
use braid_testing::proptest::prelude::*;

use super::*;
use crate::keys::null_keys::NullKeys;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::stop::Stop;
use crate::{Batch, ExecError, FixedBudget, Reservation, Vector};

mod definition;
mod parallel_build;
mod random_sides;
mod united_columns;

use definition::{expected, keys_equal, residual, specs};
use random_sides::{Numbers, Row, SHAPES, Shape, Side, Value, batches, numbers, rows};

pub(super) fn reservation() -> Reservation {
    Reservation::new(FixedBudget::new(ByteSize(1 << 30)), "hash join")
}

fn read(batch: &mut Batch, found: &mut Vec<String>) {
    assert!(batch.row_count() > 0 && batch.row_count() <= VECTOR_ROWS);
    let columns: Vec<Arc<Vector>> = (0..batch.column_count()).map(|column| batch.column(column)).collect();
    for row in 0..batch.row_count() {
        let values: Vec<Value> = columns.iter().map(|column| column.value(row)).collect();
        found.push(format!("{values:?}"));
    }
}

/// The rows that the operators return, sorted.
fn joined(table: &Arc<JoinTable>, probe: &[Batch], probe_column_count: usize) -> Vec<String> {
    let mut found = Vec::new();
    let key_count = table.spec.build_keys.len();
    let probes = || JoinProbe::new(table.clone(), table.spec.has_residual.then(|| residual(key_count)));
    let mut workers = [probes(), probes()];
    for (at, batch) in probe.iter().enumerate() {
        let mut emit = |mut batch: Batch| {
            read(&mut batch, &mut found);
            Ok(())
        };
        workers[at % 2].probe(batch.clone(), &mut emit).unwrap();
    }
    for part in table.unmatched(probe_column_count).split(2) {
        part.for_each(|mut batch| read(&mut batch, &mut found));
    }
    found.sort();
    found
}

fn table(spec: &JoinSpec, build: &mut [Batch]) -> Arc<JoinTable> {
    let mut parts: Vec<CollectedRows> =
        (0..2).map(|_| CollectedRows::new(spec.build_column_count, reservation())).collect();
    for (at, batch) in build.iter_mut().enumerate() {
        parts[at % 2].consume(batch).unwrap();
    }
    Arc::new(JoinTable::new(spec.clone(), parts).unwrap())
}

fn check_filter(table: &JoinTable, spec: &JoinSpec, probe: &[Row], build: &[Row], probe_batches: &[Batch]) {
    let Some(mut filter) = table.key_filter() else { return };
    let mut probe_rows = probe.iter();
    for batch in probe_batches {
        let mut batch = batch.clone();
        let keys: Vec<Arc<Vector>> = spec.probe_keys.iter().map(|key| batch.column(*key)).collect();
        let mut keep = vec![true; batch.row_count()];
        filter.retain(&keys, &mut keep);
        for keep in keep {
            let row = probe_rows.next().unwrap();
            let has_partner = build.iter().any(|build| keys_equal(spec, row, build) == Some(true));
            assert!(keep || !has_partner, "{row:?} was dropped");
            for (at, key) in row.keys.iter().enumerate() {
                if let (true, Some((min, max))) = (has_partner, filter.bounds(at)) {
                    assert!(matches!(key, Some(Scalar::Int(key)) if (min..=max).contains(key)) || key_is_bool(key));
                }
            }
        }
    }
}

fn key_is_bool(key: &Value) -> bool {
    matches!(key, Some(Scalar::Bool(_)))
}

fn check(shape: Shape, probe: &[Numbers], build: &[Numbers], size: usize) {
    let (probe_rows, build_rows) = (rows(shape, probe), rows(shape, build));
    let key_count = shape.keys(None, None).len();
    let probe_batches = batches(&probe_rows, probe, size, key_count, Side::Probe);
    let mut build_batches = batches(&build_rows, build, size, key_count, Side::Build);
    for spec in specs(key_count) {
        let table = table(&spec, &mut build_batches);
        assert_eq!(table.row_count(), build.len());
        let found = joined(&table, &probe_batches, key_count + 1);
        assert_eq!(found, expected(&spec, &probe_rows, &build_rows), "{shape:?} {spec:?}");
        check_filter(&table, &spec, &probe_rows, &build_rows, &probe_batches);
    }
}

properties! {
    200 cases;

    #[test]
    fn joins_are_what_a_nested_loop_makes(
        shape in prop::sample::select(&SHAPES[..]),
        probe in numbers(0..25),
        build in numbers(0..25),
        size in 1..12usize,
    ) {
        check(shape, &probe, &build, size);
    }

    #[test]
    fn keys_that_are_unique_and_not_null_join(
        shape in prop::sample::select(&SHAPES[..]),
        probe in numbers(0..25),
        build in prop::sample::subsequence((0..13u8).collect::<Vec<_>>(), 0..13),
        size in 1..12usize,
    ) {
        let build: Vec<Numbers> = build.into_iter().map(|number| (Some(number), Some(1), number % 8)).collect();
        check(shape, &probe, &build, size);
    }
}

#[test]
fn sides_of_nothing_but_nulls_join() {
    for shape in SHAPES {
        let nulls = [(None, None, 0), (None, None, 0), (None, None, 5)];
        let some = [(Some(1), Some(2), 0), (None, Some(3), 1), (Some(4), None, 2)];
        check(shape, &nulls, &some, 2);
        check(shape, &some, &nulls, 2);
        check(shape, &nulls, &nulls, 1);
        check(shape, &some, &[], 1);
        check(shape, &[], &some, 1);
    }
}

pub(super) fn integer_spec(kind: JoinKind, key_count: usize) -> JoinSpec {
    JoinSpec {
        tuning: crate::tuning::Tuning::small().joins,
        kind,
        build_keys: (0..key_count).collect(),
        probe_keys: (0..key_count).collect(),
        null_keys: NullKeys::EqualNothing,
        has_residual: false,
        build_column_count: key_count.max(1),
    }
}

pub(super) fn integer_batches(columns: &[Vec<i64>]) -> Vec<Batch> {
    let row_count = columns[0].len();
    let starts = (0..row_count).step_by(VECTOR_ROWS);
    let batch = |start: usize| {
        let end = row_count.min(start + VECTOR_ROWS);
        let vectors = columns.iter().map(|column| Arc::new(Vector::integers(column[start..end].to_vec())));
        Batch::of_vectors(end - start, vectors)
    };
    starts.map(batch).collect()
}

#[test]
fn many_partners_come_in_vectors_and_an_error_stops_them() {
    let spec = integer_spec(JoinKind::FullOuter, 0);
    let table = table(&spec, &mut integer_batches(&[(0..3000).collect()]));
    let mut probe = JoinProbe::new(table.clone(), None);
    let five = integer_batches(&[(0..5).collect()]).remove(0);
    let mut sizes = Vec::new();
    probe
        .probe(five.clone(), &mut |batch| {
            sizes.push(batch.row_count());
            Ok(())
        })
        .unwrap();
    assert_eq!((sizes.iter().sum::<usize>(), sizes.len()), (15_000, 15));
    let mut calls = 0;
    let error = probe.probe(five, &mut |_| {
        calls += 1;
        if calls == 3 { Err(Stop::Enough) } else { Ok(()) }
    });
    assert!(matches!(error, Err(Stop::Enough)));
    assert_eq!(calls, 3);
    assert_eq!(table.unmatched(1).count(), 0);
}

#[test]
fn memory_is_asked_for_and_given_back() {
    let budget = FixedBudget::new(ByteSize(1 << 20));
    let spec = integer_spec(JoinKind::Inner, 1);
    let keys: Vec<i64> = (0..50_000).collect();
    let mut part = CollectedRows::new(1, Reservation::new(budget.clone(), "hash join"));
    integer_batches(&[keys]).iter_mut().for_each(|batch| part.consume(batch).unwrap());
    let table = JoinTable::new(spec.clone(), vec![part]).unwrap();
    assert!((600_000..700_000).contains(&budget.used()), "{}", budget.used());
    drop(table);
    assert_eq!(budget.used(), 0);
    let mut part = CollectedRows::new(1, Reservation::new(budget.clone(), "hash join"));
    let sparse: Vec<i64> = (0..50_000).map(|key| key << 20).collect();
    integer_batches(&[sparse]).iter_mut().for_each(|batch| part.consume(batch).unwrap());
    assert!(matches!(JoinTable::new(spec, vec![part]), Err(ExecError::Memory(_))));
    assert_eq!(budget.used(), 0);
}

/// The rank of a key is its row if keys are in order over several vectors, and otherwise not.
#[test]
fn unique_keys_find_their_own_rows_in_any_order() {
    let ascending: Vec<i64> = (0..5000).map(|at| at * 9).collect();
    let mut swapped = ascending.clone();
    swapped.swap(1023, 1024);
    let descending: Vec<i64> = ascending.iter().rev().copied().collect();
    for keys in [&ascending, &swapped, &descending] {
        let mut part = CollectedRows::new(1, reservation());
        integer_batches(std::slice::from_ref(keys)).iter_mut().for_each(|batch| part.consume(batch).unwrap());
        let table = Arc::new(JoinTable::new(integer_spec(JoinKind::Inner, 1), vec![part]).unwrap());
        let mut probe = JoinProbe::new(table, None);
        let mut found = 0;
        for batch in integer_batches(&[(-100..50_000).collect()]) {
            let mut emit = |mut batch: Batch| {
                let (probe, build) = (batch.column(0), batch.column(1));
                (0..batch.row_count()).for_each(|row| assert_eq!(probe.value(row), build.value(row)));
                found += batch.row_count();
                Ok(())
            };
            probe.probe(batch, &mut emit).unwrap();
        }
        assert_eq!(found, 5000);
    }
}

/// Pseudo-random numbers below `below`, the same in every run.
pub(super) fn scattered(count: usize, below: u64) -> Vec<i64> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(state) * u128::from(below)) >> 64) as i64
    };
    (0..count).map(|_| next()).collect()
}

/// All kinds of directories, larger than a vector, with large ranges of keys.
#[test]
fn large_sides_have_as_many_pairs_as_they_should() {
    for (range, stride, wide) in
        [(50_000, 1, false), (5_000, 1, false), (30_000, 900, false), (30_000, 1 << 30, false), (20_000, 3, true)]
    {
        let scale = |keys: Vec<i64>| keys.into_iter().map(|key| key * stride).collect::<Vec<i64>>();
        let (build, probe) = (scale(scattered(20_000, range)), scale(scattered(30_000, range * 2)));
        let mut counts: HashMap<i64, usize> = HashMap::new();
        build.iter().for_each(|key| *counts.entry(*key).or_default() += 1);
        let pairs: usize = probe.iter().filter_map(|key| counts.get(key)).sum();
        let rows = probe.iter().filter(|key| counts.contains_key(key)).count();
        // A second column whose range leaves no room for addresses.
        let column = |keys: &[i64]| keys.iter().map(|key| key % 7 * (i64::MAX / 7)).collect::<Vec<i64>>();
        let sides = |keys: Vec<i64>| if wide { vec![column(&keys), keys] } else { vec![keys] };
        for (kind, count) in [(JoinKind::Inner, pairs), (JoinKind::ProbeSemi, rows)] {
            let spec = integer_spec(kind, if wide { 2 } else { 1 });
            let table = table(&spec, &mut integer_batches(&sides(build.clone())));
            let mut join = JoinProbe::new(table.clone(), None);
            let mut filter = table.key_filter().unwrap();
            let (mut found, mut passed) = (0, 0);
            for mut batch in integer_batches(&sides(probe.clone())) {
                let keys: Vec<Arc<Vector>> = (0..batch.column_count()).map(|column| batch.column(column)).collect();
                let mut keep = vec![true; batch.row_count()];
                filter.retain(&keys, &mut keep);
                batch.retain(&keep);
                passed += batch.row_count();
                let mut emit = |batch: Batch| {
                    found += batch.row_count();
                    Ok(())
                };
                join.probe(batch, &mut emit).unwrap();
            }
            assert_eq!(found, count, "{range} {stride} {wide} {kind:?}");
            assert!(passed >= rows && passed <= rows + (30_000 - rows) / 8, "{passed} of {rows}");
        }
    }
}
