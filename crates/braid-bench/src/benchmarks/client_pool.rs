//! Connections to a measured server, which run closed loops and open loops in turn, and what the loops of a round have in common.

use std::sync::Arc;
use std::time::Duration;

use futures::future::try_join_all;

use crate::benchmarks::measured_server::MeasuredServer;
use crate::drivers::client::Sharing;
use crate::drivers::closed_loop::{Clients, Load, LoopFigures, closed_loop};
use crate::drivers::open_loop::{OpenLoad, OpenLoopFigures, open_loop};
use crate::workloads::workload::Workload;
use crate::{BenchError, BenchOptions};

/// Most clients of a warm-up: enough for a backlog of every type, few enough for slow contestants.
pub(crate) const WARM_UP_CLIENTS_MAX: usize = 64;

/// Longest warm-up in seconds, and its share of a measurement.
const WARM_UP_S_MAX: f64 = 1.0;
const WARM_UP_SHARE: f64 = 0.2;

/// Seed of warm-ups.
const WARM_UP_SEED: u64 = 1 << 40;

/// Distance of the seeds of two rounds, which is more than there are clients.
const SEEDS_OF_ROUND: u64 = 1 << 20;

/// Shortest drain of an open loop, in seconds.
const DRAIN_S_MIN: f64 = 5.0;

/// Seed of a round's texts: the same for all contestants.
pub(crate) fn seed_of_round(round: usize) -> u64 {
    SEEDS_OF_ROUND * round as u64
}

/// The closed loop of a round.
pub(crate) fn round_load<'a>(workload: &'a Arc<dyn Workload>, options: &BenchOptions, round: usize) -> Load<'a> {
    Load { workload, seed: seed_of_round(round), duration: Duration::from_secs_f64(options.seconds) }
}

/// A short closed loop with other texts, because templates and the costs of passes are learned from the first statements.
pub(crate) fn warm_up_load<'a>(workload: &'a Arc<dyn Workload>, options: &BenchOptions) -> Load<'a> {
    let seconds = (options.seconds * WARM_UP_SHARE).min(WARM_UP_S_MAX);
    Load { workload, seed: WARM_UP_SEED, duration: Duration::from_secs_f64(seconds) }
}

/// How long an open loop waits for answers after its arrivals: as long as they took, and at least five seconds.
pub(crate) fn drain(options: &BenchOptions) -> Duration {
    Duration::from_secs_f64(options.seconds.max(DRAIN_S_MIN))
}

/// The pool.
pub(crate) struct ClientPool<'a> {
    server: &'a MeasuredServer,
    clients: Clients,
    size: usize,
}

impl<'a> ClientPool<'a> {
    /// Of connected clients.
    pub(crate) fn new(server: &'a MeasuredServer, clients: Clients) -> Self {
        Self { server, size: clients.len(), clients }
    }

    /// Number of its clients.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Takes the last clients into a pool of their own; `size` remain.
    pub(crate) fn split_off(&mut self, size: usize) -> Self {
        self.size = size;
        Self::new(self.server, self.clients.split_off(size))
    }

    /// Settings of the first clients' sessions. Without a response limit, none is refused for its predicted time.
    pub(crate) async fn set(
        &mut self,
        client_count: usize,
        sharing: Sharing,
        response_limit: Option<Duration>,
    ) -> Result<(), BenchError> {
        let limit = &format!("set braid.response_limit = '{}ms'", response_limit.unwrap_or_default().as_millis());
        let set = self.clients[..client_count].iter_mut().map(|client| async move {
            sharing.set(client.as_mut()).await?;
            client.run(limit).await.map(drop)
        });
        try_join_all(set).await.map(drop)
    }

    /// Runs the first clients in a closed loop.
    pub(crate) async fn closed_loop(&mut self, client_count: usize, load: Load<'_>) -> Result<LoopFigures, BenchError> {
        let driven: Clients = self.clients.drain(..client_count).collect();
        let (figures, driven) = closed_loop(driven, load).await?;
        self.clients.splice(..0, driven);
        Ok(figures)
    }

    /// Runs the first clients in an open loop. Those with unfinished queries are closed: [`Self::restore`] opens others.
    pub(crate) async fn open_loop(
        &mut self,
        client_count: usize,
        load: OpenLoad<'_>,
    ) -> Result<OpenLoopFigures, BenchError> {
        let driven: Clients = self.clients.drain(..client_count).collect();
        let (figures, driven) = open_loop(driven, load).await?;
        self.clients.splice(..0, driven);
        Ok(figures)
    }

    /// Connects as many clients as were closed, after the server has stopped their queries. They have the default settings.
    pub(crate) async fn restore(&mut self) -> Result<(), BenchError> {
        let missing = self.size - self.clients.len();
        if missing > 0 {
            self.server.wait_until_idle().await?;
            self.clients.extend(self.server.connect(missing).await?);
        }
        Ok(())
    }
}
