//! The queries of a pass while it runs: each takes rows until it leaves, until its own sink fails, or until an expression fails
//! for one of its rows.
//!
//! A query of the pass is one parameter row. Queries with equal parameters are one distinct query, which goes when the last
//! of them does ([`GoneQueries`]). The operators of the pass drop rows that
//! belong to gone queries only; rows that are already further above are dropped before the sinks.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::query_sets::gone_queries::GoneQueries;
use crate::{ExecError, QueryNumber, SetStore};

/// A handle on the queries of one pass.
#[derive(Clone)]
pub struct PassMembers(Arc<Members>);

struct Members {
    /// The distinct queries that need no more rows. The sets of the pass are not held, so that a handle keeps little memory.
    gone: Arc<GoneQueries>,
    /// The distinct query of each query.
    distinct: Vec<QueryNumber>,
    /// [`TAKES_ROWS`], [`LEFT`] or [`SINK_FAILED`], of each query.
    states: Box<[AtomicU8]>,
    /// The number of queries that take rows, of each distinct query.
    taking_counts: Box<[AtomicU32]>,
    /// The errors of failed sinks.
    sink_errors: Mutex<Vec<(QueryNumber, ExecError)>>,
    left: Notify,
}

const TAKES_ROWS: u8 = 0;
const LEFT: u8 = 1;
const SINK_FAILED: u8 = 2;

/// What a pass has for one of its queries at its end.
#[derive(Debug)]
pub enum QueryEnd<S> {
    /// All rows: the sinks, one for each worker, or one if the rows are ordered.
    Rows(Vec<S>),
    /// The query left before the end.
    Left,
    /// The query's sink failed.
    SinkFailed(ExecError),
    /// An expression failed for a row that belongs to the query. The query alone may fail with another error, or not at all,
    /// because the pass may evaluate more rows. It is to be run alone, and that run decides.
    RunAlone,
}

impl fmt::Debug for PassMembers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PassMembers").field("query_count", &self.0.states.len()).finish_non_exhaustive()
    }
}

impl PassMembers {
    pub(crate) fn new(store: &SetStore, distinct: Vec<QueryNumber>) -> Self {
        let states = distinct.iter().map(|_| AtomicU8::new(TAKES_ROWS)).collect();
        let taking_counts: Box<[AtomicU32]> = (0..store.query_count()).map(|_| AtomicU32::new(0)).collect();
        for query in &distinct {
            taking_counts[query.index()].fetch_add(1, Ordering::Relaxed);
        }
        let (sink_errors, left) = (Mutex::default(), Notify::new());
        Self(Arc::new(Members { gone: store.gone().clone(), distinct, states, taking_counts, sink_errors, left }))
    }

    /// Gives up a query, before or during the pass: it is cancelled, too late, or its client is gone. Its sinks get no further
    /// batch, except one that a worker is just passing on. The pass ends when all queries are gone. Panics when the query is
    /// not of the pass.
    pub fn leave(&self, query: QueryNumber) {
        self.end(query, LEFT);
        self.0.left.notify_waiters();
    }

    /// Whether the query has left. Panics when the query is not of the pass.
    pub fn has_left(&self, query: QueryNumber) -> bool {
        self.0.states[query.index()].load(Ordering::Acquire) == LEFT
    }

    /// Whether the query needs rows.
    pub(crate) fn takes_rows(&self, query: QueryNumber) -> bool {
        self.0.states[query.index()].load(Ordering::Acquire) == TAKES_ROWS
            && !self.0.gone.has_failed(self.0.distinct[query.index()])
    }

    /// The sink of a query failed, which does not concern other queries.
    pub(crate) fn fail_sink(&self, query: QueryNumber, error: ExecError) {
        self.0.sink_errors.lock().push((query, error));
        self.end(query, SINK_FAILED);
    }

    /// Waits until the query has left.
    pub(crate) async fn until_left(&self, query: QueryNumber) {
        loop {
            // Registered before the test, so that no notification is missed.
            let mut left = std::pin::pin!(self.0.left.notified());
            left.as_mut().enable();
            if self.has_left(query) {
                return;
            }
            left.await;
        }
    }

    /// The end of a query, with its sinks.
    pub(crate) fn end_of<S>(&self, query: QueryNumber, sinks: Vec<S>) -> QueryEnd<S> {
        let error = || {
            let mut errors = self.0.sink_errors.lock();
            let at = errors.iter().position(|(of, _)| *of == query);
            at.map_or(ExecError::Cancelled, |at| errors.swap_remove(at).1)
        };
        match self.0.states[query.index()].load(Ordering::Acquire) {
            LEFT => QueryEnd::Left,
            SINK_FAILED => QueryEnd::SinkFailed(error()),
            _ if self.0.gone.has_failed(self.0.distinct[query.index()]) => QueryEnd::RunAlone,
            _ => QueryEnd::Rows(sinks),
        }
    }

    /// The first end of a query stays.
    fn end(&self, query: QueryNumber, state: u8) {
        let (from, to) = (Ordering::AcqRel, Ordering::Acquire);
        if self.0.states[query.index()].compare_exchange(TAKES_ROWS, state, from, to).is_err() {
            return;
        }
        let distinct = self.0.distinct[query.index()];
        if self.0.taking_counts[distinct.index()].fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.gone.give_up(distinct);
        }
    }
}
