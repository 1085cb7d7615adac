//! What is known of a chunk's run without having it: the first and the last key, and a filter of all. Or the key tree that has its keys.

use std::sync::Arc;

use parking_lot::Mutex;

use super::key_columns::{KeyShape, ShapeId};
use super::key_filter::KeyFilter;
use super::key_run::KeyRun;
use super::key_tree::KeyTree;

/// The first and the last key.
type KeyBounds = (Box<[u8]>, Box<[u8]>);

/// The first and last key of a run that has keys, and a filter.
#[derive(Debug)]
pub(crate) struct KeySummary {
    bounds: Option<KeyBounds>,
    filter: KeyFilter,
}

impl KeySummary {
    /// The summary of a run.
    pub fn of(run: &KeyRun) -> Self {
        let mut filter = KeyFilter::for_keys(run.len());
        run.keys().for_each(|key| filter.add(key));
        let bounds = run.len().checked_sub(1).map(|last| (run.key(0).into(), run.key(last).into()));
        Self { bounds, filter }
    }

    /// Whether the run may have a key.
    pub fn may_have(&self, key: &[u8]) -> bool {
        let Some((first, last)) = &self.bounds else { return false };
        (&first[..]..=&last[..]).contains(&key) && self.filter.may_have(key)
    }
}

/// The part of a key tree that is of one chunk.
#[derive(Clone, Debug)]
pub(crate) struct TreeShare {
    pub tree: Arc<KeyTree>,
    /// The number of the chunk within the tree.
    pub chunk_at: u32,
}

/// What is known of a run of a chunk.
#[derive(Clone, Debug)]
pub(crate) enum KnownRun {
    /// Its summary.
    Summary(Arc<KeySummary>),
    /// Its keys are in a tree, with those of other chunks.
    Tree(TreeShare),
}

/// What is known of the runs of a chunk. All versions of the chunk share it.
#[derive(Debug, Default)]
pub struct ChunkKeys {
    known: Mutex<Vec<(ShapeId, KnownRun)>>,
}

impl ChunkKeys {
    /// What is known of the run of this shape.
    pub(crate) fn known(&self, shape: &KeyShape) -> Option<KnownRun> {
        let known = self.known.lock();
        known.iter().find(|(of, _)| *of == shape.id()).map(|(_, run)| run.clone())
    }

    /// All that is known.
    pub(crate) fn all(&self) -> Vec<(ShapeId, KnownRun)> {
        self.known.lock().clone()
    }

    /// Keeps the summary of the run of this shape, unless a tree has its keys.
    pub(crate) fn keep(&self, shape: &KeyShape, summary: Arc<KeySummary>) {
        let mut known = self.known.lock();
        if known.iter().all(|(of, _)| *of != shape.id()) {
            known.push((shape.id(), KnownRun::Summary(summary)));
        }
    }

    /// Notes that a tree has the keys of this shape, and forgets what was known of them before.
    pub(crate) fn put_tree(&self, shape: ShapeId, share: TreeShare) {
        let mut known = self.known.lock();
        known.retain(|(of, _)| *of != shape);
        known.push((shape, KnownRun::Tree(share)));
    }

    /// Forgets what is known of the runs of a shape.
    pub(crate) fn forget(&self, shape: ShapeId) {
        self.known.lock().retain(|(of, _)| *of != shape);
    }

    /// Forgets a tree that cannot be read.
    pub(crate) fn forget_tree(&self, tree: &Arc<KeyTree>) {
        let is_of_tree = |run: &KnownRun| matches!(run, KnownRun::Tree(share) if Arc::ptr_eq(&share.tree, tree));
        self.known.lock().retain(|(_, run)| !is_of_tree(run));
    }
}
