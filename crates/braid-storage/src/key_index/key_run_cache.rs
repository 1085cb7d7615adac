//! The runs of chunks that are in memory: those used last, up to a budget.

use std::collections::HashMap;
use std::sync::Arc;

use braid_base::{ChunkId, TableId};
use parking_lot::Mutex;

use super::key_columns::KeyShape;
use super::key_run::KeyRun;

/// Bytes of all runs that are kept: those of 30 million integers.
const BUDGET_BYTES: usize = 512 << 20;

/// Bytes of an entry besides its run.
const ENTRY_BYTES: usize = 256;

/// A run of a chunk.
type RunId = (TableId, ChunkId, Arc<KeyShape>);

/// The runs in memory.
#[derive(Debug, Default)]
pub(crate) struct KeyRunCache {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    runs: HashMap<RunId, Cached>,
    bytes: usize,
    uses: u64,
}

#[derive(Debug)]
struct Cached {
    run: Arc<KeyRun>,
    last_use: u64,
}

impl Cached {
    fn bytes(&self) -> usize {
        self.run.memory_bytes() + ENTRY_BYTES
    }
}

impl KeyRunCache {
    /// A run, if it is in memory.
    pub fn get(&self, id: &RunId) -> Option<Arc<KeyRun>> {
        let mut state = self.state.lock();
        state.uses += 1;
        let last_use = state.uses;
        let cached = state.runs.get_mut(id)?;
        cached.last_use = last_use;
        Some(Arc::clone(&cached.run))
    }

    /// Keeps a run, in the place of those that were not used for longest.
    pub fn put(&self, id: RunId, run: Arc<KeyRun>) {
        let mut state = self.state.lock();
        state.uses += 1;
        let cached = Cached { last_use: state.uses, run };
        state.bytes += cached.bytes();
        if let Some(before) = state.runs.insert(id, cached) {
            state.bytes -= before.bytes();
        }
        if state.bytes > BUDGET_BYTES {
            state.evict(BUDGET_BYTES / 4 * 3);
        }
    }
}

impl State {
    /// Forgets the runs that were not used for longest, until this many bytes are left at most.
    fn evict(&mut self, bytes_max: usize) {
        let mut by_use: Vec<(u64, RunId)> =
            self.runs.iter().map(|(id, cached)| (cached.last_use, id.clone())).collect();
        by_use.sort_unstable_by_key(|(last_use, _)| *last_use);
        for (_, id) in by_use {
            if self.bytes <= bytes_max {
                return;
            }
            self.bytes -= self.runs.remove(&id).map_or(0, |cached| cached.bytes());
        }
    }
}
