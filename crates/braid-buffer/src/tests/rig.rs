//! A buffer that a test moves by hand, with a log of what it decides.

use std::collections::VecDeque;

use braid_base::{ChunkId, ColumnId, ScanId, TableId};

use crate::active_buffer_manager::{Actions, ActiveBufferManager};
use crate::loads::LoadRequest;
use crate::scan_policy::ScanPolicy;
use crate::simulation::table::SimulatedTable;
use crate::statistics::BufferStats;
use crate::table_shape::{ScanDemand, TableShape};

type Content = (ChunkId, ColumnId);

/// The buffer, the reads under way (oldest first), and the log.
pub struct Rig {
    pub buffer: ActiveBufferManager<SimulatedTable, Content>,
    pub loads: VecDeque<LoadRequest<SimulatedTable>>,
    pub now_us: u64,
    pub retry_at_us: Option<u64>,
    /// Whether the books are recomputed after every event; statistical tests do without.
    pub is_checked: bool,
    log: Vec<String>,
}

/// A table of equal chunks, identities from 0.
pub fn table(id: u32, chunk_count: usize, column_bytes: &[u32]) -> SimulatedTable {
    SimulatedTable::uniform(TableId(id), chunk_count, column_bytes)
}

/// One mebibyte: large enough that a scan has one chunk ahead after two of them, as with the paper's chunks.
pub const MB: u32 = 1 << 20;

impl Rig {
    /// One read at a time.
    pub fn new(policy: ScanPolicy, capacity_bytes: u64) -> Self {
        Self::with_loads(policy, capacity_bytes, 1)
    }

    pub fn with_loads(policy: ScanPolicy, capacity_bytes: u64, loads_in_flight_max: usize) -> Self {
        Self {
            buffer: ActiveBufferManager::new(capacity_bytes, loads_in_flight_max, policy),
            loads: VecDeque::new(),
            now_us: 0,
            retry_at_us: None,
            is_checked: true,
            log: Vec::new(),
        }
    }

    pub fn scan(&mut self, table: &SimulatedTable, chunks: std::ops::Range<usize>, columns: &[u16]) -> ScanId {
        self.demand(table, chunks.collect(), columns, false)
    }

    pub fn demand(&mut self, table: &SimulatedTable, chunks: Vec<usize>, columns: &[u16], in_order: bool) -> ScanId {
        let columns = columns.iter().copied().map(ColumnId).collect();
        self.buffer.register(table.clone(), ScanDemand { chunks, columns, in_order }, self.now_us).unwrap()
    }

    pub fn ask(&mut self, scan: ScanId) {
        let actions = self.buffer.next_wanted(scan, self.now_us);
        self.apply(actions);
    }

    pub fn consume(&mut self, scan: ScanId, chunk: u32) {
        let actions = self.buffer.consumed(scan, ChunkId(chunk), self.now_us);
        self.apply(actions);
    }

    /// The consumer of `chunk` is done with it and asks for the next.
    pub fn go_on(&mut self, scan: ScanId, chunk: u32) {
        self.consume(scan, chunk);
        self.ask(scan);
    }

    pub fn give_back(&mut self, scan: ScanId, chunk: u32) {
        let actions = self.buffer.returned(scan, ChunkId(chunk), self.now_us);
        self.apply(actions);
    }

    pub fn unregister(&mut self, scan: ScanId) {
        let actions = self.buffer.unregister(scan, self.now_us);
        self.apply(actions);
    }

    pub fn set_policy(&mut self, policy: ScanPolicy) {
        let actions = self.buffer.set_policy(policy, self.now_us);
        self.apply(actions);
    }

    pub fn tick(&mut self) {
        let actions = self.buffer.tick(self.now_us);
        self.apply(actions);
    }

    /// The oldest read succeeds.
    pub fn finish(&mut self) {
        self.end_load(&[]);
    }

    /// The oldest read fails for these columns.
    pub fn end_load(&mut self, failed: &[u16]) {
        let load = self.loads.pop_front().expect("a read is under way");
        let chunk = load.version.chunk_id(load.chunk);
        let content = |column: ColumnId| (!failed.contains(&column.0)).then_some((chunk, column));
        let contents = load.segments.iter().map(|(column, _)| content(*column)).collect();
        let actions = self.buffer.load_finished(load.id, contents, self.now_us);
        self.apply(actions);
    }

    /// All reads succeed, those that follow from them included.
    pub fn finish_all(&mut self) {
        while !self.loads.is_empty() {
            self.finish();
        }
    }

    /// A chunk that the scan holds.
    pub fn held(&self, scan: ScanId) -> Option<u32> {
        let books = self.buffer.books();
        books.scan(books.key(scan)?).pins.first().map(|pin| pin.chunk.0)
    }

    /// What has been decided since the last call: `s0<k1` a delivery, `+k1[0,2]` a read, `-k1/0` an eviction.
    pub fn log(&mut self) -> String {
        std::mem::take(&mut self.log).join(" ")
    }

    pub fn stats(&self) -> BufferStats {
        self.buffer.stats()
    }

    pub fn apply(&mut self, actions: Actions<SimulatedTable, Content>) {
        for (chunk, column) in actions.evicted {
            self.log.push(format!("-{chunk}/{}", column.0));
        }
        for load in actions.loads {
            let columns: Vec<String> = load.segments.iter().map(|(column, _)| column.0.to_string()).collect();
            self.log.push(format!("+{}[{}]", load.version.chunk_id(load.chunk), columns.join(",")));
            self.loads.push_back(load);
        }
        for delivery in actions.deliveries {
            self.log.push(format!("{}<{}", delivery.scan, delivery.chunk));
        }
        self.log.extend(actions.ended.iter().map(|scan| format!("{scan} ends")));
        self.log.extend(actions.failed.iter().map(|(scan, column)| format!("{scan} fails at {}", column.0)));
        self.retry_at_us = actions.retry_at_us;
        if self.is_checked {
            self.buffer.books().check();
        }
    }
}
