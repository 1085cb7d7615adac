//! A page of a key tree: keys in order, without what all of them begin with.
//!
//! | offset | width | meaning |
//! |---|---|---|
//! | 0 | 8 | XXH3-64 of the rest of the page |
//! | 8 | 4 | number of the page: its offset in the file, divided by [`PAGE_BYTES`] |
//! | 12 | 2 | level; 0 of a leaf |
//! | 14 | 2 | number of keys *n* |
//! | 16 | 2 | bytes *p* that all keys begin with |
//! | 18 | 2 | 0 |
//! | 20 | 4 | number of the first child; 0 in a leaf |
//! | 24 | *p* | what all keys begin with |
//! | | 2·*n* | where the rest of each key ends, from the beginning of the rests |
//! | | | the rests of the keys |
//! | | 4·*n* | the place of the row of each key, in a leaf only |
//! | | | zeros up to the end of the page |
//!
//! A page that is not a leaf has *n* + 1 children, with consecutive numbers. Its keys are separators: no key below the child before one is
//! greater, and no key below the child behind it is less (Bayer, Unterauer: Prefix B-Trees, 1977).
//!
//! The place of a row has the chunk's number within the tree in its upper 15 bits, and the row's number within the chunk in the lower 17.

use std::cmp::Ordering;

use braid_base::CHUNK_ROWS;
use bytes::Bytes;

use crate::checksum::checksum;
use crate::key_index::KEY_BYTES_MAX;

/// Bytes of a page: a thousand short keys, or one of [`KEY_BYTES_MAX`] bytes and some.
pub const PAGE_BYTES: usize = 16 << 10;

/// Chunks that the places of a tree can name.
pub(crate) const CHUNKS_MAX: usize = 1 << (32 - ROW_BITS);

const ROW_BITS: u32 = CHUNK_ROWS.trailing_zeros();
const HEADER_BYTES: usize = 24;
const END_BYTES: usize = 2;
const PLACE_BYTES: usize = 4;

const _: () = assert!(CHUNK_ROWS == 1 << ROW_BITS, "a row's number has a fixed number of bits");
const _: () = assert!(HEADER_BYTES + KEY_BYTES_MAX + END_BYTES + PLACE_BYTES <= PAGE_BYTES, "a page has a key");
const _: () = assert!(PAGE_BYTES <= u16::MAX as usize, "ends have two bytes");

/// Where the row of a key is: a chunk of the tree, and a row of the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreePlace {
    /// The number of the chunk within the tree.
    pub chunk_at: u32,
    /// The number of the row within the chunk.
    pub row: u32,
}

impl TreePlace {
    fn packed(self) -> u32 {
        debug_assert!((self.chunk_at as usize) < CHUNKS_MAX && (self.row as usize) < CHUNK_ROWS, "{self:?}");
        self.chunk_at << ROW_BITS | self.row
    }

    fn unpacked(packed: u32) -> Self {
        Self { chunk_at: packed >> ROW_BITS, row: packed & (CHUNK_ROWS as u32 - 1) }
    }
}

/// What is wrong with the bytes of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("page {number} of a key tree has {what}")]
pub struct PageFault {
    /// The number of the page.
    pub number: u32,
    /// What it has that it should not have.
    pub what: &'static str,
}

/// A page that is complete.
#[derive(Clone, Debug)]
pub struct TreePage {
    bytes: Bytes,
    level: u16,
    key_count: usize,
    first_child: u32,
    prefix_bytes: usize,
}

impl TreePage {
    /// The page of this number, of [`PAGE_BYTES`] bytes.
    ///
    /// # Errors
    /// For bytes that are no such page.
    pub fn open(bytes: Bytes, number: u32) -> Result<Self, PageFault> {
        assert_eq!(bytes.len(), PAGE_BYTES, "a page has a fixed size");
        let fault = |what| PageFault { number, what };
        let two = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let four = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let sum = u64::from_le_bytes(bytes[..8].try_into().expect("eight bytes"));
        if sum != checksum(&bytes[8..]) {
            return Err(fault("a wrong checksum"));
        }
        if four(8) != number {
            return Err(fault("the number of another page"));
        }
        let (level, key_count, prefix_bytes, first_child) = (two(12), two(14) as usize, two(16) as usize, four(20));
        let page = Self { level, key_count, first_child, prefix_bytes, bytes };
        let rests = page.ends_at() + END_BYTES * key_count;
        if rests > PAGE_BYTES {
            return Err(fault("more keys than it has bytes for"));
        }
        let mut before = 0;
        for end in (0..key_count).map(|at| page.end(at)) {
            if end < before {
                return Err(fault("a key that ends before it begins"));
            }
            before = end;
        }
        let place_bytes = if level == 0 { PLACE_BYTES * key_count } else { 0 };
        if rests + before + place_bytes > PAGE_BYTES {
            return Err(fault("longer keys than it has bytes for"));
        }
        Ok(page)
    }

    /// Whether its keys have rows, and not children.
    pub fn is_leaf(&self) -> bool {
        self.level == 0
    }

    /// Levels below it.
    pub fn level(&self) -> u16 {
        self.level
    }

    /// Number of its keys.
    pub fn len(&self) -> usize {
        self.key_count
    }

    /// Whether it has no keys: a page above the leaves may have one child.
    pub fn is_empty(&self) -> bool {
        self.key_count == 0
    }

    /// The page that has the first key that is not below this one, unless the next page begins with it.
    pub fn child_of(&self, key: &[u8]) -> u32 {
        self.child(self.lower_bound(key))
    }

    /// The number of the child before the key at this place.
    pub fn child(&self, at: usize) -> u32 {
        self.first_child.saturating_add(at as u32)
    }

    /// The first place whose key is not below this one.
    pub fn lower_bound(&self, key: &[u8]) -> usize {
        let prefix = self.prefix();
        let rest = match key[..key.len().min(prefix.len())].cmp(prefix) {
            Ordering::Less => return 0,
            Ordering::Greater => return self.key_count,
            Ordering::Equal => &key[prefix.len()..],
        };
        let (mut low, mut high) = (0, self.key_count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.rest(middle) < rest { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Whether the key at a place is this one.
    pub fn is_at(&self, at: usize, key: &[u8]) -> bool {
        key.strip_prefix(self.prefix()).is_some_and(|rest| rest == self.rest(at))
    }

    /// Puts the key at a place into a buffer.
    pub fn read_key(&self, at: usize, key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(self.prefix());
        key.extend_from_slice(self.rest(at));
    }

    /// Where the row of the key at a place of a leaf is.
    pub fn place(&self, at: usize) -> TreePlace {
        assert!(self.is_leaf() && at < self.key_count, "key {at} of a leaf of {}", self.key_count);
        let start = self.rests_at() + self.end(self.key_count - 1) + PLACE_BYTES * at;
        TreePlace::unpacked(u32::from_le_bytes(self.bytes[start..start + 4].try_into().expect("four bytes")))
    }

    fn prefix(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..self.ends_at()]
    }

    fn ends_at(&self) -> usize {
        HEADER_BYTES + self.prefix_bytes
    }

    fn rests_at(&self) -> usize {
        self.ends_at() + END_BYTES * self.key_count
    }

    fn end(&self, at: usize) -> usize {
        let start = self.ends_at() + END_BYTES * at;
        u16::from_le_bytes([self.bytes[start], self.bytes[start + 1]]).into()
    }

    fn rest(&self, at: usize) -> &[u8] {
        let start = if at == 0 { 0 } else { self.end(at - 1) };
        &self.bytes[self.rests_at() + start..self.rests_at() + self.end(at)]
    }
}

/// A page in the making. Keys come in their order.
#[derive(Debug)]
pub(crate) struct PageBuilder {
    level: u16,
    first_child: u32,
    keys: Vec<u8>,
    ends: Vec<usize>,
    places: Vec<u32>,
    /// Bytes that all keys begin with.
    shared: usize,
}

impl PageBuilder {
    /// An empty leaf.
    pub fn leaf() -> Self {
        Self::of_level(0, 0)
    }

    /// A page with one child and no separators.
    pub fn inner(level: u16, first_child: u32) -> Self {
        Self::of_level(level, first_child)
    }

    fn of_level(level: u16, first_child: u32) -> Self {
        Self { level, first_child, keys: Vec::new(), ends: Vec::new(), places: Vec::new(), shared: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The last of its keys.
    pub fn last_key(&self) -> &[u8] {
        let start = self.ends.len().checked_sub(2).map_or(0, |before| self.ends[before]);
        &self.keys[start..]
    }

    /// Adds a key of a leaf with its place; `false` if there is no room for it.
    pub fn push(&mut self, key: &[u8], place: TreePlace) -> bool {
        debug_assert!(self.level == 0, "only leaves have places");
        let is_added = self.add(key, PLACE_BYTES);
        if is_added {
            self.places.push(place.packed());
        }
        is_added
    }

    /// Adds a separator and the child behind it; `false` if there is no room for it.
    pub fn push_separator(&mut self, separator: &[u8]) -> bool {
        debug_assert!(self.level > 0, "leaves have no children");
        self.add(separator, 0)
    }

    fn add(&mut self, key: &[u8], place_bytes: usize) -> bool {
        let count = self.ends.len() + 1;
        let shared = match self.ends.first() {
            None => key.len(),
            Some(first) => shared_bytes(&self.keys[..*first], key).min(self.shared),
        };
        let rests = self.keys.len() + key.len() - count * shared;
        if HEADER_BYTES + shared + rests + count * (END_BYTES + place_bytes) > PAGE_BYTES {
            return false;
        }
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len());
        self.shared = shared;
        true
    }

    /// The bytes of the page, which gets this number.
    pub fn finish(&self, number: u32, page: &mut [u8]) {
        assert_eq!(page.len(), PAGE_BYTES, "a page has a fixed size");
        let two = |value: usize| u16::try_from(value).expect("a page has fewer bytes").to_le_bytes();
        page.fill(0);
        page[8..12].copy_from_slice(&number.to_le_bytes());
        page[12..14].copy_from_slice(&self.level.to_le_bytes());
        page[14..16].copy_from_slice(&two(self.ends.len()));
        page[16..18].copy_from_slice(&two(self.shared));
        page[20..24].copy_from_slice(&self.first_child.to_le_bytes());
        let mut at = HEADER_BYTES;
        let mut put = |bytes: &[u8]| {
            page[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&self.keys[..self.shared]);
        for (before, end) in self.ends.iter().enumerate() {
            put(&two(end - (before + 1) * self.shared));
        }
        let mut start = 0;
        for end in &self.ends {
            put(&self.keys[start + self.shared..*end]);
            start = *end;
        }
        self.places.iter().for_each(|place| put(&place.to_le_bytes()));
        let sum = checksum(&page[8..]);
        page[..8].copy_from_slice(&sum.to_le_bytes());
    }

    /// The page as it is read.
    #[cfg(test)]
    fn page(&self, number: u32) -> Bytes {
        let mut page = vec![0; PAGE_BYTES];
        self.finish(number, &mut page);
        page.into()
    }
}

/// Number of bytes that both begin with.
pub(super) fn shared_bytes(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use braid_base::{Random, SeededRandom};

    use super::*;

    fn full_leaf(keys: &[Vec<u8>]) -> (PageBuilder, usize) {
        let mut builder = PageBuilder::leaf();
        let place = |at: usize| TreePlace { chunk_at: at as u32 % 9, row: at as u32 };
        let count = (0..keys.len()).take_while(|at| builder.push(&keys[*at], place(*at))).count();
        (builder, count)
    }

    fn sorted_keys(random: &mut SeededRandom, prefix: &[u8], bytes_max: u64) -> Vec<Vec<u8>> {
        let mut key = || {
            let count = random.next_u64() % (bytes_max + 1);
            let rest = (0..count).map(|_| (random.next_u64() % 4) as u8);
            prefix.iter().copied().chain(rest).collect::<Vec<u8>>()
        };
        let mut keys: Vec<Vec<u8>> = (0..6000).map(|_| key()).collect();
        keys.sort();
        keys
    }

    #[test]
    fn a_page_has_the_keys_that_it_was_given() {
        let mut random = SeededRandom::new(3);
        for (prefix, bytes_max) in [(&b""[..], 3), (b"", 40), (b"the same", 8), (&[7; 5000], 2000)] {
            let keys = sorted_keys(&mut random, prefix, bytes_max);
            let (builder, count) = full_leaf(&keys);
            assert!(count > 3 && count < keys.len(), "{count}");
            assert_eq!(builder.last_key(), keys[count - 1]);
            let page = TreePage::open(builder.page(5), 5).unwrap();
            assert_eq!((page.len(), page.is_leaf()), (count, true));
            let mut read = Vec::new();
            for (at, key) in keys[..count].iter().enumerate() {
                page.read_key(at, &mut read);
                assert_eq!((&read, page.place(at).row, page.place(at).chunk_at), (key, at as u32, at as u32 % 9));
                assert!(page.is_at(at, key));
                let below = keys[..count].partition_point(|other| other < key);
                assert_eq!(page.lower_bound(key), below);
            }
            for key in sorted_keys(&mut random, b"", 12) {
                let below = keys[..count].partition_point(|other| *other < key);
                assert_eq!(page.lower_bound(&key), below);
                assert_eq!(below < count && page.is_at(below, &key), keys[..count].contains(&key));
            }
        }
    }

    #[test]
    fn a_page_leads_to_the_child_that_may_have_a_key() {
        let mut builder = PageBuilder::inner(1, 10);
        for separator in [&b"b"[..], b"d", b"d", b"f"] {
            assert!(builder.push_separator(separator));
        }
        let page = TreePage::open(builder.page(20), 20).unwrap();
        let children = [(&b"a"[..], 10), (b"b", 10), (b"c", 11), (b"d", 11), (b"e", 13), (b"f", 13), (b"g", 14)];
        for (key, child) in children {
            assert_eq!(page.child_of(key), child, "{key:?}");
        }
        assert_eq!((page.level(), page.is_leaf()), (1, false));
    }

    #[test]
    fn two_separators_of_the_greatest_length_share_a_page_or_not() {
        let mut builder = PageBuilder::inner(1, 1);
        assert!(builder.push_separator(&[1; KEY_BYTES_MAX]));
        assert!(!builder.push_separator(&[2; KEY_BYTES_MAX]));
        let mut alike = [1; KEY_BYTES_MAX];
        alike[KEY_BYTES_MAX - 1] = 2;
        assert!(builder.push_separator(&alike));
    }

    #[test]
    fn every_flipped_bit_shows_and_no_bytes_panic() {
        let mut random = SeededRandom::new(4);
        let (builder, _) = full_leaf(&sorted_keys(&mut random, b"key", 6));
        let page = builder.page(1);
        for bit in (0..64 * 8).chain((0..500).map(|_| (random.next_u64() % (PAGE_BYTES as u64 * 8)) as usize)) {
            let mut bytes = page.to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(TreePage::open(bytes.into(), 1).is_err(), "bit {bit}");
        }
        assert!(TreePage::open(page.clone(), 2).is_err());
        for _ in 0..20_000 {
            let mut bytes = page.to_vec();
            for _ in 0..1 + random.next_u64() % 4 {
                bytes[8 + (random.next_u64() % 40) as usize] = random.next_u64() as u8;
            }
            bytes[8..12].copy_from_slice(&1_u32.to_le_bytes());
            let sum = checksum(&bytes[8..]);
            bytes[..8].copy_from_slice(&sum.to_le_bytes());
            let Ok(page) = TreePage::open(bytes.into(), 1) else { continue };
            let mut key = Vec::new();
            for at in 0..page.len() {
                page.read_key(at, &mut key);
                page.lower_bound(&key);
                if page.is_leaf() {
                    page.place(at);
                }
            }
        }
    }
}
