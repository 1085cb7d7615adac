//! The closed loop: N clients without think time. Each sends its next query when the previous one is answered.
//!
//! After the deadline no query starts. Running queries are awaited and counted, and the elapsed time ends with the last of them,
//! so that slow queries are not cut off. `bench/peers` measures other engines in the same way.

use std::time::{Duration, Instant};

use futures::future::try_join_all;
use hdrhistogram::Histogram;

use crate::BenchError;
use crate::drivers::client::Client;
use crate::workloads::tpch::QueryMix;

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
}

/// Drives every client with its own seeded sequence of the mix for `duration`.
///
/// A failed query is counted and reported, and its time is not a latency. Dropping the future stops all clients.
pub async fn closed_loop(
    clients: Vec<Box<dyn Client>>,
    seed: u64,
    duration: Duration,
) -> Result<LoopFigures, BenchError> {
    let client_count = clients.len();
    let start = Instant::now();
    let deadline = start + duration;
    let loops = clients.into_iter().enumerate().map(|(number, mut client)| {
        // One task per client, so that the driver uses all cores. Dropping this future aborts them.
        let mix = QueryMix::new(seed + number as u64);
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(async move { one_client(client.as_mut(), mix, deadline).await });
        async move {
            let figures = tasks.join_next().await.expect("the set has one task");
            figures.map_err(|e| BenchError::other("a client's task", e))
        }
    });
    let per_client = try_join_all(loops).await?;
    let elapsed = start.elapsed();
    let mut all = OneClient::new();
    for figures in per_client {
        all.latency_us.add(&figures.latency_us).expect("all histograms have the same bounds");
        all.errors += figures.errors;
        all.first_error = all.first_error.or(figures.first_error);
    }
    Ok(LoopFigures {
        clients: client_count,
        queries: all.latency_us.len(),
        elapsed,
        latency_us: all.latency_us,
        errors: (all.errors, all.first_error),
    })
}

struct OneClient {
    latency_us: Histogram<u64>,
    errors: u64,
    first_error: Option<String>,
}

impl OneClient {
    /// 1 us to an hour, three significant digits.
    fn new() -> Self {
        let latency_us = Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("the bounds are in order");
        Self { latency_us, errors: 0, first_error: None }
    }
}

async fn one_client(client: &mut dyn Client, mix: QueryMix, deadline: Instant) -> OneClient {
    let mut figures = OneClient::new();
    for query in mix {
        let start = Instant::now();
        if start >= deadline {
            break;
        }
        match client.run(&query.sql).await {
            Ok(_) => figures.latency_us.saturating_record(start.elapsed().as_micros() as u64),
            Err(error) => {
                figures.errors += 1;
                figures.first_error.get_or_insert_with(|| format!("Q{}: {error}", query.number));
                // Without a pause, the loop would run as fast as a server can refuse queries.
                tokio::time::sleep(Duration::from_millis(10)).await;
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
        let figures = closed_loop(clients, 1, Duration::from_millis(100)).await.unwrap();
        assert_eq!(figures.clients, 3);
        assert!(figures.queries >= 6, "{figures:?}");
        assert!(figures.errors.0 >= 1 && figures.errors.0 <= figures.queries / 2 + 3, "{figures:?}");
        assert!(figures.errors.1.as_ref().unwrap().contains("failed"));
        assert!(figures.latency_ms(0.5) >= 1.0 && figures.latency_ms(0.5) <= figures.latency_ms(0.95));
        assert!(figures.elapsed >= Duration::from_millis(100));
        assert!((figures.throughput() - figures.queries as f64 / figures.elapsed.as_secs_f64()).abs() < 1e-9);
    }
}
