//! The key trees of committed chunks: which stay, which go, and which are merged.
//!
//! A tree is kept as long as a chunk of the newest state is in it. When the database opens, trees of chunks that are there are taken over. So
//! the first search after a start reads no columns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use braid_base::TableId;
use braid_io::Device;
use futures::future::BoxFuture;
use parking_lot::Mutex;

use super::chunk_search::SearchedChunk;
use super::index_shapes::{index_shapes, mark_of};
use super::run_merging::{Indexed, merge_runs};
use crate::data_directory::DataDirectory;
use crate::key_index::{ChunkKeys, ChunkMark, KeyTree, KeyTreeId, KnownRun, ShapeId, TreeShare};
use crate::{Catalog, Store, StoreError};

/// The trees of a store.
#[derive(Debug, Default)]
pub(crate) struct KeyTrees {
    next_id: AtomicU64,
    /// Chunks in files that were indexed, one by one, since the store was opened.
    indexed_chunks: AtomicU64,
    kept: Mutex<Kept>,
}

/// The trees that outlive the process.
#[derive(Debug, Default)]
struct Kept {
    trees: HashMap<KeyTreeId, Arc<KeyTree>>,
    /// The state, and the chunks indexed, at the last look.
    seen: Option<(u64, u64)>,
    /// Keys that tables do not have, with the number of looks that have found them.
    strange: HashMap<(TableId, ShapeId), u32>,
}

/// Looks after which a key is forgotten that its table does not have: transactions index keys before they are committed, and looks are a second
/// apart at least.
const STRANGE_LOOKS_MAX: u32 = 60;

impl KeyTrees {
    /// Identity of a new tree.
    pub fn next_id(&self) -> KeyTreeId {
        KeyTreeId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// A chunk in a file was indexed: its run may be merged with others.
    pub fn note_indexed_chunk(&self) {
        self.indexed_chunks.fetch_add(1, Ordering::Relaxed);
    }

    /// Keeps the trees of the keys of this state, and no others. Forgets keys that tables have not had for a while.
    pub fn keep_those_of(&self, catalog: &Catalog) {
        let (mut used, mut strange) = (HashMap::new(), HashMap::new());
        let mut kept = self.kept.lock();
        for version in catalog.tables() {
            let shapes: HashSet<ShapeId> = index_shapes(catalog, &version.def).iter().map(|shape| shape.id()).collect();
            for chunk in version.chunks.iter() {
                for (shape, known) in chunk.keys.all() {
                    if !shapes.contains(&shape) {
                        let id = (version.def.id, shape);
                        let looks = kept.strange.get(&id).copied().unwrap_or(0) + 1;
                        strange.insert(id, looks);
                        if looks > STRANGE_LOOKS_MAX {
                            chunk.keys.forget(shape);
                        }
                    } else if let KnownRun::Tree(TreeShare { tree, .. }) = known {
                        used.entry(tree.id()).or_insert(tree);
                    }
                }
            }
        }
        kept.trees.values().filter(|tree| !used.contains_key(&tree.id())).for_each(|tree| tree.doom());
        used.values().for_each(|tree| tree.spare());
        (kept.trees, kept.strange) = (used, strange);
    }

    /// Whether anything has happened since the last look at this state.
    fn is_changed(&self, catalog: &Catalog) -> bool {
        let now = Some((catalog.sequence(), self.indexed_chunks.load(Ordering::Relaxed)));
        std::mem::replace(&mut self.kept.lock().seen, now) != now
    }

    /// Takes over the trees of a directory that has this state, and removes the others.
    ///
    /// # Errors
    /// If the directory cannot be listed.
    pub fn take_over(
        &self,
        directory: &Arc<DataDirectory>,
        device: &Arc<dyn Device>,
        catalog: &Catalog,
    ) -> Result<(), StoreError> {
        let ids = directory.list_key_trees()?;
        let Some(last) = ids.last() else { return Ok(()) };
        self.next_id.store(last.0.saturating_add(1), Ordering::Relaxed);
        let mut trees = Vec::new();
        for id in ids {
            match KeyTree::open(directory, device, id) {
                Ok(tree) => trees.push(Arc::new(tree)),
                Err(error) => tracing::info!(%error, tree = %id, "a key tree is not complete; it goes"),
            }
        }
        // Where chunks are in several trees, because a crash has kept old ones, the largest one counts.
        trees.sort_by_key(|tree| tree.key_count());
        let chunks = chunks_by_mark(catalog);
        for tree in &trees {
            for (chunk, chunk_at) in tree.chunks().iter().zip(0..) {
                let of_mark = chunks.get(&(tree.shape(), chunk.mark));
                if let Some((keys, _)) = of_mark.filter(|(_, row_count)| *row_count == chunk.row_count) {
                    keys.put_tree(tree.shape(), TreeShare { tree: Arc::clone(tree), chunk_at });
                }
            }
        }
        self.keep_those_of(catalog);
        Ok(())
    }
}

/// What knows the keys of each chunk of a state, with its number of rows.
fn chunks_by_mark(catalog: &Catalog) -> HashMap<(ShapeId, ChunkMark), (&Arc<ChunkKeys>, u32)> {
    let mut found = HashMap::new();
    for version in catalog.tables() {
        // Functions may have changed with the program, so that keys that are computed are computed anew.
        let stored = index_shapes(catalog, &version.def).into_iter().filter(|shape| shape.form().is_none());
        for shape in stored {
            for chunk in version.chunks.iter() {
                if let Some(mark) = mark_of(&shape, chunk) {
                    found.insert((shape.id(), mark), (&chunk.keys, chunk.row_count));
                }
            }
        }
    }
    found
}

impl Store {
    /// Merges the runs of chunks that were searched for keys into trees, keeps the trees that the newest state needs, and lets the others go.
    /// Quick if nothing has happened since the last call. Dropping the future leaves what was done so far.
    ///
    /// # Errors
    /// What reading chunks and writing trees fails with.
    pub fn merge_keys(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let (shared, catalog) = (self.shared(), self.snapshot());
            if !shared.key_trees.is_changed(&catalog) {
                return Ok(());
            }
            let mut result = Ok(());
            for version in catalog.tables() {
                for shape in index_shapes(&catalog, &version.def) {
                    let searched = |searched: &SearchedChunk<'_>| searched.chunk.keys.known(&shape).is_some();
                    let chunks = SearchedChunk::all_of(version).filter(searched);
                    let merged = merge_runs(shared, &shape, chunks, Indexed::Before).await;
                    result = result.and(merged);
                }
            }
            shared.key_trees.keep_those_of(&catalog);
            result
        })
    }
}
