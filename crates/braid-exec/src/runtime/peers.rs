//! Sorted rows by their peers, the rows that are equal in some keys and therefore come one after the other: DISTINCT ON and WITH TIES.
//!
//! The rows come in their order, to one worker at a time. Nulls are equal to each other. A pipeline may have several stages, so that the
//! last row is remembered for all of them.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::keys::key_equality::RowPairs;
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::{Stop, StopFlag};
use crate::{Batch, Vector};

/// Which of the rows are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptPeers {
    /// The first row of equal ones.
    First,
    /// So many rows after the first ones, and then those that are equal to the last one.
    WithTies {
        /// Number of rows to skip.
        offset: u64,
        /// Number of rows after these, to which their peers are added.
        limit: u64,
    },
}

/// The choice of rows, which all stages share.
#[derive(Debug)]
pub struct PeerWindow {
    keys: Vec<usize>,
    kept: KeptPeers,
    seen: Mutex<Seen>,
    /// Raised when no further row is kept.
    enough: StopFlag,
}

/// The rows so far.
#[derive(Debug, Default)]
struct Seen {
    row_count: u64,
    /// The keys of the last row, each a vector of one value.
    last: Option<Vec<Arc<Vector>>>,
}

impl PeerWindow {
    /// A window on rows that are equal in these columns. `enough` is raised when no further row is kept.
    pub fn new(keys: Vec<usize>, kept: KeptPeers, enough: StopFlag) -> Arc<Self> {
        if let KeptPeers::WithTies { limit: 0, .. } = kept {
            enough.raise();
        }
        Arc::new(Self { keys, kept, seen: Mutex::default(), enough })
    }

    /// Whether each row is kept.
    fn keep(&self, batch: &mut Batch) -> Vec<bool> {
        let keys: Vec<Arc<Vector>> = self.keys.iter().map(|key| batch.column(*key)).collect();
        let mut seen = self.seen.lock();
        let row_count = batch.row_count();
        let is_peer = are_peers(&keys, seen.last.as_deref(), row_count);
        let first = seen.row_count;
        seen.row_count += row_count as u64;
        seen.last = Some(last_keys(&keys, row_count));
        match self.kept {
            KeptPeers::First => is_peer.iter().map(|is_peer| !is_peer).collect(),
            KeptPeers::WithTies { offset, limit } => {
                let end = offset.saturating_add(limit);
                let mut keep = Vec::with_capacity(row_count);
                for (number, is_peer) in (first..).zip(is_peer) {
                    // Peers of the last row follow it without a gap.
                    let is_tie = number >= end && is_peer && keep.last().copied().unwrap_or(!self.enough.is_raised());
                    keep.push((offset..end).contains(&number) || is_tie);
                    if number >= end && !is_tie {
                        self.enough.raise();
                    }
                }
                keep
            }
        }
    }
}

/// The keys of the last of some rows, each a vector of one value.
pub(crate) fn last_keys(keys: &[Arc<Vector>], row_count: usize) -> Vec<Arc<Vector>> {
    keys.iter().map(|key| Arc::new(key.take(&[row_count as u32 - 1]))).collect()
}

/// Whether each row is equal to the row before it, of which there is none before the very first.
pub(crate) fn are_peers(keys: &[Arc<Vector>], last: Option<&[Arc<Vector>]>, row_count: usize) -> Vec<bool> {
    let mut equal = Vec::new();
    let before_first = match last {
        Some(last) => {
            RowPairs { left_rows: &[0], right_rows: &[0] }.compare(last, keys, &mut equal);
            equal[0]
        }
        None => false,
    };
    let rows: Vec<u32> = (0..row_count as u32).collect();
    RowPairs { left_rows: &rows[..row_count - 1], right_rows: &rows[1..] }.compare(keys, keys, &mut equal);
    equal.insert(0, before_first);
    equal
}

/// One worker's operator.
pub struct Peers {
    window: Arc<PeerWindow>,
}

impl Peers {
    /// An operator of a window.
    pub fn new(window: Arc<PeerWindow>) -> Self {
        Self { window }
    }
}

impl Operator for Peers {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        if self.window.enough.is_raised() {
            // The source stops. Rows that have already passed continue to the sink.
            return Err(Stop::Enough);
        }
        let keep = self.window.keep(&mut batch);
        batch.retain(&keep);
        if batch.row_count() == 0 { Ok(()) } else { next(batch) }
    }
}
