//! The books of the buffer: which segments are in memory, who wants, awaits and uses them, and how many bytes that is.
//!
//! Policies read this and decide; the [`ActiveBufferManager`](crate::ActiveBufferManager) applies their decisions with
//! the methods here. Everything a relevance function asks for is kept up to date at each event, so that no decision
//! looks at every (chunk, scan) pair. With S scans, K column classes and C columns of a scan:
//!
//! | event | cost |
//! |---|---|
//! | register, unregister | a step per wanted chunk |
//! | a segment is loaded or evicted | K steps, and one per scan that wants the chunk |
//! | a chunk is delivered, given back or consumed | C steps of a logarithm of the segments in memory |
//! | is a segment wanted, how many starved scans want a chunk | S / 64 steps |
//!
//! Invariants, checked after every step of the simulations by [`BufferState::check`]:
//! - `used_bytes` = bytes in memory + bytes reserved by loads <= `capacity_bytes`;
//! - a segment with pins, or of a chunk with loads under way, is not evictable;
//! - the available and coming sets of every scan are what the chunks say.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Index, IndexMut};

use braid_base::{ChunkId, ColumnId, ScanId, SegmentId, TableId};

use crate::bit_set::BitSet;
use crate::chunk_state::{ChunkState, ResidentSegment};
use crate::keys::{ChunkKey, ScanKey, Slot, TableIndex};
use crate::scan_state::{Pin, ScanState};
use crate::table_shape::TableShape;
use crate::table_state::TableState;

/// Whether a scan still has use for a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Interest {
    Wanted,
    Done,
}

/// The books of the buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferState {
    /// Bytes the buffer may use.
    pub capacity_bytes: u64,
    /// Bytes in memory or reserved.
    pub used_bytes: u64,
    /// Bytes of segments with pins.
    pub pinned_bytes: u64,
    /// Bytes of segments that can be evicted.
    pub evictable_bytes: u64,
    /// Tables; a dead one may be replaced.
    pub tables: Vec<TableState>,
    table_index: HashMap<TableId, TableIndex>,
    scan_index: HashMap<ScanId, ScanKey>,
    /// The evictable segments, least recently used first.
    pub evictable: BTreeMap<u64, SegmentId>,
    /// Of these, the ones that no registered scan wants.
    pub unused: BTreeMap<u64, SegmentId>,
    stamps: u64,
    /// Segments delivered that had been delivered before, and their bytes.
    pub hits: u64,
    /// Bytes of those.
    pub hit_bytes: u64,
}

impl Index<TableIndex> for Vec<TableState> {
    type Output = TableState;

    fn index(&self, table: TableIndex) -> &TableState {
        &self.as_slice()[table.0]
    }
}

impl IndexMut<TableIndex> for Vec<TableState> {
    fn index_mut(&mut self, table: TableIndex) -> &mut TableState {
        &mut self.as_mut_slice()[table.0]
    }
}

impl Index<ChunkKey> for Vec<TableState> {
    type Output = ChunkState;

    fn index(&self, key: ChunkKey) -> &ChunkState {
        &self[key.table].chunks[key.position]
    }
}

impl IndexMut<ChunkKey> for Vec<TableState> {
    fn index_mut(&mut self, key: ChunkKey) -> &mut ChunkState {
        &mut self[key.table].chunks[key.position]
    }
}

impl BufferState {
    /// Books of an empty buffer.
    pub fn new(capacity_bytes: u64) -> Self {
        Self { capacity_bytes, ..Self::default() }
    }

    /// Where a scan is kept, until its last pin is gone.
    pub fn key(&self, id: ScanId) -> Option<ScanKey> {
        self.scan_index.get(&id).copied()
    }

    /// A registered scan. Panics if the key is not registered.
    pub fn scan(&self, key: ScanKey) -> &ScanState {
        self.tables[key.table].scan(key.slot)
    }

    /// A registered scan, to change. Panics if the key is not registered.
    pub fn scan_mut(&mut self, key: ScanKey) -> &mut ScanState {
        self.tables[key.table].scan_mut(key.slot)
    }

    /// All scans, those that only wait for their last pins to go included.
    pub fn scans(&self) -> impl Iterator<Item = (ScanKey, &ScanState)> {
        self.tables.iter().enumerate().flat_map(|(table, state)| {
            state.scans().map(move |(slot, scan)| (ScanKey { table: TableIndex(table), slot }, scan))
        })
    }

    /// Number of scans in the books.
    pub fn scan_count(&self) -> usize {
        self.scan_index.len()
    }

    /// Where a chunk is kept; none if it is unknown.
    pub fn locate(&self, table: TableId, chunk: ChunkId) -> Option<ChunkKey> {
        let table = *self.table_index.get(&table)?;
        Some(ChunkKey { table, position: self.tables[table].position(chunk)? })
    }

    /// The table's index, after making the version's chunks known.
    pub fn learn<V: TableShape>(&mut self, version: &V) -> TableIndex {
        let id = version.table();
        let table = match self.table_index.get(&id) {
            Some(&table) => table,
            None => {
                let table = match self.tables.iter().position(TableState::is_dead) {
                    Some(dead) => {
                        let dead = TableIndex(dead);
                        self.table_index.remove(&self.tables[dead].id);
                        self.tables[dead] = TableState::new(id);
                        dead
                    }
                    None => {
                        self.tables.push(TableState::new(id));
                        TableIndex(self.tables.len() - 1)
                    }
                };
                self.table_index.insert(id, table);
                table
            }
        };
        self.tables[table].learn(version);
        table
    }

    // ---- Scans ----

    /// Enters a scan; `scan` comes with its remaining chunks set.
    pub fn enter(&mut self, table: TableIndex, mut scan: ScanState) -> ScanKey {
        let state = &mut self.tables[table];
        let slot = Slot(state.scans.iter().position(Option::is_none).unwrap_or(state.scans.len()));
        if slot.0 == state.scans.len() {
            state.scans.push(None);
        }
        let columns: BitSet = scan.columns.iter().map(|column| usize::from(column.0)).collect();
        scan.class = state.join_class(slot, &columns);
        for column in columns.iter() {
            state.column_users[column].insert(slot.0);
        }
        self.scan_index.insert(scan.id, ScanKey { table, slot });
        let remaining = scan.remaining.clone();
        state.scans[slot.0] = Some(scan);
        let key = ScanKey { table, slot };
        self.set_interest_in(key, &remaining, Interest::Wanted);
        self.refresh_starvation(key);
        key
    }

    /// Ends a scan's interest in everything it has not been given; it is forgotten with its last pin.
    pub fn close(&mut self, key: ScanKey) {
        let scan = self.scan_mut(key);
        scan.closing = true;
        scan.waiting = 0;
        let remaining = std::mem::take(&mut scan.remaining);
        scan.remaining_count = 0;
        self.set_interest_in(key, &remaining, Interest::Done);
        self.tables[key.table].starved.remove(key.slot.0);
        self.tables[key.table].almost_starved.remove(key.slot.0);
        self.forget_if_done(key);
    }

    fn forget_if_done(&mut self, key: ScanKey) {
        let scan = self.scan(key);
        if scan.closing && scan.pins.is_empty() {
            let id = scan.id;
            self.scan_index.remove(&id);
            self.tables[key.table].leave_class(key.slot);
            self.tables[key.table].scans[key.slot.0] = None;
        }
    }

    /// Records whether a scan wants these chunks. Most are cold; the scan's own books hold nothing about those.
    fn set_interest_in(&mut self, key: ScanKey, positions: &BitSet, interest: Interest) {
        let reads_nothing = self.tables[key.table].columns_of(key.slot).is_empty();
        for position in positions.iter() {
            let chunk = &mut self.tables[key.table].chunks[position];
            if reads_nothing || !chunk.in_memory.is_empty() || !chunk.resident.is_empty() || !chunk.loading.is_empty() {
                self.set_interest(key, position, interest);
            } else {
                chunk.interested.set(key.slot.0, interest == Interest::Wanted);
            }
        }
    }

    /// Records whether a scan still wants a chunk, in the chunk's and in the scan's books.
    fn set_interest(&mut self, key: ScanKey, position: usize, interest: Interest) {
        let table = &mut self.tables[key.table];
        table.chunks[position].interested.set(key.slot.0, interest == Interest::Wanted);
        let columns = table.columns_of(key.slot).clone();
        let readiness = (interest == Interest::Wanted).then(|| table.chunks[position].readiness(&columns));
        table.scan_mut(key.slot).set_readiness(position, readiness);
        if !table.chunks[position].resident.is_empty() {
            for column in columns.iter_common(&self.tables[key.table].chunks[position].cached.clone()) {
                self.refresh_segment(ChunkKey { table: key.table, position }, column);
            }
        }
    }

    /// Brings the table's sets of starved scans up to date with a scan.
    pub fn refresh_starvation(&mut self, key: ScanKey) {
        let table = &mut self.tables[key.table];
        let Some(scan) = &table.scans[key.slot.0] else { return };
        let (starved, almost) = (!scan.closing && scan.is_starved(0), !scan.closing && scan.is_starved(1));
        table.starved.set(key.slot.0, starved);
        table.almost_starved.set(key.slot.0, almost);
    }

    // ---- Segments ----

    /// Reserves the bytes of segments that a load will bring.
    pub fn reserve(&mut self, key: ChunkKey, columns: &BitSet) {
        let chunk = &mut self.tables[key];
        self.used_bytes += chunk.bytes_of(columns);
        assert!(self.used_bytes <= self.capacity_bytes, "space is made before it is reserved (rule 1)");
        assert!(!columns.intersects(&chunk.cached) && !columns.intersects(&chunk.loading), "segments load once");
        chunk.loading.unite(columns);
        self.refresh_chunk(key);
    }

    /// A reserved segment is in memory.
    pub fn loaded(&mut self, key: ChunkKey, column: usize) {
        let stamp = self.next_stamp();
        let chunk = &mut self.tables[key];
        assert!(chunk.loading.remove(column) && chunk.cached.insert(column), "only what was reserved is loaded");
        let segment = ResidentSegment { column, pins: 0, stamp, delivered: false, evictable: false, unused: false };
        chunk.resident.push(segment);
        self.refresh_segment(key, column);
        self.refresh_chunk(key);
    }

    /// A reserved segment does not come.
    pub fn cancelled(&mut self, key: ChunkKey, column: usize) {
        let chunk = &mut self.tables[key];
        assert!(chunk.loading.remove(column), "only what was reserved is cancelled");
        self.used_bytes -= u64::from(chunk.bytes[column]);
        self.refresh_chunk(key);
    }

    /// A load of the chunk begins: until it ends, nothing of the chunk is evicted.
    pub fn begin_load(&mut self, key: ChunkKey) {
        self.tables[key].loads += 1;
        self.refresh_segments(key);
    }

    /// A load of the chunk has ended.
    pub fn end_load(&mut self, key: ChunkKey) {
        self.tables[key].loads -= 1;
        self.refresh_segments(key);
    }

    fn refresh_segments(&mut self, key: ChunkKey) {
        let columns: Vec<usize> = self.tables[key].resident.iter().map(|segment| segment.column).collect();
        for column in columns {
            self.refresh_segment(key, column);
        }
    }

    /// Evicts a segment. Panics if it is in use.
    pub fn evict(&mut self, segment: SegmentId) {
        let key = self.locate(segment.table, segment.chunk).expect("an evictable segment is known");
        let freed = self.forget_resident(key, usize::from(segment.column.0), 0);
        self.used_bytes -= freed;
        self.refresh_chunk(key);
    }

    /// Takes a segment out of the lists and out of its chunk, returning its bytes.
    fn forget_resident(&mut self, key: ChunkKey, column: usize, pins: u32) -> u64 {
        let chunk = &mut self.tables[key];
        let at = chunk.resident.iter().position(|segment| segment.column == column).expect("the segment is in memory");
        let segment = chunk.resident.swap_remove(at);
        assert!(segment.pins == pins && (pins > 0 || chunk.loads == 0), "a segment in use is not evicted (rule 2)");
        chunk.cached.remove(column);
        let bytes = u64::from(chunk.bytes[column]);
        if segment.evictable {
            self.evictable.remove(&segment.stamp);
            self.evictable_bytes -= bytes;
        }
        if segment.unused {
            self.unused.remove(&segment.stamp);
        }
        bytes
    }

    /// Lends a segment out: its pins stay with their holders, its bytes are no longer the buffer's (rule 7).
    pub fn lend(&mut self, key: ChunkKey, column: usize) -> u64 {
        let pins = self.tables[key].resident(column).expect("a lent segment is in memory").pins;
        assert!(pins > 0, "a segment without pins is evicted, not lent");
        let bytes = self.forget_resident(key, column, pins);
        self.used_bytes -= bytes;
        self.pinned_bytes -= bytes;
        self.refresh_chunk(key);
        bytes
    }

    fn next_stamp(&mut self) -> u64 {
        self.stamps += 1;
        self.stamps
    }

    /// Lists or unlists a segment among the evictable and the unused ones, as its pins and its chunk say.
    fn refresh_segment(&mut self, key: ChunkKey, column: usize) {
        let column_id = ColumnId(column as u16);
        let wanted = self.tables[key.table].is_wanted(key.position, column_id);
        let id = self.tables[key.table].id;
        let chunk = &mut self.tables[key];
        let (loads, bytes) = (chunk.loads, u64::from(chunk.bytes[column]));
        let segment_id = SegmentId { table: id, chunk: chunk.id, column: column_id };
        let Some(segment) = chunk.resident(column) else { return };
        let evictable = segment.pins == 0 && loads == 0;
        let unused = evictable && !wanted;
        if evictable != segment.evictable {
            segment.evictable = evictable;
            if evictable {
                self.evictable.insert(segment.stamp, segment_id);
                self.evictable_bytes += bytes;
            } else {
                self.evictable.remove(&segment.stamp);
                self.evictable_bytes -= bytes;
            }
        }
        if unused != segment.unused {
            segment.unused = unused;
            if unused {
                self.unused.insert(segment.stamp, segment_id);
            } else {
                self.unused.remove(&segment.stamp);
            }
        }
    }

    /// Tells every scan that wants the chunk how far it is from being ready.
    fn refresh_chunk(&mut self, key: ChunkKey) {
        let state = &self.tables[key.table];
        let chunk = &state.chunks[key.position];
        let mut changed = Vec::new();
        for class in &state.classes {
            if class.members.intersects(&chunk.interested) {
                let readiness = chunk.readiness(&class.columns);
                changed.extend(class.members.iter_common(&chunk.interested).map(|slot| (Slot(slot), readiness)));
            }
        }
        for (slot, readiness) in changed {
            if self.tables[key.table].scan_mut(slot).set_readiness(key.position, Some(readiness)) {
                self.refresh_starvation(ScanKey { table: key.table, slot });
            }
        }
    }

    // ---- Deliveries ----

    /// Gives a ready chunk to a scan: its segments are pinned, the scan no longer wants it.
    pub fn deliver(&mut self, key: ScanKey, position: usize, now_us: u64) {
        let columns = self.tables[key.table].columns_of(key.slot).clone();
        let columns = self.tables[key.table].chunks[position].to_read(&columns).into_owned();
        for column in columns.iter() {
            self.pin(ChunkKey { table: key.table, position }, column);
        }
        let table = &mut self.tables[key.table];
        let chunk = &mut table.chunks[position];
        chunk.pins += 1;
        let id = chunk.id;
        let scan = table.scan_mut(key.slot);
        assert!(scan.remaining.remove(position), "a chunk is delivered once");
        scan.remaining_count -= 1;
        scan.pins.push(Pin { chunk: id, lent: BitSet::new() });
        scan.active_us = now_us;
        scan.cursor = ChunkId(id.0.saturating_add(1));
        scan.skip_delivered();
        self.set_interest(key, position, Interest::Done);
        self.refresh_starvation(key);
    }

    fn pin(&mut self, key: ChunkKey, column: usize) {
        let stamp = self.next_stamp();
        let chunk = &mut self.tables[key];
        let bytes = u64::from(chunk.bytes[column]);
        let segment = chunk.resident(column).expect("an available chunk has all columns in memory");
        segment.pins += 1;
        if segment.pins == 1 {
            self.pinned_bytes += bytes;
        }
        if std::mem::replace(&mut segment.delivered, true) {
            self.hits += 1;
            self.hit_bytes += bytes;
        }
        self.refresh_segment(key, column);
        // Unlisted now, so the new stamp meets no list that knows the old one.
        self.tables[key].resident(column).expect("still in memory").stamp = stamp;
    }

    /// Takes a chunk back from a scan, returning which of its columns had been lent; none if it was not given.
    pub fn release(&mut self, key: ScanKey, chunk: ChunkId, now_us: u64) -> Option<BitSet> {
        let scan = self.scan_mut(key);
        let at = scan.pins.iter().position(|pin| pin.chunk == chunk)?;
        let pin = scan.pins.swap_remove(at);
        scan.active_us = now_us;
        let position = self.tables[key.table].position(chunk).expect("a pinned chunk is not forgotten");
        self.tables[key.table].chunks[position].pins -= 1;
        let columns = self.tables[key.table].columns_of(key.slot).clone();
        let columns = self.tables[key.table].chunks[position].to_read(&columns).into_owned();
        for column in columns.iter().filter(|&column| !pin.lent.contains(column)) {
            self.unpin(ChunkKey { table: key.table, position }, column);
        }
        self.refresh_starvation(key);
        self.forget_if_done(key);
        Some(pin.lent)
    }

    fn unpin(&mut self, key: ChunkKey, column: usize) {
        let stamp = self.next_stamp();
        let chunk = &mut self.tables[key];
        let bytes = u64::from(chunk.bytes[column]);
        let segment = chunk.resident(column).expect("a pinned segment stays in memory");
        segment.pins -= 1;
        if segment.pins == 0 {
            segment.stamp = stamp;
            self.pinned_bytes -= bytes;
        }
        self.refresh_segment(key, column);
    }

    /// The scan wants a chunk again that it had been given: its consumer had gone.
    pub fn want_again(&mut self, key: ScanKey, chunk: ChunkId) {
        let position = self.tables[key.table].position(chunk).expect("a pinned chunk is not forgotten");
        let scan = self.scan_mut(key);
        if scan.remaining.insert(position) {
            scan.remaining_count += 1;
        }
        if let Some(order) = &scan.order {
            scan.order_head = order.iter().position(|&at| at == position).unwrap_or(0).min(scan.order_head);
        }
        self.set_interest(key, position, Interest::Wanted);
        self.refresh_starvation(key);
    }
}
