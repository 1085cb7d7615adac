//! Seeded random schedules: arrivals, cancellations, chunks given back, failing loads, changes of policy, several
//! tables with several versions, and buffers hardly larger than the largest chunk.
//!
//! After every event the books are recomputed and compared. In the end everything is left to run out, and every scan
//! that neither failed nor was cancelled must have got each of its chunks exactly once, in order if it asked for that.
//! A run that does not end within its bound is a deadlock or an endless loop.

use std::collections::BTreeMap;

use braid_base::{ChunkId, ColumnId, Random, ScanId, SeededRandom, TableId};
use braid_testing::{Cases, cases};

use crate::active_buffer_manager::{Actions, ActiveBufferManager};
use crate::loads::LoadRequest;
use crate::scan_policy::ScanPolicy;
use crate::scan_state::IDLE_US_MAX;
use crate::simulation::table::SimulatedTable;
use crate::table_shape::{ScanDemand, TableShape};

/// A registered scan and what it has seen.
#[derive(Debug)]
struct Scan {
    expected: Vec<usize>,
    version: SimulatedTable,
    columns: Vec<ColumnId>,
    in_order: bool,
    /// Chunks delivered and not given back, in order of delivery.
    delivered: Vec<usize>,
    given_back: bool,
    holding: Vec<(ChunkId, usize)>,
    waiting: usize,
    consumers: usize,
    state: Progress,
}

#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Running,
    Ended,
    Failed,
    Cancelled,
}

struct Schedule {
    random: SeededRandom,
    buffer: ActiveBufferManager<SimulatedTable, (ChunkId, ColumnId)>,
    tables: Vec<Vec<SimulatedTable>>,
    scans: BTreeMap<ScanId, Scan>,
    loads: Vec<LoadRequest<SimulatedTable>>,
    now_us: u64,
    retry_at_us: Option<u64>,
    failures: bool,
}

/// Versions of one table: each replaces the last chunk by a new one or adds chunks, as INSERTs do; some drop a column or add
/// one, whose segments in older chunks are in memory.
fn versions(random: &mut SeededRandom, table: u32) -> Vec<SimulatedTable> {
    let mut columns: Vec<ColumnId> = (0..1 + random.below(5) as u16).map(ColumnId).collect();
    let (mut next_chunk, mut next_column) = (0, columns.len() as u16);
    let mut chunk = |random: &mut SeededRandom, columns: &[ColumnId]| {
        let mut bytes = || (!random.chance(1, 10)).then(|| 1 + random.below(100) as u32);
        let segments: BTreeMap<_, _> = columns.iter().map(|column| (*column, bytes())).collect();
        next_chunk += 1 + random.below(3) as u32;
        (ChunkId(next_chunk), segments)
    };
    let mut chunks: Vec<_> = (0..1 + random.below(40)).map(|_| chunk(random, &columns)).collect();
    let mut versions = Vec::new();
    for sequence in 1..=1 + random.below(6) {
        versions.push(SimulatedTable::altered(TableId(table), sequence, chunks.clone()));
        if random.chance(1, 3) && columns.len() > 1 {
            let dropped = columns.remove(random.below(columns.len() as u64) as usize);
            for (_, segments) in &mut chunks {
                segments.remove(&dropped);
            }
        }
        if random.chance(1, 3) && columns.len() < 5 {
            let added = ColumnId(next_column);
            next_column += 1;
            columns.push(added);
            for (_, segments) in &mut chunks {
                segments.insert(added, None);
            }
        }
        if random.chance(1, 2) {
            chunks.pop();
        }
        chunks.push(chunk(random, &columns));
    }
    versions
}

impl Schedule {
    fn new(mut random: SeededRandom, policy: ScanPolicy) -> Self {
        let tables: Vec<_> = (1..=1 + random.below(3) as u32).map(|table| versions(&mut random, table)).collect();
        // Every chunk fits (5 columns of 100 bytes), but hardly more than one when it is tight.
        let spare = if random.chance(1, 2) { 300 } else { 10_000 };
        let capacity = 500 + random.below(spare);
        let in_flight = 1 + random.below(8) as usize;
        Self {
            buffer: ActiveBufferManager::new(capacity, in_flight, policy),
            tables,
            scans: BTreeMap::new(),
            loads: Vec::new(),
            now_us: 0,
            retry_at_us: None,
            failures: random.chance(1, 3),
            random,
        }
    }

    fn register(&mut self) {
        let random = &mut self.random;
        let versions = &self.tables[random.below(self.tables.len() as u64) as usize];
        let version = versions[random.below(versions.len() as u64) as usize].clone();
        let (numerator, denominator) = [(1, 1), (1, 2), (1, 8)][random.below(3) as usize];
        let chunks: Vec<usize> = (0..version.chunk_count()).filter(|_| random.chance(numerator, denominator)).collect();
        let mut columns = version.columns();
        columns.retain(|_| random.chance(1, 2));
        let scan = Scan {
            version: version.clone(),
            expected: chunks.clone(),
            columns: columns.clone(),
            in_order: random.chance(1, 4),
            delivered: Vec::new(),
            given_back: false,
            holding: Vec::new(),
            waiting: 0,
            consumers: 1 + random.below(3) as usize,
            state: Progress::Running,
        };
        let demand = ScanDemand { chunks, columns, in_order: scan.in_order };
        let id = self.buffer.register(version, demand, self.now_us).unwrap();
        self.scans.insert(id, scan);
    }

    fn apply(&mut self, actions: Actions<SimulatedTable, (ChunkId, ColumnId)>) {
        for delivery in actions.deliveries {
            let scan = self.scans.get_mut(&delivery.scan).unwrap();
            assert_eq!(scan.state, Progress::Running);
            let is_read = |column: &ColumnId| scan.version.place(delivery.chunk_index, *column).is_some();
            let content = |column: &ColumnId| is_read(column).then_some((delivery.chunk, *column));
            let expected: Vec<_> = scan.columns.iter().map(content).collect();
            assert_eq!(delivery.segments, expected, "the segments are those asked for");
            scan.waiting -= 1;
            scan.holding.push((delivery.chunk, delivery.chunk_index));
            scan.delivered.push(delivery.chunk_index);
            if scan.in_order && !scan.given_back {
                assert!(scan.delivered.is_sorted(), "in order: {:?}", scan.delivered);
            }
        }
        for id in actions.ended {
            let scan = self.scans.get_mut(&id).unwrap();
            assert_eq!(scan.delivered.len(), scan.expected.len());
            (scan.waiting, scan.state) = (0, Progress::Ended);
        }
        for (id, column) in actions.failed {
            let scan = self.scans.get_mut(&id).unwrap();
            assert!(self.failures && scan.columns.contains(&column));
            (scan.waiting, scan.state) = (0, Progress::Failed);
        }
        self.loads.extend(actions.loads);
        self.retry_at_us = actions.retry_at_us.or(self.retry_at_us);
        // Recomputing the books costs far more than the event.
        if self.random.chance(1, 4) {
            self.buffer.books().check();
        }
    }

    fn finish_load(&mut self, fail: bool) -> bool {
        if self.loads.is_empty() {
            return false;
        }
        let load = self.loads.swap_remove(self.random.below(self.loads.len() as u64) as usize);
        let chunk = load.version.chunk_id(load.chunk);
        let contents = load.segments.iter().map(|(column, _)| (!fail).then_some((chunk, *column))).collect();
        let actions = self.buffer.load_finished(load.id, contents, self.now_us);
        self.apply(actions);
        true
    }

    fn pick(&mut self, wanted: impl Fn(&Scan) -> bool) -> Option<ScanId> {
        let ids: Vec<ScanId> = self.scans.iter().filter(|(_, scan)| wanted(scan)).map(|(id, _)| *id).collect();
        (!ids.is_empty()).then(|| ids[self.random.below(ids.len() as u64) as usize])
    }

    fn ask(&mut self) -> bool {
        let idle = |scan: &Scan| scan.state == Progress::Running && scan.waiting + scan.holding.len() < scan.consumers;
        let Some(id) = self.pick(idle) else { return false };
        self.scans.get_mut(&id).unwrap().waiting += 1;
        let actions = self.buffer.next_wanted(id, self.now_us);
        self.apply(actions);
        true
    }

    fn consume(&mut self, give_back: bool) -> bool {
        let Some(id) = self.pick(|scan| !scan.holding.is_empty()) else { return false };
        let scan = self.scans.get_mut(&id).unwrap();
        let (chunk, index) = scan.holding.swap_remove(0);
        // A chunk is only given back by a consumer that never saw it, so never after the scan has ended.
        let actions = if give_back && scan.state == Progress::Running {
            scan.delivered.retain(|&at| at != index);
            scan.given_back = true;
            self.buffer.returned(id, chunk, self.now_us)
        } else {
            self.buffer.consumed(id, chunk, self.now_us)
        };
        self.apply(actions);
        true
    }

    fn cancel_wait(&mut self) {
        if let Some(id) = self.pick(|scan| scan.waiting > 0) {
            self.scans.get_mut(&id).unwrap().waiting -= 1;
            self.buffer.wait_cancelled(id, self.now_us);
            self.buffer.books().check();
        }
    }

    fn unregister(&mut self) {
        if let Some(id) = self.pick(|scan| scan.state == Progress::Running) {
            let scan = self.scans.get_mut(&id).unwrap();
            (scan.state, scan.waiting) = (Progress::Cancelled, 0);
            let actions = self.buffer.unregister(id, self.now_us);
            self.apply(actions);
        }
    }

    fn step(&mut self) {
        self.now_us += self.random.below(2_000);
        match self.random.below(100) {
            0..8 => self.register(),
            8..40 => drop(self.ask()),
            40..65 => drop(self.finish_load(false)),
            65..90 => drop(self.consume(false)),
            90..92 => drop(self.consume(true)),
            92..94 => self.cancel_wait(),
            94..95 => self.unregister(),
            95..96 if self.failures => drop(self.finish_load(true)),
            96..97 => {
                let policy = ScanPolicy::ALL[self.random.below(4) as usize];
                let actions = self.buffer.set_policy(policy, self.now_us);
                self.apply(actions);
            }
            97..98 => self.now_us += self.random.below(5_000_000),
            _ => {
                let actions = self.buffer.tick(self.now_us);
                self.apply(actions);
            }
        }
    }

    /// Lets everything run out: loads end, chunks are consumed, consumers ask until told that nothing is left.
    fn drain(&mut self) {
        let chunks: usize = self.scans.values().map(|scan| scan.expected.len() + scan.consumers).sum();
        let bound = 1000 + 100 * chunks;
        for _ in 0..bound {
            self.now_us += self.random.below(1_000);
            let turn = self.random.below(3);
            let moved = match turn {
                0 => self.ask(),
                1 => self.consume(false),
                _ => self.finish_load(false),
            };
            if moved || self.ask() || self.consume(false) || self.finish_load(false) {
                continue;
            }
            if !self.scans.values().any(|scan| scan.state == Progress::Running) {
                return;
            }
            let at = self.retry_at_us.take().unwrap_or_else(|| panic!("deadlock: {:#?}", self.running()));
            assert!(at <= self.now_us + IDLE_US_MAX);
            self.now_us = self.now_us.max(at);
            let actions = self.buffer.tick(self.now_us);
            self.apply(actions);
        }
        panic!("no end after {bound} steps: {:#?}", self.running());
    }

    fn running(&self) -> Vec<(&ScanId, &Scan)> {
        self.scans.iter().filter(|(_, scan)| scan.state == Progress::Running).collect()
    }

    fn verify(&self) {
        for (id, scan) in &self.scans {
            let mut delivered = scan.delivered.clone();
            delivered.sort_unstable();
            let is_once = delivered.windows(2).all(|pair| pair[0] < pair[1]);
            assert!(is_once && delivered.iter().all(|at| scan.expected.contains(at)), "{id}: {delivered:?}");
            match scan.state {
                Progress::Ended => assert_eq!(delivered, scan.expected, "{id}"),
                Progress::Running => panic!("{id} still runs"),
                Progress::Failed | Progress::Cancelled => {}
            }
        }
        let stats = self.buffer.stats();
        assert_eq!((stats.pinned_bytes, stats.waiting_scans, stats.loads_in_flight), (0, 0, 0));
    }
}

fn run_all(policy: ScanPolicy, cases: Cases) {
    let is_replay = cases.is_replay();
    for case in cases {
        let mut schedule = Schedule::new(case.random(), policy);
        let steps = 50 + schedule.random.below(600);
        for _ in 0..steps {
            schedule.step();
        }
        schedule.drain();
        schedule.verify();
        if is_replay {
            println!("{:#?}", schedule.buffer.stats());
        }
    }
}

#[test]
fn random_schedules_end_under_normal() {
    run_all(ScanPolicy::Normal, cases!(0..12));
}

#[test]
fn random_schedules_end_under_attach() {
    run_all(ScanPolicy::Attach, cases!(0..12));
}

#[test]
fn random_schedules_end_under_elevator() {
    run_all(ScanPolicy::Elevator, cases!(0..12));
}

#[test]
fn random_schedules_end_under_relevance() {
    run_all(ScanPolicy::Relevance, cases!(0..12));
}
