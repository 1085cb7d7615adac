//! Scans that take their chunks in a fixed sequence: all of `normal` and `attach`, and scans in order under any policy.
//!
//! Each such scan reads a little ahead of itself and nothing else; scans are served round robin, those with a waiting
//! consumer first. There is no sharing but by luck: a chunk that another scan brought in may still be there.

use std::collections::HashSet;

use braid_base::{ScanId, SegmentId};

use crate::buffer_state::BufferState;
use crate::eviction::least_recently_used;
use crate::keys::{ChunkKey, ScanKey};
use crate::policy::{LoadChoice, SpaceRequest};
use crate::scan_state::ScanState;
use crate::table_state::TableState;

/// Where the sequence of a scan that is not in order starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// At its first remaining chunk.
    First,
    /// At its cursor, going round to the first after the last.
    Cursor,
}

/// The positions that remain to the scan, in its sequence.
fn sequence<'a>(table: &TableState, scan: &'a ScanState, start: Start) -> impl Iterator<Item = usize> + 'a {
    let from = if start == Start::Cursor { table.position_from(scan.cursor) } else { 0 };
    let is_free = scan.order.is_none();
    let around = scan.remaining.iter_from(from).chain(scan.remaining.iter().take_while(move |&at| at < from));
    scan.in_order().chain(around.filter(move |_| is_free))
}

/// The next chunk of the sequence, if it is ready.
pub(crate) fn next_if_available(state: &BufferState, key: ScanKey, start: Start) -> Option<usize> {
    let scan = state.scan(key);
    let next = sequence(&state.tables[key.table], scan, start).next()?;
    scan.available.contains(next).then_some(next)
}

/// The first chunk within the scan's reach that is neither ready nor on its way, and whether a consumer waits for it.
///
/// Its reach is what its waiting consumers want and what it should have ahead of those.
pub(crate) fn next_to_load(state: &BufferState, key: ScanKey, start: Start) -> Option<(usize, bool)> {
    let scan = state.scan(key);
    let reach = scan.waiting + scan.ahead_chunks - usize::from(scan.waiting > 0);
    let ahead = sequence(&state.tables[key.table], scan, start).take(reach).enumerate();
    ahead.into_iter().find(|(_, at)| scan.is_cold(*at)).map(|(index, at)| (at, index < scan.waiting))
}

/// The load of the scan that was served least recently, waiting scans first, and what a consumer waits for before
/// what is for later.
pub(crate) fn choose_load(state: &BufferState, now_us: u64, refused: &[ScanId], start: Start) -> Option<LoadChoice> {
    let pulling = |scan: &ScanState| scan.is_active() && !scan.is_dormant(now_us) && !refused.contains(&scan.id);
    let turns = state.scans().filter(|(_, scan)| pulling(scan));
    let mut turns: Vec<_> = turns.map(|(key, scan)| (scan.waiting == 0, scan.served, key)).collect();
    turns.sort_unstable();
    let mut for_later = None;
    for (not_waiting, _, scan) in turns {
        if not_waiting && for_later.is_some() {
            break;
        }
        if let Some((position, urgent)) = next_to_load(state, scan, start) {
            let columns = || state.tables[scan.table].columns_of(scan.slot).as_ref().clone();
            let load = || LoadChoice { scan, position, columns: columns(), least_columns: columns(), urgent };
            if urgent {
                return Some(load());
            }
            for_later.get_or_insert_with(load);
        }
    }
    for_later
}

/// LRU. A load for later passes over what other scans have ready next (rule 3).
pub(crate) fn choose_victims(state: &BufferState, request: SpaceRequest<'_>, start: Start) -> Option<Vec<SegmentId>> {
    if request.load.urgent {
        return least_recently_used(state, &request, |_| false);
    }
    let pulling = state.scans().filter(|(_, scan)| scan.is_active() && !scan.is_dormant(request.now_us));
    let next: HashSet<ChunkKey> = pulling
        .flat_map(|(key, scan)| {
            let ahead = sequence(&state.tables[key.table], scan, start).take(scan.ahead_chunks);
            ahead.filter(|&at| scan.available.contains(at)).map(move |position| ChunkKey { table: key.table, position })
        })
        .collect();
    least_recently_used(state, &request, |chunk| next.contains(&chunk))
}
