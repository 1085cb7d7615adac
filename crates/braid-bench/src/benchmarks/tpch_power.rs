//! `tpch-power`: the 22 queries one after the other, hot, beside DataFusion on Parquet files of the same rows.
//!
//! Each query runs on both engines in turn: once to warm up, when its two answers are also compared, then
//! [`REPETITIONS`] times, of which the median counts. The geometric mean gives every query the same weight.

use std::time::Instant;

use crate::answer::RowOrder;
use crate::benchmark::BenchResult;
use crate::client::{Client, SessionClient};
use crate::data_directory::{open_tpch, tpch_parquet};
use crate::parquet_client::ParquetClient;
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::tpch::query;
use crate::{BenchError, BenchOptions};

/// Timed runs of a query.
const REPETITIONS: usize = 3;

/// Runs it.
pub async fn run(options: &BenchOptions) -> BenchResult {
    let parquet = tpch_parquet(options).await?;
    let database = open_tpch(options, None).await?;
    let mut braid = SessionClient::new(&database);
    let mut peer = ParquetClient::open(&parquet, database.config().target_partitions).await?;
    let mut table = plain_table(&["query", "Braid ms", "DataFusion ms", "ratio"]);
    let mut times: Vec<(f64, f64)> = Vec::new();
    for at in 1..=22 {
        let sql = query(at, options.scale);
        let expected = peer.answer(&sql).await?;
        let found = braid.answer(&sql).await?;
        expected.compare(&found, RowOrder::Kept).map_err(|difference| BenchError::WrongAnswer {
            query: format!("q{at:02} (expected is DataFusion's)"),
            difference: difference.to_string(),
        })?;
        let (ours, theirs) = (median_ms(&mut braid, &sql).await?, median_ms(&mut peer, &sql).await?);
        table.add_row([
            left(&format!("q{at:02}")),
            right(number(ours)),
            right(number(theirs)),
            right(number(ours / theirs)),
        ]);
        times.push((ours, theirs));
    }
    println!("{table}");
    let ours = geometric_mean(times.iter().map(|t| t.0));
    let theirs = geometric_mean(times.iter().map(|t| t.1));
    Ok(vec![
        Figure::new("geometric mean of 22 queries, Braid", ours, "ms"),
        Figure::new("geometric mean of 22 queries, DataFusion on Parquet", theirs, "ms"),
        Figure::new("Braid / DataFusion", ours / theirs, "").with_goal(Goal::AtMost(1.0)),
        Figure::new("all 22 queries, Braid", times.iter().map(|t| t.0).sum::<f64>() / 1e3, "s"),
        Figure::new("all 22 queries, DataFusion on Parquet", times.iter().map(|t| t.1).sum::<f64>() / 1e3, "s"),
    ])
}

async fn median_ms(client: &mut dyn Client, sql: &str) -> Result<f64, BenchError> {
    let mut times = Vec::with_capacity(REPETITIONS);
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        client.run(sql).await?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[REPETITIONS / 2])
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_geometric_mean_weighs_ratios() {
        assert!((geometric_mean([1.0, 4.0, 16.0].into_iter()) - 4.0).abs() < 1e-12);
    }
}
