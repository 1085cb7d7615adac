//! `tpch-mix`: QPipe's eight query types with random parameters, closed loop, over the wire (QPipe section 5.3).
//!
//! The eight types with the specification's parameters are checked against the stored answers before the measurement.

use std::sync::Arc;

use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::concurrent_clients::{Comparison, Goals};
use crate::workloads::tpch::{MIX_NUMBERS, TpchMix};
use crate::{BenchOptions, Servers};

const GOALS: Goals = Goals {
    to_duckdb_min: &[(1, 1.5), (12, 3.0), (64, 10.0), (256, 30.0), (1024, 75.0)],
    p95_to_duckdb_max: &[(64, 0.1)],
    to_off_min: &[],
    beyond_buffer_mb_max: &[(1024, 1000.0)],
};

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let comparison = Comparison {
        workload: Arc::new(TpchMix),
        stored_answers: &MIX_NUMBERS,
        clients: options.clients.clone(),
        with_duckdb: true,
        goals: GOALS,
    };
    comparison.run(options, servers).await
}
