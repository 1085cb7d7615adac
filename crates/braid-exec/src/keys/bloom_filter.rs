//! A Bloom filter whose bits for one key lie in one word, so that a key costs one load (Putze, Sanders, Singler: Cache-, Hash-
//! and Space-Efficient Bloom Filters, 2007).

/// With four bits of a word for each key, about one key in 30 that is not there passes.
const BLOOM_BITS_PER_ROW: usize = 12;

/// A Bloom filter.
pub(crate) struct BloomFilter {
    words: Vec<u64>,
}

/// The word of a hash, from its high half, and its four bits, from its low 24 bits.
#[inline]
pub(crate) fn bloom_place(word_count: usize, hash: u64) -> (usize, u64) {
    let word = (((hash >> 32) * word_count as u64) >> 32) as usize;
    let bit = |at: u64| 1 << (hash >> (at * 6) & 63);
    (word, bit(0) | bit(1) | bit(2) | bit(3))
}

impl BloomFilter {
    /// A filter of words filled according to [`bloom_place`].
    pub(crate) fn of_words(words: Vec<u64>) -> Self {
        Self { words }
    }

    /// Number of words for the keys of `row_count` rows.
    pub(crate) fn word_count(row_count: usize) -> usize {
        (row_count * BLOOM_BITS_PER_ROW).div_ceil(64).max(1)
    }

    /// An empty filter for `row_count` rows.
    pub(crate) fn new(row_count: usize) -> Self {
        Self { words: vec![0; Self::word_count(row_count)] }
    }

    /// Adds a key with this hash.
    pub(crate) fn insert(&mut self, hash: u64) {
        let (word, bits) = bloom_place(self.words.len(), hash);
        self.words[word] |= bits;
    }

    /// False if no key with this hash was added.
    #[inline]
    pub(crate) fn may_contain(&self, hash: u64) -> bool {
        let (word, bits) = bloom_place(self.words.len(), hash);
        self.words[word] & bits == bits
    }
}
