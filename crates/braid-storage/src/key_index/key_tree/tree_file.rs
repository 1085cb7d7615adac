//! A key tree that is open: its life and its searches.
//!
//! Life of a file: it is created doomed, and is deleted with its last reference unless it was spared meanwhile. Trees of committed chunks are
//! spared, so that the next opening finds them, and doomed again when no chunk of the newest state is in them.

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use braid_base::SEGMENT_ALIGN_BYTES;
use braid_io::{Device, FileHandle, IoReason, OpenMode};
use futures::executor::block_on;
use tokio::sync::OnceCell;
use xxhash_rust::xxh3::Xxh3Default;

use super::TreeError;
use super::tree_header::{TreeChunk, TreeHeader};
use super::tree_page::{PAGE_BYTES, PageFault, TreePage, TreePlace};
use crate::key_index::key_columns::ShapeId;
use crate::key_index::key_filter::KeyFilter;
use crate::key_index::search_cache::SearchCache;

/// Bytes of a filter that are read at once.
const FILTER_READ_BYTES: u64 = 1 << 20;

/// Identity of a tree within its data directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct KeyTreeId(pub u64);

impl fmt::Display for KeyTreeId {
    /// As in the file's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A key tree.
pub(crate) struct KeyTree {
    header: TreeHeader,
    /// Read with the first search.
    filter: OnceCell<KeyFilter>,
    file: TreeFile,
}

/// Where a tree lies.
pub(crate) struct TreeLocation {
    /// The tree.
    pub id: KeyTreeId,
    /// The path of its file.
    pub path: PathBuf,
    /// Through which it is read and written.
    pub device: Arc<dyn Device>,
    /// What keeps other stores from the directory: a file is not deleted late, under another store.
    pub directory: Arc<dyn Any + Send + Sync>,
}

/// The file of a tree, which goes with it while it is doomed.
pub(super) struct TreeFile {
    pub id: KeyTreeId,
    pub handle: FileHandle,
    pub device: Arc<dyn Device>,
    _directory: Arc<dyn Any + Send + Sync>,
    doomed: AtomicBool,
}

impl TreeFile {
    /// Creates a doomed file.
    ///
    /// # Errors
    /// Those of the device.
    pub fn create(location: TreeLocation) -> Result<Self, TreeError> {
        Self::open(location, OpenMode::Create)
    }

    fn open(location: TreeLocation, mode: OpenMode) -> Result<Self, TreeError> {
        let TreeLocation { id, path, device, directory } = location;
        let handle = device.open(&path, mode)?;
        Ok(Self { id, handle, device, _directory: directory, doomed: AtomicBool::new(true) })
    }
}

impl Drop for TreeFile {
    fn drop(&mut self) {
        if self.doomed.load(Ordering::Acquire) {
            // A file that stays is removed by the next start.
            if let Err(error) = self.device.remove(self.handle.path()) {
                tracing::warn!(%error, "a key tree stays until the next start deletes it");
            }
        }
    }
}

/// A leaf that was searched last, where the next of ascending keys may be.
#[derive(Default)]
pub(crate) struct LeafCursor {
    leaf: Option<(u32, TreePage)>,
}

impl KeyTree {
    /// The tree that was just written into a file.
    pub(super) fn new(file: TreeFile, header: TreeHeader, filter: KeyFilter) -> Self {
        Self { header, filter: OnceCell::new_with(Some(filter)), file }
    }

    /// Opens a tree that an earlier process has left; doomed until it is spared. Blocks for a read or two.
    ///
    /// # Errors
    /// For a file without a header, and those of the device.
    pub fn open(location: TreeLocation) -> Result<Self, TreeError> {
        let file = TreeFile::open(location, OpenMode::Read)?;
        let read = |bytes| block_on(file.device.read(&file.handle, 0, bytes, IoReason::Load));
        let first = read(PAGE_BYTES)?;
        let header = TreeHeader::decode(read(TreeHeader::byte_count(first.as_slice())?)?.as_slice())?;
        Ok(Self { header, filter: OnceCell::new(), file })
    }

    pub fn id(&self) -> KeyTreeId {
        self.file.id
    }

    pub fn path(&self) -> &Path {
        self.file.handle.path()
    }

    /// What makes its keys.
    pub fn shape(&self) -> ShapeId {
        self.header.shape
    }

    /// Its chunks, by their numbers within the tree.
    pub fn chunks(&self) -> &[TreeChunk] {
        &self.header.chunks
    }

    pub fn key_count(&self) -> u64 {
        self.header.key_count
    }

    /// Bytes of its file.
    pub fn file_bytes(&self) -> u64 {
        self.header.filter_at + self.header.filter_bytes.next_multiple_of(SEGMENT_ALIGN_BYTES as u64)
    }

    pub(super) fn header(&self) -> &TreeHeader {
        &self.header
    }

    pub(super) fn file(&self) -> &TreeFile {
        &self.file
    }

    /// Lets the file outlive its last reference.
    pub fn spare(&self) {
        self.file.doomed.store(false, Ordering::Release);
    }

    /// Deletes the file with its last reference.
    pub fn doom(&self) {
        self.file.doomed.store(true, Ordering::Release);
    }

    /// The filter of its keys.
    ///
    /// # Errors
    /// Of the first call: what reading fails with.
    pub async fn filter(&self) -> Result<&KeyFilter, TreeError> {
        self.filter.get_or_try_init(|| self.read_filter()).await
    }

    /// Reads the filter in parts, with its padding, which is zero.
    pub(super) async fn read_filter(&self) -> Result<KeyFilter, TreeError> {
        let TreeHeader { filter_at, filter_bytes, filter_checksum, .. } = self.header;
        let (mut filter, mut sum, mut at) = (KeyFilter::default(), Xxh3Default::new(), 0);
        while at < filter_bytes {
            let count = FILTER_READ_BYTES.min(filter_bytes - at) as usize;
            let stored = count.next_multiple_of(SEGMENT_ALIGN_BYTES);
            let read = self.file.device.read(&self.file.handle, filter_at + at, stored, IoReason::Load).await?;
            let (part, padding) = read.as_slice().split_at(count);
            if padding.iter().any(|byte| *byte != 0) {
                return Err(TreeError::Filter);
            }
            sum.update(part);
            filter.push_part(part);
            at += count as u64;
        }
        if sum.digest() == filter_checksum { Ok(filter) } else { Err(TreeError::Filter) }
    }

    /// Whether the bounds of its keys leave room for a key.
    pub fn is_in_bounds(&self, key: &[u8]) -> bool {
        let (first, last) = &self.header.bounds;
        self.header.key_count > 0 && (&first[..]..=&last[..]).contains(&key)
    }

    /// Tells the places of a key, until one is enough. Keys that come in their order share a cursor, so that a leaf is found once.
    ///
    /// # Errors
    /// For pages that cannot be read.
    pub async fn find(
        &self,
        cache: &SearchCache,
        cursor: &mut LeafCursor,
        key: &[u8],
        mut is_enough: impl FnMut(TreePlace) -> bool,
    ) -> Result<(), TreeError> {
        if self.header.key_count == 0 {
            return Ok(());
        }
        let (mut number, mut leaf) = match cursor.leaf.take() {
            // Keys before its first one that are alike would be in the leaf before.
            Some((number, leaf)) if (1..leaf.len()).contains(&leaf.lower_bound(key)) => (number, leaf),
            _ => self.leaf_of(cache, key).await?,
        };
        let mut at = leaf.lower_bound(key);
        loop {
            if at == leaf.len() && number + 1 < self.header.first_leaf + self.header.leaf_count {
                number += 1;
                leaf = self.leaf(cache, number).await?;
                at = 0;
                continue;
            }
            if at == leaf.len() || !leaf.is_at(at, key) || is_enough(leaf.place(at)) {
                cursor.leaf = Some((number, leaf));
                return Ok(());
            }
            at += 1;
        }
    }

    /// The first leaf that may have a key.
    async fn leaf_of(&self, cache: &SearchCache, key: &[u8]) -> Result<(u32, TreePage), TreeError> {
        let mut number = self.header.root;
        let mut page = self.page(cache, number).await?;
        while !page.is_leaf() {
            let level = page.level();
            number = page.child_of(key);
            page = self.page(cache, number).await?;
            if page.level() + 1 != level {
                return Err(PageFault { number, what: "another level than its parent says" }.into());
            }
        }
        self.checked_leaf(number, page).map(|page| (number, page))
    }

    async fn leaf(&self, cache: &SearchCache, number: u32) -> Result<TreePage, TreeError> {
        let page = self.page(cache, number).await?;
        self.checked_leaf(number, page)
    }

    fn checked_leaf(&self, number: u32, page: TreePage) -> Result<TreePage, TreeError> {
        let TreeHeader { first_leaf, leaf_count, .. } = self.header;
        match page.is_leaf() && !page.is_empty() && (first_leaf..first_leaf + leaf_count).contains(&number) {
            true => Ok(page),
            false => Err(PageFault { number, what: "no keys, or the place of another page" }.into()),
        }
    }

    async fn page(&self, cache: &SearchCache, number: u32) -> Result<TreePage, TreeError> {
        if let Some(page) = cache.page(self.file.id, number) {
            return Ok(page);
        }
        let offset = u64::from(number) * PAGE_BYTES as u64;
        let read = self.file.device.read(&self.file.handle, offset, PAGE_BYTES, IoReason::Load).await?;
        let page = TreePage::open(read.into_bytes(), number)?;
        cache.put_page(self.file.id, number, page.clone());
        Ok(page)
    }
}

impl fmt::Debug for KeyTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chunks = self.header.chunks.len();
        f.debug_struct("KeyTree").field("path", &self.path()).field("chunks", &chunks).finish_non_exhaustive()
    }
}
