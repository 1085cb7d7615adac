//! `load`: loads TPC-H from Parquet files into an empty data directory, and into DuckDB.
//!
//! DuckDB runs if `bench/peers` has installed it; without it the figures have no goals. Writing the Parquet files is not timed.
//! The benchmark checks the number of rows of every table, and the stored answers if the scale has any.

use std::path::Path;
use std::time::Instant;

use braid_engine::{Config, Database};

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::data_directory::{directory_bytes, parquet_file, remove_directory, tpch_parquet};
use crate::drivers::client::SessionClient;
use crate::drivers::duckdb::{DUCKDB_LOAD, DuckDbLoad, PEERS_PYTHON, run_duckdb};
use crate::drivers::stored_answers::{STORED_SCALES, check_query};
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::generated::GeneratedTable;
use crate::workloads::tpch::TpchTable;
use crate::{BenchError, BenchOptions};

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let parquet = tpch_parquet(options).await?;
    let scratch = options.data.join("load-scratch");
    remove_directory(&scratch)?;
    let result = measure(options, &parquet, &scratch).await;
    remove_directory(&scratch)?;
    result
}

async fn measure(options: &BenchOptions, parquet: &Path, scratch: &Path) -> BenchResult {
    let directory = scratch.join("braid");
    std::fs::create_dir_all(&directory).map_err(|source| BenchError::File { path: directory.clone(), source })?;
    let database = Database::open(Config::new(&directory)).await?;
    let mut table_times = plain_table(&["table", "rows", "s"]);
    let mut seconds = 0.0;
    for &table in TpchTable::ALL {
        let start = Instant::now();
        let rows = database.load_file(&parquet_file(parquet, table), table.name()).await?;
        let elapsed = start.elapsed().as_secs_f64();
        seconds += elapsed;
        table_times.add_row([left(table.name()), right(rows.to_string()), right(number(elapsed))]);
        check_rows(table, rows, options.scale)?;
    }
    println!("{table_times}");
    let bytes = directory_bytes(&directory)? as f64;
    if STORED_SCALES.contains(&options.scale) {
        let mut client = SessionClient::new(&database);
        for number in 1..=22 {
            check_query(&mut client, number, options.scale).await?;
        }
    }
    database.close().await;
    drop(database);

    let time = Figure::new("time to load", seconds, "s");
    let size = Figure::new("bytes on disk", bytes / 1e6, "MB");
    let Some(duckdb) = duckdb(parquet, &scratch.join("duckdb")).await? else {
        println!("DuckDB is not installed: run bench/peers/run.sh once, or set {PEERS_PYTHON}");
        return Ok(vec![time, size]);
    };
    let version = duckdb.version;
    Ok(vec![
        time.with_goal(Goal::AtMost(3.0 * duckdb.seconds)),
        Figure::new(format!("time to load, DuckDB {version}"), duckdb.seconds, "s"),
        size.with_goal(Goal::AtMost(duckdb.bytes / 1e6)),
        Figure::new(format!("bytes on disk, DuckDB {version}"), duckdb.bytes / 1e6, "MB"),
    ])
}

fn check_rows(table: TpchTable, rows: u64, scale: f64) -> Result<(), BenchError> {
    if table.has_row_count(rows, scale) {
        return Ok(());
    }
    let difference = format!("{} rows expected, {rows} loaded", table.row_count(scale));
    Err(BenchError::WrongAnswer { query: format!("loading {table}"), difference })
}

/// Loads the same files into DuckDB; `None` if it is not installed.
async fn duckdb(parquet: &Path, directory: &Path) -> Result<Option<DuckDbLoad>, BenchError> {
    run_duckdb(DUCKDB_LOAD, &[parquet, directory], Vec::new()).await
}
