//! A constant load of light queries beside a rising number of heavy clients (SharedDB, figure 11).

use std::time::Duration;

use super::{Kinds, in_turn, interaction_figures};
use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::client_pool::{ClientPool, WARM_UP_CLIENTS_MAX, drain, round_load, seed_of_round, warm_up_load};
use crate::benchmarks::measured_server::{MeasuredServer, ProcessorTimes};
use crate::drivers::client::Sharing;
use crate::drivers::closed_loop::LoopFigures;
use crate::drivers::open_loop::{OpenLoad, OpenLoopFigures};
use crate::drivers::poisson_arrivals::poisson_arrivals;
use crate::{BenchError, BenchOptions};

/// The rate of light queries / their throughput in a closed loop with sharing off: what is sustained easily.
const LIGHT_SHARE: f64 = 0.2;

/// The paper's rate of light queries per second, which is not exceeded.
const LIGHT_PER_S_MAX: f64 = 400.0;

/// Clients for each core in that closed loop.
const CAPACITY_CLIENTS_PER_CORE: usize = 2;

/// Seed of the arrivals and the heavy texts of the first round. Light texts have others.
const ARRIVALS_SEED: u64 = 1 << 41;
const HEAVY_SEED: u64 = 1 << 42;

/// A round at a point.
pub(super) struct Measured {
    pub(super) light: OpenLoopFigures,
    /// `None` without heavy clients.
    pub(super) heavy: Option<LoopFigures>,
    pub(super) taken: ProcessorTimes,
}

/// A number of heavy clients with sharing off or on.
pub(super) struct Point {
    pub(super) heavy_clients: usize,
    pub(super) sharing: Sharing,
    pub(super) rounds: Vec<Measured>,
}

/// The clients of both kinds.
pub(super) struct Interaction<'a> {
    server: &'a MeasuredServer,
    kinds: &'a Kinds,
    options: &'a BenchOptions,
    light: ClientPool<'a>,
    heavy: ClientPool<'a>,
}

impl<'a> Interaction<'a> {
    /// With as many heavy clients as any point has.
    pub(super) fn new(
        server: &'a MeasuredServer,
        kinds: &'a Kinds,
        options: &'a BenchOptions,
        light: ClientPool<'a>,
        heavy: ClientPool<'a>,
    ) -> Self {
        Self { server, kinds, options, light, heavy }
    }

    /// All points in turn, round after round, so that each has its own unloaded point of the same round.
    pub(super) async fn measure(mut self) -> BenchResult {
        let light_per_s = self.light_rate().await?;
        let mut points: Vec<Point> = Vec::new();
        for heavy_clients in std::iter::once(0).chain(self.options.heavy_clients.iter().copied()) {
            points.extend(in_turn(0).map(|sharing| Point { heavy_clients, sharing, rounds: Vec::new() }));
        }
        for round in 0..self.options.rounds {
            for pair in points.chunks_exact_mut(2) {
                for sharing in in_turn(round) {
                    let point = pair.iter_mut().find(|point| point.sharing == sharing).expect("both are in a pair");
                    let measured = self.measure_one(point.heavy_clients, sharing, light_per_s, round).await?;
                    point.rounds.push(measured);
                }
            }
        }
        Ok(interaction_figures::report(&points, light_per_s))
    }

    /// Light queries per second.
    async fn light_rate(&mut self) -> Result<f64, BenchError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let clients = (CAPACITY_CLIENTS_PER_CORE * cores).min(self.light.size());
        self.light.set(clients, Sharing::Off, None).await?;
        self.light.closed_loop(clients, warm_up_load(&self.kinds.light, self.options)).await?;
        let full = self.light.closed_loop(clients, round_load(&self.kinds.light, self.options, 0)).await?;
        if full.queries == 0 {
            let error = full.errors.1.unwrap_or_else(|| "none was answered".to_owned());
            return Err(BenchError::other("measuring the throughput of light queries", error));
        }
        let light_per_s = (LIGHT_SHARE * full.throughput()).min(LIGHT_PER_S_MAX);
        println!(
            "Light queries with sharing off, {clients} clients: {:.1} queries/s. Their load: {light_per_s:.1} queries/s.",
            full.throughput()
        );
        Ok(light_per_s)
    }

    async fn measure_one(
        &mut self,
        heavy_clients: usize,
        sharing: Sharing,
        light_per_s: f64,
        round: usize,
    ) -> Result<Measured, BenchError> {
        self.warm_up(heavy_clients, sharing).await?;
        let duration = Duration::from_secs_f64(self.options.seconds);
        let seed = seed_of_round(round);
        let open = OpenLoad {
            workload: &self.kinds.light,
            seed,
            arrivals: poisson_arrivals(light_per_s, duration, ARRIVALS_SEED + seed),
            duration,
            drain: drain(self.options),
        };
        let mut closed = round_load(&self.kinds.heavy, self.options, round);
        closed.seed += HEAVY_SEED;
        let before = self.server.processor_times()?;
        let light_count = self.light.size();
        let light = self.light.open_loop(light_count, open);
        let heavy = self.heavy.closed_loop(heavy_clients, closed);
        let (light, heavy) = tokio::try_join!(light, heavy)?;
        let taken = self.server.processor_times()?.since(before);
        self.light.restore().await?;
        Ok(Measured { light, heavy: (heavy_clients > 0).then_some(heavy), taken })
    }

    async fn warm_up(&mut self, heavy_clients: usize, sharing: Sharing) -> Result<(), BenchError> {
        let light_clients = self.light.size();
        self.light.set(light_clients, sharing, None).await?;
        self.heavy.set(heavy_clients, sharing, None).await?;
        let light_load = warm_up_load(&self.kinds.light, self.options);
        self.light.closed_loop(light_clients.min(WARM_UP_CLIENTS_MAX), light_load).await?;
        let heavy_load = warm_up_load(&self.kinds.heavy, self.options);
        self.heavy.closed_loop(heavy_clients.min(WARM_UP_CLIENTS_MAX), heavy_load).await.map(drop)
    }
}
