//! The set of keys as a bitmap over their addresses, for small ranges.

use super::key_addresses::NO_ADDRESS;

/// A set of addresses, with one bit each.
pub(crate) struct KeyBitmap {
    /// The words. The last one is empty, for addresses beyond the range.
    words: Vec<u64>,
}

impl KeyBitmap {
    /// An empty set of `address_count` possible addresses.
    pub(crate) fn new(address_count: u64) -> Self {
        Self { words: vec![0; Self::word_count(address_count)] }
    }

    /// A set of these words; there must be [`Self::word_count`] of them.
    pub(crate) fn of_words(words: Vec<u64>) -> Self {
        Self { words }
    }

    /// Number of words for `address_count` addresses.
    pub(crate) fn word_count(address_count: u64) -> usize {
        address_count.div_ceil(64) as usize + 1
    }

    /// Bytes for `address_count` addresses.
    pub(crate) fn bytes(address_count: u64) -> usize {
        Self::word_count(address_count) * 8
    }

    /// Adds addresses.
    pub(crate) fn insert(&mut self, addresses: &[u64]) {
        for address in addresses.iter().filter(|address| **address != NO_ADDRESS) {
            self.words[(address >> 6) as usize] |= 1 << (address & 63);
        }
    }

    /// Whether the address was inserted.
    #[inline]
    pub(crate) fn contains(&self, address: u64) -> bool {
        let word = ((address >> 6) as usize).min(self.words.len() - 1);
        self.words[word] >> (address & 63) & 1 == 1
    }
}
