//! `overload`: arrivals at up to three times what the server can do with sharing off. An open loop over the wire, of QPipe's mix.
//!
//! 1. *Capacity.* The throughput of a closed loop with sharing off and two clients for each core.
//! 2. *Loads.* Poisson arrivals at 0.5, 0.9, 1.5 and 3 times the capacity, with sharing off, on, and on with a response limit. All three
//!    get the same texts at the same times. Response times count from the arrival, also while an arrival waits for a connection.
//! 3. *Ends.* With sharing off, more arrives at 1.5 and 3 times than is answered. What waits grows until the arrivals end, and so
//!    do the response times: they depend on how long it is measured. The loop then waits for answers as long as the arrivals took (at least
//!    5 s), and cancels the rest. These queries count with the time that they have waited, so that the quantiles with them are lower bounds.
//! 4. *The limit* is four times the 95th percentile of one client with sharing off, unless an option says otherwise: long enough
//!    for a query that waits for one full pass of each of a few types, short enough that an overloaded server must refuse. Refused
//!    queries are no responses. An answer is late if it comes later than the limit after the arrival. No answer should be.
//!
//! The contestants are measured in turn, each second round in reverse order. A figure is the median of the rounds; counts are sums, and
//! "longest" is of all rounds.

mod overload_figures;

use std::sync::Arc;
use std::time::Duration;

use crate::benchmarks::answer_checks::{self, AnswerChecks};
use crate::benchmarks::benchmark::BenchResult;
use crate::benchmarks::client_pool::{ClientPool, WARM_UP_CLIENTS_MAX, drain, round_load, seed_of_round, warm_up_load};
use crate::benchmarks::measured_server::{MeasuredServer, ProcessorTimes};
use crate::drivers::client::Sharing;
use crate::drivers::closed_loop::LoopFigures;
use crate::drivers::open_loop::{OpenLoad, OpenLoopFigures};
use crate::drivers::poisson_arrivals::poisson_arrivals;
use crate::report::summary::median;
use crate::workloads::tpch::{MIX_NUMBERS, TpchMix};
use crate::workloads::workload::Workload;
use crate::{BenchError, BenchOptions, Servers};

/// Arrivals, relative to the capacity with sharing off.
const LOADS: [f64; 4] = [0.5, 0.9, 1.5, 3.0];

/// Clients for each core that measure the capacity: one waits while another runs.
const CAPACITY_CLIENTS_PER_CORE: usize = 2;

/// The default response limit / the 95th percentile of one client.
const LIMIT_TO_P95_ALONE: f64 = 4.0;

/// Seed of the arrivals of the first round. Texts have others.
const ARRIVALS_SEED: u64 = 1 << 41;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contestant {
    Off,
    Auto,
    /// Sharing on, with the response limit.
    Limited,
}

impl Contestant {
    const ALL: [Self; 3] = [Self::Off, Self::Auto, Self::Limited];

    fn name(self) -> &'static str {
        match self {
            Self::Off => "sharing off",
            Self::Auto => "sharing auto",
            Self::Limited => "auto with a limit",
        }
    }
}

/// An open loop with the processor time of both ends.
struct Measured {
    figures: OpenLoopFigures,
    taken: ProcessorTimes,
}

/// The rounds of a contestant at a load.
struct Rounds {
    load: f64,
    contestant: Contestant,
    rounds: Vec<Measured>,
}

/// What the loads are relative to.
#[derive(Clone, Copy, Debug)]
struct Baseline {
    /// Queries per second with sharing off.
    capacity_per_s: f64,
    /// 95th percentile of one client with sharing off, in milliseconds.
    p95_alone_ms: f64,
    response_limit: Duration,
}

/// The clients of a measurement.
struct Overload<'a> {
    workload: Arc<dyn Workload>,
    options: &'a BenchOptions,
    server: &'a MeasuredServer,
    pool: ClientPool<'a>,
}

/// Runs it.
pub async fn run(options: &BenchOptions, servers: &Servers) -> BenchResult {
    let workload: Arc<dyn Workload> = Arc::new(TpchMix);
    let server = MeasuredServer::start(options, servers, workload.added_tables()).await?;
    let checks = AnswerChecks { workload: &workload, stored_answers: &MIX_NUMBERS };
    let clients = server.connect(options.connections.max(answer_checks::CLIENTS)).await?;
    let clients = checks.run(&server, clients, options.scale, None).await?;
    let pool = ClientPool::new(&server, clients);
    let mut overload = Overload { workload, options, server: &server, pool };
    let baseline = overload.baseline().await?;
    let mut rows = Vec::with_capacity(LOADS.len() * Contestant::ALL.len());
    for load in LOADS {
        rows.extend(overload.measure(load, baseline).await?);
    }
    Ok(overload_figures::report(&rows, baseline))
}

impl Overload<'_> {
    async fn baseline(&mut self) -> Result<Baseline, BenchError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let capacity_clients = (CAPACITY_CLIENTS_PER_CORE * cores).min(self.pool.size());
        self.warm_up(Sharing::Off, None).await?;
        let alone = self.closed_rounds(1).await?;
        let full = self.closed_rounds(capacity_clients).await?;
        let capacity_per_s = median(full.iter().map(LoopFigures::throughput).collect());
        if capacity_per_s <= 0.0 {
            let error = full[0].errors.1.clone().unwrap_or_else(|| "no query was answered".to_owned());
            return Err(BenchError::other("measuring the capacity with sharing off", error));
        }
        let p95_alone_ms = median(alone.iter().map(|figures| figures.latency_ms(0.95)).collect());
        let default_ms = || (LIMIT_TO_P95_ALONE * p95_alone_ms).ceil().max(1.0) as u64;
        let response_limit = Duration::from_millis(self.options.response_limit.unwrap_or_else(default_ms));
        println!(
            "Capacity with sharing off: {capacity_per_s:.1} queries/s, {capacity_clients} clients. One client: p95 {p95_alone_ms:.1} ms. \
             Response limit: {response_limit:?}."
        );
        Ok(Baseline { capacity_per_s, p95_alone_ms, response_limit })
    }

    async fn closed_rounds(&mut self, client_count: usize) -> Result<Vec<LoopFigures>, BenchError> {
        let mut rounds = Vec::with_capacity(self.options.rounds);
        for round in 0..self.options.rounds {
            let load = round_load(&self.workload, self.options, round);
            rounds.push(self.pool.closed_loop(client_count, load).await?);
        }
        Ok(rounds)
    }

    /// Settings of all clients, and a warm-up.
    async fn warm_up(&mut self, sharing: Sharing, response_limit: Option<Duration>) -> Result<(), BenchError> {
        let client_count = self.pool.size();
        self.pool.set(client_count, sharing, response_limit).await?;
        let load = warm_up_load(&self.workload, self.options);
        self.pool.closed_loop(client_count.min(WARM_UP_CLIENTS_MAX), load).await.map(drop)
    }

    /// All contestants at a load.
    async fn measure(&mut self, load: f64, baseline: Baseline) -> Result<Vec<Rounds>, BenchError> {
        let mut rows = Contestant::ALL.map(|contestant| Rounds { load, contestant, rounds: Vec::new() });
        for round in 0..self.options.rounds {
            let mut in_turn: Vec<&mut Rounds> = rows.iter_mut().collect();
            if round % 2 == 1 {
                in_turn.reverse();
            }
            for row in in_turn {
                row.rounds.push(self.measure_one(row.contestant, load, baseline, round).await?);
            }
        }
        Ok(rows.into())
    }

    async fn measure_one(
        &mut self,
        contestant: Contestant,
        load: f64,
        baseline: Baseline,
        round: usize,
    ) -> Result<Measured, BenchError> {
        let (sharing, limit) = match contestant {
            Contestant::Off => (Sharing::Off, None),
            Contestant::Auto => (Sharing::Auto, None),
            Contestant::Limited => (Sharing::Auto, Some(baseline.response_limit)),
        };
        self.warm_up(sharing, limit).await?;
        let duration = Duration::from_secs_f64(self.options.seconds);
        let seed = seed_of_round(round);
        let arrivals = poisson_arrivals(load * baseline.capacity_per_s, duration, ARRIVALS_SEED + seed);
        let open = OpenLoad { workload: &self.workload, seed, arrivals, duration, drain: drain(self.options) };
        let before = self.server.processor_times()?;
        let figures = self.pool.open_loop(self.pool.size(), open).await?;
        let taken = self.server.processor_times()?.since(before);
        self.pool.restore().await?;
        Ok(Measured { figures, taken })
    }
}
