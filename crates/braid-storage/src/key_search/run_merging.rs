//! Runs of chunks, and trees, merged into trees.
//!
//! Who merges: a transaction the runs of its own chunks, while it adds them; who checks a new key the runs of all chunks; and a task the runs
//! of committed chunks that have been searched ([`super::tree_upkeep`]).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use braid_io::Device;

use super::chunk_search::SearchedChunk;
use super::index_shapes::mark_of;
use super::tier_choice::{RunSize, choose};
use crate::data_directory::DataDirectory;
use crate::key_index::{
    CHUNKS_MAX, ChunkKeys, KeyRun, KeyShape, KeySource, KeyTree, KeyTreeId, KnownRun, MergeError, TreeChunk, TreeError,
    TreeLocation, TreeShare, write_tree,
};
use crate::store_shared::StoreShared;
use crate::{ChunkMeta, StoreError};

/// Bytes of the runs of chunks that are merged at once, but for two of them.
const RUN_BYTES_MAX: usize = 256 << 20;

/// The keys of chunks of a version that are merged: a run of one of them, or a tree of several.
pub(super) enum Mergeable<'a> {
    Run(SearchedChunk<'a>),
    /// Its chunks, with their numbers within the tree.
    Tree(Arc<KeyTree>, Vec<(u32, SearchedChunk<'a>)>),
}

impl Mergeable<'_> {
    fn size(&self) -> RunSize {
        match self {
            Self::Run(searched) => {
                let keys = u64::from(searched.chunk.row_count);
                RunSize { live: keys, keys }
            }
            Self::Tree(tree, chunks) => {
                let keys_of = |(at, _): &(u32, SearchedChunk<'_>)| u64::from(tree.chunks()[*at as usize].key_count);
                RunSize { live: chunks.iter().map(keys_of).sum(), keys: tree.key_count() }
            }
        }
    }

    fn chunk_count(&self) -> usize {
        match self {
            Self::Run(_) => 1,
            Self::Tree(_, chunks) => chunks.len(),
        }
    }
}

/// The runs and trees of these chunks, in their order.
pub(super) fn mergeable<'a>(shape: &KeyShape, chunks: impl Iterator<Item = SearchedChunk<'a>>) -> Vec<Mergeable<'a>> {
    let mut all: Vec<Mergeable<'a>> = Vec::new();
    for searched in chunks {
        let Some(KnownRun::Tree(TreeShare { tree, chunk_at })) = searched.chunk.keys.known(shape) else {
            all.push(Mergeable::Run(searched));
            continue;
        };
        let known = all.iter_mut().rev().find_map(|known| match known {
            Mergeable::Tree(other, chunks) if Arc::ptr_eq(other, &tree) => Some(chunks),
            _ => None,
        });
        match known {
            Some(chunks) => chunks.push((chunk_at, searched)),
            None => all.push(Mergeable::Tree(tree, vec![(chunk_at, searched)])),
        }
    }
    all
}

/// Whether rows are in an index already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Indexed {
    /// They are. Rows whose keys cannot be computed are left out of runs: they had been deleted before there was the index.
    Before,
    /// They get their index now. Each row that is not deleted must have a key that can be computed.
    Now,
}

/// The run of a chunk that is not in a tree.
async fn run_of(
    shared: &Arc<StoreShared>,
    shape: &Arc<KeyShape>,
    searched: SearchedChunk<'_>,
    indexed: Indexed,
) -> Result<Arc<KeyRun>, StoreError> {
    match indexed {
        Indexed::Before => searched.run(shared, shape).await,
        Indexed::Now => searched.first_run(shared, shape).await,
    }
}

/// Trees that cannot be read back after which a call merges no more: the disk is at fault.
const DAMAGED_MAX: u32 = 2;

/// Merges the runs of these chunks until the policy has enough, tier by tier. Those of chunks in memory are left out. It ends before a tree
/// would have more than 2^15 chunks: four billion rows of full ones.
///
/// # Errors
/// What reading chunks fails with, and writing trees. What was merged before stays.
pub(crate) async fn merge_runs<'a>(
    shared: &Arc<StoreShared>,
    shape: &Arc<KeyShape>,
    chunks: impl Iterator<Item = SearchedChunk<'a>>,
    indexed: Indexed,
) -> Result<(), StoreError> {
    let chunks: Vec<_> = chunks.filter(|searched| mark_of(shape, searched.chunk).is_some()).collect();
    let mut damaged = 0;
    while damaged < DAMAGED_MAX {
        let runs = mergeable(shape, chunks.iter().copied());
        let sizes: Vec<RunSize> = runs.iter().map(Mergeable::size).collect();
        let Some(chosen) = choose(&sizes) else { return Ok(()) };
        let chosen: Vec<&Mergeable<'_>> = chosen.into_iter().map(|at| &runs[at]).collect();
        if chosen.iter().map(|run| run.chunk_count()).sum::<usize>() > CHUNKS_MAX {
            return Ok(());
        }
        damaged += u32::from(merge(shared, shape, &chosen, indexed).await? == Merged::Damaged);
    }
    Ok(())
}

/// Where a tree of a directory lies.
pub(super) fn location(directory: &Arc<DataDirectory>, device: &Arc<dyn Device>, id: KeyTreeId) -> TreeLocation {
    TreeLocation { id, path: directory.key_tree(id), device: Arc::clone(device), directory: directory.clone() }
}

/// What became of a merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Merged {
    Whole,
    /// A tree could not be read, and is forgotten.
    Damaged,
}

/// Forgets a tree that cannot be read: its chunks are indexed again.
pub(super) fn forget_tree<'a>(tree: &Arc<KeyTree>, error: &TreeError, readers: impl Iterator<Item = &'a ChunkKeys>) {
    tracing::warn!(%error, file = %tree.path().display(), "a key tree cannot be read; its keys are indexed again");
    tree.doom();
    readers.for_each(|reader| reader.forget_tree(tree));
}

/// A tree in the making.
#[derive(Default)]
struct Merge {
    sources: Vec<KeySource>,
    chunks: Vec<TreeChunk>,
    /// What will know the tree, by the numbers of chunks.
    readers: Vec<Arc<ChunkKeys>>,
    run_bytes: usize,
}

async fn merge(
    shared: &Arc<StoreShared>,
    shape: &Arc<KeyShape>,
    runs: &[&Mergeable<'_>],
    indexed: Indexed,
) -> Result<Merged, StoreError> {
    let mut merge = Merge::default();
    for run in runs {
        if merge.run_bytes > RUN_BYTES_MAX && merge.sources.len() >= 2 {
            break;
        }
        match run {
            Mergeable::Run(searched) => merge.add_run(shared, shape, *searched, indexed).await?,
            Mergeable::Tree(tree, chunks) => merge.add_tree(tree, chunks),
        }
    }
    let Merge { sources, chunks, readers, .. } = merge;
    let replaced: Vec<Arc<KeyTree>> = sources.iter().filter_map(tree_of).collect();
    match write(shared, shape, chunks, sources).await? {
        Ok(tree) => {
            let tree = Arc::new(tree);
            for (reader, chunk_at) in readers.iter().zip(0..) {
                reader.put_tree(shape.id(), TreeShare { tree: Arc::clone(&tree), chunk_at });
            }
            replaced.iter().for_each(|tree| tree.doom());
            Ok(Merged::Whole)
        }
        Err(MergeError::Source(tree, error)) => {
            forget_tree(&tree, &error, readers.iter().map(Arc::as_ref));
            Ok(Merged::Damaged)
        }
        Err(MergeError::Target(TreeError::Io(error))) => Err(StoreError::io(shared.directory.path(), error)),
        Err(MergeError::Target(error)) => Err(StoreError::Stopped { reason: error.to_string() }),
        Err(MergeError::Stopped) => Err(stopped()),
    }
}

fn stopped() -> StoreError {
    StoreError::Stopped { reason: "the statement that needs the keys has ended".to_owned() }
}

fn tree_of(source: &KeySource) -> Option<Arc<KeyTree>> {
    match source {
        KeySource::Tree { tree, .. } => Some(Arc::clone(tree)),
        KeySource::Run { .. } => None,
    }
}

impl Merge {
    async fn add_run(
        &mut self,
        shared: &Arc<StoreShared>,
        shape: &Arc<KeyShape>,
        searched: SearchedChunk<'_>,
        indexed: Indexed,
    ) -> Result<(), StoreError> {
        let run = run_of(shared, shape, searched, indexed).await?;
        self.run_bytes += run.memory_bytes();
        let chunk_at = self.chunks.len() as u32;
        let mark = mark_of(shape, searched.chunk).expect("chunks without a mark are left out");
        let (key_count, row_count) = (run.len() as u32, searched.chunk.row_count);
        self.chunks.push(TreeChunk { mark, key_count, row_count });
        self.readers.push(Arc::clone(&searched.chunk.keys));
        self.sources.push(KeySource::Run { run, chunk_at });
        Ok(())
    }

    fn add_tree(&mut self, tree: &Arc<KeyTree>, chunks: &[(u32, SearchedChunk<'_>)]) {
        let mut chunks_at = vec![None; tree.chunks().len()];
        for (at, searched) in chunks {
            chunks_at[*at as usize] = Some(self.chunks.len() as u32);
            self.chunks.push(tree.chunks()[*at as usize]);
            self.readers.push(Arc::clone(&searched.chunk.keys));
        }
        self.sources.push(KeySource::Tree { tree: Arc::clone(tree), chunks_at });
    }
}

/// Writes a tree on a thread for blocking work, which stops when the future is dropped.
async fn write(
    shared: &Arc<StoreShared>,
    shape: &Arc<KeyShape>,
    chunks: Vec<TreeChunk>,
    sources: Vec<KeySource>,
) -> Result<Result<KeyTree, MergeError>, StoreError> {
    let (shared, shape) = (Arc::clone(shared), shape.id());
    let id = shared.key_trees.next_id();
    while_awaited(move |is_stopped| {
        write_tree(location(&shared.directory, &shared.device, id), shape, chunks, sources, is_stopped)
    })
    .await
}

/// Works on a thread for blocking work, which is told to stop when the future is dropped.
///
/// # Errors
/// If the work panics.
pub(super) async fn while_awaited<T: Send + 'static>(
    work: impl FnOnce(Arc<AtomicBool>) -> T + Send + 'static,
) -> Result<T, StoreError> {
    struct StopOnDrop(Arc<AtomicBool>);
    impl Drop for StopOnDrop {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let stop = StopOnDrop(Arc::default());
    let is_stopped = Arc::clone(&stop.0);
    let worked = tokio::task::spawn_blocking(move || work(is_stopped)).await;
    worked.map_err(|error| StoreError::Stopped { reason: error.to_string() })
}

/// What keys of these chunks come from, with the deleted rows of each chunk, by the numbers that it gets.
///
/// # Errors
/// What reading chunks fails with.
pub(super) async fn sources<'a>(
    shared: &Arc<StoreShared>,
    shape: &Arc<KeyShape>,
    chunks: impl Iterator<Item = SearchedChunk<'a>>,
    indexed: Indexed,
) -> Result<(Vec<KeySource>, Vec<Arc<ChunkMeta>>), StoreError> {
    let (mut sources, mut numbered) = (Vec::new(), Vec::new());
    for run in mergeable(shape, chunks) {
        match run {
            Mergeable::Run(searched) => {
                let run = run_of(shared, shape, searched, indexed).await?;
                sources.push(KeySource::Run { run, chunk_at: numbered.len() as u32 });
                numbered.push(Arc::clone(searched.chunk));
            }
            Mergeable::Tree(tree, chunks) => {
                let mut chunks_at = vec![None; tree.chunks().len()];
                for (at, searched) in chunks {
                    chunks_at[at as usize] = Some(numbered.len() as u32);
                    numbered.push(Arc::clone(searched.chunk));
                }
                sources.push(KeySource::Tree { tree, chunks_at });
            }
        }
    }
    Ok((sources, numbered))
}
