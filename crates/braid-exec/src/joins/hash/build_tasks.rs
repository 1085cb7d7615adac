//! Parallel work on a complete build side, in pieces.
//!
//! A piece is a range of rows or a partition of keys. Each worker takes the next piece after it has finished one, yields
//! after computing for [`QUANTUM`], and stops when the query is cancelled. A piece reports its progress by [`Pace::step`],
//! which yields and checks for cancellation. With one worker all work runs in the caller's task. Synchronous work never
//! yields.

use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::runtime::pipeline::{QUANTUM, run_all};
use crate::runtime::stop::StopFlag;
use crate::{ExecError, Reservation};

/// Rows between two reads of the clock: a few microseconds.
const LOOK_ROWS: usize = 1024;

/// The sizes of pieces and partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grain {
    /// Minimum rows per worker.
    pub(crate) parallel_rows_min: usize,
    /// Maximum rows of a piece. At most 2^16, so that a row's position in its piece takes two bytes.
    pub(crate) piece_rows: usize,
    /// Rows of a partition, unless that needs more than [`PARTITIONS_MAX`] partitions. The hash table's slots of 16 Ki rows take
    /// 256 KiB, which fit into a core's second-level cache.
    pub(crate) partition_rows: usize,
}

impl Default for Grain {
    fn default() -> Self {
        Self { parallel_rows_min: 1 << 16, piece_rows: 1 << 16, partition_rows: 1 << 14 }
    }
}

/// Maximum number of partitions, to which the rows of a piece are written at the same time.
const PARTITIONS_MAX: usize = 1 << 10;

/// The build side's reservations of memory. All tasks share them, so that they are released after the last task ends.
#[derive(Clone, Default)]
pub(crate) struct BuildMemory(Arc<Mutex<Vec<Reservation>>>);

/// The workers of a build side.
pub(crate) struct BuildTasks {
    worker_count: usize,
    /// Whether there are rows enough for several workers.
    is_large: bool,
    pub(crate) grain: Grain,
    pub(crate) memory: BuildMemory,
    /// The pace of the caller's task.
    pace: Pace,
}

/// A task's yielding and its check for cancellation.
#[derive(Clone)]
pub(crate) struct Pace {
    /// `None` for synchronous work, which cannot yield.
    cancelled: Option<StopFlag>,
    since: Instant,
    rows: usize,
}

/// The work on a piece, with the state that all pieces share.
pub(crate) type Work<S, P, R> = for<'a> fn(&'a S, P, &'a mut Pace) -> BoxFuture<'a, Result<R, ExecError>>;

impl BuildTasks {
    /// Synchronous work on `row_count` rows in the caller's thread.
    pub(crate) fn synchronous(row_count: usize) -> Self {
        Self::of(1, row_count, Pace::new(None), Grain::default())
    }

    /// At most `worker_count` workers, depending on the number of rows.
    pub(crate) fn new(worker_count: usize, row_count: usize, cancelled: &StopFlag, grain: Grain) -> Self {
        Self::of(worker_count, row_count, Pace::new(Some(cancelled.clone())), grain)
    }

    fn of(worker_count: usize, row_count: usize, pace: Pace, grain: Grain) -> Self {
        let is_large = row_count >= grain.parallel_rows_min;
        let worker_count = if is_large { worker_count.max(1) } else { 1 };
        Self { worker_count, is_large, grain, memory: BuildMemory::default(), pace }
    }

    /// Whether partitioning the rows pays off, because caches would miss without it.
    pub(crate) fn is_large(&self) -> bool {
        self.is_large
    }

    /// Whether there are several workers.
    pub(crate) fn is_parallel(&self) -> bool {
        self.worker_count > 1
    }

    /// Whether the work can yield.
    pub(crate) fn can_wait(&self) -> bool {
        self.pace.cancelled.is_some()
    }

    /// The pace of work in the caller's task.
    pub(crate) fn pace(&mut self) -> &mut Pace {
        &mut self.pace
    }

    /// Rows of a piece of `row_count` rows, small enough that workers end at about the same time.
    pub(crate) fn piece_rows(&self, row_count: usize) -> usize {
        let even = row_count.div_ceil(self.worker_count * 4).max(self.grain.piece_rows / 4).max(1);
        even.min(self.grain.piece_rows)
    }

    /// Number of partitions of `row_count` rows, a power of two.
    pub(crate) fn partition_count(&self, row_count: usize) -> usize {
        let wanted = row_count.div_ceil(self.grain.partition_rows).max(self.worker_count * 4);
        wanted.next_power_of_two().min(PARTITIONS_MAX)
    }

    /// Runs the work on all pieces, and returns the results in the order of the pieces.
    ///
    /// # Errors
    /// Returns the first error of any piece, and only after all other pieces have stopped.
    pub(crate) async fn each<S, P, R>(
        &mut self,
        shared: &Arc<S>,
        pieces: Vec<P>,
        work: Work<S, P, R>,
    ) -> Result<Vec<R>, ExecError>
    where
        S: Send + Sync + 'static,
        P: Send + 'static,
        R: Send + 'static,
    {
        let piece_count = pieces.len();
        if self.worker_count.min(piece_count) <= 1 {
            let mut results = Vec::with_capacity(piece_count);
            for piece in pieces {
                results.push(work(shared, piece, &mut self.pace).await?);
            }
            return Ok(results);
        }
        let queue = Arc::new(Mutex::new(pieces.into_iter().enumerate()));
        let task = |_| {
            let (shared, queue, memory) = (shared.clone(), queue.clone(), self.memory.clone());
            let mut pace = Pace::new(self.pace.cancelled.clone());
            async move {
                // Locals are dropped in reverse order, so that the reservation is released after the values that it counts.
                let _held = memory;
                let (shared, queue) = (shared, queue);
                let mut results = Vec::new();
                loop {
                    let Some((at, piece)) = queue.lock().next() else { break };
                    results.push((at, work(&shared, piece, &mut pace).await?));
                }
                Ok(results)
            }
        };
        let done = run_all((0..self.worker_count.min(piece_count)).map(task)).await?;
        let mut results: Vec<(usize, R)> = done.into_iter().flatten().collect();
        results.sort_unstable_by_key(|(at, _)| *at);
        Ok(results.into_iter().map(|(_, result)| result).collect())
    }
}

impl Pace {
    /// A pace that starts now.
    pub(crate) fn new(cancelled: Option<StopFlag>) -> Self {
        Self { cancelled, since: Instant::now(), rows: 0 }
    }

    /// Reports that `rows` more rows are processed. Yields if it is time to.
    ///
    /// # Errors
    /// When the query is cancelled.
    pub(crate) async fn step(&mut self, rows: usize) -> Result<(), ExecError> {
        self.rows += rows;
        if self.rows < LOOK_ROWS {
            return Ok(());
        }
        self.rows = 0;
        let Some(cancelled) = &self.cancelled else { return Ok(()) };
        if cancelled.is_raised() {
            return Err(ExecError::Cancelled);
        }
        if self.since.elapsed() >= QUANTUM {
            tokio::task::yield_now().await;
            self.since = Instant::now();
        }
        Ok(())
    }
}

impl BuildMemory {
    /// Takes over these reservations.
    pub(crate) fn of(reservations: Vec<Reservation>) -> Self {
        Self(Arc::new(Mutex::new(reservations)))
    }

    /// Reserves `bytes` more bytes. Without a reservation there are no rows, and nothing to count.
    ///
    /// # Errors
    /// When the budget refuses the bytes.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), ExecError> {
        match self.0.lock().first_mut() {
            Some(reservation) => reservation.resize(reservation.held() + bytes),
            None => Ok(()),
        }
    }

    /// Changes the reservations to `bytes` bytes in total.
    ///
    /// # Errors
    /// When the budget refuses the increase. The reservations then stay as they were.
    pub(crate) fn hold(&self, bytes: usize) -> Result<(), ExecError> {
        let held: usize = self.0.lock().iter().map(Reservation::held).sum();
        match bytes.checked_sub(held) {
            Some(more) => self.grow(more),
            None => {
                self.shrink(held - bytes);
                Ok(())
            }
        }
    }

    /// Releases `bytes` bytes, or all if it holds fewer.
    pub(crate) fn shrink(&self, mut bytes: usize) {
        for reservation in self.0.lock().iter_mut().rev() {
            let given = bytes.min(reservation.held());
            reservation.resize(reservation.held() - given).expect("giving back is not refused");
            bytes -= given;
        }
    }
}

/// The result of synchronous work ([`BuildTasks::synchronous`]), which never yields.
pub(crate) fn without_waiting<R>(work: impl Future<Output = R>) -> R {
    work.now_or_never().expect("synchronous work never yields")
}
