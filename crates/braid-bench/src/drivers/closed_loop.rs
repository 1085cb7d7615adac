//! The closed loop: N clients without think time. Each sends its next query when the previous one is answered.
//!
//! After the deadline no query starts. Running queries are awaited and counted, and the elapsed time ends with the last of them,
//! so that slow queries are not cut off. `bench/peers` measures other engines in the same way.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use hdrhistogram::Histogram;

use crate::BenchError;
use crate::drivers::client::Client;
use crate::workloads::workload::{Texts, Workload};

/// Pause after a failed query. Without it, the loop would run as fast as a server can refuse queries.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_millis(10);

/// Clients between two loops.
pub type Clients = Vec<Box<dyn Client>>;

/// What the clients of a loop ask, and for how long.
pub struct Load<'a> {
    /// The texts.
    pub workload: &'a Arc<dyn Workload>,
    /// Seed of the texts. The number of a client is added to it.
    pub seed: u64,
    /// No query starts later.
    pub duration: Duration,
}

/// The figures of a closed loop.
#[derive(Clone, Debug)]
pub struct LoopFigures {
    /// Clients.
    pub clients: usize,
    /// Queries answered.
    pub queries: u64,
    /// From the start of the first query to the end of the last.
    pub elapsed: Duration,
    /// Latencies in microseconds.
    latency_us: Histogram<u64>,
    /// Hashes of the texts that were sent.
    texts: HashSet<u64>,
    /// Queries that failed, and the first failure.
    pub errors: (u64, Option<String>),
}

impl LoopFigures {
    /// Queries per second.
    pub fn throughput(&self) -> f64 {
        self.queries as f64 / self.elapsed.as_secs_f64()
    }

    /// Latency at a quantile in `0.0..=1.0`, in milliseconds; 0 when no query was answered.
    pub fn latency_ms(&self, quantile: f64) -> f64 {
        self.latency_us.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// Mean latency in milliseconds; 0 when no query was answered.
    pub fn latency_mean_ms(&self) -> f64 {
        self.latency_us.mean() / 1000.0
    }

    /// The hashes of the different texts that were sent.
    pub fn distinct_texts(&self) -> &HashSet<u64> {
        &self.texts
    }
}

/// The figures of one client. Several are merged into those of a loop.
pub(crate) struct ClientFigures {
    latency_us: Histogram<u64>,
    texts: HashSet<u64>,
    errors: u64,
    first_error: Option<String>,
}

impl ClientFigures {
    /// 1 us to an hour, three significant digits.
    pub(crate) fn new() -> Self {
        let latency_us = Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("the bounds are in order");
        Self { latency_us, texts: HashSet::new(), errors: 0, first_error: None }
    }

    /// A text was sent.
    pub(crate) fn sent(&mut self, text: &str) {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        self.texts.insert(hasher.finish());
    }

    /// A query was answered.
    pub(crate) fn answered(&mut self, latency_us: u64) {
        self.latency_us.saturating_record(latency_us);
    }

    /// A query failed. Its time is not a latency.
    pub(crate) fn failed(&mut self, error: String) {
        self.errors += 1;
        self.first_error.get_or_insert(error);
    }

    fn add(&mut self, other: Self) {
        self.latency_us.add(&other.latency_us).expect("all histograms have the same bounds");
        self.texts.extend(other.texts);
        self.errors += other.errors;
        self.first_error = self.first_error.take().or(other.first_error);
    }

    /// The figures of all clients of a loop.
    pub(crate) fn merge(clients: Vec<Self>, elapsed: Duration) -> LoopFigures {
        let client_count = clients.len();
        let mut all = Self::new();
        clients.into_iter().for_each(|client| all.add(client));
        LoopFigures {
            clients: client_count,
            queries: all.latency_us.len(),
            elapsed,
            latency_us: all.latency_us,
            texts: all.texts,
            errors: (all.errors, all.first_error),
        }
    }
}

/// Drives every client with its own seeded texts, and returns the clients with the figures.
///
/// A failed query is counted and reported, and its time is not a latency. Dropping the future stops all clients.
pub async fn closed_loop(clients: Clients, load: Load<'_>) -> Result<(LoopFigures, Clients), BenchError> {
    let start = Instant::now();
    let deadline = start + load.duration;
    let loops = clients.into_iter().enumerate().map(|(number, mut client)| {
        // One task per client, so that the driver uses all cores. Dropping this future aborts them.
        let texts = Texts::of_client(load.workload, number, load.seed);
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(async move { (one_client(client.as_mut(), texts, deadline).await, client) });
        async move {
            let figures = tasks.join_next().await.expect("the set has one task");
            figures.map_err(|e| BenchError::other("a client's task", e))
        }
    });
    let (figures, clients) = try_join_all(loops).await?.into_iter().unzip();
    Ok((ClientFigures::merge(figures, start.elapsed()), clients))
}

async fn one_client(client: &mut dyn Client, texts: Texts, deadline: Instant) -> ClientFigures {
    let mut figures = ClientFigures::new();
    for text in texts {
        let start = Instant::now();
        if start >= deadline {
            break;
        }
        figures.sent(&text);
        match client.run(&text).await {
            Ok(_) => figures.answered(start.elapsed().as_micros() as u64),
            Err(error) => {
                figures.failed(error.to_string());
                tokio::time::sleep(PAUSE_AFTER_FAILURE).await;
            }
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use futures::future::BoxFuture;

    use super::*;
    use crate::workloads::answer::Answer;
    use crate::workloads::tpch::TpchMix;

    /// Answers after a millisecond; every third query fails.
    struct Sleeper {
        asked: u64,
    }

    impl Client for Sleeper {
        fn run<'a>(&'a mut self, _: &'a str) -> BoxFuture<'a, Result<u64, BenchError>> {
            Box::pin(async {
                self.asked += 1;
                tokio::time::sleep(Duration::from_millis(1)).await;
                if self.asked.is_multiple_of(3) { Err(BenchError::other("third", "failed")) } else { Ok(1) }
            })
        }

        fn answer<'a>(&'a mut self, _: &'a str) -> BoxFuture<'a, Result<Answer, BenchError>> {
            Box::pin(async { Ok(Answer::default()) })
        }
    }

    #[tokio::test]
    async fn every_query_is_a_latency_or_an_error() {
        let clients = (0..3).map(|_| Box::new(Sleeper { asked: 0 }) as Box<dyn Client>).collect();
        let workload: Arc<dyn Workload> = Arc::new(TpchMix);
        let load = Load { workload: &workload, seed: 1, duration: Duration::from_millis(100) };
        let (figures, clients) = closed_loop(clients, load).await.unwrap();
        assert_eq!((figures.clients, clients.len()), (3, 3));
        assert!(figures.queries >= 6, "{figures:?}");
        assert!(figures.errors.0 >= 1 && figures.errors.0 <= figures.queries / 2 + 3, "{figures:?}");
        assert!(figures.errors.1.as_ref().unwrap().contains("failed"));
        let distinct = figures.distinct_texts().len() as u64;
        assert!(distinct > 3 && distinct <= figures.queries + figures.errors.0, "{figures:?}");
        assert!(figures.latency_ms(0.5) >= 1.0 && figures.latency_ms(0.5) <= figures.latency_ms(0.95));
        assert!(figures.latency_mean_ms() >= 1.0, "{figures:?}");
        assert!(figures.elapsed >= Duration::from_millis(100));
        assert!((figures.throughput() - figures.queries as f64 / figures.elapsed.as_secs_f64()).abs() < 1e-9);
    }
}
