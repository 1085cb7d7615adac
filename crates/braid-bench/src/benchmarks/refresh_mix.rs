//! `refresh-mix`: what inserts do to queries. The closed loop of `tpch-mix` with sharing on, alone and beside TPC-H's refresh function 1,
//! which inserts a thousand rows a second into the tables that the queries read.
//!
//! Orders arrive at random times at a fixed rate, each a durable transaction, whether earlier ones are answered or not. Both loops
//! run in turn, round after round, each second round in reverse order; the ratio is the median of the rounds' ratios. The database is
//! made anew, because it keeps the rows: a few for each thousand that it has.

use std::sync::Arc;
use std::time::Duration;

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::client_pool::{ClientPool, drain, round_load, seed_of_round, warm_up_load};
use crate::benchmarks::data_directory::remove_directory;
use crate::benchmarks::measured_server::MeasuredServer;
use crate::drivers::client::Sharing;
use crate::drivers::closed_loop::LoopFigures;
use crate::drivers::open_loop::{Ending, OpenLoad, OpenLoopFigures};
use crate::drivers::poisson_arrivals::poisson_arrivals;
use crate::report::summary::median;
use crate::report::{Figure, Goal};
use crate::workloads::refresh::{ROWS_MEAN, Refresh};
use crate::workloads::tpch::TpchMix;
use crate::workloads::workload::Workload;
use crate::{BenchError, BenchOptions, Servers};

/// Rows a second.
const ROWS_PER_S: f64 = 1000.0;

/// Connections that insert. Orders beyond them wait in the driver.
const WRITERS: usize = 32;

/// Goal for the throughput of queries beside the inserts / alone.
const RATIO_MIN: f64 = 0.9;

/// Seeds of the orders and of their arrivals, which no query has.
const ORDERS_SEED: u64 = 1 << 43;
const ARRIVALS_SEED: u64 = 1 << 44;

/// A round with a number of clients.
struct Round {
    alone: LoopFigures,
    beside: LoopFigures,
    orders: OpenLoopFigures,
}

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let own = BenchOptions { data: options.data.join("refresh-mix-scratch"), ..options.clone() };
    remove_directory(&own.data)?;
    let figures = measure(&own, servers).await;
    remove_directory(&own.data)?;
    figures
}

async fn measure(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let server = MeasuredServer::start(options, servers, &[]).await?;
    let client_count = options.clients.iter().copied().max().unwrap_or(0);
    let mut readers = ClientPool::new(&server, server.connect(client_count).await?);
    let mut writers = ClientPool::new(&server, server.connect(WRITERS).await?);
    let (queries, orders): (Arc<dyn Workload>, Arc<dyn Workload>) =
        (Arc::new(TpchMix), Arc::new(Refresh::new(options.scale)));
    let mut figures = Vec::new();
    for (at, &clients) in options.clients.iter().enumerate() {
        readers.set(clients, Sharing::Auto, None).await?;
        readers.closed_loop(clients, warm_up_load(&queries, options)).await?;
        let mut rounds = Vec::with_capacity(options.rounds);
        for round in 0..options.rounds {
            // No order comes twice, whatever the round and the number of clients.
            let seed = seed_of_round(at * options.rounds + round);
            let mut alone = None;
            if round.is_multiple_of(2) {
                alone = Some(readers.closed_loop(clients, round_load(&queries, options, round)).await?);
            }
            let duration = Duration::from_secs_f64(options.seconds);
            let load = OpenLoad {
                workload: &orders,
                seed: ORDERS_SEED + seed,
                arrivals: poisson_arrivals(ROWS_PER_S / ROWS_MEAN, duration, ARRIVALS_SEED + seed),
                duration,
                drain: drain(options),
            };
            let reading = readers.closed_loop(clients, round_load(&queries, options, round));
            let (beside, inserted) = tokio::try_join!(reading, writers.open_loop(WRITERS, load))?;
            writers.restore().await?;
            let alone = match alone {
                Some(alone) => alone,
                None => readers.closed_loop(clients, round_load(&queries, options, round)).await?,
            };
            rounds.push(Round { alone, beside, orders: inserted });
        }
        figures.extend(figures_of(&rounds, clients)?);
    }
    Ok(figures)
}

fn figures_of(rounds: &[Round], clients: usize) -> BenchResult {
    for round in rounds {
        for queries in [&round.alone, &round.beside] {
            if let (1.., Some(error)) = &queries.errors {
                return Err(BenchError::other("a query", error.as_str()));
            }
        }
        if let (1.., Some(error)) = round.orders.failures() {
            return Err(BenchError::other("an insert", error));
        }
    }
    let named = |what: &str| format!("{clients} clients: {what}");
    let of = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure).collect());
    let ratio = |round: &Round| round.beside.throughput() / round.alone.throughput().max(f64::MIN_POSITIVE);
    // Answered within the loop, each with the mean of an order's rows.
    let inserted = |round: &Round| round.orders.throughput() * ROWS_MEAN;
    let unfinished = |round: &Round| round.orders.count(|ending| *ending == Ending::Unfinished) as f64;
    Ok(vec![
        Figure::new(named("queries alone"), of(|round| round.alone.throughput()), "1/s"),
        Figure::new(named("queries beside inserts"), of(|round| round.beside.throughput()), "1/s"),
        Figure::new(named("beside / alone"), of(ratio), "").with_goal(Goal::AtLeast(RATIO_MIN)),
        Figure::new(named("p95 of queries alone"), of(|round| round.alone.latency_ms(0.95)), "ms"),
        Figure::new(named("p95 of queries beside inserts"), of(|round| round.beside.latency_ms(0.95)), "ms"),
        Figure::new(named("inserted rows"), of(inserted), "1/s"),
        Figure::new(named("p95 of inserts"), of(|round| round.orders.response_ms(0.95)), "ms"),
        Figure::new(named("inserts without an answer"), of(unfinished), ""),
    ])
}
