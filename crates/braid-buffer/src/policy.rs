//! The four scheduling policies by name, and the questions that the Active Buffer Manager asks each of them.
//!
//! A policy keeps nothing of its own: what it needs to remember (a scan's place in the circle, the elevator's cursor)
//! is in the books it reads, so that the policy can be changed at any moment, under running scans.

use std::fmt;
use std::str::FromStr;

use braid_base::{ScanId, SegmentId};

use crate::attach::Attach;
use crate::bit_set::BitSet;
use crate::buffer_state::{BufferState, ScanKey};
use crate::elevator::Elevator;
use crate::normal::Normal;
use crate::relevance::Relevance;

/// How the buffer orders the reads of all scans (Cooperative Scans, sections 3 and 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ScanPolicy {
    /// Every scan reads in its own order, least recently used segments go first.
    Normal,
    /// A new scan starts where the scan it overlaps most with is, and wraps around.
    Attach,
    /// One cursor per table reads for everybody.
    Elevator,
    /// Every read, delivery and eviction is the currently most relevant one.
    #[default]
    Relevance,
}

impl ScanPolicy {
    /// All policies, in the order in which the paper presents them.
    pub const ALL: [Self; 4] = [Self::Normal, Self::Attach, Self::Elevator, Self::Relevance];

    /// The name as `SET braid.scan_policy` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Attach => "attach",
            Self::Elevator => "elevator",
            Self::Relevance => "relevance",
        }
    }
}

impl ScanPolicy {
    /// The policy's decisions.
    pub(crate) fn decisions(self) -> &'static dyn Policy {
        match self {
            Self::Normal => &Normal,
            Self::Attach => &Attach,
            Self::Elevator => &Elevator,
            Self::Relevance => &Relevance,
        }
    }
}

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
    /// Whether a consumer of `scan` waits for this very load; else it is for later and may starve nobody (rule 3).
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

impl fmt::Display for ScanPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A text that names no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no scan policy: there are normal, attach, elevator and relevance")]
pub struct ParseScanPolicyError(pub String);

impl FromStr for ScanPolicy {
    type Err = ParseScanPolicyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.trim();
        let found = Self::ALL.into_iter().find(|policy| policy.name().eq_ignore_ascii_case(wanted));
        found.ok_or_else(|| ParseScanPolicyError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back_and_other_texts_are_refused() {
        for policy in ScanPolicy::ALL {
            assert_eq!(policy.to_string().parse(), Ok(policy));
            assert_eq!(format!(" {} ", policy.name().to_uppercase()).parse(), Ok(policy));
        }
        let error = "lru".parse::<ScanPolicy>().unwrap_err();
        assert_eq!(error.to_string(), "\"lru\" is no scan policy: there are normal, attach, elevator and relevance");
    }
}
