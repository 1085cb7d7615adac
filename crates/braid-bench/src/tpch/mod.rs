//! TPC-H: tables, generator, the 22 queries, the eight-query mix of QPipe's figure 12.

use std::sync::Arc;

use braid_engine::Database;

use crate::BenchError;

/// What a load did.
#[derive(Clone, Debug)]
pub struct LoadReport {
    /// Tables with their rows, in load order; tables that were already there are left out.
    pub tables: Vec<(&'static str, u64)>,
    /// Wall time.
    pub elapsed: std::time::Duration,
}

/// Whether a load shows how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A bar on standard error, when it is a terminal.
    Bar,
    /// Nothing.
    Silent,
}

/// Generates TPC-H at `scale` and loads it, one commit per table. Fails if one of the tables exists.
pub async fn load(database: &Arc<Database>, scale: f64, progress: Progress) -> Result<LoadReport, BenchError> {
    let _ = (database, scale, progress);
    Err(BenchError::other("load", "not written"))
}
