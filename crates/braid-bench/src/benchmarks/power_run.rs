//! The measurement of `tpch-power` and `tpcds-power`: each query alone with hot data, on Braid and on DuckDB if it is installed.
//!
//! Each query runs on both alternately: once as a warm-up, in which answers are compared, and then as often as the options say; the
//! median counts. The geometric mean gives every query the same weight. Planning is timed by EXPLAIN, from the text on.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use braid_engine::Database;

use crate::BenchError;
use crate::drivers::client::{Client, SessionClient};
use crate::drivers::duckdb::DuckDbSession;
use crate::report::summary::{geometric_mean, median};
use crate::report::{Figure, Goal, left, number, plain_table, right};
use crate::workloads::answer::{Answer, Difference, RowOrder};

/// A query that is measured.
pub(super) struct PowerQuery {
    /// Its name.
    pub(super) name: Cow<'static, str>,
    /// Its text.
    pub(super) sql: Cow<'static, str>,
    /// What is compared with DuckDB's answer.
    pub(super) compared: Compared,
}

/// What is compared with DuckDB's answer.
#[derive(Clone, Copy)]
pub(super) enum Compared {
    /// The number of rows.
    RowCount,
    /// All rows in their order, which no query leaves open.
    Rows,
}

/// The queries, and how they are measured.
pub(super) struct PowerRun {
    /// The queries.
    pub(super) queries: Vec<PowerQuery>,
    /// Number of timed runs of a query.
    pub(super) repetitions: usize,
}

/// Medians of all queries, in milliseconds.
#[derive(Default)]
pub(super) struct PowerTimes {
    /// Planning.
    planned: Vec<f64>,
    /// Braid, including planning.
    pub(super) braid: Vec<f64>,
    /// DuckDB's, and its name. Empty if it is not compared.
    duckdb: (String, Vec<f64>),
}

impl PowerRun {
    /// Measures all queries and prints a table. Compares with DuckDB, with the tables of a directory of Parquet files, if there is one.
    pub(super) async fn measure(
        &self,
        database: &Arc<Database>,
        parquet: Option<&Path>,
    ) -> Result<PowerTimes, BenchError> {
        let mut duckdb = match parquet {
            Some(parquet) => tokio::task::block_in_place(|| DuckDbSession::start(parquet))?,
            None => None,
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
        let mut times = PowerTimes::default();
        let mut braid = SessionClient::new(database);
        for query in &self.queries {
            let found = braid.answer(&query.sql).await?;
            if let Some(duckdb) = &mut duckdb {
                compare(duckdb, query, &found)?;
            }
            let planned = self.median_ms(&mut braid, &format!("explain {}", query.sql)).await?;
            let own = self.median_ms(&mut braid, &query.sql).await?;
            let mut row = vec![left(&query.name), right(number(planned)), right(number(own))];
            if let Some(duckdb) = &mut duckdb {
                let time = self.duckdb_median_ms(duckdb, &query.sql)?;
                row.extend([right(number(time)), right(number(own / time))]);
                times.duckdb.1.push(time);
            }
            table.add_row(row);
            times.planned.push(planned);
            times.braid.push(own);
        }
        println!("{table}");
        times.duckdb.0 = duckdb.map(|session| format!("DuckDB {}", session.version)).unwrap_or_default();
        Ok(times)
    }

    fn duckdb_median_ms(&self, duckdb: &mut DuckDbSession, sql: &str) -> Result<f64, BenchError> {
        let times: Result<Vec<f64>, BenchError> =
            tokio::task::block_in_place(|| (0..self.repetitions).map(|_| Ok(duckdb.run(sql)?.seconds * 1e3)).collect());
        Ok(median(times?))
    }

    async fn median_ms(&self, client: &mut dyn Client, sql: &str) -> Result<f64, BenchError> {
        let mut times = Vec::with_capacity(self.repetitions);
        for _ in 0..self.repetitions {
            let start = Instant::now();
            client.run(sql).await?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(median(times))
    }
}

impl PowerTimes {
    /// Means, sums, and the ratio to DuckDB.
    pub(super) fn figures(&self) -> Vec<Figure> {
        let (name, theirs) = &self.duckdb;
        let count = self.braid.len();
        let mean = |name: &str, times: &[f64]| {
            Figure::new(format!("geometric mean of {count} queries, {name}"), geometric_mean(times), "ms")
        };
        let sum = |name: &str, times: &[f64]| {
            Figure::new(format!("all {count} queries, {name}"), times.iter().sum::<f64>() / 1e3, "s")
        };
        let longest = self.planned.iter().copied().fold(0.0, f64::max);
        let mut figures = vec![
            mean("Braid", &self.braid),
            sum("Braid", &self.braid),
            Figure::new("planning a query, geometric mean", geometric_mean(&self.planned), "ms")
                .with_goal(Goal::AtMost(0.5)),
            Figure::new("planning a query, longest", longest, "ms"),
        ];
        if !theirs.is_empty() {
            let ratio = geometric_mean(&self.braid) / geometric_mean(theirs);
            let worst = self.braid.iter().zip(theirs).map(|(own, theirs)| own / theirs).fold(0.0, f64::max);
            figures.extend([
                mean(name, theirs),
                sum(name, theirs),
                Figure::new(format!("Braid / {name}"), ratio, "").with_goal(Goal::AtMost(1.0)),
                Figure::new(format!("Braid / {name}, worst query"), worst, "").with_goal(Goal::AtMost(2.5)),
            ]);
        }
        figures
    }
}

/// DuckDB's warm-up, in which answers are compared.
fn compare(duckdb: &mut DuckDbSession, query: &PowerQuery, found: &Answer) -> Result<(), BenchError> {
    let expected = tokio::task::block_in_place(|| duckdb.answer(&query.sql))?;
    let compared: Result<(), Difference> = match query.compared {
        Compared::RowCount => found.check_row_count(expected.rows.len()),
        Compared::Rows => expected.compare(found, RowOrder::Kept),
    };
    compared.map_err(|difference| BenchError::WrongAnswer {
        query: format!("{} (expected is that of DuckDB)", query.name),
        difference: difference.to_string(),
    })
}
