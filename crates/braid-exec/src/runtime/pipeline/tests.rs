//! Pipelines over an endless source: their end by a limit, by an error, and when they are dropped.

use std::sync::atomic::{AtomicUsize, Ordering};

use braid_base::ByteSize;

use super::*;
use crate::executor::Executor;
use crate::plan::Plan;
use crate::{FixedBudget, Vector};

/// An endless source of batches with one column. It counts the batches.
#[derive(Debug, Default)]
struct Endless {
    batches: Arc<AtomicUsize>,
    fails_at: Option<usize>,
}

impl Source for Endless {
    fn worker_count_max(&self) -> usize {
        usize::MAX
    }

    fn start(&self, _: &[RowFilter]) -> Arc<dyn StartedSource> {
        Arc::new(StartedEndless { batches: self.batches.clone(), fails_at: self.fails_at })
    }

    fn describe(&self) -> String {
        "endless".to_owned()
    }
}

struct StartedEndless {
    batches: Arc<AtomicUsize>,
    fails_at: Option<usize>,
}

impl StartedSource for StartedEndless {
    fn feed(&self) -> Box<dyn Feed> {
        Box::new(EndlessFeed { batches: self.batches.clone(), fails_at: self.fails_at })
    }
}

#[derive(Clone)]
struct EndlessFeed {
    batches: Arc<AtomicUsize>,
    fails_at: Option<usize>,
}

impl Feed for EndlessFeed {
    fn next(&mut self) -> BoxFuture<'_, Result<Option<Box<dyn Morsel + '_>>, ExecError>> {
        let morsel: Box<dyn Morsel> = Box::new(self.clone());
        Box::pin(std::future::ready(Ok(Some(morsel))))
    }
}

impl Morsel for EndlessFeed {
    fn next_batch(&mut self) -> Result<Option<Batch>, ExecError> {
        let number = self.batches.fetch_add(1, Ordering::Relaxed);
        if Some(number) == self.fails_at {
            return Err(ExecError::DivisionByZero);
        }
        let rows = Vector::integers((0..100).collect());
        Ok(Some(Batch::of_vectors(100, [Arc::new(rows)])))
    }
}

/// Counts rows.
#[derive(Default)]
pub(crate) struct Count(pub(crate) u64);

impl Sink for Count {
    fn consume(&mut self, batch: Batch) -> Result<(), Stop> {
        self.0 += batch.row_count() as u64;
        Ok(())
    }
}

fn executor(worker_count: usize) -> Executor {
    Executor::new(worker_count, FixedBudget::new(ByteSize(1 << 20)))
}

fn plan(source: Endless) -> Plan {
    Plan::Source { source: Arc::new(source), column_count: 1 }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_ends_what_would_go_on_for_ever() {
    for (offset, limit) in [(0, 1), (30, 250), (1000, 1000), (5, 0)] {
        let limited = Plan::Limit { input: Box::new(plan(Endless::default())), offset, limit: Some(limit) };
        let sinks = executor(3).run(&limited, Count::default).await.unwrap();
        assert_eq!(sinks.iter().map(|sink| sink.0).sum::<u64>(), limit, "{limit} from {offset}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_worker_s_error_ends_all() {
    for worker_count in [1, 3] {
        let failing = plan(Endless { fails_at: Some(50), ..Endless::default() });
        let error = executor(worker_count).run(&failing, Count::default).await.err().expect("the source fails");
        assert!(matches!(error, ExecError::DivisionByZero), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_run_stops_within_milliseconds() {
    for worker_count in [1, 2] {
        let source = Endless::default();
        let batches = source.batches.clone();
        let endless = plan(source);
        let running =
            tokio::spawn(async move { executor(worker_count).run(&endless, Count::default).await.map(|_| ()) });
        while batches.load(Ordering::Relaxed) < 100 {
            tokio::task::yield_now().await;
        }
        running.abort();
        assert!(running.await.is_err_and(|error| error.is_cancelled()));
        // A worker that computes at this moment stops at its next batch or after its quantum.
        tokio::time::sleep(20 * QUANTUM).await;
        let stopped = batches.load(Ordering::Relaxed);
        tokio::time::sleep(20 * QUANTUM).await;
        assert_eq!(batches.load(Ordering::Relaxed), stopped);
    }
}
