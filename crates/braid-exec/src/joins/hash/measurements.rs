//! The time to build a hash table and its key filter, in one thread and with several workers. Run with
//! `cargo test --release -p braid-exec --lib joins::hash::measurements -- --ignored --nocapture --test-threads 1`.

use std::sync::Arc;
use std::time::Instant;

use braid_base::{ByteSize, Random, SeededRandom, VECTOR_ROWS};

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
