//! `relevance`: every delivery, read and eviction is the most relevant one at that moment (Cooperative Scans, figure 3
//! for the algorithm, figure 11 for the relevance functions over columns).
//!
//! The names are the paper's, so that this file can be read beside it. What is done beyond the pseudo code, and why:
//!
//! - *Ties.* Where figure 11 gives equal scores, figure 3's second term decides: more interested scans are worth more.
//! - *Chunks on their way.* The paper loads one chunk at a time. With several loads in flight a chunk that is being
//!   loaded counts as available (`scan_state.rs`), and it is neither loaded nor evicted again.
//! - *Avoiding data waste* (section 6.2). Choosing a load marks what is already in memory of the chunk as used: see
//!   rule 2 of `active_buffer_manager.rs`.
//! - *Who may evict what.* Figure 3 protects the chunks of starved queries. A load that no consumer waits for yet must not
//!   starve another scan either, or two scans would read ahead at each other's cost for ever (rule 3).
//!
//! Cost of a decision, with S scans, K column classes, N chunks remaining to the query, M chunks in memory: choosing a
//! query S, a chunk to load N * (S / 64 + K), a chunk to use M * (S / 64), a victim M * (S / 64 + K). N and M are cut
//! off at the constants below, so that the cost stays bounded on tables and buffers of any size; up to these sizes the
//! decisions are the paper's exactly.

use std::cmp::Ordering;
use std::collections::HashSet;

use braid_base::{ColumnId, ScanId, SegmentId};

use crate::buffer_state::BufferState;
use crate::eviction::Victims;
use crate::keys::{ChunkKey, ScanKey, Slot};
use crate::policy::{LoadChoice, Policy, SpaceRequest};
use crate::scan_state::ScanState;
use crate::sequence::{self, Start};
use crate::table_state::TableState;

/// Most chunks compared to choose one to load, from where the query stands. The paper's largest experiment has 2048.
const LOAD_CANDIDATES_MAX: usize = 2048;

/// Most ready chunks compared to choose one to use: four times the paper's whole buffer.
const USE_CANDIDATES_MAX: usize = 256;

/// Most segments looked at to choose victims, least recently used first: 128 chunks of eight columns.
const VICTIM_CANDIDATES_MAX: usize = 1024;

/// The policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relevance;

impl Policy for Relevance {
    /// `chooseAvailableChunk`.
    fn choose_available(&self, state: &BufferState, trigger: ScanKey) -> Option<usize> {
        let (table, scan) = (&state.tables[trigger.table], state.scan(trigger));
        if scan.order.is_some() {
            return sequence::next_if_available(state, trigger, Start::First);
        }
        let ready = scan.available.iter().take(USE_CANDIDATES_MAX);
        most_relevant(ready, |chunk| use_relevance(table, chunk, trigger.slot))
    }

    /// `chooseQueryToProcess`, then `chooseChunkToLoad`.
    fn choose_load(&self, state: &BufferState, now_us: u64, refused: &[ScanId]) -> Option<LoadChoice> {
        let running = state.scans().filter(|(_, scan)| scan.is_active()).count();
        let candidates = state.scans().filter(|(_, scan)| {
            scan.is_active() && !scan.is_dormant(now_us) && scan.has_cold() && !refused.contains(&scan.id)
        });
        let mut queries: Vec<(f64, ScanKey)> = candidates
            .filter_map(|(key, scan)| Some((query_relevance(state, key, scan, running, now_us)?, key)))
            .collect();
        while let Some(most) = (0..queries.len()).max_by(|&a, &b| queries[a].0.total_cmp(&queries[b].0)) {
            // A query in order may have nothing to load right now although it is starved.
            let (_, trigger) = queries.swap_remove(most);
            if let Some(load) = choose_chunk_to_load(state, trigger) {
                return Some(load);
            }
        }
        None
    }

    /// `findFreeSlot`, iterated until there is room (section 6.2): first the columns that no query wants, then the
    /// least relevant chunks.
    fn choose_victims(&self, state: &BufferState, request: SpaceRequest<'_>) -> Option<Vec<SegmentId>> {
        let mut victims = Victims::for_request(state, &request);
        victims.add_from(state.unused.values().copied());
        if victims.are_enough() {
            return victims.finish();
        }
        let mut seen = HashSet::new();
        let mut chunks: Vec<(f64, usize, u64, ChunkKey)> = Vec::new();
        for (&stamp, segment) in state.evictable.iter().take(VICTIM_CANDIDATES_MAX) {
            let located = state.locate(segment.table, segment.chunk);
            let key = located.expect("an evictable segment is known");
            if seen.insert(key) && may_evict(state, key, &request) {
                let interested = state.tables[key].interested.count();
                let relevance = keep_relevance(&state.tables[key.table], key.position);
                chunks.push((relevance, interested, stamp, key));
            }
        }
        chunks.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        for (_, _, _, key) in chunks {
            if victims.are_enough() {
                break;
            }
            let table = &state.tables[key.table];
            let resident = state.tables[key].resident.iter();
            for segment in resident.filter(|segment| segment.evictable && !segment.unused) {
                victims.add(table.segment_id(key.position, ColumnId(segment.column as u16)));
            }
        }
        victims.finish()
    }
}

/// `chooseChunkToLoad`: the most relevant chunk of those the query is interested in that are not ready; with it, the
/// columns of all the starved queries that were counted.
fn choose_chunk_to_load(state: &BufferState, trigger: ScanKey) -> Option<LoadChoice> {
    let (table, scan) = (&state.tables[trigger.table], state.scan(trigger));
    let chosen = if scan.order.is_some() {
        sequence::next_to_load(state, trigger, Start::First).map(|(position, _)| position)
    } else {
        let cold_from =
            |from: usize| std::iter::successors(scan.next_cold_from(from), |&at| scan.next_cold_from(at + 1));
        let from = if scan.remaining_count > LOAD_CANDIDATES_MAX { table.position_from(scan.cursor) } else { 0 };
        let around = cold_from(from).chain(cold_from(0).take_while(move |&at| at < from));
        most_relevant(around.take(LOAD_CANDIDATES_MAX), |chunk| load_relevance(table, chunk, trigger.slot))
    };
    let position = chosen?;
    let queries = [&table.starved, table.overlapping(trigger.slot)];
    let least_columns = table.columns_of(trigger.slot).as_ref().clone();
    let mut columns = table.columns_used(position, queries);
    columns.unite(&least_columns);
    Some(LoadChoice { scan: trigger, position, columns, least_columns, urgent: scan.is_uncovered() })
}

/// `queryRelevance`: none, standing for minus infinity, if the query is not starved; else short queries first, and the
/// longer one has waited the sooner. The paper leaves the unit of waiting open; here it is milliseconds: among 16
/// queries one that waits for a second overtakes one that needs 62 chunks less.
pub(crate) fn query_relevance(
    state: &BufferState,
    key: ScanKey,
    scan: &ScanState,
    running: usize,
    now_us: u64,
) -> Option<f64> {
    if !state.tables[key.table].starved.contains(key.slot.0) {
        return None;
    }
    let chunks_needed = scan.remaining_count as f64;
    let waiting_us = if scan.waiting > 0 { now_us.saturating_sub(scan.waiting_since_us) } else { 0 };
    let waiting_time = waiting_us as f64 / 1000.0;
    Some(-chunks_needed + waiting_time / running as f64)
}

/// `useRelevance`: chunks that take much space for few queries are used first, so that they can be evicted.
pub(crate) fn use_relevance(table: &TableState, chunk: usize, trigger: Slot) -> Score {
    let columns = table.columns_of(trigger);
    let interested = table.chunks[chunk].interested.count_common(table.overlapping(trigger));
    let cached = table.chunks[chunk].bytes_cached(columns);
    Score(cached as f64 / interested as f64, 0.0)
}

/// `loadRelevance`: chunks that help many starved queries for little I/O.
pub(crate) fn load_relevance(table: &TableState, chunk: usize, trigger: Slot) -> Score {
    let state = &table.chunks[chunk];
    let overlapping = table.overlapping(trigger);
    let queries = state.interested.count_common_of_three(&table.starved, overlapping);
    let mut columns = table.columns_used(chunk, [&table.starved, overlapping]);
    columns.unite(table.columns_of(trigger));
    let to_load = state.bytes_missing(&columns);
    let interested = state.interested.count_common(overlapping);
    Score(queries as f64 / to_load as f64, interested as f64)
}

/// `keepRelevance`: chunks that take little space and are useful for many almost starved queries are kept.
pub(crate) fn keep_relevance(table: &TableState, chunk: usize) -> f64 {
    let state = &table.chunks[chunk];
    let starved = state.interested.count_common(&table.almost_starved);
    if starved == 0 {
        return 0.0;
    }
    let columns = table.columns_used(chunk, [&table.almost_starved, &table.almost_starved]);
    starved as f64 / state.bytes_cached(&columns).max(1) as f64
}

/// The conditions of `findFreeSlot`: the chunk is not what the trigger is about to use, nor useful for a starved query;
/// for a load that no consumer waits for, nor for an almost starved one.
fn may_evict(state: &BufferState, key: ChunkKey, request: &SpaceRequest<'_>) -> bool {
    let table = &state.tables[key.table];
    let bound = if request.load.urgent { &table.starved } else { &table.almost_starved };
    let trigger = request.load.scan;
    if trigger.table == key.table && table.scan(trigger.slot).counts_on(key.position) {
        return false;
    }
    let mut useful_for = state.tables[key].interested.iter_common(bound).map(|slot| table.scan(Slot(slot)));
    !useful_for.any(|scan| scan.counts_on(key.position) && !scan.is_dormant(request.now_us))
}

/// A score with a second one for ties.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Score(pub f64, pub f64);

/// The first of the candidates with the highest score.
fn most_relevant(candidates: impl Iterator<Item = usize>, relevance: impl Fn(usize) -> Score) -> Option<usize> {
    let mut best: Option<(Score, usize)> = None;
    for chunk in candidates {
        let score = relevance(chunk);
        let better = best
            .is_none_or(|(most, _)| score.0.total_cmp(&most.0).then(score.1.total_cmp(&most.1)) == Ordering::Greater);
        if better {
            best = Some((score, chunk));
        }
    }
    best.map(|(_, chunk)| chunk)
}
