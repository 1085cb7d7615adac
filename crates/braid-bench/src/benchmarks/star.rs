//! `star`: thirteen statement types with one to four joins on a fact table with four dimensions, with many clients.

use std::sync::Arc;

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::concurrent_clients::{Comparison, Goals};
use crate::workloads::star::Star;
use crate::{BenchOptions, Servers};

const GOALS: Goals = Goals {
    to_duckdb_min: &[(1, 1.0), (12, 2.5), (64, 6.0), (256, 20.0), (1024, 50.0)],
    p95_to_duckdb_max: &[],
    to_off_min: &[],
    beyond_buffer_mb_max: &[],
};

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let comparison = Comparison {
        workload: Arc::new(Star),
        stored_answers: &[],
        clients: options.clients.clone(),
        with_duckdb: true,
        goals: GOALS,
    };
    comparison.run(options, servers).await
}
