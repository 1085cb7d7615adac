//! A bitmap of addresses that also numbers them: sixteen bytes for 64 possible keys, where an array would take 256.
//!
//! The *rank* of an address is how many smaller ones there are: a count at each word and a population count within it.
//! Keys that are spread over a range many times their number are found without hashing that way, mostly in cache. Where
//! rows come in the order of their keys, as those of a primary key often do, the rank is the row.

use crate::hash_join::key_addresses::NO_ADDRESS;
use crate::vector::NO_ROW;

/// Addresses and their ranks.
pub(crate) struct RankedAddresses {
    /// The last word is empty: where addresses beyond the range look.
    words: Vec<Word>,
    /// The row of each rank and then [`NO_ROW`], where those without rank look; empty when ranks are what is asked for.
    rows: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Word {
    bits: u64,
    /// Addresses in the words before.
    before: u32,
}

impl RankedAddresses {
    /// Bytes that so many addresses of so many rows take.
    pub(crate) fn bytes(address_count: u64, row_count: usize) -> usize {
        (address_count.div_ceil(64) as usize + 1) * size_of::<Word>() + (row_count + 1) * 4
    }

    /// No address yet, of so many.
    pub(crate) fn new(address_count: u64) -> Self {
        Self { words: vec![Word::default(); address_count.div_ceil(64) as usize + 1], rows: Vec::new() }
    }

    /// Adds addresses.
    pub(crate) fn insert(&mut self, addresses: &[u64]) {
        for address in addresses.iter().filter(|address| **address != NO_ADDRESS) {
            self.words[(address >> 6) as usize].bits |= 1 << (address & 63);
        }
    }

    /// Numbers the addresses when all are in; how many there are.
    pub(crate) fn count(&mut self) -> usize {
        let mut sum = 0;
        for word in &mut self.words {
            word.before = sum;
            sum += word.bits.count_ones();
        }
        sum as usize
    }

    /// From now on addresses have rows instead of ranks: the row of each rank.
    pub(crate) fn set_rows(&mut self, mut rows: Vec<u32>) {
        if (0..).zip(&rows).any(|(rank, row): (u32, _)| rank != *row) {
            rows.push(NO_ROW);
            self.rows = rows;
        }
    }

    /// The rank or row of each address, [`NO_ROW`] for none.
    pub(crate) fn find(&self, addresses: &[u64], groups: &mut Vec<u32>) {
        let last = self.words.len() - 1;
        groups.clear();
        groups.extend(addresses.iter().map(|address| {
            let Word { bits, before } = self.words[((address >> 6) as usize).min(last)];
            let bit = 1 << (address & 63);
            let rank = before + (bits & (bit - 1)).count_ones();
            if bits & bit == 0 { NO_ROW } else { rank }
        }));
        if let Some(last) = self.rows.len().checked_sub(1) {
            for group in groups {
                *group = self.rows[(*group as usize).min(last)];
            }
        }
    }
}
