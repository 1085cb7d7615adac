//! Batches: queries that are sent at the same time, and the time until all are answered (SharedDB, figure 10).

use std::sync::Arc;
use std::time::Duration;

use super::{Kinds, in_turn};
use crate::benchmarks::client_pool::{ClientPool, WARM_UP_CLIENTS_MAX, seed_of_round, warm_up_load};
use crate::drivers::client::Sharing;
use crate::drivers::open_loop::OpenLoad;
use crate::report::summary::median;
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::workload::Workload;
use crate::{BenchError, BenchOptions};

/// A batch is repeated until its repetitions took this share of a measurement, because one small batch is a short time.
const REPEATED_SHARE: f64 = 0.1;

/// Most repetitions in a round.
const REPETITIONS_MAX: usize = 10;

/// How long a batch may take: longer than any does.
const BATCH_TIME_MAX: Duration = Duration::from_secs(3600);

/// Distance of the seeds of two repetitions, more than a batch has queries. Rounds are further apart.
const SEEDS_OF_REPETITION: u64 = 1 << 16;

/// The batches of a size.
struct Batches {
    /// `light` or `heavy`.
    kind: &'static str,
    size: usize,
    off: Times,
    auto: Times,
}

/// All repetitions of all rounds.
#[derive(Default)]
struct Times {
    batches_ms: Vec<f64>,
    /// Queries that were not answered, and the first error.
    failed: u64,
    error: Option<String>,
}

impl Batches {
    fn times(&mut self, sharing: Sharing) -> &mut Times {
        match sharing {
            Sharing::Off => &mut self.off,
            Sharing::Auto => &mut self.auto,
        }
    }
}

/// Measures batches of both kinds in the sizes of the options, and prints their table.
pub(super) async fn measure(
    pool: &mut ClientPool<'_>,
    kinds: &Kinds,
    options: &BenchOptions,
) -> Result<Vec<Figure>, BenchError> {
    let mut rows = Vec::new();
    for (kind, workload) in [("light", &kinds.light), ("heavy", &kinds.heavy)] {
        for &size in &options.clients {
            rows.push(measure_size(pool, (kind, workload), size, options).await?);
        }
    }
    print(&rows);
    Ok(rows.iter().flat_map(Batches::figures).collect())
}

async fn measure_size(
    pool: &mut ClientPool<'_>,
    (kind, workload): (&'static str, &Arc<dyn Workload>),
    size: usize,
    options: &BenchOptions,
) -> Result<Batches, BenchError> {
    let mut batches = Batches { kind, size, off: Times::default(), auto: Times::default() };
    for round in 0..options.rounds {
        for sharing in in_turn(round) {
            let warm_up_clients = size.min(WARM_UP_CLIENTS_MAX);
            pool.set(size, sharing, None).await?;
            pool.closed_loop(warm_up_clients, warm_up_load(workload, options)).await?;
            let mut spent = Duration::ZERO;
            for repetition in 0..REPETITIONS_MAX {
                let seed = seed_of_round(round) + SEEDS_OF_REPETITION * repetition as u64;
                spent += one_batch(pool, workload, size, seed, batches.times(sharing)).await?;
                if spent.as_secs_f64() >= REPEATED_SHARE * options.seconds {
                    break;
                }
            }
        }
    }
    Ok(batches)
}

/// Adds the time of a batch, and returns it.
async fn one_batch(
    pool: &mut ClientPool<'_>,
    workload: &Arc<dyn Workload>,
    size: usize,
    seed: u64,
    times: &mut Times,
) -> Result<Duration, BenchError> {
    let arrivals = vec![Duration::ZERO; size];
    let load = OpenLoad { workload, seed, arrivals, duration: Duration::ZERO, drain: BATCH_TIME_MAX };
    let figures = pool.open_loop(size, load).await?;
    pool.restore().await?;
    let (failed, error) = figures.failures();
    times.batches_ms.push(1e3 * figures.elapsed.as_secs_f64());
    times.failed += failed;
    times.error = times.error.take().or(error.map(str::to_owned));
    Ok(figures.elapsed)
}

fn print(rows: &[Batches]) {
    let mut table = plain_table(&["batch", "queries", "sharing off\nms", "sharing auto\nms", "auto / off", "batches"]);
    for row in rows {
        let (off_ms, auto_ms) = (median(row.off.batches_ms.clone()), median(row.auto.batches_ms.clone()));
        table.add_row([
            left(row.kind),
            right(row.size.to_string()),
            right(number(off_ms)),
            right(number(auto_ms)),
            right(number(auto_ms / off_ms)),
            right(format!("{} + {}", row.off.batches_ms.len(), row.auto.batches_ms.len())),
        ]);
    }
    println!("{table}");
    println!("Time until all queries of a batch are answered (SharedDB, figure 10). Medians of the batches.");
    for (row, times) in rows.iter().flat_map(|row| [(row, &row.off), (row, &row.auto)]) {
        if let Some(error) = &times.error {
            println!("batches of {} {} queries: {} failed, first: {error}", row.size, row.kind, times.failed);
        }
    }
}

impl Batches {
    fn figures(&self) -> Vec<Figure> {
        let Self { kind, size, .. } = self;
        let queries = format!("{size} {kind} {}", if *size == 1 { "query" } else { "queries" });
        let (off_ms, auto_ms) = (median(self.off.batches_ms.clone()), median(self.auto.batches_ms.clone()));
        let failed = (self.off.failed + self.auto.failed) as f64;
        vec![
            Figure::new(format!("batch of {queries}, sharing off"), off_ms, "ms"),
            Figure::new(format!("batch of {queries}, sharing auto"), auto_ms, "ms"),
            Figure::new(format!("batch of {queries}, auto / off"), auto_ms / off_ms, ""),
            Figure::new(format!("failed queries, batches of {queries}"), failed, "").with_goal(Goal::AtMost(0.0)),
        ]
    }
}
