//! A bitmap of addresses that also ranks them. It takes 16 bytes for 64 possible keys, where an array would take 256.
//!
//! The *rank* of an address is the number of smaller addresses: a count stored at each word plus a population count within the
//! word. Keys spread over a range many times their number are therefore found without hashing, mostly in the cache. If rows
//! are in the order of their keys, as is common for primary keys, the rank is the row number.

use braid_base::VECTOR_ROWS;

use crate::ExecError;
use crate::joins::hash::build_tasks::Pace;
use crate::keys::key_addresses::NO_ADDRESS;
use crate::values::vector::NO_ROW;

/// Addresses and their ranks.
pub(crate) struct RankedAddresses {
    /// The words. The last one is empty, for addresses beyond the range.
    words: Vec<Word>,
    /// The row of each rank, followed by [`NO_ROW`] for addresses without a rank; empty if ranks are the result.
    rows: Vec<u32>,
}

struct Word {
    bits: u64,
    /// Number of addresses in the preceding words, below 2^32.
    before: u64,
}

impl RankedAddresses {
    /// Bytes for `address_count` addresses and `row_count` rows.
    pub(crate) fn bytes(address_count: u64, row_count: usize) -> usize {
        Self::word_count(address_count) * size_of::<Word>() + (row_count + 1) * 4
    }

    /// An empty bitmap for `address_count` addresses.
    pub(crate) fn new(address_count: u64) -> Self {
        // The allocator provides zeros that are not touched before they are written.
        Self::of_words(vec![[0; 2]; Self::word_count(address_count)])
    }

    /// Adds addresses.
    pub(crate) fn insert(&mut self, addresses: &[u64]) {
        for address in addresses.iter().filter(|address| **address != NO_ADDRESS) {
            self.words[(address >> 6) as usize].bits |= 1 << (address & 63);
        }
    }

    /// A bitmap of these bits and counts; there must be [`Self::word_count`] of each.
    pub(crate) fn of_words(words: Vec<[u64; 2]>) -> Self {
        Self { words: words.into_iter().map(|[bits, before]| Word { bits, before }).collect(), rows: Vec::new() }
    }

    /// Number of words for `address_count` addresses.
    pub(crate) fn word_count(address_count: u64) -> usize {
        address_count.div_ceil(64) as usize + 1
    }

    /// Ranks the addresses, after all are added. Returns their number.
    pub(crate) async fn count(&mut self, pace: &mut Pace) -> Result<usize, ExecError> {
        let mut sum = 0;
        for words in self.words.chunks_mut(VECTOR_ROWS) {
            for word in words.iter_mut() {
                word.before = sum;
                sum += u64::from(word.bits.count_ones());
            }
            pace.step(words.len()).await?;
        }
        Ok(sum as usize)
    }

    /// Makes the search return rows instead of ranks: the row of each rank.
    pub(crate) fn set_rows(&mut self, mut rows: Vec<u32>) {
        rows.push(NO_ROW);
        self.rows = rows;
    }

    /// The rank or row of each address, or [`NO_ROW`].
    pub(crate) fn find(&self, addresses: &[u64], groups: &mut Vec<u32>) {
        let last = self.words.len() - 1;
        groups.clear();
        groups.extend(addresses.iter().map(|address| {
            let &Word { bits, before } = &self.words[((address >> 6) as usize).min(last)];
            let bit = 1 << (address & 63);
            let rank = before as u32 + (bits & (bit - 1)).count_ones();
            if bits & bit == 0 { NO_ROW } else { rank }
        }));
        if let Some(last) = self.rows.len().checked_sub(1) {
            for group in groups {
                *group = self.rows[(*group as usize).min(last)];
            }
        }
    }
}
