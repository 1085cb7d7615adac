//! `tpch-power`: runs the 22 queries one after the other with hot data, on Braid and on DuckDB if it is installed.
//!
//! Each query runs on both alternately: once as a warm-up, in which numbers of rows are compared, and then [`REPETITIONS`] times; the
//! median counts. The geometric mean gives every query the same weight. Planning is timed by EXPLAIN, from the text on.

use std::time::Instant;

use braid_engine::Database;

use crate::benchmarks::benchmark::{BenchResult, Peer};
use crate::benchmarks::data_directory::{open_tpch, tpch_parquet};
use crate::drivers::client::{Client, SessionClient};
use crate::drivers::duckdb::DuckDbSession;
use crate::report::summary::{geometric_mean, median};
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::answer::Answer;
use crate::workloads::tpch::query;
use crate::{BenchError, BenchOptions};

/// Number of timed runs of a query.
const REPETITIONS: usize = 3;

/// The columns of lineitem that Q6 reads.
const SCANNED_BY_Q06: [&str; 4] = ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"];

/// Bytes read to measure the memory bandwidth: 256 MB.
const BANDWIDTH_BYTES: u64 = 256 << 20;

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let mut braid = SessionClient::new(&database);
    let mut duckdb = match options.peer {
        None | Some(Peer::Duckdb) => {
            let parquet = tpch_parquet(options).await?;
            tokio::task::block_in_place(|| DuckDbSession::start(&parquet))?
        }
        Some(Peer::OtherPlans) => None,
    };
    if duckdb.is_none() {
        println!(
            "DuckDB is not compared: it is not installed (bench/peers/run.sh installs it), or --peer selects no DuckDB."
        );
    }
    let mut table = match &duckdb {
        Some(_) => plain_table(&["query", "planned ms", "Braid ms", "DuckDB ms", "ratio"]),
        None => plain_table(&["query", "planned ms", "Braid ms"]),
    };
    let (mut planned, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for at in 1..=22 {
        let sql = query(at, options.scale);
        let found = braid.answer(&sql).await?;
        if let Some(duckdb) = &mut duckdb {
            warm_up(duckdb, at, &sql, &found)?;
        }
        let planning = median_ms(&mut braid, &format!("explain {sql}")).await?;
        let own = median_ms(&mut braid, &sql).await?;
        let mut row = vec![left(&format!("q{at:02}")), right(number(planning)), right(number(own))];
        if let Some(duckdb) = &mut duckdb {
            let time = duckdb_median_ms(duckdb, &sql)?;
            row.extend([right(number(time)), right(number(own / time))]);
            theirs.push(time);
        }
        table.add_row(row);
        planned.push(planning);
        ours.push(own);
    }
    println!("{table}");
    let scanned = SCANNED_BY_Q06.iter().map(|column| stored_column_bytes(&database, column)).sum::<u64>();
    println!(
        "q06 reads {:.1} MB of segments at {:.1} GB/s. Sequential reads of memory by all cores reach {:.1} GB/s.",
        scanned as f64 / 1e6,
        scanned as f64 / 1e6 / ours[5],
        memory_bandwidth()
    );
    Ok(figures(&planned, &ours, duckdb.map(|session| (format!("DuckDB {}", session.version), theirs))))
}

/// DuckDB's warm-up, in which numbers of rows are compared.
fn warm_up(duckdb: &mut DuckDbSession, at: usize, sql: &str, found: &Answer) -> Result<(), BenchError> {
    let rows = tokio::task::block_in_place(|| duckdb.run(sql))?.rows;
    found.check_row_count(rows).map_err(|difference| BenchError::WrongAnswer {
        query: format!("q{at:02} (expected is that of DuckDB)"),
        difference: difference.to_string(),
    })
}

fn duckdb_median_ms(duckdb: &mut DuckDbSession, sql: &str) -> Result<f64, BenchError> {
    let times: Result<Vec<f64>, BenchError> =
        tokio::task::block_in_place(|| (0..REPETITIONS).map(|_| Ok(duckdb.run(sql)?.seconds * 1e3)).collect());
    Ok(median(times?))
}

/// Encoded bytes of a column of lineitem.
fn stored_column_bytes(database: &Database, column: &str) -> u64 {
    let catalog = database.store().snapshot();
    let table = catalog.table("lineitem").expect("TPC-H is loaded");
    let (id, _) = table.def.column(column).expect("lineitem has it");
    table.chunks.iter().map(|chunk| u64::from(chunk.segments[usize::from(id.0)].stored_bytes)).sum()
}

/// Sequential memory bandwidth of all cores together, in gigabytes per second.
fn memory_bandwidth() -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Larger than the caches of any machine.
    let numbers: Vec<u64> = (0..BANDWIDTH_BYTES / 8).collect();
    let start = Instant::now();
    let sum = std::thread::scope(|scope| {
        let add = |numbers: &[u64]| numbers.iter().copied().fold(0, u64::wrapping_add);
        let parts = numbers.chunks(numbers.len().div_ceil(cores));
        let threads: Vec<_> = parts.map(|numbers| scope.spawn(move || add(numbers))).collect();
        threads.into_iter().map(|thread| thread.join().expect("adding does not panic")).fold(0, u64::wrapping_add)
    });
    std::hint::black_box(sum);
    BANDWIDTH_BYTES as f64 / 1e9 / start.elapsed().as_secs_f64()
}

fn figures(planned: &[f64], ours: &[f64], peer: Option<(String, Vec<f64>)>) -> Vec<Figure> {
    let mut figures = vec![
        Figure::new("geometric mean of 22 queries, Braid", geometric_mean(ours), "ms"),
        Figure::new("all 22 queries, Braid", ours.iter().sum::<f64>() / 1e3, "s"),
        Figure::new("planning a query, geometric mean", geometric_mean(planned), "ms").with_goal(Goal::AtMost(0.5)),
        Figure::new("planning a query, longest", planned.iter().copied().fold(0.0, f64::max), "ms"),
    ];
    if let Some((name, theirs)) = peer {
        let mean = geometric_mean(&theirs);
        let worst = ours.iter().zip(&theirs).map(|(own, theirs)| own / theirs).fold(0.0, f64::max);
        figures.extend([
            Figure::new(format!("geometric mean of 22 queries, {name}"), mean, "ms"),
            Figure::new(format!("all 22 queries, {name}"), theirs.iter().sum::<f64>() / 1e3, "s"),
            Figure::new(format!("Braid / {name}"), geometric_mean(ours) / mean, "").with_goal(Goal::AtMost(1.0)),
            Figure::new(format!("Braid / {name}, worst query"), worst, "").with_goal(Goal::AtMost(2.5)),
        ]);
    }
    figures
}

async fn median_ms(client: &mut dyn Client, sql: &str) -> Result<f64, BenchError> {
    let mut times = Vec::with_capacity(REPETITIONS);
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        client.run(sql).await?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(median(times))
}
