//! What is known of a chunk's run without having it: the first and the last key, and a filter of all.
//!
//! The filter is a blocked Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and Space-Efficient Bloom Filters, 2007): a key has one
//! bit in each of the eight words of a block of 32 bytes, so that a search reads one cache line. With 12 bits a key, about one in 190
//! of the keys that the run does not have is searched for in vain (107 of 20 000 in the test of `key_run.rs`, which bounds it at one in 150).

use std::sync::Arc;

use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use super::key_columns::KeyShape;
use super::key_run::KeyRun;

/// Bits of the filter for each key.
const BITS_PER_KEY: usize = 12;

/// Odd numbers that give each word of a block a bit of its own.
const SALTS: [u32; 8] =
    [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b, 0x9efc_4947, 0x5c6b_fb31];

type Block = [u32; 8];

/// The first and the last key.
type KeyBounds = (Box<[u8]>, Box<[u8]>);

/// The first and last key of a run that has keys, and a filter.
#[derive(Debug)]
pub(crate) struct KeySummary {
    bounds: Option<KeyBounds>,
    blocks: Vec<Block>,
}

impl KeySummary {
    /// The summary of a run.
    pub fn of(run: &KeyRun) -> Self {
        let Some(last) = run.len().checked_sub(1) else { return Self { bounds: None, blocks: Vec::new() } };
        let block_count = (run.len() * BITS_PER_KEY).div_ceil(256);
        let mut blocks = vec![Block::default(); block_count];
        for key in run.keys() {
            let (at, bits) = place(key, block_count);
            blocks[at].iter_mut().zip(bits).for_each(|(word, bit)| *word |= bit);
        }
        Self { bounds: Some((run.key(0).into(), run.key(last).into())), blocks }
    }

    /// Whether the run may have a key.
    pub fn may_have(&self, key: &[u8]) -> bool {
        let Some((first, last)) = &self.bounds else { return false };
        if key < &first[..] || key > &last[..] {
            return false;
        }
        let (at, bits) = place(key, self.blocks.len());
        self.blocks[at].iter().zip(bits).all(|(word, bit)| word & bit != 0)
    }
}

/// The block of a key, and its bit of each word.
fn place(key: &[u8], block_count: usize) -> (usize, Block) {
    let hash = xxh3_64(key);
    let at = ((hash >> 32) * block_count as u64) >> 32;
    (at as usize, SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27)))
}

/// What is known of the runs of a chunk. All versions of the chunk share it.
#[derive(Debug, Default)]
pub struct ChunkKeys {
    summaries: Mutex<Vec<(Arc<KeyShape>, Arc<KeySummary>)>>,
}

impl ChunkKeys {
    /// The summary of the run of this shape, if it is known.
    pub(crate) fn summary(&self, shape: &KeyShape) -> Option<Arc<KeySummary>> {
        let summaries = self.summaries.lock();
        summaries.iter().find(|(of, _)| **of == *shape).map(|(_, summary)| Arc::clone(summary))
    }

    /// Keeps the summary of the run of this shape.
    pub(crate) fn keep(&self, shape: &Arc<KeyShape>, summary: Arc<KeySummary>) {
        let mut summaries = self.summaries.lock();
        if summaries.iter().all(|(of, _)| of != shape) {
            summaries.push((Arc::clone(shape), summary));
        }
    }
}
