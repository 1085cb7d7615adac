//! Which addresses of keys there are, where their range is small.

use super::key_addresses::NO_ADDRESS;

/// Which addresses there are, one bit each.
pub(crate) struct KeyBitmap {
    /// The last word is empty: where addresses beyond the range look.
    words: Vec<u64>,
}

impl KeyBitmap {
    /// No address yet, of so many.
    pub(crate) fn new(address_count: u64) -> Self {
        Self { words: vec![0; Self::word_count(address_count)] }
    }

    /// From words that were made elsewhere: as many as [`Self::word_count`] says.
    pub(crate) fn of_words(words: Vec<u64>) -> Self {
        Self { words }
    }

    /// Words for so many addresses.
    pub(crate) fn word_count(address_count: u64) -> usize {
        address_count.div_ceil(64) as usize + 1
    }

    /// Bytes that so many addresses take.
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
