//! Predicates that get narrower while the scan runs: the key range of a hash join's build side, the worst value that a
//! top-k still accepts.
//!
//! They are asked once per chunk. Leaving rows out by them is an optimisation that the operator above repeats exactly,
//! so a stale answer is right, only slower. Invariant: a later answer selects a subset of what an earlier one selects,
//! and columns are among [`LivePredicates::columns`], which are registered with the scan from the start.

use braid_base::ColumnId;
use braid_storage::ColumnPredicate;

/// A source of predicates that grow stricter over time.
pub trait LivePredicates: Send + Sync + std::fmt::Debug {
    /// Every column that a predicate may ever be on.
    fn columns(&self) -> &[ColumnId];

    /// The conditions known by now, ANDed; empty while nothing is known. Called once per chunk.
    fn current(&self) -> Vec<(ColumnId, ColumnPredicate)>;
}
