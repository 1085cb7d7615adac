//! The passes of the server: what it has left to do, and how many queries shared one.

use std::time::{Duration, Instant};

use crate::BenchError;
use crate::drivers::wire_session::WireSession;

/// Time between two looks at what is left.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long a server may take to end what its clients no longer wait for.
const QUIET_AFTER_MAX: Duration = Duration::from_secs(10);

/// Totals of the passes of a server that answered their queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassTotals {
    pub(super) passes: u64,
    /// Queries of these.
    pub(super) queries: u64,
    /// Passes with several distinct queries.
    pub(super) shared_passes: u64,
    /// Queries of these.
    pub(super) shared_queries: u64,
    /// Distinct queries of the largest pass.
    pub(super) distinct_queries_max: u64,
}

impl PassTotals {
    /// Those of the server until now.
    pub(super) async fn read(session: &WireSession) -> Result<Self, BenchError> {
        const TOTALS: &str =
            "select passes, queries, shared_passes, shared_queries, distinct_queries_max from braid_sharing";
        let rows = session.text_rows(TOTALS).await?;
        let row = rows.first().map(|row| row.iter().filter_map(|total| total.parse().ok()).collect::<Vec<u64>>());
        let Some(&[passes, queries, shared_passes, shared_queries, distinct_queries_max]) = row.as_deref() else {
            return Err(BenchError::other(TOTALS, format!("five numbers expected: {rows:?}")));
        };
        Ok(Self { passes, queries, shared_passes, shared_queries, distinct_queries_max })
    }

    /// What was added to earlier ones. The largest pass is that of both.
    pub(super) fn since(self, before: Self) -> Self {
        Self {
            passes: self.passes - before.passes,
            queries: self.queries - before.queries,
            shared_passes: self.shared_passes - before.shared_passes,
            shared_queries: self.shared_queries - before.shared_queries,
            distinct_queries_max: self.distinct_queries_max,
        }
    }
}

/// Waits until no query waits and no pass runs.
///
/// # Errors
/// When some are left after ten seconds.
pub(super) async fn wait_until_quiet(session: &WireSession) -> Result<(), BenchError> {
    const LEFT: &str = "select (select count(*) from braid_queries) as queries, \
                        (select count(*) from braid_passes where state <> 'ended') as passes";
    let start = Instant::now();
    loop {
        let rows = session.text_rows(LEFT).await?;
        if rows == [["0", "0"]] {
            return Ok(());
        }
        if start.elapsed() > QUIET_AFTER_MAX {
            let left = format!("queries and passes that are left after all clients have gone: {rows:?}");
            return Err(BenchError::other("the server", left));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
