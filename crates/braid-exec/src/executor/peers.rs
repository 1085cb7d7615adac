//! Sorted rows by their peers.

use std::sync::Arc;

use super::{Executor, Rows, Wanted};
use crate::plan::Plan;
use crate::runtime::peers::{KeptPeers, PeerWindow, Peers};
use crate::runtime::stop::{Stop, StopFlag};

impl Executor {
    pub(super) async fn peers(
        &self,
        input: &Plan,
        keys: &[usize],
        kept: KeptPeers,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let mut read = wanted.columns;
        keys.iter().for_each(|key| read[*key] = true);
        // Dropping a row would change which one of its peers is the first.
        let mut rows = self.rows(input, Wanted::columns(read)).await?;
        rows.in_order = true;
        let enough = StopFlag::default();
        let window = PeerWindow::new(keys.to_vec(), kept, enough.clone());
        rows.push(Arc::new(move || Box::new(Peers::new(window.clone()))), rows.column_count);
        rows.stages.iter_mut().for_each(|stage| stage.branch.limits.push(enough.clone()));
        Ok(rows)
    }
}
