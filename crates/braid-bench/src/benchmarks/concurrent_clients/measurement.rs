//! Closed loops of the contestants in turn, each with the processor time of both ends.

use std::sync::Arc;
use std::time::Duration;

use futures::future::try_join_all;

use crate::drivers::client::{Client, Sharing};
use crate::drivers::closed_loop::{Clients, Load, LoopFigures, closed_loop};
use crate::drivers::duckdb_clients::DuckDbClients;
use crate::drivers::processor_time::processor_time;
use crate::workloads::workload::Workload;
use crate::{BenchError, BenchOptions};

/// Most clients of a warm-up: enough for a backlog of every type, few enough for slow contestants.
const WARM_UP_CLIENTS_MAX: usize = 64;

/// Longest warm-up in seconds, and its share of a measurement.
const WARM_UP_S_MAX: f64 = 1.0;
const WARM_UP_SHARE: f64 = 0.2;

/// Distance of the seeds of two rounds, which is more than there are clients.
const SEEDS_OF_ROUND: u64 = 1 << 20;

/// Seed of warm-ups.
const WARM_UP_SEED: u64 = 1 << 40;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contestant {
    /// Braid with this sharing.
    Braid(Sharing),
    DuckDb,
}

/// A measured loop.
pub(super) struct Measured {
    pub(super) figures: LoopFigures,
    /// Processor time of what answers.
    pub(super) server: Duration,
    /// Processor time of what asks.
    pub(super) driver: Duration,
}

/// The rounds of a contestant with a number of clients.
pub(super) struct Rounds {
    pub(super) contestant: Contestant,
    pub(super) rounds: Vec<Measured>,
}

/// The rounds of all contestants with a number of clients.
pub(super) struct Row {
    pub(super) client_count: usize,
    pub(super) contestants: Vec<Rounds>,
}

/// The contestants, ready to be measured.
pub(super) struct Contest<'a> {
    workload: &'a Arc<dyn Workload>,
    options: &'a BenchOptions,
    server_pid: u32,
    clients: Clients,
    duckdb: Option<DuckDbClients>,
}

impl<'a> Contest<'a> {
    /// With connected clients, as many as any measurement needs.
    pub(super) fn new(
        workload: &'a Arc<dyn Workload>,
        options: &'a BenchOptions,
        server_pid: u32,
        clients: Clients,
        duckdb: Option<DuckDbClients>,
    ) -> Self {
        Self { workload, options, server_pid, clients, duckdb }
    }

    /// DuckDB's version, if it is a contestant.
    pub(super) fn duckdb_version(&self) -> Option<&str> {
        self.duckdb.as_ref().map(DuckDbClients::version)
    }

    /// Measures all contestants with a number of clients.
    pub(super) async fn measure(&mut self, client_count: usize) -> Result<Row, BenchError> {
        let mut contestants = vec![Contestant::Braid(Sharing::Off), Contestant::Braid(Sharing::Auto)];
        contestants.extend(self.duckdb.is_some().then_some(Contestant::DuckDb));
        let rounds = |contestant| Rounds { contestant, rounds: Vec::with_capacity(self.options.rounds) };
        let mut row = Row { client_count, contestants: contestants.into_iter().map(rounds).collect() };
        for round in 0..self.options.rounds {
            let mut in_turn: Vec<&mut Rounds> = row.contestants.iter_mut().collect();
            if round % 2 == 1 {
                in_turn.reverse();
            }
            for of_contestant in in_turn {
                let measured = match of_contestant.contestant {
                    Contestant::Braid(sharing) => self.measure_braid(sharing, client_count, round).await?,
                    Contestant::DuckDb => tokio::task::block_in_place(|| self.measure_duckdb(client_count, round))?,
                };
                of_contestant.rounds.push(measured);
            }
        }
        Ok(row)
    }

    async fn measure_braid(
        &mut self,
        sharing: Sharing,
        client_count: usize,
        round: usize,
    ) -> Result<Measured, BenchError> {
        let set = self.clients.iter_mut().take(client_count).map(|client| sharing.set(client.as_mut()));
        try_join_all(set).await?;
        self.drive(client_count.min(WARM_UP_CLIENTS_MAX), self.warm_up()).await?;
        let before = self.processor_times()?;
        let figures = self.drive(client_count, self.load(round)).await?;
        let after = self.processor_times()?;
        Ok(Measured { figures, server: after.0 - before.0, driver: after.1 - before.1 })
    }

    fn measure_duckdb(&mut self, client_count: usize, round: usize) -> Result<Measured, BenchError> {
        let (warm_up, load) = (self.warm_up(), self.load(round));
        let duckdb = self.duckdb.as_mut().expect("it is a contestant");
        duckdb.closed_loop(client_count.min(WARM_UP_CLIENTS_MAX), &warm_up)?;
        let measured = duckdb.closed_loop(client_count, &load)?;
        let server = measured.processor.saturating_sub(measured.driver);
        Ok(Measured { figures: measured.figures, server, driver: measured.driver })
    }

    /// Runs the first clients in a closed loop.
    async fn drive(&mut self, client_count: usize, load: Load<'a>) -> Result<LoopFigures, BenchError> {
        let driven: Vec<Box<dyn Client>> = self.clients.drain(..client_count).collect();
        let (figures, driven) = closed_loop(driven, load).await?;
        self.clients.splice(..0, driven);
        Ok(figures)
    }

    fn load(&self, round: usize) -> Load<'a> {
        let duration = Duration::from_secs_f64(self.options.seconds);
        Load { workload: self.workload, seed: SEEDS_OF_ROUND * round as u64, duration }
    }

    fn warm_up(&self) -> Load<'a> {
        let seconds = (self.options.seconds * WARM_UP_SHARE).min(WARM_UP_S_MAX);
        Load { workload: self.workload, seed: WARM_UP_SEED, duration: Duration::from_secs_f64(seconds) }
    }

    /// Of the server and of this process.
    fn processor_times(&self) -> Result<(Duration, Duration), BenchError> {
        let of = |pid| processor_time(pid).map_err(|e| BenchError::other(format!("process {pid}'s time"), e));
        Ok((of(self.server_pid)?, of(std::process::id())?))
    }
}
