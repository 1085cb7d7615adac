//! Hashes of keys, a vector at a time and column by column.
//!
//! Equal keys hash equal whatever form they come in: integers of both widths, coded and plain strings, zeros and NaNs of
//! all bit patterns. Each table has a seed of its own from the standard library's keys, so nobody can prepare values
//! that collide.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::Arc;

use crate::Vector;
use crate::byte_strings::ByteStrings;
use crate::vector::{CodedStrings, Values};

/// 2^64 / golden ratio, made odd.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// What null hashes to: any number.
const NULL_WORD: u64 = 0x6E75_6C6C;

/// A hash for one table's keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashSeed(u64);

impl HashSeed {
    pub(crate) fn random() -> Self {
        Self(RandomState::new().hash_one(MULTIPLIER))
    }

    /// The hash of an address.
    #[inline]
    pub(crate) fn hash(self, address: u64) -> u64 {
        mix(self.0, address)
    }

    fn string(self, string: &[u8]) -> u64 {
        let (words, rest) = string.as_chunks::<8>();
        let mut state = mix(self.0, string.len() as u64);
        for word in words {
            state = mix(state, u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            state = mix(state, u64::from_le_bytes(word));
        }
        state
    }
}

/// Both halves of a product: all bits of the result depend on all bits of the word.
#[inline]
fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word) * u128::from(MULTIPLIER);
    (product as u64) ^ ((product >> 64) as u64)
}

fn integer_word(value: i128) -> u64 {
    i64::try_from(value).map_or_else(|_| mix(value as u64, (value >> 64) as u64), |value| value as u64)
}

fn float_word(value: f64) -> u64 {
    // Zero takes the sign away from -0.
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

/// Hashes keys; remembers the hashes of the dictionary that it saw last in each column.
#[derive(Clone, Debug)]
pub(crate) struct KeyHasher {
    seed: HashSeed,
    dictionaries: Vec<DictionaryHashes>,
}

#[derive(Clone, Debug, Default)]
struct DictionaryHashes {
    dictionary: Option<Arc<ByteStrings>>,
    /// Zero for those that nobody asked for yet.
    hashes: Vec<u64>,
}

impl KeyHasher {
    pub(crate) fn new(seed: HashSeed, key_count: usize) -> Self {
        Self { seed, dictionaries: vec![DictionaryHashes::default(); key_count] }
    }

    /// The hashes of rows.
    pub(crate) fn fill(&mut self, keys: &[Arc<Vector>], rows: Range<usize>, hashes: &mut Vec<u64>) {
        hashes.clear();
        hashes.resize(rows.len(), self.seed.0);
        for (at, key) in keys.iter().enumerate() {
            self.add(at, key, rows.clone(), hashes);
        }
    }

    fn add(&mut self, at: usize, key: &Vector, rows: Range<usize>, hashes: &mut [u64]) {
        let seed = self.seed;
        let valid = key.valid().map(|valid| &valid[rows.clone()]);
        match key.values() {
            Values::Bool(values) => add_words(hashes, valid, &values[rows], |value| u64::from(*value)),
            Values::Int(values) => add_words(hashes, valid, &values[rows], |value| *value as u64),
            Values::Int128(values) => add_words(hashes, valid, &values[rows], |value| integer_word(*value)),
            Values::Float(values) => add_words(hashes, valid, &values[rows], |value| float_word(*value)),
            Values::Bytes(strings) => {
                let rows: Vec<usize> = rows.collect();
                add_words(hashes, valid, &rows, |row| seed.string(strings.get(*row)));
            }
            Values::Coded(coded) => {
                let words = self.dictionaries[at].words(seed, coded, rows);
                add_words(hashes, valid, &words, |word| *word);
            }
        }
    }
}

impl DictionaryHashes {
    fn words(&mut self, seed: HashSeed, coded: &CodedStrings, rows: Range<usize>) -> Vec<u64> {
        let CodedStrings { codes, dictionary } = coded;
        if !self.dictionary.as_ref().is_some_and(|known| Arc::ptr_eq(known, dictionary)) {
            *self = Self { dictionary: Some(dictionary.clone()), hashes: vec![0; dictionary.len()] };
        }
        let mut word = |code: &u32| {
            // A null's code may be none of the dictionary's.
            let Some(hash) = self.hashes.get_mut(*code as usize) else { return 0 };
            if *hash == 0 {
                *hash = seed.string(dictionary.get(*code as usize));
            }
            *hash
        };
        codes[rows].iter().map(&mut word).collect()
    }
}

fn add_words<T>(hashes: &mut [u64], valid: Option<&[bool]>, values: &[T], word: impl Fn(&T) -> u64) {
    match valid {
        None => {
            for (hash, value) in hashes.iter_mut().zip(values) {
                *hash = mix(*hash, word(value));
            }
        }
        Some(valid) => {
            for ((hash, value), valid) in hashes.iter_mut().zip(values).zip(valid) {
                *hash = mix(*hash, if *valid { word(value) } else { NULL_WORD });
            }
        }
    }
}
