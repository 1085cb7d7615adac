//! All keys of a key tree, in order. Reads many leaves at once and leaves the memory of searches alone. Blocks.

use std::sync::Arc;

use braid_io::IoReason;
use bytes::Bytes;
use futures::executor::block_on;

use super::TreeError;
use super::tree_file::KeyTree;
use super::tree_page::{PAGE_BYTES, PageFault, TreePage, TreePlace};

/// Leaves of one read: 1 MiB.
const LEAVES_PER_READ: u32 = 64;

/// A scan of a tree, which stands at a key or at the end.
pub(super) struct TreeScan {
    tree: Arc<KeyTree>,
    /// The next leaf to open.
    next: u32,
    /// The leaves that were read and are from it on.
    read: Bytes,
    leaf: Option<TreePage>,
    at: usize,
}

impl TreeScan {
    /// A scan that stands at the first key.
    ///
    /// # Errors
    /// For leaves that cannot be read.
    pub fn new(tree: Arc<KeyTree>) -> Result<Self, TreeError> {
        let next = tree.header().first_leaf;
        let mut scan = Self { tree, next, read: Bytes::new(), leaf: None, at: 0 };
        scan.open_leaf()?;
        Ok(scan)
    }

    /// The place of the key where it stands, which is put into a buffer; `None` at the end.
    pub fn read_key(&self, key: &mut Vec<u8>) -> Option<TreePlace> {
        let leaf = self.leaf.as_ref()?;
        leaf.read_key(self.at, key);
        Some(leaf.place(self.at))
    }

    /// Goes on to the next key.
    ///
    /// # Errors
    /// For leaves that cannot be read.
    pub fn advance(&mut self) -> Result<(), TreeError> {
        let Some(leaf) = &self.leaf else { return Ok(()) };
        self.at += 1;
        if self.at == leaf.len() { self.open_leaf() } else { Ok(()) }
    }

    fn open_leaf(&mut self) -> Result<(), TreeError> {
        (self.leaf, self.at) = (None, 0);
        let end = self.tree.header().first_leaf + self.tree.header().leaf_count;
        if self.next == end {
            return Ok(());
        }
        if self.read.is_empty() {
            let count = LEAVES_PER_READ.min(end - self.next) as usize;
            let (file, offset) = (self.tree.file(), u64::from(self.next) * PAGE_BYTES as u64);
            let read = file.device.read(&file.handle, offset, count * PAGE_BYTES, IoReason::Load);
            self.read = block_on(read)?.into_bytes();
        }
        let leaf = TreePage::open(self.read.split_to(PAGE_BYTES), self.next)?;
        if !leaf.is_leaf() || leaf.is_empty() {
            return Err(PageFault { number: self.next, what: "no keys of a leaf" }.into());
        }
        self.next += 1;
        self.leaf = Some(leaf);
        Ok(())
    }
}
