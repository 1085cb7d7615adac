//! `tpch-power`: runs the 22 queries one after the other with hot data, on Braid and on other engines: DuckDB if it is
//! installed, DataFusion on Parquet files of the same rows, DataFusion's operators on Braid's scans, and DataFusion's planner with
//! Braid's operators.
//!
//! Each query runs on all engines alternately: once as a warm-up, in which answers are compared, and then [`REPETITIONS`] times;
//! the median counts. The geometric mean gives every query the same weight.

use std::time::Instant;

use braid_engine::Database;

use crate::benchmarks::benchmark::{BenchResult, Peer};
use crate::benchmarks::data_directory::{open_tpch, tpch_parquet};
use crate::drivers::client::{Client, SessionClient};
use crate::drivers::duckdb::DuckDbSession;
use crate::drivers::parquet_client::ParquetClient;
use crate::report::summary::{geometric_mean, median};
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::answer::{Answer, RowOrder};
use crate::workloads::tpch::query;
use crate::{BenchError, BenchOptions};

/// Number of timed runs of a query.
const REPETITIONS: usize = 3;

/// The columns of lineitem that Q6 reads.
const SCANNED_BY_Q06: [&str; 4] = ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"];

/// Bytes read to measure the memory bandwidth: 256 MB.
const BANDWIDTH_BYTES: u64 = 256 << 20;

/// An engine that Braid is compared with.
enum Contestant {
    Client(Box<dyn Client>),
    DuckDb(DuckDbSession),
}

impl Contestant {
    /// Runs the warm-up, and compares answers as far as the engine returns them.
    async fn warm_up(&mut self, name: &str, at: usize, sql: &str, found: &Answer) -> Result<(), BenchError> {
        let compared = match self {
            Self::Client(client) => client.answer(sql).await?.compare(found, RowOrder::Kept),
            Self::DuckDb(session) => {
                let rows = tokio::task::block_in_place(|| session.run(sql))?.rows;
                found.check_row_count(rows)
            }
        };
        compared.map_err(|difference| BenchError::WrongAnswer {
            query: format!("q{at:02} (expected is that of {name})"),
            difference: difference.to_string(),
        })
    }

    async fn median_ms(&mut self, sql: &str) -> Result<f64, BenchError> {
        match self {
            Self::Client(client) => median_ms(client.as_mut(), sql).await,
            Self::DuckDb(session) => {
                let times: Result<Vec<f64>, BenchError> = tokio::task::block_in_place(|| {
                    (0..REPETITIONS).map(|_| Ok(session.run(sql)?.seconds * 1e3)).collect()
                });
                Ok(median(times?))
            }
        }
    }
}

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let mut braid = SessionClient::new(&database);
    let mut peers: Vec<(String, Contestant)> = Vec::new();
    let is_wanted = |peer: Peer| options.peer.is_none_or(|wanted| wanted == peer);
    if is_wanted(Peer::Duckdb) {
        let parquet = tpch_parquet(options).await?;
        match tokio::task::block_in_place(|| DuckDbSession::start(&parquet))? {
            Some(session) => peers.push((format!("DuckDB {}", session.version), Contestant::DuckDb(session))),
            None => println!("DuckDB is not installed: bench/peers/run.sh installs it"),
        }
    }
    if is_wanted(Peer::Datafusion) {
        let parquet = tpch_parquet(options).await?;
        let client = ParquetClient::open(&parquet, database.config().target_partitions).await?;
        peers.push(("DataFusion on Parquet".to_owned(), Contestant::Client(Box::new(client))));
    }
    if is_wanted(Peer::Operators) {
        let mut client = SessionClient::new(&database);
        client.run("set braid.operators = datafusion").await?;
        peers.push(("DataFusion on Braid's scans".to_owned(), Contestant::Client(Box::new(client))));
    }
    if is_wanted(Peer::Planner) {
        let mut client = SessionClient::new(&database);
        client.run("set braid.planner = datafusion").await?;
        peers.push(("Braid, planned by DataFusion".to_owned(), Contestant::Client(Box::new(client))));
    }
    let mut headings = vec!["query".to_owned(), "Braid ms".to_owned()];
    headings.extend(peers.iter().flat_map(|(name, _)| [format!("{name} ms"), "ratio".to_owned()]));
    let mut table = plain_table(&headings.iter().map(String::as_str).collect::<Vec<_>>());
    let mut ours = Vec::new();
    let mut theirs: Vec<Vec<f64>> = vec![Vec::new(); peers.len()];
    for at in 1..=22 {
        let sql = query(at, options.scale);
        let found = braid.answer(&sql).await?;
        for (name, peer) in &mut peers {
            peer.warm_up(name, at, &sql, &found).await?;
        }
        let own = median_ms(&mut braid, &sql).await?;
        let mut row = vec![left(&format!("q{at:02}")), right(number(own))];
        for ((_, peer), theirs) in peers.iter_mut().zip(&mut theirs) {
            let time = peer.median_ms(&sql).await?;
            row.extend([right(number(time)), right(number(own / time))]);
            theirs.push(time);
        }
        table.add_row(row);
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
    Ok(figures(&ours, peers.iter().map(|(name, _)| name.as_str()).zip(&theirs)))
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

fn figures<'a>(ours: &[f64], peers: impl Iterator<Item = (&'a str, &'a Vec<f64>)>) -> Vec<Figure> {
    let mut figures = vec![
        Figure::new("geometric mean of 22 queries, Braid", geometric_mean(ours), "ms"),
        Figure::new("all 22 queries, Braid", ours.iter().sum::<f64>() / 1e3, "s"),
    ];
    for (name, theirs) in peers {
        let mean = geometric_mean(theirs);
        let worst = ours.iter().zip(theirs).map(|(own, theirs)| own / theirs).fold(0.0, f64::max);
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
