//! `panels`: the selective statements of dashboards, each on the key of a random tenant, with many clients.

use std::sync::Arc;

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::concurrent_clients::{Comparison, Goals};
use crate::workloads::panels::Panels;
use crate::{BenchOptions, Servers};

const GOALS: Goals = Goals {
    to_duckdb_min: &[(1, 1.0), (12, 4.0), (64, 15.0), (256, 30.0), (1024, 40.0)],
    p95_to_duckdb_max: &[],
    to_off_min: &[],
    beyond_buffer_mb_max: &[],
};

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let comparison = Comparison {
        workload: Arc::new(Panels::new(options.scale)),
        stored_answers: &[],
        clients: options.clients.clone(),
        with_duckdb: true,
        goals: GOALS,
    };
    comparison.run(options, servers).await
}
