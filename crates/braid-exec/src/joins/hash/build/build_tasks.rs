//! Work on the build side when all of its rows are there, in pieces for all workers.
//!
//! A piece is a range of rows or a partition of keys. Each worker takes the next piece when it has done one, gives way
//! when it has computed for [`QUANTUM`] and stops when the query is cancelled: a piece says how far it is by [`Pace::step`].
//! With one worker everything happens in the caller's task, and without anybody to give way to it never waits.

use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use crate::runtime::pipeline::{QUANTUM, run_all};
use crate::runtime::stop::StopFlag;
use crate::{ExecError, Reservation};

/// Rows between two looks at the clock: a few microseconds.
const LOOK_ROWS: usize = 1024;

/// How the work is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grain {
    /// Fewer rows are not worth a task.
    pub(crate) parallel_rows_min: usize,
    /// Most rows of a piece. At most 2^16, so that a row's place in its piece takes two bytes.
    pub(crate) piece_rows: usize,
    /// Rows of a partition, as long as there are no more than [`PARTITIONS_MAX`]: of 16 Ki rows, a hash table's slots
    /// take 256 KiB, which a core's second-level cache holds.
    pub(crate) partition_rows: usize,
}

impl Default for Grain {
    fn default() -> Self {
        Self { parallel_rows_min: 1 << 16, piece_rows: 1 << 16, partition_rows: 1 << 14 }
    }
}

/// Most partitions: rows of a piece are written to so many places at the same time.
const PARTITIONS_MAX: usize = 1 << 10;

/// What the build side holds of the query's memory. Every task has a share of it, so that it is given back when the last
/// of them is gone.
#[derive(Clone, Default)]
pub(crate) struct BuildMemory(Arc<Mutex<Vec<Reservation>>>);

/// Whoever works in pieces.
pub(crate) struct BuildTasks {
    worker_count: usize,
    /// Whether there are rows enough for several workers.
    is_large: bool,
    pub(crate) grain: Grain,
    pub(crate) memory: BuildMemory,
    /// Of the caller's task.
    pace: Pace,
}

/// How long a task has computed, and whether anybody still wants what it does.
#[derive(Clone)]
pub(crate) struct Pace {
    /// `None` for whoever cannot wait.
    cancelled: Option<StopFlag>,
    since: Instant,
    rows: usize,
}

/// What is done with a piece, given what all pieces share.
pub(crate) type Work<S, P, R> = for<'a> fn(&'a S, P, &'a mut Pace) -> BoxFuture<'a, Result<R, ExecError>>;

impl BuildTasks {
    /// So many rows in the caller's thread, without waiting.
    pub(crate) fn synchronous(row_count: usize) -> Self {
        Self::of(1, row_count, Pace::new(None), Grain::default())
    }

    /// So many workers, if there are rows enough for more than one.
    pub(crate) fn new(worker_count: usize, row_count: usize, cancelled: &StopFlag, grain: Grain) -> Self {
        Self::of(worker_count, row_count, Pace::new(Some(cancelled.clone())), grain)
    }

    fn of(worker_count: usize, row_count: usize, pace: Pace, grain: Grain) -> Self {
        let is_large = row_count >= grain.parallel_rows_min;
        let worker_count = if is_large { worker_count.max(1) } else { 1 };
        Self { worker_count, is_large, grain, memory: BuildMemory::default(), pace }
    }

    /// Whether partitions of the rows are worth their making where caches miss without them.
    pub(crate) fn is_large(&self) -> bool {
        self.is_large
    }

    /// Whether there are several workers.
    pub(crate) fn is_parallel(&self) -> bool {
        self.worker_count > 1
    }

    /// Whether there is anybody to give way to.
    pub(crate) fn can_wait(&self) -> bool {
        self.pace.cancelled.is_some()
    }

    /// Of work in the caller's task.
    pub(crate) fn pace(&mut self) -> &mut Pace {
        &mut self.pace
    }

    /// Rows of a piece where there are so many: enough pieces that workers end at about the same time.
    pub(crate) fn piece_rows(&self, row_count: usize) -> usize {
        let even = row_count.div_ceil(self.worker_count * 4).max(self.grain.piece_rows / 4).max(1);
        even.min(self.grain.piece_rows)
    }

    /// Partitions of so many rows: a power of two.
    pub(crate) fn partition_count(&self, row_count: usize) -> usize {
        let wanted = row_count.div_ceil(self.grain.partition_rows).max(self.worker_count * 4);
        wanted.next_power_of_two().min(PARTITIONS_MAX)
    }

    /// Does the work of all pieces; its results, in the order of the pieces. When a piece fails, no other is at work any more
    /// when this says so.
    ///
    /// # Errors
    /// The first of any piece.
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
                // Locals are dropped from the last to the first: what is held is held for the others.
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
    /// From now on.
    pub(crate) fn new(cancelled: Option<StopFlag>) -> Self {
        Self { cancelled, since: Instant::now(), rows: 0 }
    }

    /// So many rows were worked on since it was last said.
    ///
    /// # Errors
    /// When the query was cancelled.
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
    /// Holds what these hold.
    pub(crate) fn of(reservations: Vec<Reservation>) -> Self {
        Self(Arc::new(Mutex::new(reservations)))
    }

    /// Holds so many bytes more. Without a reservation there are no rows, and nothing worth counting.
    ///
    /// # Errors
    /// When the budget does not allow it.
    pub(crate) fn grow(&self, bytes: usize) -> Result<(), ExecError> {
        match self.0.lock().first_mut() {
            Some(reservation) => reservation.resize(reservation.held() + bytes),
            None => Ok(()),
        }
    }

    /// Holds so many bytes from now on.
    ///
    /// # Errors
    /// When the budget does not allow it; what was held before is still held.
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

    /// Gives so many bytes back, if it holds them.
    pub(crate) fn shrink(&self, mut bytes: usize) {
        for reservation in self.0.lock().iter_mut().rev() {
            let given = bytes.min(reservation.held());
            reservation.resize(reservation.held() - given).expect("giving back is not refused");
            bytes -= given;
        }
    }
}

/// The result of work that never waits: of [`BuildTasks::synchronous`].
pub(crate) fn without_waiting<R>(work: impl Future<Output = R>) -> R {
    work.now_or_never().expect("nothing waits without workers and without anybody to give way to")
}
