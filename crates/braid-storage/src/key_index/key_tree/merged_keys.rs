//! The keys of several runs and trees, in order; and the tree that has them all. Blocks.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as MemoryOrder};

use super::TreeError;
use super::tree_file::{KeyTree, TreeFile, TreeLocation};
use super::tree_header::TreeChunk;
use super::tree_page::TreePlace;
use super::tree_scan::TreeScan;
use super::tree_writer::TreeWriter;
use crate::key_index::KeyRun;
use crate::key_index::key_columns::ShapeId;

/// What keys come from.
#[derive(Clone)]
pub(crate) enum KeySource {
    /// The run of a chunk, which gets this number.
    Run { run: Arc<KeyRun>, chunk_at: u32 },
    /// A tree, whose chunks get these numbers. Keys of those without one are passed over.
    Tree { tree: Arc<KeyTree>, chunks_at: Vec<Option<u32>> },
}

/// Why keys cannot be merged.
#[derive(Debug)]
pub(crate) enum MergeError {
    /// This tree cannot be read.
    Source(Arc<KeyTree>, TreeError),
    /// The new tree cannot be written.
    Target(TreeError),
    /// The task was stopped.
    Stopped,
}

/// Keys between two looks at whether the task was stopped.
const STOP_PERIOD: u64 = 4096;

/// The keys of several sources. Equal ones come in the order of the sources.
pub(crate) struct MergedKeys {
    heads: Vec<Head>,
    /// The head whose key was told last.
    last: Option<usize>,
    is_stopped: Arc<AtomicBool>,
    told: u64,
}

/// A source, at its next key.
struct Head {
    source: KeySource,
    scan: Scan,
    key: Vec<u8>,
    /// The first 16 bytes of the key, ordered as the key is as far as they go.
    prefix: u128,
    place: TreePlace,
}

enum Scan {
    Run { next: usize },
    Tree(TreeScan),
}

impl MergedKeys {
    /// The merged keys of these sources, which end with an error once `is_stopped`.
    ///
    /// # Errors
    /// For a tree that cannot be read.
    pub fn new(sources: Vec<KeySource>, is_stopped: Arc<AtomicBool>) -> Result<Self, MergeError> {
        let mut heads = Vec::with_capacity(sources.len());
        for source in sources {
            let scan = match &source {
                KeySource::Run { .. } => Scan::Run { next: 0 },
                KeySource::Tree { tree, .. } => {
                    let scan = TreeScan::new(Arc::clone(tree));
                    Scan::Tree(scan.map_err(|error| MergeError::Source(Arc::clone(tree), error))?)
                }
            };
            let place = TreePlace { chunk_at: 0, row: 0 };
            let mut head = Head { source, scan, key: Vec::new(), prefix: 0, place };
            if head.read()? {
                heads.push(head);
            }
        }
        Ok(Self { heads, last: None, is_stopped, told: 0 })
    }

    /// The next key with its place.
    ///
    /// # Errors
    /// For a tree that cannot be read, and [`MergeError::Stopped`].
    pub fn next(&mut self) -> Result<Option<(&[u8], TreePlace)>, MergeError> {
        if self.told.is_multiple_of(STOP_PERIOD) && self.is_stopped.load(MemoryOrder::Relaxed) {
            return Err(MergeError::Stopped);
        }
        self.told += 1;
        if let Some(last) = self.last.take()
            && !self.heads[last].read()?
        {
            self.heads.remove(last);
        }
        let mut least = 0;
        for at in 1..self.heads.len() {
            if self.heads[at].order(&self.heads[least]) == Ordering::Less {
                least = at;
            }
        }
        let Some(head) = self.heads.get(least) else { return Ok(None) };
        self.last = Some(least);
        Ok(Some((&head.key, head.place)))
    }
}

impl Head {
    /// Takes the next key of the source; `false` at its end.
    fn read(&mut self) -> Result<bool, MergeError> {
        match (&self.source, &mut self.scan) {
            (KeySource::Run { run, chunk_at }, Scan::Run { next }) => {
                if *next == run.len() {
                    return Ok(false);
                }
                self.key.clear();
                self.key.extend_from_slice(run.key(*next));
                self.place = TreePlace { chunk_at: *chunk_at, row: run.row(*next) };
                *next += 1;
            }
            (KeySource::Tree { tree, chunks_at }, Scan::Tree(scan)) => loop {
                let Some(place) = scan.read_key(&mut self.key) else { return Ok(false) };
                scan.advance().map_err(|error| MergeError::Source(Arc::clone(tree), error))?;
                // A place whose chunk the tree does not have is of a damaged tree.
                if let Some(Some(chunk_at)) = chunks_at.get(place.chunk_at as usize) {
                    self.place = TreePlace { chunk_at: *chunk_at, ..place };
                    break;
                }
            },
            _ => unreachable!("a source is scanned as what it is"),
        }
        let mut prefix = [0; 16];
        let count = self.key.len().min(16);
        prefix[..count].copy_from_slice(&self.key[..count]);
        self.prefix = u128::from_be_bytes(prefix);
        Ok(true)
    }

    fn order(&self, other: &Self) -> Ordering {
        self.prefix.cmp(&other.prefix).then_with(|| self.key.cmp(&other.key))
    }
}

/// Writes the tree of these chunks, whose keys these sources have.
///
/// # Errors
/// For a tree that cannot be read, a file that cannot be written, and [`MergeError::Stopped`] once `is_stopped`.
pub(crate) fn write_tree(
    location: TreeLocation,
    shape: ShapeId,
    chunks: Vec<TreeChunk>,
    sources: Vec<KeySource>,
    is_stopped: Arc<AtomicBool>,
) -> Result<KeyTree, MergeError> {
    let file = TreeFile::create(location).map_err(MergeError::Target)?;
    let mut writer = TreeWriter::new(file.device.as_ref(), &file.handle, shape, chunks);
    let mut keys = MergedKeys::new(sources, is_stopped)?;
    while let Some((key, place)) = keys.next()? {
        writer.push(key, place).map_err(MergeError::Target)?;
    }
    let (header, filter) = writer.finish().map_err(MergeError::Target)?;
    Ok(KeyTree::new(file, header, filter))
}
