//! The states of a store that somebody reads.
//!
//! A state is a catalog; who reads it holds it. Nothing here holds one: states are noted as they become visible, and those that nobody
//! reads any more are forgotten whenever twice as many are noted as were read the last time.

use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;

use crate::catalog::Catalog;

/// States that are noted before those without readers are looked for.
const NOTED_MIN: usize = 64;

/// The states, in the order in which they became visible.
#[derive(Debug, Default)]
pub(crate) struct LiveSnapshots {
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    states: Vec<(Weak<Catalog>, Instant)>,
    /// How many were read at the last look.
    live_count: usize,
}

impl LiveSnapshots {
    /// A state has become visible.
    pub(crate) fn note(&self, catalog: &Arc<Catalog>) {
        let mut noted = self.noted.lock();
        if noted.states.len() >= 2 * noted.live_count.max(NOTED_MIN) {
            noted.states.retain(|(state, _)| state.strong_count() > 0);
            noted.live_count = noted.states.len();
        }
        noted.states.push((Arc::downgrade(catalog), Instant::now()));
    }

    /// Those that somebody reads, with the times when they became visible.
    pub(crate) fn live(&self) -> Vec<(Arc<Catalog>, Instant)> {
        let noted = self.noted.lock();
        noted.states.iter().filter_map(|(state, since)| Some((state.upgrade()?, *since))).collect()
    }
}
