//! The header of a key tree, which says whose keys the tree has and where its parts are.
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 8 | magic `BRAIDKEY` |
//! | 8 | 4 | format version, [`FORMAT_VERSION`] |
//! | 12 | 4 | number of the first leaf: the header has the pages before it |
//! | 16 | 8 | XXH3-64 of bytes 24 to the first leaf |
//! | 24 | 16 | what makes keys: XXH3-128 of the types and ids of their columns, of their missing values, and of keys of some values |
//! | 40 | 4 | number of chunks *m*, at least 1, at most 2^15 |
//! | 44 | 4 | number of leaves; 0 of a tree without keys |
//! | 48 | 4 | number of the root; 0 without keys |
//! | 52 | 4 | 0 |
//! | 56 | 8 | number of keys |
//! | 64 | 8 | offset of the filter |
//! | 72 | 8 | bytes of the filter, a multiple of 32 |
//! | 80 | 8 | XXH3-64 of the filter |
//! | 88 | 24·*m* | each chunk: 16 bytes that say which one, number of its keys in 4, of its rows in 4 |
//! | | 4 | bytes of the first key |
//! | | | the first key |
//! | | 4 | bytes of the last key |
//! | | | the last key |
//! | | | zeros up to the first leaf |
//!
//! The leaves follow the header in the order of their keys, then the pages of each level above, and the filter after the root.
//!
//! A chunk is told by XXH3-128 of where the columns of its keys are: of the id of its file, and the offsets, checksums and scales of their
//! segments. So a tree is never taken for that of other rows, also if a file's id is given out again after a crash.

use braid_base::CHUNK_ROWS;

use super::tree_page::{CHUNKS_MAX, PAGE_BYTES};
use crate::checksum::checksum;
use crate::key_index::key_columns::ShapeId;
use crate::key_index::{KEY_BYTES_MAX, key_filter};

/// The only version of the format so far.
const FORMAT_VERSION: u32 = 1;

const MAGIC: [u8; 8] = *b"BRAIDKEY";
const CHUNKS_AT: usize = 88;
const CHUNK_BYTES: usize = 24;

/// Which rows a chunk has, in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChunkMark(pub u128);

/// A chunk whose keys a tree has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeChunk {
    /// Which one it is.
    pub mark: ChunkMark,
    /// Its keys in the tree.
    pub key_count: u32,
    /// Its rows, deleted ones included.
    pub row_count: u32,
}

/// The header of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeHeader {
    /// What makes the keys.
    pub shape: ShapeId,
    /// The chunks, by their numbers within the tree.
    pub chunks: Vec<TreeChunk>,
    /// Number of the first leaf, which is behind the header.
    pub first_leaf: u32,
    /// Leaves; none without keys.
    pub leaf_count: u32,
    /// Number of the root; 0 without keys.
    pub root: u32,
    /// Keys of all chunks.
    pub key_count: u64,
    /// Offset of the filter in the file.
    pub filter_at: u64,
    /// Bytes of the filter.
    pub filter_bytes: u64,
    /// XXH3-64 of the filter.
    pub filter_checksum: u64,
    /// The first and the last key, both empty without keys.
    pub bounds: (Box<[u8]>, Box<[u8]>),
}

/// What is wrong with a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the header of a key tree has {0}")]
pub struct HeaderFault(pub &'static str);

/// Pages that the header of a tree of this many chunks takes, with the longest keys.
pub(super) fn header_pages(chunk_count: usize) -> u32 {
    let bytes = CHUNKS_AT + CHUNK_BYTES * chunk_count + 2 * (4 + KEY_BYTES_MAX);
    u32::try_from(bytes.div_ceil(PAGE_BYTES)).expect("a tree has a bounded number of chunks")
}

impl TreeHeader {
    /// Bytes of the header, which the first page of a file tells.
    ///
    /// # Errors
    /// For bytes that do not begin with one.
    pub fn byte_count(first_page: &[u8]) -> Result<usize, HeaderFault> {
        assert_eq!(first_page.len(), PAGE_BYTES, "a page has a fixed size");
        let four = |at: usize| u32::from_le_bytes(first_page[at..at + 4].try_into().expect("four bytes"));
        if first_page[..8] != MAGIC {
            return Err(HeaderFault("another magic"));
        }
        if four(8) != FORMAT_VERSION {
            return Err(HeaderFault("another version"));
        }
        match four(12) {
            pages if (1..=header_pages(CHUNKS_MAX)).contains(&pages) => Ok(pages as usize * PAGE_BYTES),
            _ => Err(HeaderFault("more bytes than any")),
        }
    }

    /// The header of these bytes, as many as [`Self::byte_count`] says.
    ///
    /// # Errors
    /// For bytes that are none.
    pub fn decode(bytes: &[u8]) -> Result<Self, HeaderFault> {
        assert_eq!(Ok(bytes.len()), Self::byte_count(&bytes[..PAGE_BYTES]), "a header has the bytes that it says");
        let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let eight = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let sixteen = |at: usize| u128::from_le_bytes(bytes[at..at + 16].try_into().expect("16 bytes"));
        if eight(16) != checksum(&bytes[24..]) {
            return Err(HeaderFault("a wrong checksum"));
        }
        let (first_leaf, chunk_count) = (four(12), four(40) as usize);
        if !(1..=CHUNKS_MAX).contains(&chunk_count) || header_pages(chunk_count) != first_leaf {
            return Err(HeaderFault("a number of chunks that its bytes do not have"));
        }
        let chunk =
            |at: usize| TreeChunk { mark: ChunkMark(sixteen(at)), key_count: four(at + 16), row_count: four(at + 20) };
        let chunks: Vec<TreeChunk> = (0..chunk_count).map(|at| chunk(CHUNKS_AT + CHUNK_BYTES * at)).collect();
        let mut at = CHUNKS_AT + CHUNK_BYTES * chunk_count;
        let mut take_key = || {
            let count = Some(four(at) as usize).filter(|count| *count <= KEY_BYTES_MAX);
            let count = count.ok_or(HeaderFault("a key that is too long"))?;
            let key = &bytes[at + 4..at + 4 + count];
            at += 4 + count;
            Ok(Box::<[u8]>::from(key))
        };
        let bounds = (take_key()?, take_key()?);
        let header = Self {
            shape: ShapeId(sixteen(24)),
            first_leaf,
            leaf_count: four(44),
            root: four(48),
            key_count: eight(56),
            filter_at: eight(64),
            filter_bytes: eight(72),
            filter_checksum: eight(80),
            chunks,
            bounds,
        };
        header.validate().map(|()| header)
    }

    fn validate(&self) -> Result<(), HeaderFault> {
        let key_count: u64 = self.chunks.iter().map(|chunk| u64::from(chunk.key_count)).sum();
        let fits = |chunk: &TreeChunk| chunk.key_count <= chunk.row_count && chunk.row_count as usize <= CHUNK_ROWS;
        if key_count != self.key_count || !self.chunks.iter().all(fits) {
            return Err(HeaderFault("more keys than its chunks"));
        }
        let behind_leaves = u64::from(self.first_leaf) + u64::from(self.leaf_count);
        let pages = match self.key_count {
            0 if self.root == 0 && self.leaf_count == 0 => behind_leaves,
            1.. if self.leaf_count == 1 && self.root == self.first_leaf => behind_leaves,
            1.. if self.leaf_count > 1 && u64::from(self.root) >= behind_leaves => u64::from(self.root) + 1,
            _ => return Err(HeaderFault("leaves without a root")),
        };
        if u64::from(self.leaf_count) > self.key_count || self.bounds.0 > self.bounds.1 {
            return Err(HeaderFault("more leaves than keys, or a last key before the first"));
        }
        if self.filter_at != pages * PAGE_BYTES as u64 {
            return Err(HeaderFault("a filter at another place"));
        }
        match self.filter_bytes == key_filter::bytes_for(self.key_count) {
            true => Ok(()),
            false => Err(HeaderFault("a filter of another size")),
        }
    }

    /// The bytes of the header, up to the first leaf.
    pub fn encode(&self) -> Vec<u8> {
        let count = |count: usize| u32::try_from(count).expect("a header's counts are bounded").to_le_bytes();
        let mut bytes = Vec::with_capacity(self.first_leaf as usize * PAGE_BYTES);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.first_leaf.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(&self.shape.0.to_le_bytes());
        bytes.extend_from_slice(&count(self.chunks.len()));
        bytes.extend_from_slice(&self.leaf_count.to_le_bytes());
        bytes.extend_from_slice(&self.root.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for number in [self.key_count, self.filter_at, self.filter_bytes, self.filter_checksum] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for chunk in &self.chunks {
            bytes.extend_from_slice(&chunk.mark.0.to_le_bytes());
            bytes.extend_from_slice(&chunk.key_count.to_le_bytes());
            bytes.extend_from_slice(&chunk.row_count.to_le_bytes());
        }
        for key in [&self.bounds.0, &self.bounds.1] {
            bytes.extend_from_slice(&count(key.len()));
            bytes.extend_from_slice(key);
        }
        assert!(bytes.len() <= self.first_leaf as usize * PAGE_BYTES, "a header has room for its chunks and keys");
        bytes.resize(self.first_leaf as usize * PAGE_BYTES, 0);
        let sum = checksum(&bytes[24..]);
        bytes[16..24].copy_from_slice(&sum.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use braid_base::{Random, SeededRandom};

    use super::*;

    fn header(chunk_count: u32) -> TreeHeader {
        let chunk = |at: u32| TreeChunk { mark: ChunkMark(u128::from(at)), key_count: at, row_count: at + 1 };
        let chunks: Vec<TreeChunk> = (1..=chunk_count).map(chunk).collect();
        let key_count = u64::from(chunk_count * (chunk_count + 1) / 2);
        let first_leaf = header_pages(chunks.len());
        TreeHeader {
            shape: ShapeId(77),
            chunks,
            first_leaf,
            leaf_count: 1,
            root: first_leaf,
            key_count,
            filter_at: u64::from(first_leaf + 1) * PAGE_BYTES as u64,
            filter_bytes: key_filter::bytes_for(key_count),
            filter_checksum: 5,
            bounds: (Box::from(&b"first"[..]), vec![b'x'; KEY_BYTES_MAX].into()),
        }
    }

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for chunk_count in [1, 8, 500, 5000] {
            let written = header(chunk_count);
            let bytes = written.encode();
            assert_eq!(TreeHeader::byte_count(&bytes[..PAGE_BYTES]), Ok(bytes.len()));
            assert_eq!(TreeHeader::decode(&bytes), Ok(written));
        }
    }

    #[test]
    fn every_flipped_bit_shows_and_no_bytes_panic() {
        let bytes = header(8).encode();
        let decode = |bytes: &[u8]| {
            let count = TreeHeader::byte_count(&bytes[..PAGE_BYTES])?;
            if count > bytes.len() { Err(HeaderFault("no more bytes")) } else { TreeHeader::decode(&bytes[..count]) }
        };
        for bit in 0..8 * 400 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped).is_err(), "bit {bit}");
        }
        let mut random = SeededRandom::new(1);
        for _ in 0..20_000 {
            let mut changed = bytes.clone();
            for _ in 0..1 + random.next_u64() % 4 {
                changed[(24 + random.next_u64() % 300) as usize] = random.next_u64() as u8;
            }
            let sum = checksum(&changed[24..]);
            changed[16..24].copy_from_slice(&sum.to_le_bytes());
            if let Ok(header) = decode(&changed) {
                assert_eq!(TreeHeader::decode(&header.encode()), Ok(header));
            }
        }
    }
}
