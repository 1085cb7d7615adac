//! Sorted rows by their peers.

use std::sync::Arc;

use super::{Executor, Rows, Wanted};
use crate::plan::{Plan, SetColumn};
use crate::runtime::peers::{KeptPeers, PeerWindow, Peers};
use crate::runtime::stop::{Stop, StopFlag};
use crate::sharing::shared_peers::{SharedPeerWindow, SharedPeers};

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

    /// The same for each query of a pass.
    pub(super) async fn shared_peers(
        &self,
        input: &Plan,
        (keys, kept): (&[usize], KeptPeers),
        sets: &SetColumn,
        wanted: Wanted,
    ) -> Result<Rows, Stop> {
        let mut read = wanted.columns;
        keys.iter().chain([&sets.column]).for_each(|column| read[*column] = true);
        let mut rows = self.rows(input, Wanted::columns(read)).await?;
        rows.in_order = true;
        let enough = StopFlag::default();
        let peers = (keys.to_vec(), kept);
        let window = SharedPeerWindow::new(peers, sets.clone(), enough.clone(), self.budget.clone())?;
        rows.push(Arc::new(move || Box::new(SharedPeers::new(window.clone()))), rows.column_count);
        rows.stages.iter_mut().for_each(|stage| stage.branch.limits.push(enough.clone()));
        Ok(rows)
    }
}
