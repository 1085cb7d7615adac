//! Whether no two rows of a version have the same key, and whether trees have the keys of their chunks.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::chunk_search::SearchedChunk;
use super::index_shapes::index_shapes;
use super::run_merging::{Indexed, Mergeable, forget_tree, merge_runs, mergeable, sources, while_awaited};
use super::table_keys::{Duplicate, duplicate_key, shape_of};
use crate::key_index::{
    KeyDef, KeyShape, KeySource, KeyTree, MergeError, MergedKeys, hash_of_run, key_values, keys_of_chunks,
};
use crate::store_shared::StoreShared;
use crate::{Catalog, ChunkMeta, StoreError, TableVersion};

/// Compares the keys of all rows, in order: those of chunks in files are merged into trees before, if the disk has room.
///
/// # Errors
/// [`StoreError::DuplicateKey`], and what reading chunks fails with.
pub(crate) async fn check_key(
    shared: &Arc<StoreShared>,
    version: &TableVersion,
    key: &KeyDef,
) -> Result<(), StoreError> {
    let def = &version.def;
    let shape = Arc::new(shape_of(def, key));
    let forget = || version.chunks.iter().for_each(|chunk| chunk.keys.forget(shape.id()));
    if shape.form().is_some() {
        // Trees lack rows whose keys cannot be computed, and which were deleted where they were made.
        forget();
    }
    let mut merges = true;
    loop {
        if merges {
            match merge_runs(shared, &shape, SearchedChunk::all_of(version), Indexed::Now).await {
                Err(error @ (StoreError::DiskFull { .. } | StoreError::Io { .. })) => {
                    tracing::warn!(%error, table = def.name, "keys cannot be merged on disk, and are in memory");
                }
                result => result?,
            }
        }
        let (sources, chunks) = sources(shared, &shape, SearchedChunk::all_of(version), Indexed::Now).await?;
        match while_awaited(move |is_stopped| first_repeated(sources, &chunks, is_stopped)).await? {
            Ok(None) => return Ok(()),
            Ok(Some(repeated)) => {
                let values = key_values(&shape, &repeated);
                return Err(StoreError::DuplicateKey(duplicate_key(def, key, values, Duplicate::Present)));
            }
            Err(MergeError::Source(tree, error)) => {
                forget_tree(&tree, &error, version.chunks.iter().map(|chunk| &*chunk.keys));
                // The next attempt needs no tree.
                merges = false;
                forget();
            }
            Err(MergeError::Target(error)) => unreachable!("nothing is written: {error}"),
            Err(MergeError::Stopped) => unreachable!("the work is awaited"),
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
    let hashes = while_awaited(move |is_stopped| keys_of_chunks(&read, is_stopped)).await;
    let hashes = match hashes.map_err(|error| error.to_string())? {
        Ok(hashes) => hashes,
        Err(MergeError::Source(_, error) | MergeError::Target(error)) => return Err(error.to_string()),
        Err(MergeError::Stopped) => unreachable!("the work is awaited"),
    };
    for (at, searched) in chunks {
        // What is wrong with the chunk itself is told with its segments.
        let Ok(run) = searched.run(shared, shape).await else { continue };
        if hash_of_run(&run) != hashes[*at as usize] {
            return Err(format!("it has other keys of chunk {} than this has", searched.chunk.id));
        }
    }
    Ok(())
}

/// The first key that two rows of these chunks have that are not deleted.
fn first_repeated(
    sources: Vec<KeySource>,
    chunks: &[Arc<ChunkMeta>],
    is_stopped: Arc<AtomicBool>,
) -> Result<Option<Box<[u8]>>, MergeError> {
    let mut keys = MergedKeys::new(sources, is_stopped)?;
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
