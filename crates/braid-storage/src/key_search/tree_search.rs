//! Rows with one of several keys, in the chunks of a version whose keys are in a tree.
//!
//! A key is ruled out by the bounds and the filter of the tree; then it costs a page of each level. A tree also has the keys of chunks that the
//! version does not have: these are passed over.

use std::sync::Arc;

use braid_base::ChunkId;

use super::chunk_search::{KeyMatch, Search, SearchedChunk, Wanted};
use super::run_merging::forget_tree;
use crate::ChunkMeta;
use crate::key_index::{KeyShape, KeyTree, KnownRun, LeafCursor, TreeError, TreePlace, TreeShare};

/// A tree, and those of its chunks that are searched.
pub(super) struct SearchedTree<'a> {
    tree: Arc<KeyTree>,
    /// By their numbers within the tree; `None` if a chunk is not searched.
    chunks_at: Vec<Option<SearchedChunk<'a>>>,
}

/// The trees of these chunks, and the chunks that are in none.
pub(super) fn by_tree<'a>(
    shape: &KeyShape,
    chunks: impl Iterator<Item = SearchedChunk<'a>>,
) -> (Vec<SearchedTree<'a>>, Vec<SearchedChunk<'a>>) {
    let (mut trees, mut singles) = (Vec::<SearchedTree<'a>>::new(), Vec::new());
    for searched in chunks {
        let Some(KnownRun::Tree(TreeShare { tree, chunk_at })) = searched.chunk.keys.known(shape) else {
            singles.push(searched);
            continue;
        };
        // Chunks of one tree follow each other.
        let at = trees.iter().rposition(|known| Arc::ptr_eq(&known.tree, &tree)).unwrap_or_else(|| {
            let chunks_at = vec![None; tree.chunks().len()];
            trees.push(SearchedTree { tree, chunks_at });
            trees.len() - 1
        });
        trees[at].chunks_at[chunk_at as usize] = Some(searched);
    }
    (trees, singles)
}

impl<'a> SearchedTree<'a> {
    /// The chunks that are searched.
    pub fn chunks(&self) -> impl Iterator<Item = SearchedChunk<'a>> {
        self.chunks_at.iter().flatten().copied()
    }

    /// Forgets the tree, which cannot be read: its chunks are indexed again.
    pub fn forget(&self, error: &TreeError) {
        forget_tree(&self.tree, error, self.chunks().map(|searched| &*searched.chunk.keys));
    }

    fn chunk(&self, place: TreePlace) -> Option<&'a Arc<ChunkMeta>> {
        let searched = self.chunks_at.get(place.chunk_at as usize).copied().flatten()?;
        Some(searched.chunk).filter(|chunk| place.row < chunk.row_count)
    }
}

/// The rows of a tree's chunks that a search is for.
///
/// # Errors
/// For a tree that cannot be read.
pub(super) async fn tree_matches<P: Fn(ChunkId, u32) -> bool>(
    search: &Search<'_, P>,
    searched: &SearchedTree<'_>,
) -> Result<Vec<KeyMatch>, TreeError> {
    let (tree, keys) = (&searched.tree, search.keys);
    let mut found = Vec::new();
    if !(0..keys.len()).any(|at| tree.is_in_bounds(keys.key(at))) {
        return Ok(found);
    }
    let filter = tree.filter().await?;
    let mut cursor = LeafCursor::default();
    for key_at in 0..keys.len() {
        let key = keys.key(key_at);
        if !tree.is_in_bounds(key) || !filter.may_have(key) {
            continue;
        }
        let take = |place: TreePlace| {
            if let Some(chunk) = searched.chunk(place).filter(|chunk| search.counts(chunk, place.row)) {
                found.push(KeyMatch { chunk: chunk.id, row: place.row, key_at });
            }
            search.wanted == Wanted::First && !found.is_empty()
        };
        tree.find(&search.shared.search_cache, &mut cursor, key, take).await?;
        if search.wanted == Wanted::First && !found.is_empty() {
            break;
        }
    }
    Ok(found)
}
