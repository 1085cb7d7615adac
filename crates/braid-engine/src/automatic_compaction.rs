//! Compaction without being asked, as PostgreSQL's autovacuum: tables are written again where a quarter of a chunk's rows is deleted.
//! Then the runs of keys are merged that have been made since.
//!
//! A task looks at the tables that have changed since it looked the last time, once a second. It is one for the database, so that
//! compactions never run beside each other, and it ends with the database. Other statements notice nothing but the work itself.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use braid_base::TableId;
use braid_storage::Store;
use tokio::time::Instant;

use crate::Database;

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);

/// The part of a chunk's rows that is deleted when it is written again.
const SHARE: f64 = 0.25;

/// Time that a table is left alone after its compaction has failed.
const PAUSE: Duration = Duration::from_secs(60);

/// Starts the task.
pub(crate) fn compact_when_worn(database: &Arc<Database>) {
    let (weak, shutdown) = (Arc::downgrade(database), database.shutdown_token().clone());
    tokio::spawn(async move { shutdown.run_until_cancelled(look_again_and_again(weak)).await });
}

async fn look_again_and_again(database: Weak<Database>) {
    let mut looks = Looks::default();
    loop {
        tokio::time::sleep(PERIOD).await;
        let Some(database) = database.upgrade() else { return };
        let store = Arc::clone(database.store());
        // A store that is compacted keeps its directory; the database may go meanwhile.
        drop(database);
        for table in looks.worn_tables(&store, Instant::now()) {
            match store.compact(table, SHARE).await {
                Ok(done) => tracing::debug!(%table, ?done, "compacted a table"),
                Err(error) => {
                    tracing::warn!(%table, %error, "a table could not be compacted");
                    looks.pause(table, Instant::now());
                }
            }
        }
        if let Err(error) = store.merge_keys().await {
            tracing::warn!(%error, "runs of keys could not be merged");
        }
    }
}

/// The versions that were seen, and the tables that are left alone.
#[derive(Debug, Default)]
struct Looks {
    seen: HashMap<TableId, u64>,
    paused: HashMap<TableId, Instant>,
}

impl Looks {
    /// The tables that have changed and are worn.
    fn worn_tables(&mut self, store: &Store, now: Instant) -> Vec<TableId> {
        let snapshot = store.snapshot();
        self.paused.retain(|_, since| now - *since < PAUSE);
        self.seen.retain(|table, _| snapshot.by_id(*table).is_some());
        let mut worn = Vec::new();
        for version in snapshot.tables().filter(|version| !self.paused.contains_key(&version.def.id)) {
            let table = version.def.id;
            if self.seen.insert(table, version.sequence) != Some(version.sequence) && Store::is_worn(version, SHARE) {
                worn.push(table);
            }
        }
        worn
    }

    /// Leaves a table alone for a while, and looks at it again then.
    fn pause(&mut self, table: TableId, now: Instant) {
        self.paused.insert(table, now);
        self.seen.remove(&table);
    }
}
