//! What the buffer knows of one registered scan: the chunks it still needs, how many of them are ready, and whether
//! its consumers wait.
//!
//! Starvation (Cooperative Scans, figure 3) is "fewer than two available chunks, the one being processed included".
//! Two generalisations, each equal to the paper's rule for one consumer and the paper's 16 MB chunks:
//! - a scan with n consumers processes n chunks at once, so it starves below n + 1;
//! - chunks of a few narrow columns are small, and two of them do not keep a disk busy, so "one ahead" becomes as many
//!   as make up [`AHEAD_BYTES`].
//!
//! Since the buffer keeps several reads in flight, a chunk on its way counts as available.

use braid_base::{ChunkId, ColumnId, ScanId};

use crate::bit_set::BitSet;
use crate::chunk_state::Readiness;

/// Bytes a scan should have ready or on their way beyond what it processes, so that a disk of 2 GB/s with 1 ms to
/// answer never runs dry: 2 GB/s * 1 ms = 2 MB.
pub(crate) const AHEAD_BYTES: u64 = 2 << 20;

/// Most chunks a scan has ahead, however small they are.
pub(crate) const AHEAD_CHUNKS_MAX: usize = 32;

/// A scan that neither waits nor processes a chunk for this long is dormant: it was announced but no consumer pulls (the
/// probe side of a join whose build side still runs). 20 ms is far above the time between two pulls of a running scan.
pub(crate) const IDLE_US_MAX: u64 = 20_000;

/// A scan that holds a chunk without asking for another for this long is dormant too: its client has stopped reading.
pub(crate) const HOLD_US_MAX: u64 = 2_000_000;

/// A chunk that a scan has been given and has not consumed.
#[derive(Clone, Debug)]
pub(crate) struct Pin {
    /// The chunk.
    pub chunk: ChunkId,
    /// Columns whose segments were lent: they are no longer the buffer's (rule 7).
    pub lent: BitSet,
}

/// A registered scan.
#[derive(Clone, Debug)]
pub(crate) struct ScanState {
    /// Identity.
    pub id: ScanId,
    /// Columns, in the order in which they are delivered.
    pub columns: Vec<ColumnId>,
    /// Index of the scan's column class in its table.
    pub class: usize,
    /// For a scan in order: the positions of its chunks.
    pub order: Option<Vec<usize>>,
    /// Every chunk before this index of `order` has been delivered.
    pub order_head: usize,
    /// Positions not delivered yet.
    pub remaining: BitSet,
    /// Members of `remaining`.
    pub remaining_count: usize,
    /// Of the remaining, those whose columns are all in memory.
    pub available: BitSet,
    /// Members of `available`.
    pub available_count: usize,
    /// Of the remaining, those whose columns are all in memory or on their way, but not all in memory.
    pub coming: BitSet,
    /// Members of `coming`.
    pub coming_count: usize,
    /// Chunks delivered and not consumed.
    pub pins: Vec<Pin>,
    /// Consumers that wait for a chunk.
    pub waiting: usize,
    /// Since when a consumer has waited.
    pub waiting_since_us: u64,
    /// When the scan last asked for, got or consumed a chunk.
    pub active_us: u64,
    /// Where a circular scan goes on: it takes the first remaining chunk from here.
    pub cursor: ChunkId,
    /// Chunks to have ahead of those in processing, at least 1: see the head of this file.
    pub ahead_chunks: usize,
    /// When a load was last issued for it, in loads of the whole buffer.
    pub served: u64,
    /// How often another scan was given space while this one was refused it (rule 4).
    pub passed_over: u32,
    /// Whether it has been unregistered and only lives on until its pins are gone.
    pub closing: bool,
}

impl ScanState {
    /// A scan of `columns` over the chunks at `remaining`, in any order, before its first consumer asks.
    pub fn new(id: ScanId, columns: Vec<ColumnId>, remaining: BitSet) -> Self {
        Self {
            id,
            columns,
            class: 0,
            order: None,
            order_head: 0,
            remaining_count: remaining.count(),
            remaining,
            available: BitSet::new(),
            available_count: 0,
            coming: BitSet::new(),
            coming_count: 0,
            pins: Vec::new(),
            waiting: 0,
            waiting_since_us: 0,
            active_us: 0,
            cursor: ChunkId(0),
            ahead_chunks: 1,
            served: 0,
            passed_over: 0,
            closing: false,
        }
    }

    /// Chunks that are being processed or asked for: the scan's degree of parallelism at this moment, at least 1.
    fn lanes(&self) -> usize {
        (self.pins.len() + self.waiting).max(1)
    }

    /// Chunks the scan can count on, at most `limit` beyond those being processed: `numberOfAvailableChunks`.
    fn supply(&self, limit: usize) -> usize {
        let counted = |position: usize| self.available.contains(position) || self.coming.contains(position);
        let ahead = match &self.order {
            None => self.available_count + self.coming_count,
            Some(_) => self.in_order().take(limit).take_while(|&position| counted(position)).count(),
        };
        self.pins.len() + ahead
    }

    /// `queryStarved` of figure 3, with `slack` 1 for "on the border of starvation".
    pub fn is_starved(&self, slack: usize) -> bool {
        let enough = self.lanes() + self.ahead_chunks + slack;
        self.supply(enough) < enough
    }

    /// Whether a consumer waits for which no chunk is on its way. For a scan in order only its next chunks count.
    pub fn is_uncovered(&self) -> bool {
        self.waiting > 0 && self.supply(self.waiting) - self.pins.len() < self.waiting
    }

    /// Whether a consumer works on or waits for this scan's chunks.
    pub fn is_active(&self) -> bool {
        !self.closing && (self.waiting > 0 || !self.pins.is_empty())
    }

    /// Whether the scan has stopped pulling: its expectations no longer bind the buffer.
    pub fn is_dormant(&self, now_us: u64) -> bool {
        let patience_us = if self.pins.is_empty() { IDLE_US_MAX } else { HOLD_US_MAX };
        self.waiting == 0 && now_us.saturating_sub(self.active_us) >= patience_us
    }

    /// The remaining chunks of a scan in order, next one first; nothing for other scans.
    pub fn in_order(&self) -> impl Iterator<Item = usize> + '_ {
        let order = self.order.as_deref().unwrap_or_default();
        order[self.order_head.min(order.len())..].iter().copied().filter(|&position| self.remaining.contains(position))
    }

    /// Whether the chunk is ready and, for a scan in order, among the next the scan will take.
    pub fn counts_on(&self, position: usize) -> bool {
        let ahead = self.lanes() + self.ahead_chunks;
        self.available.contains(position)
            && (self.order.is_none()
                || self.in_order().take(ahead).take_while(|&at| self.available.contains(at)).any(|at| at == position))
    }

    /// Records how far a remaining chunk is from being ready, nothing if it is no longer wanted. True if that changed
    /// what the scan can count on.
    pub fn set_readiness(&mut self, position: usize, readiness: Option<Readiness>) -> bool {
        let available = readiness == Some(Readiness::Available);
        let coming = readiness == Some(Readiness::Coming);
        let became_available = self.available.set(position, available);
        let became_coming = self.coming.set(position, coming);
        match (became_available, available) {
            (true, true) => self.available_count += 1,
            (true, false) => self.available_count -= 1,
            _ => {}
        }
        match (became_coming, coming) {
            (true, true) => self.coming_count += 1,
            (true, false) => self.coming_count -= 1,
            _ => {}
        }
        became_available || became_coming
    }

    /// Moves the head of the order over what has been delivered.
    pub fn skip_delivered(&mut self) {
        let Some(order) = &self.order else { return };
        while order.get(self.order_head).is_some_and(|&position| !self.remaining.contains(position)) {
            self.order_head += 1;
        }
    }

    /// Whether something remains that is neither ready nor on its way.
    pub fn has_cold(&self) -> bool {
        self.remaining_count > self.available_count + self.coming_count
    }

    /// The first remaining position from `from` on that is neither ready nor on its way.
    pub fn next_cold_from(&self, from: usize) -> Option<usize> {
        self.remaining.next_from_without(from, &self.available, &self.coming)
    }

    /// Whether the chunk remains and is neither ready nor on its way.
    pub fn is_cold(&self, position: usize) -> bool {
        self.remaining.contains(position) && !self.available.contains(position) && !self.coming.contains(position)
    }
}
