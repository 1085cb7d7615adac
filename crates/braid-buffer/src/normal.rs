//! `normal`: every scan reads in its own order; LRU on (chunk, column) (Cooperative Scans, section 3).
//!
//! What a database does that knows nothing of other scans: the yardstick. With C_q chunks of query q, a new query of
//! C_new chunks waits for about C_new + sum over q of min(C_new, C_q) reads, since queries are served round robin and
//! a segment that another scan read is evicted before it is needed.

use braid_base::{ScanId, SegmentId};

use crate::buffer_state::BufferState;
use crate::keys::ScanKey;
use crate::policy::{LoadChoice, Policy, SpaceRequest};
use crate::sequence::{self, Start};

/// The policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Normal;

impl Policy for Normal {
    fn choose_available(&self, state: &BufferState, scan: ScanKey) -> Option<usize> {
        sequence::next_if_available(state, scan, Start::First)
    }

    fn choose_load(&self, state: &BufferState, now_us: u64, refused: &[ScanId]) -> Option<LoadChoice> {
        sequence::choose_load(state, now_us, refused, Start::First)
    }

    fn choose_victims(&self, state: &BufferState, request: SpaceRequest<'_>) -> Option<Vec<SegmentId>> {
        sequence::choose_victims(state, request, Start::First)
    }
}
