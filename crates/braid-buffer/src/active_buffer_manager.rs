//! The Active Buffer Manager: decides for all scans together what to read, what to hand to whom, and what to evict
//! (Cooperative Scans, section 4; over columns, section 6).
//!
//! A synchronous state machine. It does no I/O, starts no thread and reads no clock: events come with the time, each
//! answers with [`Actions`] for the shell ([`crate::BufferManager`], or a simulation) to carry out. `V` is a version of
//! a table, `C` what a segment in memory is; the machine keeps them and hands them out, but never looks inside.
//!
//! ```text
//! register ---> next_wanted ---> [delivery] ---> consumed ---> next_wanted ... ---> unregister
//!                   |                ^
//!                   v                |
//!               [load] ----> load_finished
//! ```
//!
//! # Rules
//!
//! 1. *All or nothing.* A load is begun only with room for all missing segments of its chunk; the room is reserved at
//!    once. So a load under way never waits for room, and `pinned + cached + reserved <= capacity` always holds.
//! 2. *What is in use stays.* Segments with pins, and all segments of a chunk with a load under way, are not evicted.
//!    The second half also keeps what was in memory before of a chunk that is being completed.
//! 3. *Reading ahead starves no scan.* A load that no consumer waits for evicts nothing that a scan which pulls has
//!    ready next. An urgent load, one that a consumer waits for, may.
//! 4. *No scan is passed over for ever.* A scan that is refused room lets others go first
//!    [`PASSED_OVER_MAX`] times; then nothing is begun before it.
//! 5. *A chunk that has come is handed over in the same step* to every consumer that waits for it, so that nothing can
//!    evict it in between.
//! 6. *No more than the buffer.* A scan one of whose chunks does not fit the buffer is refused when it registers.
//! 7. *Stalled scans do not stop the others.* A scan that has stopped pulling is dormant (`scan_state.rs`); what is
//!    ready for it is no longer protected. If an urgent load finds no room because dormant scans hold it, segments that
//!    only they pin are lent: they stay alive with their holders, but no longer count as the buffer's. At most one
//!    capacity is lent.
//!
//! # Why scans never deadlock each other
//!
//! The only thing scans wait for is room, and by rule 1 no scan holds some while waiting for more: what takes room is
//! pins, loads under way, and evictable segments. Loads under way end by themselves. Pins end when consumers go on, or
//! rule 7 ends them. So whenever a consumer waits and nothing is under way, the first load chosen for it finds room
//! (rule 6) unless pins of running consumers are in the way, which will end. By rule 5 an urgent load ends in a
//! delivery, and by rule 3 each load that is not urgent leaves one starved scan less, so between two deliveries only
//! finitely many loads are begun. By rule 4 it is every waiting scan's turn eventually.

use std::collections::HashMap;

use braid_base::{ChunkId, ColumnId, ScanId, SegmentId};

use crate::bit_set::BitSet;
use crate::buffer_state::BufferState;
use crate::keys::{ChunkKey, ScanKey, Slot};
use crate::loads::{LoadId, LoadRequest, Loads};
use crate::policy::{LoadChoice, SpaceRequest};
use crate::scan_policy::ScanPolicy;
use crate::scan_state::{AHEAD_BYTES, AHEAD_CHUNKS_MAX, IDLE_US_MAX, ScanState};
use crate::statistics::BufferStats;
use crate::table_shape::{ScanDemand, TableShape};

/// How often others are given room while a waiting scan is refused it (rule 4). High enough that a scan of wide rows
/// does not stop narrow ones at once, low enough that it waits for milliseconds only: 16 reads of 1 MB at 2 GB/s.
pub const PASSED_OVER_MAX: u32 = 16;

/// How many scans are tried in one step before it is accepted that there is no room. Bounds the cost of a step.
const REFUSALS_MAX: usize = 8;

/// A chunk handed to one of a scan's waiting consumers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery<C> {
    /// The scan.
    pub scan: ScanId,
    /// Identity of the chunk, to be named when it is consumed.
    pub chunk: ChunkId,
    /// Index of the chunk in the scan's version.
    pub chunk_index: usize,
    /// The segments, in the order of the scan's columns; `None` for one that is in memory without the buffer.
    pub segments: Vec<Option<C>>,
}

/// What the shell has to do after an event.
#[derive(Clone, Debug)]
pub struct Actions<V, C> {
    /// Chunks to hand out, in this order; for each, a consumer of the scan waits.
    pub deliveries: Vec<Delivery<C>>,
    /// Scans all of whose waiting consumers are to be told that nothing is left.
    pub ended: Vec<ScanId>,
    /// Scans that fail because this column of a chunk could not be loaded. They are unregistered already.
    pub failed: Vec<(ScanId, ColumnId)>,
    /// Reads to issue.
    pub loads: Vec<LoadRequest<V>>,
    /// What was evicted: to be dropped, preferably not under a lock.
    pub evicted: Vec<C>,
    /// When to call [`ActiveBufferManager::tick`] if no other event comes before: consumers wait and nothing moves.
    pub retry_at_us: Option<u64>,
}

impl<V, C> Default for Actions<V, C> {
    fn default() -> Self {
        Self {
            deliveries: Vec::new(),
            ended: Vec::new(),
            failed: Vec::new(),
            loads: Vec::new(),
            evicted: Vec::new(),
            retry_at_us: None,
        }
    }
}

/// A scan one of whose chunks is larger than the buffer (rule 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one chunk of the wanted columns takes {needed_bytes} bytes, the buffer has {capacity_bytes} bytes")]
pub struct ChunkTooLarge {
    /// Bytes of the wanted columns of the largest wanted chunk.
    pub needed_bytes: u64,
    /// Bytes of the buffer.
    pub capacity_bytes: u64,
}

/// The state machine.
#[derive(Debug)]
pub struct ActiveBufferManager<V, C> {
    pub(crate) state: BufferState,
    policy: ScanPolicy,
    loads: Loads<V>,
    versions: HashMap<ScanId, V>,
    pub(crate) contents: HashMap<SegmentId, C>,
    /// Segments that were lent, by holder: see `lending.rs`.
    pub(crate) lent: HashMap<(SegmentId, ScanId), u64>,
    next_scan: u64,
    loads_begun: u64,
    counters: BufferStats,
}

impl<V: TableShape, C: Clone> ActiveBufferManager<V, C> {
    /// An empty buffer of `capacity_bytes` with at most `loads_in_flight_max` reads at the device.
    pub fn new(capacity_bytes: u64, loads_in_flight_max: usize, policy: ScanPolicy) -> Self {
        Self {
            state: BufferState::new(capacity_bytes),
            policy,
            loads: Loads::new(loads_in_flight_max),
            versions: HashMap::new(),
            contents: HashMap::new(),
            lent: HashMap::new(),
            next_scan: 0,
            loads_begun: 0,
            counters: BufferStats::default(),
        }
    }

    /// The policy in force.
    pub fn policy(&self) -> ScanPolicy {
        self.policy
    }

    /// Gauges and counters; the time spent is the shell's to add.
    pub fn stats(&self) -> BufferStats {
        let waiting = self.state.scans().filter(|(_, scan)| scan.waiting > 0).count();
        BufferStats {
            capacity_bytes: self.state.capacity_bytes,
            used_bytes: self.state.used_bytes,
            pinned_bytes: self.state.pinned_bytes,
            lent_bytes: self.lent.values().sum(),
            segment_hits: self.state.hits,
            bytes_saved: self.state.hit_bytes,
            scans: self.state.scan_count() as u64,
            waiting_scans: waiting as u64,
            loads_in_flight: self.loads.in_flight() as u64,
            ..self.counters
        }
    }

    /// The books, for tests to look into.
    #[cfg(test)]
    pub(crate) fn books(&self) -> &BufferState {
        &self.state
    }

    /// Registers a scan: from now on chunks are kept for it. Nothing is read before a consumer asks.
    pub fn register(&mut self, version: V, demand: ScanDemand, now_us: u64) -> Result<ScanId, ChunkTooLarge> {
        let table = self.state.learn(&version);
        let columns: BitSet = demand.columns.iter().map(|column| usize::from(column.0)).collect();
        let state = &self.state.tables[table];
        let positions = state.positions(demand.chunks.iter().map(|&chunk| version.chunk_id(chunk)));
        let largest: u64 = columns.iter().map(|column| state.column_bytes_max[column]).sum();
        if largest > self.state.capacity_bytes {
            let needed_bytes = positions.iter().map(|&at| state.chunks[at].bytes_of(&columns)).max().unwrap_or(0);
            if needed_bytes > self.state.capacity_bytes {
                return Err(ChunkTooLarge { needed_bytes, capacity_bytes: self.state.capacity_bytes });
            }
        }
        let chunk_bytes: u64 = columns.iter().map(|column| state.column_bytes_mean(column)).sum();
        let id = ScanId(self.next_scan);
        self.next_scan += 1;
        let remaining: BitSet = positions.iter().copied().collect();
        let scan = ScanState {
            ahead_chunks: (AHEAD_BYTES.div_ceil(chunk_bytes.max(1)) as usize).clamp(1, AHEAD_CHUNKS_MAX),
            order: demand.in_order.then_some(positions),
            served: self.loads_begun,
            active_us: now_us,
            ..ScanState::new(id, demand.columns, remaining)
        };
        let key = self.state.enter(table, scan);
        self.versions.insert(id, version);
        self.policy.decisions().registered(&mut self.state, key);
        Ok(id)
    }

    /// The scan wants no more chunks. Those it holds stay pinned until they are consumed.
    pub fn unregister(&mut self, scan: ScanId, now_us: u64) -> Actions<V, C> {
        let mut actions = Actions::default();
        if let Some(key) = self.state.key(scan) {
            self.close(key);
            self.cancel_unwanted_reads();
            self.schedule(now_us, &mut actions);
        }
        actions
    }

    /// A consumer of the scan wants a chunk. Exactly one delivery, end or failure will answer it, now or later.
    pub fn next_wanted(&mut self, scan: ScanId, now_us: u64) -> Actions<V, C> {
        let mut actions = Actions::default();
        let Some(key) = self.state.key(scan).filter(|key| !self.state.scan(*key).closing) else {
            actions.ended.push(scan);
            return actions;
        };
        let state = self.state.scan_mut(key);
        if state.waiting == 0 {
            state.waiting_since_us = now_us;
        }
        state.waiting += 1;
        state.active_us = now_us;
        self.serve(key, now_us, &mut actions);
        self.state.refresh_starvation(key);
        self.schedule(now_us, &mut actions);
        actions
    }

    /// A consumer that had asked has gone without an answer.
    pub fn wait_cancelled(&mut self, scan: ScanId, now_us: u64) {
        if let Some(key) = self.state.key(scan) {
            let state = self.state.scan_mut(key);
            state.waiting = state.waiting.saturating_sub(1);
            state.active_us = now_us;
            self.state.refresh_starvation(key);
        }
    }

    /// A delivered chunk has been processed.
    pub fn consumed(&mut self, scan: ScanId, chunk: ChunkId, now_us: u64) -> Actions<V, C> {
        let mut actions = Actions::default();
        if let Some(key) = self.state.key(scan) {
            self.release(key, scan, chunk, now_us);
            self.schedule(now_us, &mut actions);
        }
        actions
    }

    /// A delivered chunk was not taken: the scan wants it again.
    pub fn returned(&mut self, scan: ScanId, chunk: ChunkId, now_us: u64) -> Actions<V, C> {
        let mut actions = Actions::default();
        if let Some(key) = self.state.key(scan) {
            if !self.state.scan(key).closing {
                self.state.want_again(key, chunk);
            }
            self.release(key, scan, chunk, now_us);
            if self.state.key(scan).is_some() {
                self.serve(key, now_us, &mut actions);
                self.state.refresh_starvation(key);
            }
            self.schedule(now_us, &mut actions);
        }
        actions
    }

    /// A read is over. `segments` has, for each segment of the request, its content, or none if it could not be read or
    /// was not what it should be; then every scan that wants that segment fails, and no other.
    pub fn load_finished(&mut self, load: LoadId, segments: Vec<Option<C>>, now_us: u64) -> Actions<V, C> {
        let mut actions = Actions::default();
        let Some((table_id, chunk, columns, done)) = self.loads.finish(load) else { return actions };
        assert_eq!(columns.len(), segments.len(), "a read answers for each of its segments");
        let key = self.state.locate(table_id, chunk).expect("a chunk being loaded is not forgotten");
        for (column, content) in columns.into_iter().zip(segments) {
            match content {
                Some(content) => self.segment_arrived(key, column, content),
                None => self.segment_failed(key, column, &mut actions),
            }
        }
        for scan in self.waiting_for(key) {
            self.serve(scan, now_us, &mut actions);
            self.state.refresh_starvation(scan);
        }
        if done {
            self.state.end_load(key);
        }
        if !actions.failed.is_empty() {
            self.cancel_unwanted_reads();
        }
        self.schedule(now_us, &mut actions);
        actions
    }

    /// Changes the policy for all scans, from the next decision on.
    pub fn set_policy(&mut self, policy: ScanPolicy, now_us: u64) -> Actions<V, C> {
        let mut actions = Actions::default();
        self.policy = policy;
        // What was out of turn under the old policy may be a waiting scan's next chunk under the new one.
        let waiting: Vec<ScanKey> = self.state.scans().filter(|(_, s)| s.waiting > 0).map(|(key, _)| key).collect();
        for key in waiting {
            self.serve(key, now_us, &mut actions);
            self.state.refresh_starvation(key);
        }
        self.schedule(now_us, &mut actions);
        actions
    }

    /// Time has passed: see [`Actions::retry_at_us`].
    pub fn tick(&mut self, now_us: u64) -> Actions<V, C> {
        let mut actions = Actions::default();
        self.schedule(now_us, &mut actions);
        actions
    }

    // ---- Deliveries ----

    /// `selectChunk` of figure 3, for each waiting consumer of the scan.
    fn serve(&mut self, key: ScanKey, now_us: u64, actions: &mut Actions<V, C>) {
        while self.state.scan(key).waiting > 0 {
            if self.state.scan(key).remaining_count == 0 {
                let scan = self.state.scan_mut(key);
                scan.waiting = 0;
                actions.ended.push(scan.id);
                return;
            }
            let Some(position) = self.policy.decisions().choose_available(&self.state, key) else { return };
            let scan = self.state.scan_mut(key);
            scan.waiting -= 1;
            scan.waiting_since_us = now_us;
            self.state.deliver(key, position, now_us);
            self.counters.chunks_delivered += 1;
            actions.deliveries.push(self.delivery(key, position));
        }
    }

    fn delivery(&self, key: ScanKey, position: usize) -> Delivery<C> {
        let (table, scan) = (&self.state.tables[key.table], self.state.scan(key));
        let chunk = table.chunks[position].id;
        let content = |column: &ColumnId| {
            if table.chunks[position].in_memory.contains(usize::from(column.0)) {
                return None;
            }
            let segment = table.segment_id(position, *column);
            Some(self.contents.get(&segment).expect("a delivered chunk is in memory").clone())
        };
        Delivery {
            scan: scan.id,
            chunk,
            chunk_index: self.versions[&scan.id].chunk_index(chunk).expect("a scan's chunk is in its version"),
            segments: scan.columns.iter().map(content).collect(),
        }
    }

    /// The scans with a waiting consumer for which the chunk is ready.
    fn waiting_for(&self, key: ChunkKey) -> Vec<ScanKey> {
        let interested = self.state.tables[key].interested.iter();
        let scans = interested.map(|slot| ScanKey { table: key.table, slot: Slot(slot) });
        let waits = |scan: &ScanState| scan.waiting > 0 && scan.available.contains(key.position);
        scans.filter(|scan| waits(self.state.scan(*scan))).collect()
    }

    fn release(&mut self, key: ScanKey, scan: ScanId, chunk: ChunkId, now_us: u64) {
        let table = self.state.tables[key.table].id;
        let lent = self.state.release(key, chunk, now_us).unwrap_or_default();
        for column in lent.iter() {
            self.end_loan(SegmentId { table, chunk, column: ColumnId(column as u16) }, scan);
        }
        self.drop_version_if_gone(scan);
    }

    fn close(&mut self, key: ScanKey) {
        let scan = self.state.scan(key).id;
        self.state.close(key);
        self.drop_version_if_gone(scan);
    }

    fn drop_version_if_gone(&mut self, scan: ScanId) {
        if self.state.key(scan).is_none() {
            self.versions.remove(&scan);
        }
    }

    // ---- Loads ----

    fn segment_arrived(&mut self, key: ChunkKey, column: ColumnId, content: C) {
        let at = usize::from(column.0);
        let segment = self.state.tables[key.table].segment_id(key.position, column);
        self.counters.segments_loaded += 1;
        self.counters.bytes_loaded += u64::from(self.state.tables[key].bytes[at]);
        self.contents.insert(segment, content);
        self.state.loaded(key, at);
    }

    fn segment_failed(&mut self, key: ChunkKey, column: ColumnId, actions: &mut Actions<V, C>) {
        let at = usize::from(column.0);
        self.counters.load_failures += 1;
        self.state.cancelled(key, at);
        let state = &self.state.tables[key.table];
        let interested = &self.state.tables[key].interested;
        let wanting: Vec<Slot> = interested.iter_common(&state.column_users[at]).map(Slot).collect();
        for slot in wanting {
            let scan = ScanKey { table: key.table, slot };
            actions.failed.push((self.state.scan(scan).id, column));
            self.close(scan);
        }
    }

    /// Drops reads that have not been issued and that no scan wants any more.
    fn cancel_unwanted_reads(&mut self) {
        let state = &self.state;
        let cancelled = self.loads.cancel_planned(|table, chunk, column| {
            let key = state.locate(table, chunk).expect("a chunk being loaded is not forgotten");
            state.tables[key.table].is_wanted(key.position, column)
        });
        for (table, chunk, columns, done) in cancelled {
            let key = self.state.locate(table, chunk).expect("a chunk being loaded is not forgotten");
            for column in columns {
                self.state.cancelled(key, usize::from(column.0));
            }
            if done {
                self.state.end_load(key);
            }
        }
    }

    /// The ABM process of figure 3: as long as the device takes reads, choose a load, make room, begin it.
    fn schedule(&mut self, now_us: u64, actions: &mut Actions<V, C>) {
        let mut refused: Vec<ScanId> = Vec::new();
        loop {
            while let Some(read) = self.loads.issue() {
                self.counters.reads += 1;
                actions.loads.push(read);
            }
            if !self.loads.want_more() || refused.len() >= REFUSALS_MAX {
                break;
            }
            let Some(load) = self.policy.decisions().choose_load(&self.state, now_us, &refused) else { break };
            if self.begin_load(&load, now_us, actions) {
                self.pass_over(&refused);
                continue;
            }
            let scan = self.state.scan(load.scan);
            refused.push(scan.id);
            if load.urgent && scan.passed_over >= PASSED_OVER_MAX {
                break;
            }
        }
        if !refused.is_empty() && self.loads.in_flight() == 0 {
            actions.retry_at_us = Some(now_us + IDLE_US_MAX);
        }
    }

    /// Another scan was given room while these were refused it.
    fn pass_over(&mut self, refused: &[ScanId]) {
        for scan in refused {
            if let Some(key) = self.state.key(*scan) {
                let scan = self.state.scan_mut(key);
                scan.passed_over += 1;
            }
        }
    }

    /// Makes room for the load and plans its reads; false, with nothing changed, if there is no room.
    fn begin_load(&mut self, load: &LoadChoice, now_us: u64, actions: &mut Actions<V, C>) -> bool {
        let key = ChunkKey { table: load.scan.table, position: load.position };
        // Held, so that completing a chunk does not evict what is there of it.
        self.state.begin_load(key);
        let of_version = self.columns_read_through(load);
        let chunk = &self.state.tables[key];
        let missing = |columns: &BitSet| chunk.missing(&columns.iter_common(&of_version).collect());
        let mut attempts = vec![missing(&load.columns), missing(&load.least_columns)];
        attempts.dedup();
        let begun = attempts.into_iter().find(|missing| {
            let bytes = self.state.tables[key].bytes_of(missing);
            !missing.is_empty() && self.make_room(load, bytes, now_us, actions)
        });
        let Some(missing) = begun else {
            self.state.end_load(key);
            return false;
        };
        self.state.reserve(key, &missing);
        self.loads_begun += 1;
        let scan = self.state.scan_mut(load.scan);
        (scan.served, scan.passed_over) = (self.loads_begun, 0);
        self.policy.decisions().load_begun(&mut self.state, load);
        self.plan_reads(load, &missing);
        true
    }

    /// The columns of the version through which a load reads its chunk. Scans of other versions may read columns that were
    /// dropped or added in between; those have loads of their own.
    fn columns_read_through(&self, load: &LoadChoice) -> BitSet {
        let version = &self.versions[&self.state.scan(load.scan).id];
        version.columns().iter().map(|column| usize::from(column.0)).collect()
    }

    fn plan_reads(&mut self, load: &LoadChoice, missing: &BitSet) {
        let table = &self.state.tables[load.scan.table];
        let chunk = table.chunks[load.position].id;
        let version = self.versions[&table.scan(load.scan.slot).id].clone();
        let index = version.chunk_index(chunk).expect("a scan's chunk is in its version");
        let segments = missing.iter().map(|column| ColumnId(column as u16));
        let place = |column| version.place(index, column).expect("what is in memory is not missing");
        let segments = segments.map(|column| (column, place(column))).collect();
        self.loads.begin((table.id, chunk), version, index, segments);
    }

    /// Evicts until `bytes` are free; false, with nothing evicted, if that cannot be.
    fn make_room(&mut self, load: &LoadChoice, bytes: u64, now_us: u64, actions: &mut Actions<V, C>) -> bool {
        let free = |state: &BufferState| state.capacity_bytes - state.used_bytes;
        if free(&self.state) + self.state.evictable_bytes < bytes {
            let short = bytes - free(&self.state) - self.state.evictable_bytes;
            if !load.urgent || self.loads.in_flight() > 0 || !self.lend(short, now_us) {
                return false;
            }
        }
        if free(&self.state) >= bytes {
            return true;
        }
        let request = SpaceRequest { load, bytes: bytes - free(&self.state), now_us };
        let Some(victims) = self.policy.decisions().choose_victims(&self.state, request) else { return false };
        for segment in victims {
            self.state.evict(segment);
            self.counters.evictions += 1;
            actions.evicted.extend(self.contents.remove(&segment));
        }
        assert!(free(&self.state) >= bytes, "a policy's victims make the room it was asked for");
        true
    }
}
