//! `tpch-power`: runs the 22 queries one after the other with hot data, on Braid and on DuckDB if it is installed (`power_run`).

use std::time::Instant;

use braid_engine::Database;

use crate::BenchOptions;
use crate::benchmarks::benchmark::{BenchResult, Peer};
use crate::benchmarks::data_directory::{open_tpch, tpch_parquet};
use crate::benchmarks::power_run::{Compared, PowerQuery, PowerRun};
use crate::workloads::tpch::query;

/// The columns of lineitem that Q6 reads.
const SCANNED_BY_Q06: [&str; 4] = ["l_shipdate", "l_discount", "l_quantity", "l_extendedprice"];

/// Bytes read to measure the memory bandwidth: 256 MB.
const BANDWIDTH_BYTES: u64 = 256 << 20;

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpch(options, None).await?;
    let parquet = match options.peer {
        None | Some(Peer::Duckdb) => Some(tpch_parquet(options).await?),
        Some(Peer::OtherPlans) => None,
    };
    let query = |at| PowerQuery {
        name: format!("q{at:02}").into(),
        sql: query(at, options.scale),
        // At scales without stored answers, equal keys in ORDER BY may leave open which rows are selected.
        compared: Compared::RowCount,
    };
    let run = PowerRun { queries: (1..=22).map(query).collect(), repetitions: options.rounds };
    let times = run.measure(&database, parquet.as_deref()).await?;
    let scanned = SCANNED_BY_Q06.iter().map(|column| stored_column_bytes(&database, column)).sum::<u64>();
    println!(
        "q06 reads {:.1} MB of segments at {:.1} GB/s. Sequential reads of memory by all cores reach {:.1} GB/s.",
        scanned as f64 / 1e6,
        scanned as f64 / 1e6 / times.braid[5],
        memory_bandwidth()
    );
    Ok(times.figures())
}

/// Encoded bytes of a column of lineitem.
fn stored_column_bytes(database: &Database, column: &str) -> u64 {
    let catalog = database.store().snapshot();
    let table = catalog.table("lineitem").expect("TPC-H is loaded");
    let (id, _) = table.def.column(column).expect("lineitem has it");
    table.chunks.iter().map(|chunk| u64::from(chunk.segment(id).stored_bytes())).sum()
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
