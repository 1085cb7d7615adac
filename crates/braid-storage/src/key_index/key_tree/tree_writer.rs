//! Writes a key tree bottom-up: leaves as keys come, then each level above.
//!
//! The header comes last, when all else is synced: a file that has a sound one has all of the tree. The header itself is not synced. A tree
//! is a copy of what its chunks say, and one that a crash takes is made again.

use braid_base::SEGMENT_ALIGN_BYTES;
use braid_io::{AlignedBuffer, Device, FileHandle, IoReason};
use futures::executor::block_on;
use xxhash_rust::xxh3::Xxh3Default;

use super::TreeError;
use super::tree_header::{TreeChunk, TreeHeader, header_pages};
use super::tree_page::{PAGE_BYTES, PageBuilder, TreePlace, shared_bytes};
use crate::key_index::key_columns::ShapeId;
use crate::key_index::key_filter::KeyFilter;

/// Pages of one write: 1 MiB.
const PAGES_PER_WRITE: usize = 64;

/// A tree in the making. Keys come in their order.
pub(super) struct TreeWriter<'a> {
    device: &'a dyn Device,
    file: &'a FileHandle,
    shape: ShapeId,
    chunks: Vec<TreeChunk>,
    first_leaf: u32,
    /// The number of the next page.
    next: u32,
    /// Pages before it that are not written yet.
    unwritten: Vec<u8>,
    leaf: PageBuilder,
    separators: Separators,
    filter: KeyFilter,
    key_count: u64,
    first_key: Box<[u8]>,
}

/// Separators of the pages of a level.
#[derive(Default)]
struct Separators {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Separators {
    fn push(&mut self, separator: &[u8]) {
        self.bytes.extend_from_slice(separator);
        self.ends.push(self.bytes.len());
    }

    fn get(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start..self.ends[at]]
    }
}

impl<'a> TreeWriter<'a> {
    /// A writer of a tree of these chunks, from which all their keys are to come.
    pub fn new(device: &'a dyn Device, file: &'a FileHandle, shape: ShapeId, chunks: Vec<TreeChunk>) -> Self {
        let first_leaf = header_pages(chunks.len());
        let key_count: u64 = chunks.iter().map(|chunk| u64::from(chunk.key_count)).sum();
        Self {
            device,
            file,
            shape,
            chunks,
            first_leaf,
            next: first_leaf,
            unwritten: Vec::with_capacity(PAGES_PER_WRITE * PAGE_BYTES),
            leaf: PageBuilder::leaf(),
            separators: Separators::default(),
            filter: KeyFilter::for_keys(key_count as usize),
            key_count: 0,
            first_key: Box::default(),
        }
    }

    /// Adds a key that is not below the one before.
    ///
    /// # Errors
    /// Those of writes.
    pub fn push(&mut self, key: &[u8], place: TreePlace) -> Result<(), TreeError> {
        self.filter.add(key);
        if self.key_count == 0 {
            self.first_key = key.into();
        }
        self.key_count += 1;
        if self.leaf.push(key, place) {
            return Ok(());
        }
        let full = std::mem::replace(&mut self.leaf, PageBuilder::leaf());
        self.separators.push(separator(full.last_key(), key));
        self.write_page(&full)?;
        let is_added = self.leaf.push(key, place);
        assert!(is_added, "a page has room for any key");
        Ok(())
    }

    /// Writes what is left; the header last.
    ///
    /// # Errors
    /// Those of writes.
    pub fn finish(mut self) -> Result<(TreeHeader, KeyFilter), TreeError> {
        let expected: u64 = self.chunks.iter().map(|chunk| u64::from(chunk.key_count)).sum();
        assert_eq!(self.key_count, expected, "a tree has the keys of its chunks");
        let last = std::mem::replace(&mut self.leaf, PageBuilder::leaf());
        let mut last_key = Box::default();
        if !last.is_empty() {
            last_key = last.last_key().into();
            self.write_page(&last)?;
        }
        let leaf_count = self.next - self.first_leaf;
        let root = if leaf_count == 0 { 0 } else { self.write_levels_above()? };
        self.write_pages()?;
        let filter_at = u64::from(self.next) * PAGE_BYTES as u64;
        let (filter_bytes, filter_checksum) = self.write_filter(filter_at)?;
        let header = TreeHeader {
            shape: self.shape,
            first_leaf: self.first_leaf,
            leaf_count,
            root,
            key_count: self.key_count,
            filter_at,
            filter_bytes,
            filter_checksum,
            bounds: (std::mem::take(&mut self.first_key), last_key),
            chunks: std::mem::take(&mut self.chunks),
        };
        block_on(self.device.sync(self.file))?;
        self.write(0, AlignedBuffer::from_slice(&header.encode()))?;
        Ok((header, self.filter))
    }

    /// Writes the filter; returns its bytes and its checksum.
    fn write_filter(&self, filter_at: u64) -> Result<(u64, u64), TreeError> {
        let (mut written, mut sum) = (0, Xxh3Default::new());
        for part in self.filter.parts(PAGES_PER_WRITE * PAGE_BYTES) {
            sum.update(&part);
            self.write(filter_at + written, AlignedBuffer::from_slice_padded(&part))?;
            written += part.len() as u64;
        }
        Ok((written, sum.digest()))
    }

    /// Writes the levels above the leaves; returns the root.
    fn write_levels_above(&mut self) -> Result<u32, TreeError> {
        let mut below = std::mem::take(&mut self.separators);
        let (mut first_child, mut level) = (self.first_leaf, 1);
        while !below.ends.is_empty() {
            let first = self.next;
            let mut above = Separators::default();
            let mut page = PageBuilder::inner(level, first_child);
            for at in 0..below.ends.len() {
                if !page.push_separator(below.get(at)) {
                    above.push(below.get(at));
                    self.write_page(&page)?;
                    page = PageBuilder::inner(level, first_child + at as u32 + 1);
                }
            }
            self.write_page(&page)?;
            (below, first_child, level) = (above, first, level + 1);
        }
        Ok(self.next - 1)
    }

    fn write_page(&mut self, page: &PageBuilder) -> Result<(), TreeError> {
        let start = self.unwritten.len();
        self.unwritten.resize(start + PAGE_BYTES, 0);
        page.finish(self.next, &mut self.unwritten[start..]);
        self.next = self.next.checked_add(1).expect("2^32 pages are 2^46 bytes");
        if self.unwritten.len() == PAGES_PER_WRITE * PAGE_BYTES { self.write_pages() } else { Ok(()) }
    }

    fn write_pages(&mut self) -> Result<(), TreeError> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let first = self.next as usize - self.unwritten.len() / PAGE_BYTES;
        let pages = AlignedBuffer::from_slice(&self.unwritten);
        self.unwritten.clear();
        self.write((first * PAGE_BYTES) as u64, pages)
    }

    fn write(&self, offset: u64, bytes: AlignedBuffer) -> Result<(), TreeError> {
        Ok(block_on(self.device.write(self.file, offset, bytes, IoReason::Load))?)
    }
}

/// The shortest key above all of a page whose last key is `last`, and not above `first`, the first key of the next page.
fn separator<'a>(last: &[u8], first: &'a [u8]) -> &'a [u8] {
    debug_assert!(last <= first, "keys come in their order");
    &first[..first.len().min(shared_bytes(last, first) + 1)]
}

const _: () = assert!(PAGE_BYTES.is_multiple_of(SEGMENT_ALIGN_BYTES), "pages are written directly");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_short() {
        for (last, first, between) in [
            (&b"abc"[..], &b"abf"[..], &b"abf"[..]),
            (b"a", b"bcd", b"b"),
            (b"ab", b"abcd", b"abc"),
            (b"ab", b"ab", b"ab"),
        ] {
            assert_eq!(separator(last, first), between);
        }
    }
}
