//! The time to build a hash table and its key filter, in one thread and with several workers, and the time to probe it. Run with
//! `cargo test --release -p braid-exec --lib joins::hash::measurements -- --ignored --nocapture --test-threads 1`.

use std::sync::Arc;
use std::time::Instant;

use braid_base::{ByteSize, Random, SeededRandom, VECTOR_ROWS};

use super::tests::{integer_batches, integer_spec, reservation, scattered};
use super::*;
use crate::keys::null_keys::NullKeys;
use crate::runtime::collected_rows::CollectedRows;
use crate::runtime::stop::StopFlag;
use crate::values::vector::Values;
use crate::{Batch, ByteStrings, FixedBudget, Reservation, Vector};

const ROWS: usize = 1 << 22;
const ROUNDS: usize = 5;

/// Rows of a key and a value.
fn batches(key: impl Fn(usize) -> Vector) -> Vec<Batch> {
    let starts = (0..ROWS).step_by(VECTOR_ROWS);
    let value = |start: usize| Vector::integers((start as i64..(start + VECTOR_ROWS) as i64).collect());
    starts.map(|start| Batch::of_vectors(VECTOR_ROWS, [Arc::new(key(start)), Arc::new(value(start))])).collect()
}

fn parts(batches: &[Batch], count: usize) -> Vec<CollectedRows> {
    let budget = FixedBudget::new(ByteSize(1 << 34));
    let part = |_| CollectedRows::new(2, Reservation::new(budget.clone(), "hash join"));
    let mut parts: Vec<CollectedRows> = (0..count).map(part).collect();
    for (at, batch) in batches.iter().enumerate() {
        // As workers take chunks.
        parts[at / 64 % count].consume(&mut batch.clone()).unwrap();
    }
    parts
}

fn spec(kind: JoinKind) -> JoinSpec {
    JoinSpec {
        tuning: JoinTuning::default(),
        kind,
        build_keys: vec![0],
        probe_keys: vec![0],
        null_keys: NullKeys::EqualNothing,
        has_residual: false,
        build_column_count: 2,
    }
}

/// Processor time of all threads of this process, which excludes other processes.
fn computed_milliseconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of_thread = |thread: std::io::Result<std::fs::DirEntry>| {
        let schedule = std::fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        schedule.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e6
    };
    threads.map(of_thread).sum()
}

/// Elapsed milliseconds, and processor time in milliseconds.
struct Since(Instant, f64);

impl Since {
    fn now() -> Self {
        Self(Instant::now(), computed_milliseconds())
    }

    fn elapsed(&self) -> (f64, f64) {
        (self.0.elapsed().as_secs_f64() * 1e3, computed_milliseconds() - self.1)
    }
}

/// The medians of both.
fn medians(milliseconds: &[(f64, f64)]) -> String {
    let median = |mut milliseconds: Vec<f64>| {
        milliseconds.sort_by(f64::total_cmp);
        milliseconds[milliseconds.len() / 2]
    };
    let (passed, computed) = milliseconds.iter().copied().unzip();
    format!("{:6.1} ms, {:6.1} computed", median(passed), median(computed))
}

#[test]
#[ignore = "a measurement"]
fn building_costs() {
    let mut order: Vec<i64> = (0..ROWS as i64).collect();
    let mut random = SeededRandom::new(1);
    (1..ROWS).for_each(|at| order.swap(at, random.below(at as u64 + 1) as usize));
    let integers = |key: &dyn Fn(i64) -> i64, in_order: bool| {
        let number = |at: usize| if in_order { at as i64 } else { order[at] };
        batches(|start| Vector::integers((start..start + VECTOR_ROWS).map(|at| key(number(at))).collect()))
    };
    let strings = batches(|start| {
        let strings: Vec<String> =
            order[start..start + VECTOR_ROWS].iter().map(|n| format!("customer {n:012}")).collect();
        Vector::new(Values::Bytes(ByteStrings::from_strings(strings.iter().map(String::as_bytes))), None)
    });
    let sides: [(&str, Vec<Batch>); 8] = [
        ("integers, dense, in order", integers(&|n| n, true)),
        ("integers, dense, in no order", integers(&|n| n, false)),
        ("integers, 4 rows a key", integers(&|n| n / 4, false)),
        ("integers, 1 of 16, in order", integers(&|n| n * 16, true)),
        ("integers, 1 of 16, in no order", integers(&|n| n * 16, false)),
        ("integers, sparse", integers(&|n| n << 20, false)),
        ("integers, sparse, 4 rows a key", integers(&|n| (n / 4) << 20, false)),
        ("strings", strings),
    ];
    for (name, batches) in &sides {
        for kind in [JoinKind::Inner, JoinKind::ProbeSemi] {
            measure(name, kind, batches);
        }
    }
}

fn measure(name: &str, kind: JoinKind, batches: &[Batch]) {
    for worker_count in [1, 2] {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(worker_count).build().unwrap();
        let (mut alone, mut together) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let rows = parts(batches, worker_count);
            let since = Since::now();
            let table = JoinTable::new(spec(kind), rows).unwrap();
            let filter = table.key_filter();
            alone.push(since.elapsed());
            drop((table, filter));
            let rows = parts(batches, worker_count);
            let building = async move {
                let since = Since::now();
                let table = JoinTable::build(spec(kind), rows, worker_count, &StopFlag::default()).await.unwrap();
                (since.elapsed(), table)
            };
            let (elapsed, table) = runtime.block_on(runtime.spawn(building)).unwrap();
            assert_eq!(table.row_count(), ROWS);
            together.push(elapsed);
        }
        let (alone, together) = (medians(&alone), medians(&together));
        println!("{name:32} {kind:?}, {worker_count} workers: {together}; synchronous {alone}");
    }
}

/// Processor time of this thread in seconds, which excludes other processes.
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

/// Prints the times to build, to probe and to filter.
fn measure_probe(name: &str, kind: JoinKind, build: &[Vec<i64>], probe: &[Vec<i64>]) {
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
        measure_probe("orders, lines in order", kind, std::slice::from_ref(&orders), std::slice::from_ref(&lines));
        measure_probe(
            "orders, lines scattered",
            kind,
            std::slice::from_ref(&orders),
            std::slice::from_ref(&scattered_lines),
        );
        measure_probe("1 of 5 orders, lines in order", kind, &[some(5)], std::slice::from_ref(&lines));
        measure_probe("1 of 50 orders, lines in order", kind, &[some(50)], std::slice::from_ref(&lines));
        measure_probe("1 of 500 orders, scattered", kind, &[some(500)], std::slice::from_ref(&scattered_lines));
        measure_probe("customers, orders scattered", kind, &[(0..150_000).collect()], std::slice::from_ref(&customers));
        measure_probe(
            "orders by customer, customers",
            kind,
            std::slice::from_ref(&customers),
            &[(0..150_000).collect()],
        );
        measure_probe("lines, orders", kind, std::slice::from_ref(&lines), std::slice::from_ref(&orders));
        let sparse = |keys: &[i64]| keys.iter().map(|key| key << 24).collect::<Vec<i64>>();
        measure_probe("sparse, scattered", kind, &[sparse(&orders)], &[sparse(&scattered_lines)]);
        measure_probe("1 of 50 sparse, scattered", kind, &[sparse(&some(50))], &[sparse(&scattered_lines)]);
        measure_probe("two keys", kind, &pairs(&some(2)), &pairs(&scattered_lines));
        let wide = |keys: &[i64]| vec![keys.to_vec(), keys.iter().map(|key| key % 7 * (i64::MAX / 7)).collect()];
        measure_probe("two wide keys", kind, &wide(&some(10)), &wide(&scattered_lines));
    }
}
