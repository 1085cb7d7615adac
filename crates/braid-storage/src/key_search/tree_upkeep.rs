//! The key trees of committed chunks: which stay, which go, and which are merged.
//!
//! A tree is kept as long as a chunk of the newest state is in it. When the database opens, trees of chunks that are there are taken over. So
//! the first search after a start reads no columns.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use braid_io::Device;

use super::chunk_search::SearchedChunk;
use super::index_shapes::{index_shapes, mark_of};
use super::run_merging::{Indexed, location, merge_runs};
use crate::data_directory::DataDirectory;
use crate::key_index::{ChunkKeys, ChunkMark, KeptTrees, KeyTree, KnownRun, ShapeId, TreeShare, TreesInUse};
use crate::store_shared::StoreShared;
use crate::{Catalog, StoreError};

/// Looks after which a key is forgotten that its table does not have: transactions index keys before they are committed, and looks are a second
/// apart at least.
const STRANGE_LOOKS_MAX: u32 = 60;

/// Keeps the trees of the keys of a state, and no others. Forgets keys that tables have not had for a while.
pub(crate) fn keep_trees_of(kept: &KeptTrees, catalog: &Catalog) {
    let mut used = TreesInUse::default();
    for version in catalog.tables() {
        let shapes: HashSet<ShapeId> = index_shapes(catalog, &version.def).iter().map(|shape| shape.id()).collect();
        for chunk in version.chunks.iter() {
            for (shape, known) in chunk.keys.all() {
                if !shapes.contains(&shape) {
                    let key = (version.def.id, shape);
                    let looks = kept.strange_looks(key) + 1;
                    used.strange.insert(key, looks);
                    if looks > STRANGE_LOOKS_MAX {
                        chunk.keys.forget(shape);
                    }
                } else if let KnownRun::Tree(TreeShare { tree, .. }) = known {
                    used.trees.entry(tree.id()).or_insert(tree);
                }
            }
        }
    }
    kept.keep(used);
}

/// Takes over the trees of a directory that has this state, and removes the others.
///
/// # Errors
/// If the directory cannot be listed.
pub(crate) fn take_over_trees(
    kept: &KeptTrees,
    directory: &Arc<DataDirectory>,
    device: &Arc<dyn Device>,
    catalog: &Catalog,
) -> Result<(), StoreError> {
    let ids = directory.list_key_trees()?;
    let Some(last) = ids.last() else { return Ok(()) };
    kept.note_id(*last);
    let mut trees = Vec::new();
    for id in ids {
        match KeyTree::open(location(directory, device, id)) {
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
    keep_trees_of(kept, catalog);
    Ok(())
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

/// Merges the runs of chunks of a state that were searched for keys, keeps the trees that it needs, and lets the others go.
///
/// # Errors
/// What reading chunks and writing trees fails with; what can be merged is.
pub(crate) async fn merge_searched_runs(shared: &Arc<StoreShared>, catalog: &Catalog) -> Result<(), StoreError> {
    if !shared.key_trees.is_changed(catalog.sequence()) {
        return Ok(());
    }
    let mut result = Ok(());
    for version in catalog.tables() {
        for shape in index_shapes(catalog, &version.def) {
            let searched = |searched: &SearchedChunk<'_>| searched.chunk.keys.known(&shape).is_some();
            let chunks = SearchedChunk::all_of(version).filter(searched);
            let merged = merge_runs(shared, &shape, chunks, Indexed::Before).await;
            result = result.and(merged);
        }
    }
    keep_trees_of(&shared.key_trees, catalog);
    result
}
