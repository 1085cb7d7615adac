//! Hashes of key columns, a vector at a time.
//!
//! Equal keys hash equal however they are held: integers of either width, strings as views or as codes, zeros of either
//! sign, all NaNs. The strings of a dictionary are hashed once each, when a row first needs them. The hash is a folded
//! multiplication with fixed constants: the same in every worker, and in every run.

use std::borrow::Borrow;
use std::sync::Arc;

use crate::byte_strings::ByteStrings;
use crate::vector::{CodedStrings, Values, Vector};

/// 2^64 / golden ratio, and the fraction of pi: odd numbers without a pattern.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
const OFFSET: u64 = 0x243F_6A88_85A3_08D3;

/// The hash of a null.
const NULL_HASH: u64 = 0xA409_3822_299F_31D0;

/// A dictionary is remembered when it has at most so many strings for each row that asks: then hashing it costs little
/// more than hashing the rows, even when the next vector comes with another one.
const DICTIONARY_STRINGS_PER_ROW: usize = 64;

/// Hashes rows; remembers the hashes of each column's last dictionary.
#[derive(Debug, Default)]
pub(super) struct KeyHasher {
    dictionaries: Vec<Option<DictionaryHashes>>,
}

#[derive(Debug)]
struct DictionaryHashes {
    dictionary: Arc<ByteStrings>,
    /// 0 where the string was not hashed yet.
    hashes: Vec<u64>,
}

impl KeyHasher {
    /// Replaces `hashes` by those of the rows.
    pub(super) fn hash<V: Borrow<Vector>>(&mut self, keys: &[V], row_count: usize, hashes: &mut Vec<u64>) {
        self.dictionaries.resize_with(keys.len(), || None);
        hashes.clear();
        hashes.resize(row_count, 0);
        for (at, (key, dictionary)) in keys.iter().zip(&mut self.dictionaries).enumerate() {
            if at == 0 {
                hash_column(key.borrow(), dictionary, hashes, |_, hash| hash);
            } else {
                hash_column(key.borrow(), dictionary, hashes, |before, hash| {
                    mix(before.rotate_left(29).wrapping_add(hash))
                });
            }
        }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.dictionaries.iter().flatten().map(|dictionary| dictionary.hashes.len() * 8).sum()
    }
}

fn hash_column(
    key: &Vector,
    dictionary: &mut Option<DictionaryHashes>,
    hashes: &mut [u64],
    combine: impl Fn(u64, u64) -> u64,
) {
    match key.values() {
        Values::Bool(values) => put(key, hashes, combine, |row| mix(values[row].into())),
        Values::Int(values) => put(key, hashes, combine, |row| hash_integer(values[row])),
        Values::Int128(values) => put(key, hashes, combine, |row| hash_wide(values[row])),
        Values::Float(values) => put(key, hashes, combine, |row| hash_float(values[row])),
        Values::Bytes(strings) => put(key, hashes, combine, |row| hash_string(strings.get(row))),
        Values::Coded(coded) => match DictionaryHashes::of(coded, dictionary) {
            Some(dictionary) => put(key, hashes, combine, |row| dictionary.hash(coded.codes[row])),
            None => put(key, hashes, combine, |row| hash_string(coded.get(row))),
        },
    }
}

/// Combines each row's hash with that of its value.
#[inline(always)]
fn put(key: &Vector, hashes: &mut [u64], combine: impl Fn(u64, u64) -> u64, mut hash: impl FnMut(usize) -> u64) {
    match key.valid() {
        None => hashes.iter_mut().enumerate().for_each(|(row, out)| *out = combine(*out, hash(row))),
        Some(valid) => hashes.iter_mut().zip(valid).enumerate().for_each(|(row, (out, valid))| {
            *out = combine(*out, if *valid { hash(row) } else { NULL_HASH });
        }),
    }
}

impl DictionaryHashes {
    /// The hashes of the vector's dictionary, unless it is too large to remember.
    fn of<'a>(coded: &CodedStrings, remembered: &'a mut Option<Self>) -> Option<&'a mut Self> {
        let same = remembered.as_ref().is_some_and(|known| Arc::ptr_eq(&known.dictionary, &coded.dictionary));
        if !same {
            let string_count = coded.dictionary.len();
            if string_count > DICTIONARY_STRINGS_PER_ROW * coded.codes.len() {
                return None;
            }
            *remembered = Some(Self { dictionary: coded.dictionary.clone(), hashes: vec![0; string_count] });
        }
        remembered.as_mut()
    }

    #[inline]
    fn hash(&mut self, code: u32) -> u64 {
        let hash = &mut self.hashes[code as usize];
        if *hash == 0 {
            *hash = hash_string(self.dictionary.get(code as usize));
        }
        *hash
    }
}

#[inline]
fn mix(value: u64) -> u64 {
    let product = u128::from(value ^ OFFSET) * u128::from(FACTOR);
    (product as u64) ^ (product >> 64) as u64
}

#[inline]
fn hash_integer(value: i64) -> u64 {
    mix(value as u64)
}

#[inline]
fn hash_wide(value: i128) -> u64 {
    match i64::try_from(value) {
        Ok(value) => hash_integer(value),
        Err(_) => mix(mix((value >> 64) as u64) ^ value as u64),
    }
}

#[inline]
fn hash_float(value: f64) -> u64 {
    let one_form = if value == 0.0 {
        0.0
    } else if value.is_nan() {
        f64::NAN
    } else {
        value
    };
    mix(one_form.to_bits())
}

#[inline]
fn hash_string(string: &[u8]) -> u64 {
    let mut hash = string.len() as u64;
    let (words, rest) = string.as_chunks::<8>();
    for word in words {
        hash = mix(hash.rotate_left(29) ^ u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    mix(hash.rotate_left(29) ^ u64::from_le_bytes(last))
}
