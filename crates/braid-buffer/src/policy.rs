//! The questions that the Active Buffer Manager asks each of its policies.
//!
//! A policy keeps nothing of its own: what it needs to remember (a scan's place in the circle, the elevator's cursor)
//! is in the books it reads, so that the policy can be changed at any moment, under running scans.

use braid_base::{ScanId, SegmentId};

use crate::bit_set::BitSet;
use crate::buffer_state::BufferState;
use crate::keys::ScanKey;

/// A chunk to load and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadChoice {
    /// The scan on whose behalf it is loaded: `qtrigger`.
    pub scan: ScanKey,
    /// The chunk, in the table of `scan`.
    pub position: usize,
    /// The columns to load; at least those of `scan`. What is in memory already is not loaded again.
    pub columns: BitSet,
    /// The columns to load if there is no room for all of `columns`.
    pub least_columns: BitSet,
    /// Whether a consumer of `scan` waits for this very load; else it is for later and must not starve a scan (rule 3).
    pub urgent: bool,
}

/// Room to be made for a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpaceRequest<'a> {
    /// The load.
    pub load: &'a LoadChoice,
    /// Bytes to evict.
    pub bytes: u64,
    /// The time, in microseconds.
    pub now_us: u64,
}

/// The decisions that make a policy.
pub(crate) trait Policy: Sync {
    /// A scan has been registered.
    fn registered(&self, _state: &mut BufferState, _scan: ScanKey) {}

    /// The position of the chunk that the scan gets now; none if it must wait. `chooseAvailableChunk` of figure 3.
    fn choose_available(&self, state: &BufferState, scan: ScanKey) -> Option<usize>;

    /// What to load next, for none of `refused`. `chooseQueryToProcess` and `chooseChunkToLoad` of figure 3.
    fn choose_load(&self, state: &BufferState, now_us: u64, refused: &[ScanId]) -> Option<LoadChoice>;

    /// Segments to evict, at least as many bytes as asked for; none if that cannot be. `findFreeSlot` of figure 3.
    fn choose_victims(&self, state: &BufferState, request: SpaceRequest<'_>) -> Option<Vec<SegmentId>>;

    /// A chosen load has begun.
    fn load_begun(&self, _state: &mut BufferState, _load: &LoadChoice) {}
}
