//! Hashes of keys, a vector at a time and column by column.
//!
//! Equal keys have equal hashes in all representations: integers of both widths, coded and plain strings, zeros and NaNs of
//! all bit patterns. Each string of a dictionary is hashed once, when a row first needs it. All workers of a process share
//! one seed, so that their hashes agree. It comes from the standard library's random keys, so that clients cannot prepare
//! values that collide.

use std::borrow::Borrow;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use crate::Vector;
use crate::values::byte_strings::ByteStrings;
use crate::values::vector::{CodedStrings, Values};

/// 2^64 / golden ratio, made odd.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of null, an arbitrary number.
const NULL_WORD: u64 = 0x6E75_6C6C;

/// Maximum number of dictionary strings per row for which the hashes of a dictionary are cached. Hashing the dictionary then
/// costs little more than hashing the rows, even if the next vector has another dictionary.
const DICTIONARY_STRINGS_PER_ROW: usize = 64;

/// The seed of this process.
static SEED: LazyLock<HashSeed> = LazyLock::new(|| HashSeed(RandomState::new().hash_one(MULTIPLIER)));

/// A family of hashes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashSeed(u64);

impl HashSeed {
    /// The seed of this process.
    pub(crate) fn of_process() -> Self {
        *SEED
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

/// Combines both halves of a product, so that all bits of the result depend on all bits of the word.
#[inline]
fn mix(state: u64, word: u64) -> u64 {
    let product = u128::from(state ^ word) * u128::from(MULTIPLIER);
    (product as u64) ^ ((product >> 64) as u64)
}

fn integer_word(value: i128) -> u64 {
    i64::try_from(value).map_or_else(|_| mix(value as u64, (value >> 64) as u64), |value| value as u64)
}

fn float_word(value: f64) -> u64 {
    // Adding zero turns -0 into 0.
    if value.is_nan() { f64::NAN.to_bits() } else { (value + 0.0).to_bits() }
}

/// Hashes keys, and caches the hashes of the latest dictionary of each column.
#[derive(Clone, Debug)]
pub(crate) struct KeyHasher {
    seed: HashSeed,
    dictionaries: Vec<Option<DictionaryHashes>>,
}

#[derive(Clone, Debug)]
struct DictionaryHashes {
    dictionary: Arc<ByteStrings>,
    /// The hash of each string, or zero if it is not computed yet.
    hashes: Vec<u64>,
}

impl Default for KeyHasher {
    fn default() -> Self {
        Self { seed: HashSeed::of_process(), dictionaries: Vec::new() }
    }
}

impl KeyHasher {
    /// Replaces `hashes` by the hashes of the rows in `rows`.
    pub(crate) fn fill<V: Borrow<Vector>>(&mut self, keys: &[V], rows: Range<usize>, hashes: &mut Vec<u64>) {
        self.dictionaries.resize_with(keys.len(), || None);
        hashes.clear();
        hashes.resize(rows.len(), self.seed.0);
        for (key, dictionary) in keys.iter().zip(&mut self.dictionaries) {
            add_column(self.seed, key.borrow(), dictionary, rows.clone(), hashes);
        }
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.dictionaries.iter().flatten().map(|dictionary| dictionary.hashes.len() * 8).sum()
    }
}

/// Combines each row's hash with that of its value in one more column.
fn add_column(
    seed: HashSeed,
    key: &Vector,
    dictionary: &mut Option<DictionaryHashes>,
    rows: Range<usize>,
    hashes: &mut [u64],
) {
    let valid = key.valid().map(|valid| &valid[rows.clone()]);
    match key.values() {
        Values::Bool(values) => add_words(hashes, valid, &values[rows], |value| u64::from(*value)),
        Values::Int(values) => add_words(hashes, valid, &values[rows], |value| *value as u64),
        Values::Int128(values) => add_words(hashes, valid, &values[rows], |value| integer_word(*value)),
        Values::Float(values) => add_words(hashes, valid, &values[rows], |value| float_word(*value)),
        Values::Bytes(strings) => {
            let first = rows.start;
            add_each(hashes, valid, |row| seed.string(strings.get(first + row)));
        }
        Values::Coded(coded) => {
            let codes = &coded.codes[rows];
            match DictionaryHashes::of(coded, codes.len(), dictionary) {
                Some(dictionary) => add_words(hashes, valid, codes, |code| dictionary.hash(seed, *code)),
                None => add_words(hashes, valid, codes, |code| seed.string(coded.dictionary.get(*code as usize))),
            }
        }
    }
}

impl DictionaryHashes {
    /// The cached hashes of the vector's dictionary, or `None` if the dictionary is too large for `row_count` rows.
    fn of<'a>(coded: &CodedStrings, row_count: usize, remembered: &'a mut Option<Self>) -> Option<&'a mut Self> {
        let same = remembered.as_ref().is_some_and(|known| Arc::ptr_eq(&known.dictionary, &coded.dictionary));
        if !same {
            let string_count = coded.dictionary.len();
            if string_count > DICTIONARY_STRINGS_PER_ROW * row_count {
                return None;
            }
            *remembered = Some(Self { dictionary: coded.dictionary.clone(), hashes: vec![0; string_count] });
        }
        remembered.as_mut()
    }

    #[inline]
    fn hash(&mut self, seed: HashSeed, code: u32) -> u64 {
        let hash = &mut self.hashes[code as usize];
        if *hash == 0 {
            *hash = seed.string(self.dictionary.get(code as usize));
        }
        *hash
    }
}

#[inline(always)]
fn add_words<T>(hashes: &mut [u64], valid: Option<&[bool]>, values: &[T], mut word: impl FnMut(&T) -> u64) {
    match valid {
        None => {
            for (hash, value) in hashes.iter_mut().zip(values) {
                *hash = mix(*hash, word(value));
            }
        }
        // The value under a null may be out of the range of the dictionary.
        Some(valid) => {
            for ((hash, value), valid) in hashes.iter_mut().zip(values).zip(valid) {
                *hash = mix(*hash, if *valid { word(value) } else { NULL_WORD });
            }
        }
    }
}

#[inline(always)]
fn add_each(hashes: &mut [u64], valid: Option<&[bool]>, mut word: impl FnMut(usize) -> u64) {
    for (row, hash) in hashes.iter_mut().enumerate() {
        let is_valid = valid.is_none_or(|valid| valid[row]);
        *hash = mix(*hash, if is_valid { word(row) } else { NULL_WORD });
    }
}
