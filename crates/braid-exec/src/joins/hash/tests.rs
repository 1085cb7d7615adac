//! Joins against a nested loop over rows, and what single parts of them cost.

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
use crate::values::batch::Origin;
use crate::values::byte_strings::ByteStrings;
use crate::values::row_numbers::RowNumbers;
use crate::values::vector::{CodedStrings, Values};
use crate::{Batch, ExecError, FixedBudget, Reservation, Vector};

mod parallel_build;
mod united_columns;

const KINDS: [JoinKind; 9] = [
    JoinKind::Inner,
    JoinKind::ProbeOuter,
    JoinKind::BuildOuter,
    JoinKind::FullOuter,
    JoinKind::ProbeSemi,
    JoinKind::ProbeAnti,
    JoinKind::ProbeMark,
    JoinKind::BuildSemi,
    JoinKind::BuildAnti,
];

type Value = Option<Scalar>;

/// What keys look like; all are made from small numbers.
#[derive(Clone, Copy, Debug)]
enum Shape {
    None,
    Dense,
    /// For ranks.
    Spread,
    /// For hashes that hold the whole address.
    Apart,
    Sparse,
    /// The range of the values does not fit 63 bits.
    Extreme,
    TwoDense,
    TwoSparse,
    Wide,
    Text,
    Float,
    Bool,
    IntegerAndText,
}

const SHAPES: [Shape; 13] = [
    Shape::None,
    Shape::Dense,
    Shape::Spread,
    Shape::Apart,
    Shape::Sparse,
    Shape::Extreme,
    Shape::TwoDense,
    Shape::TwoSparse,
    Shape::Wide,
    Shape::Text,
    Shape::Float,
    Shape::Bool,
    Shape::IntegerAndText,
];

impl Shape {
    fn keys(self, a: Option<u8>, b: Option<u8>) -> Vec<Value> {
        let integer = |n: Option<u8>, step: i64| n.map(|n| Scalar::Int((i64::from(n) - 6) * step));
        let text = |n: Option<u8>| {
            n.map(|n| Scalar::Bytes(format!("{n}{}", "-and-so-on-and-on".repeat(usize::from(n % 3))).into_bytes()))
        };
        match self {
            Self::None => vec![],
            Self::Dense => vec![integer(a, 1)],
            Self::Spread => vec![integer(a, 7)],
            Self::Apart => vec![integer(a, 100_000)],
            Self::Sparse => vec![integer(a, 1 << 40)],
            Self::Extreme => vec![integer(a, i64::MAX / 6)],
            Self::TwoDense => vec![integer(a, 1), integer(b.map(|b| b % 3), 2)],
            Self::TwoSparse => vec![integer(a, 1 << 20), integer(b.map(|b| b % 3), 1 << 30)],
            Self::Wide => {
                vec![a.map(|a| if a < 6 { Scalar::Int(a.into()) } else { Scalar::Int128((1 << 100) + i128::from(a)) })]
            }
            Self::Text => vec![text(a)],
            Self::Float => {
                let floats = [f64::NAN, -f64::NAN, 0.0, -0.0, 1.5, f64::INFINITY, -2.25];
                vec![a.map(|a| Scalar::Float(floats[usize::from(a) % floats.len()]))]
            }
            Self::Bool => vec![a.map(|a| Scalar::Bool(a % 2 == 0))],
            Self::IntegerAndText => vec![integer(a, 3), text(b.map(|b| b % 4))],
        }
    }
}

#[derive(Clone, Debug)]
struct Row {
    id: i64,
    keys: Vec<Value>,
}

/// Keys as numbers, and the form that the batch has if it begins with this row.
type Numbers = (Option<u8>, Option<u8>, u8);

fn rows(shape: Shape, numbers: &[Numbers]) -> Vec<Row> {
    (0..).zip(numbers).map(|(id, (a, b, _))| Row { id, keys: shape.keys(*a, *b) }).collect()
}

/// Values in one of the forms that their kind may have.
fn vector(values: &[Value], form: u8) -> Vector {
    let valid = (form & 2 == 0 || values.contains(&None)).then(|| values.iter().map(Option::is_some).collect());
    let values = match values.iter().flatten().next() {
        None => return Vector::repeat(None, values.len()),
        Some(Scalar::Bool(_)) => Values::Bool(values.iter().map(|v| matches!(v, Some(Scalar::Bool(true)))).collect()),
        Some(Scalar::Float(_)) => Values::Float(
            values.iter().map(|value| if let Some(Scalar::Float(value)) = value { *value } else { 7.0 }).collect(),
        ),
        Some(Scalar::Bytes(_)) => strings(values, form),
        Some(_) => {
            let wide = |value: &Value| match value {
                Some(Scalar::Int(value)) => i128::from(*value),
                Some(Scalar::Int128(value)) => *value,
                _ => 1,
            };
            let wide: Vec<i128> = values.iter().map(wide).collect();
            let narrow: Result<Vec<i64>, _> = wide.iter().map(|value| i64::try_from(*value)).collect();
            narrow.ok().filter(|_| form & 1 == 0).map_or(Values::Int128(wide), Values::Int)
        }
    };
    Vector::new(values, valid)
}

fn strings(values: &[Value], form: u8) -> Values {
    let strings: Vec<&[u8]> = values
        .iter()
        .map(|value| if let Some(Scalar::Bytes(value)) = value { value.as_slice() } else { b"null" })
        .collect();
    if form & 1 == 0 {
        return Values::Bytes(ByteStrings::from_strings(strings));
    }
    let mut distinct = strings.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let code = |string: &&[u8]| distinct.iter().position(|other| other == string).unwrap() as u32;
    let codes = strings.iter().map(code).collect();
    Values::Coded(CodedStrings { codes, dictionary: Arc::new(ByteStrings::from_strings(distinct.iter().copied())) })
}

struct Held(Vector);

impl Origin for Held {
    fn read(&self, _: usize, rows: &RowNumbers) -> Vector {
        self.0.take(rows.as_slice())
    }
}

/// Keys and then the id for the probe side; the id first for the build side.
fn batch(rows: &[Row], form: u8, key_count: usize, id_first: bool) -> Batch {
    let ids = Arc::new(Vector::integers(rows.iter().map(|row| row.id).collect()));
    let mut batch = Batch::new(rows.len());
    if id_first {
        batch.push(ids.clone());
    }
    for key in 0..key_count {
        let values: Vec<Value> = rows.iter().map(|row| row.keys[key].clone()).collect();
        let vector = vector(&values, form);
        if form & 4 == 0 {
            batch.push(Arc::new(vector));
        } else {
            batch.push_deferred(Arc::new(Held(vector)), (0..rows.len() as u32).collect::<Vec<u32>>(), [0]);
        }
    }
    if !id_first {
        batch.push(ids);
    }
    batch
}

fn batches(rows: &[Row], numbers: &[Numbers], size: usize, key_count: usize, id_first: bool) -> Vec<Batch> {
    let pieces = rows.chunks(size).zip(numbers.chunks(size));
    pieces.map(|(rows, numbers)| batch(rows, numbers[0].2, key_count, id_first)).collect()
}

fn reservation() -> Reservation {
    Reservation::new(FixedBudget::new(ByteSize(1 << 30)), "hash join")
}

fn residual_counts(probe_id: i64, build_id: i64) -> bool {
    (probe_id * 5 + build_id * 3) % 4 != 0
}

fn residual(key_count: usize) -> Residual {
    Box::new(move |batch| {
        assert!(batch.row_count() > 0 && batch.row_count() <= VECTOR_ROWS);
        let (probe, build) = (batch.column(key_count), batch.column(key_count + 1));
        let (Values::Int(probe), Values::Int(build)) = (probe.values(), build.values()) else { panic!("ids") };
        Ok(probe.iter().zip(build).map(|(probe, build)| residual_counts(*probe, *build)).collect())
    })
}

fn read(batch: &mut Batch, found: &mut Vec<String>) {
    assert!(batch.row_count() > 0 && batch.row_count() <= VECTOR_ROWS);
    let columns: Vec<Arc<Vector>> = (0..batch.column_count()).map(|column| batch.column(column)).collect();
    for row in 0..batch.row_count() {
        let values: Vec<Value> = columns.iter().map(|column| column.value(row)).collect();
        found.push(format!("{values:?}"));
    }
}

/// What the operators say, in order.
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

/// Whether keys are equal; `None` when a null hides it.
fn keys_equal(spec: &JoinSpec, probe: &Row, build: &Row) -> Option<bool> {
    let mut unknown = false;
    for (probe, build) in probe.keys.iter().zip(&build.keys) {
        match (probe, build) {
            (Some(probe), Some(build)) if probe != build => return Some(false),
            (Some(_), Some(_)) => {}
            (None, None) if spec.null_keys.are_equal() => {}
            _ if spec.null_keys.are_equal() => return Some(false),
            _ => unknown = true,
        }
    }
    (!unknown).then_some(true)
}

/// The definition.
fn expected(spec: &JoinSpec, probe: &[Row], build: &[Row]) -> Vec<String> {
    let counts = |probe: &Row, build: &Row| !spec.has_residual || residual_counts(probe.id, build.id);
    let pair = |probe: &Row, build: &Row| counts(probe, build) && keys_equal(spec, probe, build) == Some(true);
    let probe_values = |row: &Row| [row.keys.clone(), vec![Some(Scalar::Int(row.id))]].concat();
    let build_values = |row: &Row| [vec![Some(Scalar::Int(row.id))], row.keys.clone()].concat();
    let nulls = vec![None; spec.build_keys.len() + 1];
    let kind = spec.kind;
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for probe in probe {
        let partners: Vec<&Row> = build.iter().filter(|build| pair(probe, build)).collect();
        if kind.makes_pairs() {
            rows.extend(partners.iter().map(|build| [probe_values(probe), build_values(build)].concat()));
        }
        if kind.keeps_probe_rows() && partners.is_empty() {
            rows.push([probe_values(probe), nulls.clone()].concat());
        }
        let perhaps = spec.null_keys.are_unknown()
            && build.iter().any(|build| counts(probe, build) && keys_equal(spec, probe, build).is_none());
        let mark = if !partners.is_empty() { Some(true) } else { (!perhaps).then_some(false) };
        match kind {
            JoinKind::ProbeSemi if mark == Some(true) => rows.push(probe_values(probe)),
            JoinKind::ProbeAnti if mark == Some(false) => rows.push(probe_values(probe)),
            JoinKind::ProbeMark => rows.push([probe_values(probe), vec![mark.map(Scalar::Bool)]].concat()),
            _ => {}
        }
    }
    for build in build {
        let has_partner = probe.iter().any(|probe| pair(probe, build));
        match kind {
            JoinKind::BuildOuter | JoinKind::FullOuter if !has_partner => {
                rows.push([nulls.clone(), build_values(build)].concat());
            }
            JoinKind::BuildSemi if has_partner => rows.push(build_values(build)),
            JoinKind::BuildAnti if !has_partner => rows.push(build_values(build)),
            _ => {}
        }
    }
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

fn specs(key_count: usize) -> impl Iterator<Item = JoinSpec> {
    let null_keys = [NullKeys::EqualNothing, NullKeys::EqualNull, NullKeys::Unknown];
    let options = null_keys.into_iter().flat_map(|null_keys| [(false, null_keys), (true, null_keys)]);
    KINDS.into_iter().flat_map(move |kind| {
        let may_be_not_in = matches!(kind, JoinKind::ProbeAnti | JoinKind::ProbeMark) && key_count == 1;
        options.clone().filter(move |(_, null_keys)| may_be_not_in || !null_keys.are_unknown()).map(
            move |(has_residual, null_keys)| JoinSpec {
                tuning: crate::tuning::Tuning::small().joins,
                kind,
                build_keys: (1..=key_count).collect(),
                probe_keys: (0..key_count).collect(),
                null_keys,
                has_residual,
                build_column_count: key_count + 1,
            },
        )
    })
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
    let probe_batches = batches(&probe_rows, probe, size, key_count, false);
    let mut build_batches = batches(&build_rows, build, size, key_count, true);
    for spec in specs(key_count) {
        let table = table(&spec, &mut build_batches);
        assert_eq!(table.row_count(), build.len());
        let found = joined(&table, &probe_batches, key_count + 1);
        assert_eq!(found, expected(&spec, &probe_rows, &build_rows), "{shape:?} {spec:?}");
        check_filter(&table, &spec, &probe_rows, &build_rows, &probe_batches);
    }
}

fn numbers(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Numbers>> {
    let number = || prop::option::weighted(0.9, 0..13u8);
    prop::collection::vec((number(), number(), 0..8u8), length)
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

fn integer_spec(kind: JoinKind, key_count: usize) -> JoinSpec {
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

fn integer_batches(columns: &[Vec<i64>]) -> Vec<Batch> {
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

/// Keys in order over several vectors are rows by rank; out of order they are not.
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

/// The same numbers every time.
fn scattered(count: usize, below: u64) -> Vec<i64> {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(state) * u128::from(below)) >> 64) as i64
    };
    (0..count).map(|_| next()).collect()
}

/// All kinds of directories, larger than a vector and with ranges that outgrow what is small.
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

/// What this thread has computed so far: other processes of the machine do not count.
struct Computed(f64);

impl Computed {
    fn now() -> Self {
        let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        Self(schedule.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9)
    }

    fn seconds(&self) -> f64 {
        Self::now().0 - self.0
    }
}

fn measure(name: &str, kind: JoinKind, build: &[Vec<i64>], probe: &[Vec<i64>]) {
    let spec = integer_spec(kind, build.len());
    let mut parts = CollectedRows::new(spec.build_column_count, reservation());
    integer_batches(build).iter_mut().for_each(|batch| parts.consume(batch).unwrap());
    let start = Computed::now();
    let table = Arc::new(JoinTable::new(spec, vec![parts]).unwrap());
    let built = start.seconds();
    let start = Computed::now();
    let filter = table.key_filter();
    let filter_built = start.seconds();
    let batches = integer_batches(probe);
    let mut join = JoinProbe::new(table, None);
    let mut row_count = 0;
    let mut best = f64::MAX;
    for _ in 0..3 {
        row_count = 0;
        let copies = batches.clone();
        let start = Computed::now();
        for batch in copies {
            let mut emit = |batch: Batch| {
                row_count += batch.row_count();
                Ok(())
            };
            join.probe(batch, &mut emit).unwrap();
        }
        best = best.min(start.seconds());
    }
    let mut filtered = f64::MAX;
    let mut filter = filter.expect("for these kinds there is one");
    for _ in 0..3 {
        let mut copies = batches.clone();
        let start = Computed::now();
        let mut keep = Vec::new();
        for batch in &mut copies {
            let keys: Vec<Arc<Vector>> = (0..batch.column_count()).map(|column| batch.column(column)).collect();
            keep.clear();
            keep.resize(batch.row_count(), true);
            filter.retain(&keys, &mut keep);
        }
        filtered = filtered.min(start.seconds());
    }
    let rows = probe[0].len() as f64;
    println!(
        "{name:32} {kind:?}: build {:6.2} ms, {:5.2} ns/row; probe {:5.2} ns/row, {row_count} out; filter {:5.2} ms, {:5.2} ns/row",
        built * 1e3,
        built * 1e9 / build[0].len() as f64,
        best * 1e9 / rows,
        filter_built * 1e3,
        filtered * 1e9 / rows,
    );
}

/// `cargo test --release -p braid-exec hash_join -- --ignored --nocapture`
#[test]
#[ignore = "prints nanoseconds; meaningful in a release build only"]
fn nanoseconds_per_row() {
    let orders: Vec<i64> = (0..1_500_000).map(|at| at / 8 * 32 + at % 8).collect();
    let lines: Vec<i64> = orders.iter().flat_map(|order| [*order; 4]).collect();
    let scattered_lines: Vec<i64> = scattered(6_000_000, 6_000_000);
    let some = |every: usize| orders.iter().copied().step_by(every).collect::<Vec<i64>>();
    let customers: Vec<i64> = scattered(1_500_000, 150_000);
    let pairs =
        |keys: &[i64]| vec![keys.iter().map(|key| key / 4).collect(), keys.iter().map(|key| key % 100).collect()];
    for kind in [JoinKind::Inner, JoinKind::ProbeSemi] {
        measure("orders, lines in order", kind, std::slice::from_ref(&orders), std::slice::from_ref(&lines));
        measure("orders, lines scattered", kind, std::slice::from_ref(&orders), std::slice::from_ref(&scattered_lines));
        measure("1 of 5 orders, lines in order", kind, &[some(5)], std::slice::from_ref(&lines));
        measure("1 of 50 orders, lines in order", kind, &[some(50)], std::slice::from_ref(&lines));
        measure("1 of 500 orders, scattered", kind, &[some(500)], std::slice::from_ref(&scattered_lines));
        measure("customers, orders scattered", kind, &[(0..150_000).collect()], std::slice::from_ref(&customers));
        measure("orders by customer, customers", kind, std::slice::from_ref(&customers), &[(0..150_000).collect()]);
        measure("lines, orders", kind, std::slice::from_ref(&lines), std::slice::from_ref(&orders));
        let sparse = |keys: &[i64]| keys.iter().map(|key| key << 24).collect::<Vec<i64>>();
        measure("sparse, scattered", kind, &[sparse(&orders)], &[sparse(&scattered_lines)]);
        measure("1 of 50 sparse, scattered", kind, &[sparse(&some(50))], &[sparse(&scattered_lines)]);
        measure("two keys", kind, &pairs(&some(2)), &pairs(&scattered_lines));
        let wide = |keys: &[i64]| vec![keys.to_vec(), keys.iter().map(|key| key % 7 * (i64::MAX / 7)).collect()];
        measure("two wide keys", kind, &wide(&some(10)), &wide(&scattered_lines));
    }
}
