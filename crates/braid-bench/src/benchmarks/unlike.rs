//! `unlike`: 64 clients whose statements have nothing in common, so that sharing cannot help. It must not cost anything either.

use std::sync::Arc;

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::concurrent_clients::{Comparison, Goals};
use crate::workloads::unlike::Unlike;
use crate::{BenchOptions, Servers};

const CLIENTS: usize = 64;

const GOALS: Goals =
    Goals { to_duckdb_min: &[], p95_to_duckdb_max: &[], to_off_min: &[(CLIENTS, 0.97)], beyond_buffer_mb_max: &[] };

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let comparison = Comparison {
        workload: Arc::new(Unlike),
        stored_answers: &[],
        clients: vec![CLIENTS],
        with_duckdb: false,
        goals: GOALS,
    };
    comparison.run(options, servers).await
}
