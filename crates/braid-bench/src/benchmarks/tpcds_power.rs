//! `tpcds-power`: runs the 99 queries of TPC-DS one after the other with hot data, as `tpch-power` does those of TPC-H.
//!
//! All rows are compared with DuckDB's, because no query leaves the order of different rows open. Only of q78 are the numbers of rows
//! compared: DuckDB rounds quotients as binary floats, in which 0.575 is less than that.

use crate::BenchOptions;
use crate::benchmarks::benchmark::{BenchResult, Peer};
use crate::benchmarks::data_directory::{open_tpcds, tpcds_parquet};
use crate::benchmarks::power_run::{Compared, PowerQuery, PowerRun};
use crate::workloads::tpcds::QUERIES;

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let database = open_tpcds(options).await?;
    let parquet = match options.peer {
        None | Some(Peer::Duckdb) => Some(tpcds_parquet(options).await?),
        Some(Peer::OtherPlans) => None,
    };
    let query = |(name, sql): (&'static str, &'static str)| PowerQuery {
        name: name.into(),
        sql: sql.into(),
        compared: if name == "q78" { Compared::RowCount } else { Compared::Rows },
    };
    let run = PowerRun { queries: QUERIES.map(query).into(), repetitions: options.rounds };
    Ok(run.measure(&database, parquet.as_deref()).await?.figures())
}
