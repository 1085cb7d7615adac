//! `tpch-mix`: QPipe's eight query types with random parameters, closed loop, over the wire (QPipe section 5.3).
//!
//! Before the measurement, the eight types are checked against the stored answers over the same connections.

use std::sync::Arc;
use std::time::Duration;

use braid_engine::Database;
use futures::future::BoxFuture;

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::open_tpch;
use crate::drivers::client::{Client, WireClient};
use crate::drivers::closed_loop::{LoopFigures, closed_loop};
use crate::drivers::stored_answers::{STORED_SCALES, check_query};
use crate::report::{Figure, Goal, number, plain_table, right};
use crate::{BenchError, BenchOptions, Servers};

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let server =
        (servers.in_process)(Arc::clone(&database)).await.map_err(|e| BenchError::other("starting the server", e))?;
    let address = server.address;
    let connect = move || -> BoxFuture<'static, Result<Box<dyn Client>, BenchError>> {
        Box::pin(async move { Ok(Box::new(WireClient::connect(address).await?) as Box<dyn Client>) })
    };
    let figures = measure(options, &database, &connect).await;
    server.stop.await;
    figures
}

/// Connects a client.
type Connect = dyn Fn() -> BoxFuture<'static, Result<Box<dyn Client>, BenchError>> + Send + Sync;

async fn measure(options: &BenchOptions, database: &Database, connect: &Connect) -> BenchResult {
    if STORED_SCALES.contains(&options.scale) {
        let mut client = connect().await?;
        for number in [1, 4, 6, 8, 12, 13, 14, 19] {
            check_query(client.as_mut(), number, options.scale).await?;
        }
    }
    let mut table = plain_table(&["clients", "queries/s", "p50 ms", "p95 ms", "queries", "failed", "read MB"]);
    let mut figures = Vec::new();
    for &client_count in &options.clients {
        let mut clients = Vec::with_capacity(client_count);
        for _ in 0..client_count {
            clients.push(connect().await?);
        }
        let read_before = database.device().stats().bytes_read;
        let measured = closed_loop(clients, 0, Duration::from_secs_f64(options.seconds)).await?;
        let read_mb = (database.device().stats().bytes_read - read_before) as f64 / 1e6;
        table.add_row(row(&measured, read_mb));
        if let Some(error) = &measured.errors.1 {
            println!("{client_count} clients: {} queries failed, first: {error}", measured.errors.0);
        }
        let named = |what: &str| format!("{what}, {client_count} clients");
        figures.push(Figure::new(named("throughput"), measured.throughput(), "1/s"));
        figures.push(Figure::new(named("latency p50"), measured.latency_ms(0.50), "ms"));
        figures.push(Figure::new(named("latency p95"), measured.latency_ms(0.95), "ms"));
        let failed = Figure::new(named("failed queries"), measured.errors.0 as f64, "");
        figures.push(failed.with_goal(Goal::AtMost(0.0)));
    }
    println!("{table}");
    Ok(figures)
}

fn row(measured: &LoopFigures, read_mb: f64) -> Vec<comfy_table::Cell> {
    vec![
        right(measured.clients.to_string()),
        right(number(measured.throughput())),
        right(number(measured.latency_ms(0.50))),
        right(number(measured.latency_ms(0.95))),
        right(measured.queries.to_string()),
        right(measured.errors.0.to_string()),
        right(number(read_mb)),
    ]
}
