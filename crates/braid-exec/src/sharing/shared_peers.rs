//! DISTINCT ON and WITH TIES for many queries at once, over rows that are sorted for all of them.
//!
//! Peers are neighbours among the rows of all queries, and so among those of each query. A query has the first of its peers if none of the
//! peers before was its own; it has the ties of its last row as long as the peers of that row last. Rows are counted for each query
//! ([`QueryWindows`]).
//!
//! As for one query, the rows come in their order, to one worker at a time, and what was seen is remembered for all stages of a pipeline.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::memory::Reservation;
use crate::plan::shared_operator::SetColumn;
use crate::query_sets::query_bitmap::words_for;
use crate::query_sets::set_calculator::{drop_unwanted, set_column, sets_of};
use crate::query_sets::set_memo::{SetMemo, SetWords};
use crate::runtime::peers::{KeptPeers, are_peers, last_keys};
use crate::runtime::pipeline::{Next, Operator};
use crate::runtime::stop::{Stop, StopFlag};
use crate::sharing::query_windows::QueryWindows;
use crate::{Batch, ExecError, MemoryBudget, SetNumber, SetStore, Vector};

/// The choice of rows, which all stages share. The lock guards what was seen of them.
pub(crate) struct SharedPeerWindow {
    keys: Vec<usize>,
    sets: SetColumn,
    seen: Mutex<Seen>,
    /// Raised when no query has further rows.
    enough: StopFlag,
    _reservation: Reservation,
}

struct Seen {
    /// The keys of the last row, each a vector of one value.
    last: Option<Vec<Arc<Vector>>>,
    /// The queries that have, or else take, further peers of the last row.
    noted: Vec<u64>,
    /// The rows of each query; none for the first rows of peers.
    windows: Option<QueryWindows>,
    /// The number of changes of the gone queries that the windows know of.
    change_count: u64,
}

/// One worker's operator.
pub(crate) struct SharedPeers {
    window: Arc<SharedPeerWindow>,
    words: SetWords,
}

impl SharedPeerWindow {
    /// A window on rows that are equal in these columns. `enough` is raised when no further row is kept.
    ///
    /// # Errors
    /// When memory for the counts is refused.
    pub(crate) fn new(
        (keys, kept): (Vec<usize>, KeptPeers),
        sets: SetColumn,
        enough: StopFlag,
        budget: Arc<dyn MemoryBudget>,
    ) -> Result<Arc<Self>, ExecError> {
        let query_count = sets.store.query_count();
        let mut reservation = Reservation::new(budget, "peers");
        reservation.resize(QueryWindows::bytes(query_count) + query_count / 8)?;
        let windows = match kept {
            KeptPeers::First => None,
            KeptPeers::WithTies { offset, limit } => Some(QueryWindows::new(query_count, offset, Some(limit))),
        };
        if windows.as_ref().is_some_and(QueryWindows::are_over) {
            enough.raise();
        }
        let seen = Seen { last: None, noted: vec![0; words_for(query_count)], windows, change_count: 0 };
        Ok(Arc::new(Self { keys, sets, seen: Mutex::new(seen), enough, _reservation: reservation }))
    }

    /// The set of each row without the queries that do not have it.
    fn narrowed(&self, batch: &mut Batch, words: &mut SetWords) -> Result<Vec<SetNumber>, ExecError> {
        let keys: Vec<Arc<Vector>> = self.keys.iter().map(|key| batch.column(*key)).collect();
        let sets = sets_of(&batch.column(self.sets.column));
        let seen = &mut *self.seen.lock();
        let is_peer = are_peers(&keys, seen.last.as_deref(), sets.len());
        seen.last = Some(last_keys(&keys, sets.len()));
        seen.give_up_gone(&self.sets.store);
        let mut narrowed = Vec::with_capacity(sets.len());
        for (set, is_peer) in sets.iter().zip(is_peer) {
            if !is_peer {
                seen.noted.fill(0);
                if seen.windows.as_ref().is_some_and(QueryWindows::are_over) {
                    self.enough.raise();
                    break;
                }
            }
            let queries = words.of(*set, &self.sets.store);
            let kept = seen.keep(queries);
            narrowed.push(if kept == queries { *set } else { self.sets.store.intern(&kept)? });
        }
        narrowed.resize(sets.len(), SetNumber::EMPTY);
        Ok(narrowed)
    }
}

impl Seen {
    fn give_up_gone(&mut self, store: &SetStore) {
        let (Some(windows), gone) = (&mut self.windows, store.gone()) else { return };
        if gone.change_count() != self.change_count {
            self.change_count = gone.change_count();
            windows.give_up(&gone.words());
        }
    }

    /// Those of these queries that have the next row.
    fn keep(&mut self, queries: &[u64]) -> Vec<u64> {
        let Self { noted, windows, .. } = self;
        let Some(windows) = windows else {
            let first = queries.iter().zip(&*noted).map(|(queries, noted)| queries & !noted).collect();
            noted.iter_mut().zip(queries).for_each(|(noted, queries)| *noted |= queries);
            return first;
        };
        let open = windows.open_words().iter().zip(&*noted).map(|(open, noted)| open | noted);
        let kept = open.zip(queries).map(|(open, queries)| open & queries).collect();
        windows.count(queries, |query| noted[query.index() / 64] |= 1 << (query.index() % 64));
        kept
    }
}

impl SharedPeers {
    /// An operator of a window.
    pub(crate) fn new(window: Arc<SharedPeerWindow>) -> Self {
        Self { window, words: SetMemo::new() }
    }
}

impl Operator for SharedPeers {
    fn push(&mut self, mut batch: Batch, next: &mut Next<'_>) -> Result<(), Stop> {
        if self.window.enough.is_raised() {
            // The source stops. Rows that have already passed continue to the sink.
            return Err(Stop::Enough);
        }
        let mut narrowed = self.window.narrowed(&mut batch, &mut self.words)?;
        drop_unwanted(&mut batch, &mut narrowed);
        if narrowed.is_empty() {
            return Ok(());
        }
        batch.replace(self.window.sets.column, Arc::new(set_column(&narrowed)));
        next(batch)
    }
}
