//! Whether the file of a key tree is a tree: every byte of it is read. Blocks.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use braid_io::IoReason;
use futures::executor::block_on;
use xxhash_rust::xxh3::Xxh3Default;

use super::TreeError;
use super::merged_keys::{KeySource, MergeError, MergedKeys};
use super::tree_file::KeyTree;
use super::tree_header::{HeaderFault, TreeHeader};
use super::tree_page::{PAGE_BYTES, PageFault, TreePage};
use crate::key_index::KeyRun;

/// The keys of one chunk in their order, with their rows, as a hash.
#[derive(Default)]
struct KeysHash(Xxh3Default);

impl KeysHash {
    fn add(&mut self, key: &[u8], row: u32) {
        self.0.update(&(key.len() as u64).to_le_bytes());
        self.0.update(key);
        self.0.update(&row.to_le_bytes());
    }
}

/// A hash of the keys of a run, for [`keys_of_chunks`].
pub(crate) fn hash_of_run(run: &KeyRun) -> u64 {
    let mut hash = KeysHash::default();
    (0..run.len()).for_each(|at| hash.add(run.key(at), run.row(at)));
    hash.0.digest()
}

/// Reads a whole tree; returns a hash of the keys of each of its chunks.
///
/// # Errors
/// For anything that is not as it was written, and [`MergeError::Stopped`].
pub(crate) fn keys_of_chunks(tree: &Arc<KeyTree>, is_stopped: Arc<AtomicBool>) -> Result<Vec<u64>, MergeError> {
    let of_tree = |error| MergeError::Source(Arc::clone(tree), error);
    check_parts(tree).map_err(of_tree)?;
    let filter = block_on(tree.read_filter()).map_err(of_tree)?;
    let header = tree.header();
    let mut hashes: Vec<KeysHash> = header.chunks.iter().map(|_| KeysHash::default()).collect();
    let chunks_at = (0..header.chunks.len() as u32).map(Some).collect();
    let mut keys = MergedKeys::new(vec![KeySource::Tree { tree: Arc::clone(tree), chunks_at }], is_stopped)?;
    let (mut count, mut last) = (0, Vec::new());
    while let Some((key, place)) = keys.next()? {
        if key < &last[..] || !filter.may_have(key) || !tree.is_in_bounds(key) {
            let fault = HeaderFault("a filter or bounds without one of the keys, or keys out of order");
            return Err(of_tree(fault.into()));
        }
        last.clear();
        last.extend_from_slice(key);
        hashes[place.chunk_at as usize].add(key, place.row);
        count += 1;
    }
    match count == header.key_count {
        true => Ok(hashes.into_iter().map(|hash| hash.0.digest()).collect()),
        false => Err(of_tree(HeaderFault("another number of keys").into())),
    }
}

/// Checks the header, the length of the file, and the pages above the leaves.
fn check_parts(tree: &KeyTree) -> Result<(), TreeError> {
    let header = tree.header();
    let length = fs::metadata(tree.path()).map(|file| file.len()).unwrap_or_default();
    if length != tree.file_bytes() {
        return Err(HeaderFault("another length than the file").into());
    }
    let stored = read(tree, 0, header.first_leaf as usize * PAGE_BYTES)?;
    if TreeHeader::byte_count(&stored[..PAGE_BYTES])? != stored.len() || TreeHeader::decode(&stored)? != *header {
        return Err(HeaderFault("other contents than when it was opened").into());
    }
    if header.key_count > 0 {
        let mut levels = Levels { tree, next_leaf: header.first_leaf };
        levels.check(header.root, None)?;
        if levels.next_leaf != header.first_leaf + header.leaf_count {
            return Err(HeaderFault("leaves that its root does not lead to").into());
        }
    }
    Ok(())
}

fn read(tree: &KeyTree, offset: u64, byte_count: usize) -> Result<Vec<u8>, TreeError> {
    let file = tree.file();
    let read = block_on(file.device.read(&file.handle, offset, byte_count, IoReason::Check))?;
    Ok(read.as_slice().to_vec())
}

/// The pages above the leaves, in the order of the keys below them.
struct Levels<'a> {
    tree: &'a KeyTree,
    next_leaf: u32,
}

/// The first and the last key below a page.
type KeyBounds = (Vec<u8>, Vec<u8>);

impl Levels<'_> {
    /// Checks that the separators of a page and of those below it are between the keys on their sides.
    fn check(&mut self, number: u32, level: Option<u16>) -> Result<KeyBounds, TreeError> {
        let fault = |what| TreeError::Page(PageFault { number, what });
        let page = TreePage::open(read(self.tree, u64::from(number) * PAGE_BYTES as u64, PAGE_BYTES)?.into(), number)?;
        if level.is_some_and(|level| page.level() != level) {
            return Err(fault("another level than its parent says"));
        }
        let key = |at: usize| {
            let mut key = Vec::new();
            page.read_key(at, &mut key);
            key
        };
        if page.is_leaf() {
            if number != self.next_leaf || page.is_empty() {
                return Err(fault("another place than in the order of the leaves"));
            }
            self.next_leaf += 1;
            return Ok((key(0), key(page.len() - 1)));
        }
        let below = Some(page.level() - 1);
        let (first, mut last) = self.check(page.child(0), below)?;
        for at in 0..page.len() {
            let (next_first, next_last) = self.check(page.child(at + 1), below)?;
            if last > key(at) || key(at) > next_first {
                return Err(fault("a separator that does not separate"));
            }
            last = next_last;
        }
        Ok((first, last))
    }
}
