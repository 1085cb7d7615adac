//! Whether no two rows of a version have the same key, and whether trees have the keys of their chunks.

use std::path::PathBuf;
use std::sync::Arc;

use super::chunk_search::SearchedChunk;
use super::index_shapes::index_shapes;
use super::run_merging::{Indexed, Mergeable, merge_runs, mergeable, sources};
use super::table_keys::{Duplicate, duplicate_key, shape_of};
use crate::key_index::{
    KeyDef, KeyShape, KeySource, KeyTree, MergeError, MergedKeys, hash_of_run, key_values, keys_of_chunks,
};
use crate::store_shared::StoreShared;
use crate::{Catalog, ChunkMeta, StoreError, TableVersion};

/// Compares the keys of all rows, in order: those of chunks in files are merged into trees before.
///
/// # Errors
/// [`StoreError::DuplicateKey`], and what reading chunks and writing trees fails with.
pub(crate) async fn check_key(
    shared: &Arc<StoreShared>,
    version: &TableVersion,
    key: &KeyDef,
) -> Result<(), StoreError> {
    let def = &version.def;
    let shape = Arc::new(shape_of(def, key));
    loop {
        merge_runs(shared, &shape, SearchedChunk::all_of(version), Indexed::Now).await?;
        let (sources, chunks) = sources(shared, &shape, SearchedChunk::all_of(version), Indexed::Now).await?;
        let repeated = tokio::task::spawn_blocking(move || first_repeated(sources, &chunks)).await;
        match repeated.map_err(|error| StoreError::Stopped { reason: error.to_string() })? {
            Ok(None) => return Ok(()),
            Ok(Some(repeated)) => {
                let values = key_values(&shape, &repeated);
                return Err(StoreError::DuplicateKey(duplicate_key(def, key, values, Duplicate::Present)));
            }
            Err(MergeError::Source(tree, error)) => {
                tracing::warn!(%error, file = %tree.path().display(), "a key tree cannot be read; its keys are indexed again");
                tree.doom();
                version.chunks.iter().for_each(|chunk| chunk.keys.forget_tree(&tree));
            }
            Err(MergeError::Target(error)) => unreachable!("nothing is written: {error}"),
        }
    }
}

/// The trees of a version: their files, their bytes, and what is wrong with them.
pub(crate) async fn check_key_trees(
    shared: &Arc<StoreShared>,
    catalog: &Catalog,
    version: &TableVersion,
) -> Vec<(PathBuf, u64, Result<(), String>)> {
    let mut checked = Vec::new();
    for shape in index_shapes(catalog, &version.def) {
        for run in mergeable(&shape, SearchedChunk::all_of(version)) {
            if let Mergeable::Tree(tree, chunks) = run {
                let result = check_key_tree(shared, &shape, &tree, &chunks).await;
                checked.push((tree.path().to_owned(), tree.file_bytes(), result));
            }
        }
    }
    checked
}

async fn check_key_tree(
    shared: &Arc<StoreShared>,
    shape: &Arc<KeyShape>,
    tree: &Arc<KeyTree>,
    chunks: &[(u32, SearchedChunk<'_>)],
) -> Result<(), String> {
    let read = Arc::clone(tree);
    let hashes = tokio::task::spawn_blocking(move || keys_of_chunks(&read)).await;
    let hashes = hashes.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    for (at, searched) in chunks {
        let run = searched.run(shared, shape).await.map_err(|error| error.to_string())?;
        if hash_of_run(&run) != hashes[*at as usize] {
            return Err(format!("it has other keys of chunk {} than this has", searched.chunk.id));
        }
    }
    Ok(())
}

/// The first key that two rows of these chunks have that are not deleted.
fn first_repeated(sources: Vec<KeySource>, chunks: &[Arc<ChunkMeta>]) -> Result<Option<Box<[u8]>>, MergeError> {
    let mut keys = MergedKeys::new(sources)?;
    let (mut last, mut has_last) = (Vec::new(), false);
    while let Some((key, place)) = keys.next()? {
        let deleted = chunks[place.chunk_at as usize].deleted.as_ref();
        if deleted.is_some_and(|deleted| deleted.contains(place.row)) {
            continue;
        }
        if has_last && last == key {
            return Ok(Some(key.into()));
        }
        last.clear();
        last.extend_from_slice(key);
        has_last = true;
    }
    Ok(None)
}
