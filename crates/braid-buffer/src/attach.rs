//! `attach`: circular scans. A new scan starts where the scan it overlaps most with is, and wraps around
//! (Cooperative Scans, section 3; columns weighted by their bytes as section 6.2 proposes).
//!
//! It shares well as long as the two move at one speed over one range. A faster scan runs away ("detaches"), and a
//! scan whose partner finishes does not look for another: both are the policy's nature, not to be mended here.

use braid_base::{ChunkId, ScanId, SegmentId};

use crate::buffer_state::BufferState;
use crate::keys::{ScanKey, Slot};
use crate::policy::{LoadChoice, Policy, SpaceRequest};
use crate::scan_state::ScanState;
use crate::sequence::{self, Start};
use crate::table_state::TableState;

/// The policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attach;

impl Policy for Attach {
    fn registered(&self, state: &mut BufferState, scan: ScanKey) {
        let table = &state.tables[scan.table];
        let others = table.scans().filter(|&(slot, other)| slot != scan.slot && !other.closing);
        let overlaps = others.map(|(slot, other)| (overlap_bytes(table, scan.slot, slot), other));
        let largest = overlaps.max_by_key(|&(bytes, other)| (bytes, std::cmp::Reverse(other.id)));
        if let Some((bytes, other)) = largest
            && bytes > 0
        {
            let start = current_chunk(other);
            state.scan_mut(scan).cursor = start;
        }
    }

    fn choose_available(&self, state: &BufferState, scan: ScanKey) -> Option<usize> {
        sequence::next_if_available(state, scan, Start::Cursor)
    }

    fn choose_load(&self, state: &BufferState, now_us: u64, refused: &[ScanId]) -> Option<LoadChoice> {
        sequence::choose_load(state, now_us, refused, Start::Cursor)
    }

    fn choose_victims(&self, state: &BufferState, request: SpaceRequest<'_>) -> Option<Vec<SegmentId>> {
        sequence::choose_victims(state, request, Start::Cursor)
    }
}

/// The chunk a scan is at: the one it was given last, for that one is still in memory.
fn current_chunk(scan: &ScanState) -> ChunkId {
    scan.pins.last().map_or(scan.cursor, |pin| pin.chunk)
}

/// Bytes that the scans in two slots both still have to read: the chunks in common, times the average size of the
/// columns in common.
fn overlap_bytes(table: &TableState, slot: Slot, other: Slot) -> u64 {
    let chunks = table.scan(slot).remaining.count_common(&table.scan(other).remaining) as u64;
    let columns = table.columns_of(slot).iter_common(table.columns_of(other));
    chunks * columns.map(|column| table.column_bytes_mean(column)).sum::<u64>()
}
