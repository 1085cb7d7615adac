//! Lending (rule 7 of the Active Buffer Manager): clients that stop reading must not stop the others.
//!
//! A cursor that is not fetched from, a client that went to lunch: its scan holds chunks, and enough of them hold the
//! whole buffer. What only such dormant scans pin is taken off the books. The memory lives on with its holders, who
//! notice nothing; the next scan that wants the segment reads it again. At most one capacity is lent at a time, so the
//! process uses at most twice the buffer's size, and the gauge `lent_bytes` says how much of that.

use std::collections::HashMap;

use braid_base::{ChunkId, ColumnId, ScanId, SegmentId, TableId};

use crate::active_buffer_manager::ActiveBufferManager;
use crate::keys::ScanKey;
use crate::table_shape::TableShape;

impl<V: TableShape, C: Clone> ActiveBufferManager<V, C> {
    /// Lends at least `bytes` of what only dormant scans pin (rule 7); false, with nothing lent, if that cannot be.
    pub(crate) fn lend(&mut self, bytes: u64, now_us: u64) -> bool {
        let mut holders: HashMap<(TableId, ChunkId, usize), Vec<ScanKey>> = HashMap::new();
        for (key, scan) in self.state.scans().filter(|(_, scan)| scan.is_dormant(now_us)) {
            let table = &self.state.tables[key.table];
            for pin in &scan.pins {
                for column in table.columns_of(key.slot).iter().filter(|&column| !pin.lent.contains(column)) {
                    holders.entry((table.id, pin.chunk, column)).or_default().push(key);
                }
            }
        }
        let located = |table, chunk| self.state.locate(table, chunk).expect("a pinned chunk is not forgotten");
        let mut lendable: Vec<(TableId, ChunkId, usize, u64, Vec<ScanKey>)> = Vec::new();
        for ((table, chunk, column), keys) in holders {
            let state = &self.state.tables[located(table, chunk)];
            let pins = state.resident.iter().find(|segment| segment.column == column).map_or(0, |s| s.pins as usize);
            if pins == keys.len() && state.loads == 0 {
                lendable.push((table, chunk, column, u64::from(state.bytes[column]), keys));
            }
        }
        lendable.sort_by_key(|(table, chunk, column, ..)| (*table, *chunk, *column));
        let total: u64 = lendable.iter().map(|(_, _, _, bytes, _)| bytes).sum();
        if total < bytes || self.lent.values().sum::<u64>() + bytes > self.state.capacity_bytes {
            return false;
        }
        let mut lent = 0;
        for (table, chunk, column, segment_bytes, keys) in lendable {
            if lent >= bytes {
                break;
            }
            let key = self.state.locate(table, chunk).expect("a pinned chunk is not forgotten");
            self.state.lend(key, column);
            lent += segment_bytes;
            let segment = SegmentId { table, chunk, column: ColumnId(column as u16) };
            self.contents.remove(&segment);
            for (at, key) in keys.into_iter().enumerate() {
                let scan = self.state.scan_mut(key);
                let pin = scan.pins.iter_mut().find(|pin| pin.chunk == chunk).expect("the scan holds the chunk");
                pin.lent.insert(column);
                // The memory is counted once, with its first holder.
                self.lent.insert((segment, scan.id), if at == 0 { segment_bytes } else { 0 });
            }
        }
        true
    }

    /// A holder of a lent segment lets go of it. The bytes are counted once, so another holder takes them over.
    pub(crate) fn end_loan(&mut self, segment: SegmentId, scan: ScanId) {
        let bytes = self.lent.remove(&(segment, scan)).unwrap_or(0);
        if bytes > 0
            && let Some(heir) = self.lent.iter_mut().find(|((id, _), counted)| *id == segment && **counted == 0)
        {
            *heir.1 = bytes;
        }
    }
}
