//! Closed loops of the contestants in turn, each with the processor time of both ends.

use std::sync::Arc;
use std::time::Duration;

use crate::benchmarks::client_pool::{ClientPool, WARM_UP_CLIENTS_MAX, round_load, warm_up_load};
use crate::benchmarks::measured_server::{MeasuredServer, PeakMemory};
use crate::drivers::client::Sharing;
use crate::drivers::closed_loop::{Clients, LoopFigures};
use crate::drivers::duckdb_clients::DuckDbClients;
use crate::workloads::workload::Workload;
use crate::{BenchError, BenchOptions};

/// Longest pause before a measurement, in which the server gives back what the last one used (it does after a second without
/// statements). Shorter if measurements are shorter.
const PAUSE_S_MAX: f64 = 2.0;

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
    /// The server's memory during the loop; `None` for a contestant in the driver's process, and where the system does not tell it.
    pub(super) peak: Option<PeakMemory>,
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
    server: &'a MeasuredServer,
    pool: ClientPool<'a>,
    duckdb: Option<DuckDbClients>,
    said_why_no_peak: bool,
}

impl<'a> Contest<'a> {
    /// With connected clients, as many as any measurement needs.
    pub(super) fn new(
        workload: &'a Arc<dyn Workload>,
        options: &'a BenchOptions,
        server: &'a MeasuredServer,
        clients: Clients,
        duckdb: Option<DuckDbClients>,
    ) -> Self {
        Self { workload, options, server, pool: ClientPool::new(server, clients), duckdb, said_why_no_peak: false }
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
        tokio::time::sleep(Duration::from_secs_f64(self.options.seconds.min(PAUSE_S_MAX))).await;
        self.pool.set(client_count, sharing, None).await?;
        let warm_up = warm_up_load(self.workload, self.options);
        self.pool.closed_loop(client_count.min(WARM_UP_CLIENTS_MAX), warm_up).await?;
        let is_forgotten = self.forget_peak_memory();
        let before = self.server.processor_times()?;
        let figures = self.pool.closed_loop(client_count, round_load(self.workload, self.options, round)).await?;
        let taken = self.server.processor_times()?.since(before);
        let peak = if is_forgotten { Some(self.server.peak_memory()?) } else { None };
        Ok(Measured { figures, server: taken.server, driver: taken.driver, peak })
    }

    /// Whether the server's peak is that of the next loop. Says once why not.
    fn forget_peak_memory(&mut self) -> bool {
        let forgotten = self.server.forget_peak_memory();
        if let (Err(error), false) = (&forgotten, self.said_why_no_peak) {
            println!(
                "the server's peak memory is not reported, because the system does not forget an earlier one: {error}"
            );
            self.said_why_no_peak = true;
        }
        forgotten.is_ok()
    }

    fn measure_duckdb(&mut self, client_count: usize, round: usize) -> Result<Measured, BenchError> {
        let (warm_up, load) =
            (warm_up_load(self.workload, self.options), round_load(self.workload, self.options, round));
        let duckdb = self.duckdb.as_mut().expect("it is a contestant");
        duckdb.closed_loop(client_count.min(WARM_UP_CLIENTS_MAX), &warm_up)?;
        let measured = duckdb.closed_loop(client_count, &load)?;
        let server = measured.processor.saturating_sub(measured.driver);
        Ok(Measured { figures: measured.figures, server, driver: measured.driver, peak: None })
    }
}
