//! `elevator`: one cursor per table reads for all scans, in table order (Cooperative Scans, section 3).
//!
//! The fewest reads of all policies, and the worst latency: what has been read stays until every scan that wants it
//! has taken it, so the cursor moves at the speed of the slowest scan, and a scan of a short range waits for the
//! cursor to come by. Scans that have stopped pulling altogether (dormant ones) are not waited for.

use braid_base::{ChunkId, ScanId, SegmentId};

use crate::bit_set::BitSet;
use crate::buffer_state::BufferState;
use crate::eviction::least_recently_used;
use crate::keys::{ScanKey, Slot, TableIndex};
use crate::policy::{LoadChoice, Policy, SpaceRequest};
use crate::scan_state::ScanState;
use crate::sequence;

/// The policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elevator;

impl Policy for Elevator {
    /// The first ready chunk from where the scan stands, going round.
    fn choose_available(&self, state: &BufferState, scan: ScanKey) -> Option<usize> {
        let (table, scan_state) = (&state.tables[scan.table], state.scan(scan));
        if scan_state.order.is_some() {
            return sequence::next_if_available(state, scan, sequence::Start::First);
        }
        scan_state.available.next_around(table.position_from(scan_state.cursor))
    }

    /// The table whose starving scan was served least recently, and there the chunk at the cursor.
    fn choose_load(&self, state: &BufferState, now_us: u64, refused: &[ScanId]) -> Option<LoadChoice> {
        let pulling = |scan: &ScanState| scan.is_active() && !scan.is_dormant(now_us);
        let tables = state.tables.iter().enumerate().filter_map(|(index, table)| {
            let starving = table.starved.iter().map(|slot| table.scan(Slot(slot))).filter(|scan| pulling(scan));
            let turn = starving.map(|scan| (!scan.is_uncovered(), scan.served)).min()?;
            let at_rest = table.scans().any(|(_, scan)| refused.contains(&scan.id));
            (!at_rest).then_some((turn, TableIndex(index)))
        });
        let mut turns: Vec<_> = tables.collect();
        turns.sort_unstable();
        turns.into_iter().find_map(|(_, index)| at_the_cursor(state, index, now_us))
    }

    /// What no scan counts on, least recently used first.
    fn choose_victims(&self, state: &BufferState, request: SpaceRequest<'_>) -> Option<Vec<SegmentId>> {
        least_recently_used(state, &request, |key| {
            let table = &state.tables[key.table];
            let mut interested = state.tables[key].interested.iter().map(|slot| table.scan(Slot(slot)));
            interested.any(|scan| !scan.is_dormant(request.now_us) && scan.counts_on(key.position))
        })
    }

    fn load_begun(&self, state: &mut BufferState, load: &LoadChoice) {
        let table = &mut state.tables[load.scan.table];
        table.cursor = ChunkId(table.chunks[load.position].id.0.saturating_add(1));
    }
}

/// The next chunk from the cursor on that a pulling scan needs read, with the columns of all scans interested in it, as
/// far as they fit the buffer together.
fn at_the_cursor(state: &BufferState, index: TableIndex, now_us: u64) -> Option<LoadChoice> {
    let table = &state.tables[index];
    let cursor = table.position_from(table.cursor);
    let pulling = table.scans().filter(|(_, scan)| scan.is_active() && !scan.is_dormant(now_us));
    let nearest = pulling.filter_map(|(slot, scan)| {
        let position = next_needed(scan, cursor)?;
        Some(((position < cursor, position), !scan.is_uncovered(), slot))
    });
    let ((_, position), covered, slot) = nearest.min()?;
    let chunk = &table.chunks[position];
    let mut columns = table.columns_of(slot).as_ref().clone();
    for other in chunk.interested.iter().map(Slot).filter(|&other| table.scan(other).is_cold(position)) {
        let mut union: BitSet = columns.clone();
        union.unite(table.columns_of(other));
        if chunk.bytes_of(&union) <= state.capacity_bytes {
            columns = union;
        }
    }
    // All or nothing: a scan whose columns were left out would have to wait for the cursor to come round again.
    let least_columns = columns.clone();
    Some(LoadChoice { scan: ScanKey { table: index, slot }, position, columns, least_columns, urgent: !covered })
}

/// The first chunk from the cursor on, going round, that must be read for the scan. A scan in order only needs the one
/// that extends what it has ready.
fn next_needed(scan: &ScanState, cursor: usize) -> Option<usize> {
    match scan.order {
        Some(_) => scan.in_order().find(|&position| !scan.counts_on(position)).filter(|&at| scan.is_cold(at)),
        None => scan.next_cold_from(cursor).or_else(|| scan.next_cold_from(0)),
    }
}
