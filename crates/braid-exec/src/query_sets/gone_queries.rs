//! The queries of a running pass that need no more rows: those that were given up, and those for which an expression failed.
//!
//! Any task adds queries. Workers compare [`GoneQueries::change_count`] before each batch, one atomic read. When all queries
//! are gone, the pass is stopped.
//!
//! The lock guards the first failure and the way to stop the pass.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use crate::query_sets::query_bitmap::words_for;
use crate::{ExecError, QueryNumber};

/// The gone queries, as bits. Bits are only added.
pub(crate) struct GoneQueries {
    query_count: usize,
    gone: Box<[AtomicU64]>,
    /// Those for which an expression failed before they were gone.
    failed: Box<[AtomicU64]>,
    gone_count: AtomicUsize,
    change_count: AtomicU64,
    ending: Mutex<Ending>,
}

#[derive(Default)]
struct Ending {
    /// Stops the pass.
    stop: Option<Box<dyn Fn() + Send>>,
    first_failure: Option<ExecError>,
}

impl fmt::Debug for GoneQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GoneQueries").field("gone_count", &self.gone_count).finish_non_exhaustive()
    }
}

impl GoneQueries {
    /// None of `query_count` queries is gone.
    pub(crate) fn none(query_count: usize) -> Self {
        let words = || (0..words_for(query_count)).map(|_| AtomicU64::new(0)).collect();
        Self {
            query_count,
            gone: words(),
            failed: words(),
            gone_count: AtomicUsize::new(0),
            change_count: AtomicU64::new(0),
            ending: Mutex::default(),
        }
    }

    /// How `stop` is called: once all queries are gone, perhaps at once.
    pub(crate) fn stop_with(&self, stop: impl Fn() + Send + 'static) {
        let mut ending = self.ending.lock();
        if self.are_all_gone() {
            stop();
        }
        ending.stop = Some(Box::new(stop));
    }

    /// Whether no query needs rows.
    pub(crate) fn are_all_gone(&self) -> bool {
        self.gone_count.load(Ordering::Acquire) == self.query_count
    }

    /// Changes whenever a query goes; 0 before the first one.
    pub(crate) fn change_count(&self) -> u64 {
        self.change_count.load(Ordering::Acquire)
    }

    /// The bits of the gone queries.
    pub(crate) fn words(&self) -> Vec<u64> {
        self.gone.iter().map(|word| word.load(Ordering::Acquire)).collect()
    }

    /// Whether an expression failed for a row of this query.
    pub(crate) fn has_failed(&self, query: QueryNumber) -> bool {
        self.failed[query.index() / 64].load(Ordering::Acquire) >> (query.index() % 64) & 1 == 1
    }

    /// A query needs no more rows.
    pub(crate) fn give_up(&self, query: QueryNumber) {
        let word = query.index() / 64;
        self.add(word, 1 << (query.index() % 64), |_| ());
        self.stop_if_all_are_gone();
    }

    /// An expression failed for a row of these queries, those of a set's bits.
    pub(crate) fn fail(&self, queries: &[u64], reason: ExecError) {
        self.ending.lock().first_failure.get_or_insert(reason);
        for (at, queries) in queries.iter().enumerate() {
            self.add(at, *queries, |new| {
                self.failed[at].fetch_or(new, Ordering::AcqRel);
            });
        }
        self.stop_if_all_are_gone();
    }

    /// The first reason why queries failed. A second call returns `None`.
    pub(crate) fn take_first_failure(&self) -> Option<ExecError> {
        self.ending.lock().first_failure.take()
    }

    fn add(&self, word: usize, queries: u64, note: impl Fn(u64)) {
        let new = queries & !self.gone[word].fetch_or(queries, Ordering::AcqRel);
        if new != 0 {
            note(new);
            self.gone_count.fetch_add(new.count_ones() as usize, Ordering::AcqRel);
            self.change_count.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn stop_if_all_are_gone(&self) {
        if self.are_all_gone()
            && let Some(stop) = &self.ending.lock().stop
        {
            stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU32;

    use super::*;

    #[test]
    fn the_pass_stops_when_the_last_query_goes() {
        let gone = GoneQueries::none(70);
        let stops = Arc::new(AtomicU32::new(0));
        let counted = stops.clone();
        gone.stop_with(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        (0..69).map(QueryNumber::at).for_each(|query| gone.give_up(query));
        assert_eq!((gone.change_count(), stops.load(Ordering::Relaxed)), (69, 0));
        // A query that is gone already does not fail.
        gone.fail(&[0b11, 1 << 5], ExecError::DivisionByZero);
        assert_eq!((gone.has_failed(QueryNumber(1)), gone.has_failed(QueryNumber(69))), (false, true));
        assert_eq!((stops.load(Ordering::Relaxed), gone.words()), (1, vec![u64::MAX, 0b11_1111]));
        assert!(matches!(gone.take_first_failure(), Some(ExecError::DivisionByZero)));
        let counted = stops.clone();
        gone.stop_with(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(stops.load(Ordering::Relaxed), 2, "a pass that starts now ends at once");
    }
}
