//! What the tasks of a history have in common, and what one of them observes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::versions::{Version, Versions};
use crate::drivers::wire_session::Outcome;
use crate::workloads::histories::statements::{Statement, Statements};
use crate::workloads::histories::tables::HistoryTables;

/// A history that runs.
pub(super) struct History {
    pub(super) address: SocketAddr,
    pub(super) seed: u64,
    /// When it began.
    pub(super) started: Instant,
    /// Every how many answers one is made wrong, to see that the checks find it.
    pub(super) planted_every: Option<u64>,
    pub(super) tables: std::sync::Arc<HistoryTables>,
    pub(super) statements: Statements,
    /// The versions of the tables that change.
    pub(super) versions: Mutex<Versions>,
    pub(super) tally: Tally,
    /// Held while a version is written. Who holds it sees no change.
    pub(super) writing: tokio::sync::Mutex<()>,
}

impl History {
    /// The outcome, or a wrong one in its place if it is its turn.
    pub(super) fn planted(&self, outcome: Outcome) -> Outcome {
        let is_due = self.planted_every.is_some_and(|every| self.tally.to_check.next().is_multiple_of(every));
        if !is_due {
            return outcome;
        }
        self.tally.planted.add(1);
        outcome.made_wrong()
    }
}

/// Counts.
#[derive(Default)]
pub(super) struct Tally {
    /// Answers that are right.
    pub(super) answered: Count,
    /// Errors that the query alone has, too.
    pub(super) failed: Count,
    /// Queries that a cancel request or a timeout ended.
    pub(super) cancelled: Count,
    /// Queries that the response limit refused.
    pub(super) refused: Count,
    /// Queries whose client vanished.
    pub(super) left: Count,
    /// Wrong answers.
    pub(super) wrong: Count,
    /// Answers that were computed alone.
    pub(super) computed: Count,
    /// Versions of the tables.
    pub(super) versions: Count,
    /// Answers and errors that came to a check, counted only if some are made wrong.
    pub(super) to_check: Count,
    /// Those that were made wrong.
    pub(super) planted: Count,
}

/// A count of several tasks.
#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, count: u64) {
        // Only sums are read, after the tasks have ended.
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Adds one, and returns the sum.
    pub(super) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// An answer that is to be checked.
pub(super) struct Observation {
    pub(super) statement: Statement,
    /// Whether the values are in the binary format, because the statement was prepared.
    pub(super) is_prepared: bool,
    /// For people: the settings of the session, and how it read.
    pub(super) circumstances: String,
    pub(super) found: Outcome,
    /// The versions that the query may have seen.
    pub(super) versions: Vec<Version>,
    /// For [`Versions::checked`].
    pub(super) oldest_version: u64,
}
