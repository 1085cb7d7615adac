//! The key trees of a store that outlive the process.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_base::TableId;
use parking_lot::Mutex;

use super::key_columns::ShapeId;
use super::key_tree::{KeyTree, KeyTreeId};

/// The trees of a store.
#[derive(Debug, Default)]
pub(crate) struct KeptTrees {
    next_id: AtomicU64,
    /// Chunks in files that were indexed, one by one, since the store was opened.
    indexed_chunks: AtomicU64,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    used: TreesInUse,
    /// The state, and the chunks indexed, at the last look.
    seen: Option<(u64, u64)>,
}

/// What a look at the chunks of a state has found.
#[derive(Debug, Default)]
pub(crate) struct TreesInUse {
    /// The trees of the keys that tables have.
    pub trees: HashMap<KeyTreeId, Arc<KeyTree>>,
    /// Keys that tables do not have, with the number of looks that have found them.
    pub strange: HashMap<(TableId, ShapeId), u32>,
}

impl KeptTrees {
    /// Identity of a new tree.
    pub fn next_id(&self) -> KeyTreeId {
        KeyTreeId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Gives out no identity up to this one.
    pub fn note_id(&self, id: KeyTreeId) {
        self.next_id.fetch_max(id.0.saturating_add(1), Ordering::Relaxed);
    }

    /// A chunk in a file was indexed: its run may be merged with others.
    pub fn note_indexed_chunk(&self) {
        self.indexed_chunks.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether anything has happened since the last look, at the state of this number.
    pub fn is_changed(&self, sequence: u64) -> bool {
        let now = Some((sequence, self.indexed_chunks.load(Ordering::Relaxed)));
        std::mem::replace(&mut self.kept.lock().seen, now) != now
    }

    /// Looks in a row that have found a key that its table does not have.
    pub fn strange_looks(&self, key: (TableId, ShapeId)) -> u32 {
        self.kept.lock().used.strange.get(&key).copied().unwrap_or(0)
    }

    /// Keeps these trees, and no others.
    pub fn keep(&self, used: TreesInUse) {
        let mut kept = self.kept.lock();
        let before = kept.used.trees.values();
        before.filter(|tree| !used.trees.contains_key(&tree.id())).for_each(|tree| tree.doom());
        used.trees.values().for_each(|tree| tree.spare());
        kept.used = used;
    }
}
