//! The asynchronous shell of the [`ActiveBufferManager`]: gives it events and the time, and does what it answers.
//!
//! There is no loader task: the events drive everything. A consumer that asks, a chunk that is dropped, a read that
//! ends: each takes the lock, lets the state machine decide, and after giving the lock back wakes the consumers and
//! starts the reads that were decided on, each as a task of its own. The one timer runs only while consumers wait and
//! nothing moves (rule 7 of the state machine).
//!
//! Invariants:
//! - the lock is never held across I/O, an await, the parsing of a segment, or the freeing of one;
//! - for every scan, the state machine counts as many waiting consumers as there are waiters here;
//! - a waiter is answered exactly once, or it has been dropped; a chunk whose waiter has been dropped is given back.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use braid_base::{ByteSize, ChunkId, Clock, ColumnId, ScanId};
use braid_io::Device;
use braid_storage::{Segment, TableVersion};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::active_buffer_manager::{Actions, ActiveBufferManager};
use crate::cooperative_scan::{Answer, ChunkFate, CooperativeScanHandle, PinnedChunk, ScanEvents, ScanRequest};
use crate::error::BufferError;
use crate::loads::LoadId;
use crate::scan_policy::ScanPolicy;
use crate::segment_load::{LoadedSegments, SegmentLoad};
use crate::statistics::BufferStats;
use crate::stored_table::StoredTable;
use crate::table_shape::ScanDemand;

/// How a buffer is set up.
#[derive(Clone, Copy, Debug)]
pub struct BufferOptions {
    /// Bytes of segments kept in memory, as they are on disk.
    pub capacity: ByteSize,
    /// The policy to start with.
    pub policy: ScanPolicy,
    /// Reads at the device at one time, at least 1. Enough to keep its queue full; more only makes the order of reads
    /// worse.
    pub loads_in_flight_max: usize,
}

/// The buffer that all scans of a process share.
pub struct BufferManager {
    device: Arc<dyn Device>,
    clock: Arc<dyn Clock>,
    runtime: Handle,
    /// Guards everything that changes.
    shared: Mutex<Shared>,
}

struct Shared {
    machine: ActiveBufferManager<StoredTable, Arc<Segment>>,
    scans: HashMap<ScanId, Waiters>,
    next_waiter: u64,
    scheduling_us: u64,
    /// Whether the timer of rule 7 runs.
    timer_runs: bool,
}

/// What a scan reads, its consumers that wait, in the order in which they asked, and what ended the scan if something did.
struct Waiters {
    version: Arc<TableVersion>,
    columns: Vec<ColumnId>,
    queue: VecDeque<(u64, oneshot::Sender<Answer>)>,
    error: Option<BufferError>,
}

/// What is left to do after the lock has been given back.
struct Afterwards {
    answers: Vec<(oneshot::Sender<Answer>, Answer)>,
    actions: Actions<StoredTable, Arc<Segment>>,
    timer_us: Option<u64>,
}

impl Waiters {
    /// The segments of a delivered chunk, with those that are in memory without the buffer.
    fn with_memory(&self, chunk: usize, delivered: Vec<Option<Arc<Segment>>>) -> Vec<Arc<Segment>> {
        let chunk = &self.version.chunks[chunk];
        let in_memory = |column: &ColumnId| {
            let memory = chunk.segment(*column).memory();
            memory.expect("what is not delivered is in memory").segment().clone()
        };
        let segments = delivered.into_iter().zip(&self.columns);
        segments.map(|(segment, column)| segment.unwrap_or_else(|| in_memory(column))).collect()
    }
}

impl BufferManager {
    /// A buffer that reads through `device`. To be called inside a tokio runtime with its timer enabled; the reads run
    /// there.
    pub fn new(device: Arc<dyn Device>, clock: Arc<dyn Clock>, options: BufferOptions) -> Arc<Self> {
        let machine = ActiveBufferManager::new(options.capacity.0, options.loads_in_flight_max, options.policy);
        let shared = Shared { machine, scans: HashMap::new(), next_waiter: 0, scheduling_us: 0, timer_runs: false };
        Arc::new(Self { device, clock, runtime: Handle::current(), shared: Mutex::new(shared) })
    }

    /// Announces a scan: from now on what is in memory of its chunks is kept for it. Reading starts with its first
    /// [`CooperativeScanHandle::next`].
    ///
    /// A scan whose chunks do not fit the buffer gets a handle that answers [`BufferError::TooLarge`].
    pub fn register(self: &Arc<Self>, request: ScanRequest) -> CooperativeScanHandle {
        let ScanRequest { version, chunks, columns, in_order } = request;
        let waiters =
            Waiters { version: version.clone(), columns: columns.clone(), queue: VecDeque::new(), error: None };
        let demand = ScanDemand { chunks, columns, in_order };
        let mut shared = self.shared.lock();
        let now_us = self.clock.now_us();
        let registered = shared.machine.register(StoredTable(version), demand, now_us);
        if let Ok(scan) = registered {
            shared.scans.insert(scan, waiters);
        }
        shared.scheduling_us += self.clock.now_us() - now_us;
        drop(shared);
        let scan = registered.map_err(|e| BufferError::TooLarge { needed: e.needed_bytes, capacity: e.capacity_bytes });
        CooperativeScanHandle::new(self.clone(), scan)
    }

    /// The policy in force.
    pub fn policy(&self) -> ScanPolicy {
        self.shared.lock().machine.policy()
    }

    /// Changes the policy for all scans, running ones included, from the next decision on.
    pub fn set_policy(self: &Arc<Self>, policy: ScanPolicy) {
        self.step(|machine, now_us| machine.set_policy(policy, now_us));
    }

    /// Gauges and counters.
    pub fn stats(&self) -> BufferStats {
        let shared = self.shared.lock();
        BufferStats { scheduling_us: shared.scheduling_us, ..shared.machine.stats() }
    }

    /// A read is over.
    fn load_finished(self: &Arc<Self>, load: LoadId, segments: LoadedSegments) {
        let mut errors = Vec::new();
        let mut contents = Vec::with_capacity(segments.len());
        for (column, segment) in segments {
            match segment {
                Ok(segment) => contents.push(Some(segment)),
                Err(error) => {
                    tracing::warn!(%error, "a segment could not be loaded");
                    errors.push((column, error));
                    contents.push(None);
                }
            }
        }
        let mut shared = self.shared.lock();
        let finished = |machine: &mut ActiveBufferManager<_, _>, now_us| machine.load_finished(load, contents, now_us);
        let afterwards = self.decide(&mut shared, &errors, finished);
        drop(shared);
        self.carry_out(afterwards);
    }

    /// An event that brings no errors.
    fn step(
        self: &Arc<Self>,
        event: impl FnOnce(&mut ActiveBufferManager<StoredTable, Arc<Segment>>, u64) -> Actions<StoredTable, Arc<Segment>>,
    ) {
        let mut shared = self.shared.lock();
        let afterwards = self.decide(&mut shared, &[], event);
        drop(shared);
        self.carry_out(afterwards);
    }

    /// Under the lock: gives the event to the state machine and finds the waiters that its answers are for.
    fn decide(
        self: &Arc<Self>,
        shared: &mut Shared,
        errors: &[(ColumnId, BufferError)],
        event: impl FnOnce(&mut ActiveBufferManager<StoredTable, Arc<Segment>>, u64) -> Actions<StoredTable, Arc<Segment>>,
    ) -> Afterwards {
        let now_us = self.clock.now_us();
        let mut actions = event(&mut shared.machine, now_us);
        let mut answers = Vec::new();
        for delivery in actions.deliveries.drain(..) {
            let waiters = shared.scans.get_mut(&delivery.scan).expect("a scan with a waiter is registered");
            let (_, sender) = waiters.queue.pop_front().expect("a delivery is for a waiter");
            let (scan, chunk) = (delivery.scan, delivery.chunk);
            let segments = waiters.with_memory(delivery.chunk_index, delivery.segments);
            let pinned = PinnedChunk::new(self.clone(), scan, chunk, delivery.chunk_index, segments);
            answers.push((sender, Some(Ok(pinned))));
        }
        for scan in actions.ended.drain(..) {
            let waiters = shared.scans.get_mut(&scan).expect("a scan with a waiter is registered");
            answers.extend(waiters.queue.drain(..).map(|(_, sender)| (sender, None)));
        }
        for (scan, column) in actions.failed.drain(..) {
            let Some(waiters) = shared.scans.get_mut(&scan) else { continue };
            let (_, error) = errors.iter().find(|(failed, _)| *failed == column).expect("a failure has its error");
            waiters.error = Some(error.clone());
            answers.extend(waiters.queue.drain(..).map(|(_, sender)| (sender, Some(Err(error.clone())))));
        }
        let timer_us = actions.retry_at_us.filter(|_| !shared.timer_runs).map(|at| at.saturating_sub(now_us));
        shared.timer_runs |= timer_us.is_some();
        // Single steps are often shorter than the clock's microsecond; their sum is right on average.
        shared.scheduling_us += self.clock.now_us() - now_us;
        Afterwards { answers, actions, timer_us }
    }

    /// Without the lock: answers waiters, starts reads, frees what was evicted.
    fn carry_out(self: &Arc<Self>, afterwards: Afterwards) {
        let Afterwards { answers, actions, timer_us } = afterwards;
        for load in actions.loads {
            let buffer = Arc::clone(self);
            let report = move |load, segments| buffer.load_finished(load, segments);
            self.runtime.spawn(SegmentLoad::new(Arc::clone(&self.device), load, report).run());
        }
        for (sender, answer) in answers {
            if let Err(Some(Ok(chunk))) = sender.send(answer) {
                chunk.give_back();
            }
        }
        if let Some(timer_us) = timer_us {
            self.start_timer(timer_us);
        }
        drop(actions.evicted);
    }

    fn start_timer(self: &Arc<Self>, timer_us: u64) {
        let buffer = Arc::downgrade(self);
        self.runtime.spawn(async move {
            tokio::time::sleep(Duration::from_micros(timer_us)).await;
            if let Some(buffer) = buffer.upgrade() {
                buffer.shared.lock().timer_runs = false;
                buffer.step(|machine, now_us| machine.tick(now_us));
            }
        });
    }
}

impl ScanEvents for BufferManager {
    fn next_wanted(self: Arc<Self>, scan: ScanId, sender: oneshot::Sender<Answer>) -> u64 {
        let mut shared = self.shared.lock();
        let waiter = shared.next_waiter;
        shared.next_waiter += 1;
        let waiters = shared.scans.get_mut(&scan).expect("a scan with a handle is registered");
        if let Some(error) = &waiters.error {
            // This sender is in no queue yet, and its receiver is the caller's: the answer arrives.
            let _ = sender.send(Some(Err(error.clone())));
            return waiter;
        }
        waiters.queue.push_back((waiter, sender));
        let afterwards = self.decide(&mut shared, &[], |machine, now_us| machine.next_wanted(scan, now_us));
        drop(shared);
        self.carry_out(afterwards);
        waiter
    }

    fn wait_cancelled(&self, scan: ScanId, waiter: u64) {
        let mut shared = self.shared.lock();
        let Some(waiters) = shared.scans.get_mut(&scan) else { return };
        let before = waiters.queue.len();
        waiters.queue.retain(|(id, _)| *id != waiter);
        if waiters.queue.len() < before {
            let now_us = self.clock.now_us();
            shared.machine.wait_cancelled(scan, now_us);
        }
    }

    fn released(self: Arc<Self>, scan: ScanId, chunk: ChunkId, fate: ChunkFate) {
        self.step(|machine, now_us| match fate {
            ChunkFate::Consumed => machine.consumed(scan, chunk, now_us),
            ChunkFate::Returned => machine.returned(scan, chunk, now_us),
        });
    }

    fn unregister(self: Arc<Self>, scan: ScanId) {
        let mut shared = self.shared.lock();
        let afterwards = self.decide(&mut shared, &[], |machine, now_us| machine.unregister(scan, now_us));
        let gone = shared.scans.remove(&scan);
        drop(shared);
        debug_assert!(gone.is_none_or(|waiters| waiters.queue.is_empty()), "a waiter borrows a handle");
        self.carry_out(afterwards);
    }
}

impl fmt::Debug for BufferManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferManager").field("device", &self.device.name()).field("stats", &self.stats()).finish()
    }
}
