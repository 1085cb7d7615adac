//! A filter of keys: which ones are surely not in a run.
//!
//! It is a blocked Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007): a key has one
//! bit in each of the eight words of a block of 32 bytes, so that a search reads one cache line. With 12 bits a key, about one in 190
//! of the keys that the run does not have is searched for in vain (107 of 20 000 in the test of `key_run.rs`, which bounds it at one in 150).

use xxhash_rust::xxh3::xxh3_64;

/// Bits of the filter for each key.
const BITS_PER_KEY: usize = 12;

/// Bytes of a block.
const BLOCK_BYTES: usize = 32;

/// Odd numbers that give each word of a block a bit of its own.
const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

type Block = [u32; 8];

/// Bytes of a filter of a size for this many keys.
pub(super) fn bytes_for(key_count: u64) -> u64 {
    key_count.saturating_mul(BITS_PER_KEY as u64).div_ceil(8 * BLOCK_BYTES as u64).saturating_mul(BLOCK_BYTES as u64)
}

/// A filter of keys.
#[derive(Debug, Default)]
pub(crate) struct KeyFilter {
    blocks: Vec<Block>,
}

impl KeyFilter {
    /// An empty filter of a size for this many keys.
    pub fn for_keys(key_count: usize) -> Self {
        Self { blocks: vec![Block::default(); bytes_for(key_count as u64) as usize / BLOCK_BYTES] }
    }

    /// Adds a key to a filter with a size.
    pub fn add(&mut self, key: &[u8]) {
        let (at, bits) = place(key, self.blocks.len());
        self.blocks[at].iter_mut().zip(bits).for_each(|(word, bit)| *word |= bit);
    }

    /// Whether the key may have been added.
    pub fn may_have(&self, key: &[u8]) -> bool {
        if self.blocks.is_empty() {
            return false;
        }
        let (at, bits) = place(key, self.blocks.len());
        self.blocks[at].iter().zip(bits).all(|(word, bit)| word & bit != 0)
    }

    /// The words of its blocks, in order, in parts of at most so many bytes.
    pub(super) fn parts(&self, bytes_max: usize) -> impl Iterator<Item = Vec<u8>> {
        let bytes_of = |blocks: &[Block]| blocks.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        self.blocks.chunks(bytes_max / BLOCK_BYTES).map(bytes_of)
    }

    /// Adds the blocks of a part, which are whole, to a filter that is read.
    pub(super) fn push_part(&mut self, part: &[u8]) {
        assert!(part.len().is_multiple_of(BLOCK_BYTES), "a filter is of whole blocks");
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("a word has four bytes"));
        let block = |bytes: &[u8]| -> Block { std::array::from_fn(|at| word(&bytes[4 * at..4 * at + 4])) };
        self.blocks.extend(part.chunks_exact(BLOCK_BYTES).map(block));
    }
}

/// The block of a key, and its bit of each word.
fn place(key: &[u8], block_count: usize) -> (usize, Block) {
    let hash = xxh3_64(key);
    let at = ((hash >> 32) * block_count as u64) >> 32;
    (at as usize, SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27)))
}
