//! Watches the passes of the server, and what it has left to do.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::history::History;
use super::wire_session::WireSession;
use crate::BenchError;

/// Time between two looks. The view has the last hundred passes that ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Numbers of passes that are remembered: more than the view has.
const SEEN_MAX: usize = 1000;

/// How long a server may take to end what its clients no longer wait for.
const QUIET_AFTER_MAX: Duration = Duration::from_secs(10);

/// Counts passes for ever. Passes that are gone between two looks are not counted.
pub(super) async fn watch(history: Arc<History>) -> Result<(), BenchError> {
    let session = WireSession::connect(history.address, "").await?;
    let mut seen = BTreeSet::new();
    loop {
        let rows = session.text_rows("select number, queries from braid_passes where state = 'ended'").await?;
        for row in rows {
            let [number, queries] = &row[..] else { continue };
            let (Ok(number), Ok(queries)) = (number.parse::<u64>(), queries.parse::<u64>()) else { continue };
            if seen.insert(number) {
                history.tally.passes.add(1);
                history.tally.shared.add(if queries > 1 { queries } else { 0 });
            }
        }
        while seen.len() > SEEN_MAX {
            seen.pop_first();
        }
        tokio::time::sleep(LOOK_EVERY).await;
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
