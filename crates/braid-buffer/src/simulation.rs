//! The Active Buffer Manager in virtual time: the paper's experiments on the paper's hardware, in seconds.
//!
//! A disk that serves one read at a time (a seek unless the read continues the last one, then bandwidth), processors
//! that are shared equally among the chunks being processed, and streams that run their queries one after the other.
//! The buffer is the real one, not a model of it; only the shell is replaced. Everything is deterministic.
//!
//! | module | what lives there |
//! |---|---|
//! | [`table`] | made-up tables |
//! | [`paper`] | the tables, queries and machines of Cooperative Scans, sections 5 and 6.3 |
//! | [`machine`] | the virtual disk and processors |
//!
//! What it leaves out: the cost of scheduling, and everything above the scan.

pub mod machine;
pub mod paper;
pub mod table;

use std::collections::{BTreeMap, VecDeque};

use braid_base::{ChunkId, ColumnId, ScanId};

use crate::active_buffer_manager::{Actions, ActiveBufferManager, ChunkTooLarge};
use crate::scan_policy::ScanPolicy;
use crate::statistics::BufferStats;
use crate::table_shape::ScanDemand;

use machine::{Disk, DiskOptions, Processors};
use table::SimulatedTable;

/// A query: a scan and what processing a chunk costs.
#[derive(Clone, Debug)]
pub struct SimulatedQuery {
    /// Name of the kind of query, such as `F-10`.
    pub name: String,
    /// The table.
    pub table: SimulatedTable,
    /// Indices of the chunks, ascending.
    pub chunks: Vec<usize>,
    /// The columns.
    pub columns: Vec<ColumnId>,
    /// Processor time of a chunk, in microseconds.
    pub chunk_cpu_us: u64,
    /// Whether chunks must come in order.
    pub in_order: bool,
    /// Consumers that process chunks at the same time, at least 1.
    pub consumers: usize,
}

/// Queries that run one after the other.
#[derive(Clone, Debug)]
pub struct Stream {
    /// When the first one starts, in microseconds.
    pub start_us: u64,
    /// The queries.
    pub queries: Vec<SimulatedQuery>,
}

/// The machine and the buffer.
#[derive(Clone, Copy, Debug)]
pub struct SimulationOptions {
    /// Bytes of the buffer.
    pub capacity_bytes: u64,
    /// The policy.
    pub policy: ScanPolicy,
    /// Reads at the disk at a time.
    pub loads_in_flight_max: usize,
    /// The disk.
    pub disk: DiskOptions,
    /// Number of processors.
    pub processors: usize,
}

/// What became of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryOutcome {
    /// Name of the kind of query.
    pub name: String,
    /// Index of its stream.
    pub stream: usize,
    /// When it was registered, in microseconds.
    pub start_us: u64,
    /// When its last chunk was processed, in microseconds.
    pub end_us: u64,
}

/// One read, for plots of disk accesses over time (figure 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskAccess {
    /// When it was issued, in microseconds.
    pub time_us: u64,
    /// The chunk's index in its table.
    pub chunk: usize,
    /// Length in bytes.
    pub bytes: u64,
}

/// What a simulation measured.
#[derive(Clone, Debug)]
pub struct SimulationReport {
    /// All queries, in the order in which they ended.
    pub queries: Vec<QueryOutcome>,
    /// For each stream, the time from its start to the end of its last query, in microseconds.
    pub stream_us: Vec<u64>,
    /// When the last query ended, in microseconds.
    pub total_us: u64,
    /// Processor time used, in microseconds, over all processors.
    pub cpu_us: u64,
    /// Reads, in order.
    pub accesses: Vec<DiskAccess>,
    /// The buffer's own counters.
    pub buffer: BufferStats,
}

impl SimulationReport {
    /// Mean time of a stream, in seconds.
    pub fn stream_seconds_mean(&self) -> f64 {
        self.stream_us.iter().sum::<u64>() as f64 / 1e6 / self.stream_us.len().max(1) as f64
    }

    /// Mean over all queries of latency divided by what `alone_us` says the query takes by itself.
    pub fn normalized_latency_mean(&self, alone_us: impl Fn(&str) -> u64) -> f64 {
        let normalized = |q: &QueryOutcome| (q.end_us - q.start_us) as f64 / alone_us(&q.name).max(1) as f64;
        self.queries.iter().map(normalized).sum::<f64>() / self.queries.len().max(1) as f64
    }

    /// Part of the processors' time that was used, 0 to 1.
    pub fn cpu_use(&self, processors: usize) -> f64 {
        self.cpu_us as f64 / (self.total_us.max(1) * processors as u64) as f64
    }
}

/// A query under way.
#[derive(Debug)]
struct Running {
    stream: usize,
    start_us: u64,
    /// Consumers that have not been told that nothing is left.
    consumers_left: usize,
    query: SimulatedQuery,
}

/// The state of a simulation.
#[derive(Debug)]
struct Simulation {
    buffer: ActiveBufferManager<SimulatedTable, ()>,
    disk: Disk,
    processors: Processors,
    streams: Vec<(u64, VecDeque<SimulatedQuery>)>,
    /// (time, stream) of streams whose next query is due.
    due: BTreeMap<(u64, usize), ()>,
    running: BTreeMap<ScanId, Running>,
    retry_at_us: Option<u64>,
    now_us: u64,
    report: SimulationReport,
}

/// Runs the streams to their end. Panics if they never end: that would be a deadlock in the buffer.
pub fn simulate(options: &SimulationOptions, streams: &[Stream]) -> Result<SimulationReport, ChunkTooLarge> {
    let mut simulation = Simulation::new(options, streams);
    while let Some(time_us) = simulation.next_event_us() {
        simulation.advance(time_us)?;
    }
    assert!(simulation.running.is_empty(), "scans wait and nothing will ever happen: {:?}", simulation.running);
    simulation.report.buffer = simulation.buffer.stats();
    Ok(simulation.report)
}

impl Simulation {
    fn new(options: &SimulationOptions, streams: &[Stream]) -> Self {
        Self {
            buffer: ActiveBufferManager::new(options.capacity_bytes, options.loads_in_flight_max, options.policy),
            disk: Disk::new(options.disk),
            processors: Processors::new(options.processors),
            streams: streams.iter().map(|s| (s.start_us, s.queries.iter().cloned().collect())).collect(),
            due: streams.iter().enumerate().map(|(at, stream)| ((stream.start_us, at), ())).collect(),
            running: BTreeMap::new(),
            retry_at_us: None,
            now_us: 0,
            report: SimulationReport {
                queries: Vec::new(),
                stream_us: vec![0; streams.len()],
                total_us: 0,
                cpu_us: 0,
                accesses: Vec::new(),
                buffer: BufferStats::default(),
            },
        }
    }

    fn next_event_us(&self) -> Option<u64> {
        let due = self.due.keys().next().map(|(time, _)| *time);
        let waiting = !self.running.is_empty();
        let retry = self.retry_at_us.filter(|_| waiting);
        [due, self.disk.done_at_us(), self.processors.done_at_us(self.now_us), retry].into_iter().flatten().min()
    }

    /// Goes to `time_us` and lets happen what is due then.
    fn advance(&mut self, time_us: u64) -> Result<(), ChunkTooLarge> {
        self.report.cpu_us += self.processors.run(self.now_us, time_us);
        self.now_us = time_us;
        while let Some((_, stream)) = self.due.first_key_value().map(|(key, ())| *key).filter(|(at, _)| *at <= time_us)
        {
            self.due.pop_first();
            self.start_query(stream)?;
        }
        if let Some((load, segments)) = self.disk.take_done(time_us) {
            let actions = self.buffer.load_finished(load, vec![Some(()); segments], time_us);
            self.apply(actions);
        }
        for (scan, chunk) in self.processors.take_done() {
            let actions = self.buffer.consumed(scan, chunk, time_us);
            self.apply(actions);
            let actions = self.buffer.next_wanted(scan, time_us);
            self.apply(actions);
        }
        if self.retry_at_us.is_some_and(|at| at <= time_us) {
            self.retry_at_us = None;
            let actions = self.buffer.tick(time_us);
            self.apply(actions);
        }
        Ok(())
    }

    fn start_query(&mut self, stream: usize) -> Result<(), ChunkTooLarge> {
        let Some(query) = self.streams[stream].1.pop_front() else {
            self.report.stream_us[stream] = self.now_us - self.streams[stream].0;
            self.report.total_us = self.report.total_us.max(self.now_us);
            return Ok(());
        };
        let demand =
            ScanDemand { chunks: query.chunks.clone(), columns: query.columns.clone(), in_order: query.in_order };
        let scan = self.buffer.register(query.table.clone(), demand, self.now_us)?;
        let consumers = query.consumers.max(1);
        self.running.insert(scan, Running { stream, start_us: self.now_us, consumers_left: consumers, query });
        for _ in 0..consumers {
            let actions = self.buffer.next_wanted(scan, self.now_us);
            self.apply(actions);
        }
        Ok(())
    }

    fn apply(&mut self, actions: Actions<SimulatedTable, ()>) {
        for load in actions.loads {
            self.report.accesses.push(DiskAccess { time_us: self.now_us, chunk: load.chunk, bytes: load.bytes });
            self.disk.submit(&load, self.now_us);
        }
        for delivery in actions.deliveries {
            let work_us = self.running[&delivery.scan].query.chunk_cpu_us;
            self.start_chunk(delivery.scan, delivery.chunk, work_us);
        }
        for scan in actions.ended {
            self.consumer_ended(scan);
        }
        if actions.retry_at_us.is_some() {
            self.retry_at_us = actions.retry_at_us;
        }
    }

    fn start_chunk(&mut self, scan: ScanId, chunk: ChunkId, work_us: u64) {
        self.processors.start(scan, chunk, work_us);
    }

    /// Nothing is left for the waiting consumers of the scan. The last one to be told ends the query.
    fn consumer_ended(&mut self, scan: ScanId) {
        let busy = self.processors.working_on(scan);
        let Some(running) = self.running.get_mut(&scan) else { return };
        running.consumers_left = busy;
        if busy > 0 {
            return;
        }
        let running = self.running.remove(&scan).expect("just looked up");
        let (name, stream) = (running.query.name, running.stream);
        self.report.queries.push(QueryOutcome { name, stream, start_us: running.start_us, end_us: self.now_us });
        self.due.insert((self.now_us, stream), ());
        let actions = self.buffer.unregister(scan, self.now_us);
        self.apply(actions);
    }
}
