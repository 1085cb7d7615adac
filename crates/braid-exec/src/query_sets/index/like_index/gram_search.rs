//! Search for many pieces in a string that reads only some of its bytes.
//!
//! A gram is a sequence of a few bytes. The search looks up every n-th gram of the string; n is the stride. Each piece has a
//! window of n adjacent grams, so that exactly one gram of its window is looked up at each occurrence. One table of the
//! grams of all windows therefore finds every occurrence once, with its start; the bytes are then compared. Wu and Manber's
//! search (1994) also looks up blocks of bytes, but its stride depends on the result of each lookup. The fixed stride makes
//! the lookups independent of each other.
//!
//! Until the first piece of some pattern has occurred, no other piece matters. The buckets of first pieces have the lowest
//! numbers, so that one comparison skips the others.
//!
//! Of two occurrences that do not overlap, the earlier one is reported first. The order of other occurrences is unspecified.
//!
//! The search does not support pieces of one byte, or many pieces that share all their grams.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Range;

/// Maximum number of candidates of one gram. They are compared one after the other; with more, the automaton is faster.
const CANDIDATES_MAX: usize = 16;

/// Slots of the table per gram of a window: at most one in 16 of a string's other grams hits an occupied slot.
const SLOTS_PER_GRAM: usize = 16;

/// Limits of the table, whose slots have two bytes: at least 8 KiB, a small part of a first-level cache, and at most 256 KiB,
/// for a second-level cache.
const SLOTS_MIN: usize = 1 << 12;
const SLOTS_MAX: usize = 1 << 17;

/// Maximum stride. Twice the stride halves the number of lookups but doubles the table.
const STRIDE_MAX: usize = 16;

/// The grams of some pieces.
#[derive(Debug)]
pub(super) struct GramSearch {
    pieces: Vec<Vec<u8>>,
    gram_bytes: usize,
    stride: usize,
    /// The bucket of a gram by its hash, from 1 on; 0 for none.
    slots: Vec<u16>,
    hash_shift: u32,
    /// The start of each bucket's candidates. Bucket 0 is empty.
    bucket_starts: Vec<u32>,
    /// The last bucket with candidates that are first pieces.
    first_buckets: usize,
    candidates: Vec<Candidate>,
}

/// The occurrences that a search reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchFrom {
    /// All occurrences.
    Start,
    /// Occurrences from the first piece of some pattern on. Earlier ones may be left out.
    FirstPiece,
}

/// A piece that may occur at a gram.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    gram: u32,
    piece: u32,
    /// Bytes of the piece before the gram.
    offset: u32,
}

impl GramSearch {
    /// A search for distinct pieces. `is_first` tells whether a pattern starts with a piece. `None` if the pieces are too short
    /// or share too many grams.
    pub fn new(pieces: &[&[u8]], is_first: impl Fn(usize) -> bool) -> Option<Self> {
        let bytes_min = pieces.iter().map(|piece| piece.len()).min()?;
        let gram_bytes = gram_bytes_for(bytes_min)?;
        let stride = (bytes_min - gram_bytes + 1).min(STRIDE_MAX);
        let candidates = candidates_of(pieces, gram_bytes, stride);
        let slot_count = (candidates.len() * SLOTS_PER_GRAM).next_power_of_two().clamp(SLOTS_MIN, SLOTS_MAX);
        let mut search = Self {
            pieces: pieces.iter().map(|piece| piece.to_vec()).collect(),
            gram_bytes,
            stride,
            slots: vec![0; slot_count],
            hash_shift: 32 - slot_count.trailing_zeros(),
            bucket_starts: vec![0],
            first_buckets: 0,
            candidates,
        };
        search.fill_buckets(is_first).then_some(search)
    }

    /// Whether no bucket has too many candidates.
    fn fill_buckets(&mut self, is_first: impl Fn(usize) -> bool) -> bool {
        let mut buckets: HashMap<usize, Vec<Candidate>> = HashMap::new();
        for candidate in &self.candidates {
            buckets.entry(self.slot_of(candidate.gram)).or_default().push(*candidate);
        }
        if buckets.len() > usize::from(u16::MAX) || buckets.values().any(|bucket| bucket.len() > CANDIDATES_MAX) {
            return false;
        }
        let begins = |bucket: &[Candidate]| bucket.iter().any(|candidate| is_first(candidate.piece as usize));
        let mut buckets: Vec<(usize, Vec<Candidate>)> = buckets.into_iter().collect();
        buckets.sort_by_key(|(slot, bucket)| (!begins(bucket), *slot));
        self.first_buckets = buckets.iter().filter(|(_, bucket)| begins(bucket)).count();
        self.candidates.clear();
        for (number, (slot, mut bucket)) in (1..).zip(buckets) {
            // Of occurrences of a piece that share a gram, the earlier one is first.
            bucket.sort_by_key(|candidate| Reverse(candidate.offset));
            self.slots[slot] = number;
            self.bucket_starts.push(self.candidates.len() as u32);
            self.candidates.extend(bucket);
        }
        self.bucket_starts.push(self.candidates.len() as u32);
        true
    }

    /// Calls `found` with the number and the bytes of each occurrence of a piece.
    #[inline]
    pub fn occurrences(&self, string: &[u8], from: SearchFrom, found: impl FnMut(usize, Range<usize>)) {
        match self.gram_bytes {
            2 => self.run::<2>(string, from, found),
            3 => self.run::<3>(string, from, found),
            _ => self.run::<4>(string, from, found),
        }
    }

    #[inline]
    fn run<const GRAM_BYTES: usize>(
        &self,
        string: &[u8],
        from: SearchFrom,
        mut found: impl FnMut(usize, Range<usize>),
    ) {
        let mut bucket_count = match from {
            SearchFrom::Start => usize::MAX,
            SearchFrom::FirstPiece => self.first_buckets,
        };
        let mut at = 0;
        while let Some(bytes) = string.get(at..at + GRAM_BYTES) {
            let gram = gram_of(bytes);
            let bucket = usize::from(self.slots[self.slot_of(gram)]);
            // Bucket 0 becomes the largest number.
            if bucket.wrapping_sub(1) < bucket_count {
                let candidates = self.bucket_starts[bucket] as usize..self.bucket_starts[bucket + 1] as usize;
                for candidate in &self.candidates[candidates] {
                    let Some(start) = at.checked_sub(candidate.offset as usize) else { continue };
                    let piece = &self.pieces[candidate.piece as usize];
                    if candidate.gram == gram && string[start..].starts_with(piece) {
                        bucket_count = usize::MAX;
                        found(candidate.piece as usize, start..start + piece.len());
                    }
                }
            }
            at += self.stride;
        }
    }

    #[inline]
    fn slot_of(&self, gram: u32) -> usize {
        // The golden ratio's fraction, as Fibonacci hashing has it.
        (gram.wrapping_mul(0x9E37_79B1) >> self.hash_shift) as usize
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        let pieces: usize = self.pieces.iter().map(|piece| size_of_val(piece) + piece.len()).sum();
        let buckets = size_of_val(&self.bucket_starts[..]) + size_of_val(&self.candidates[..]);
        pieces + buckets + size_of_val(&self.slots[..])
    }
}

/// The length of grams. Longer grams are rarer in strings but shorten the stride.
fn gram_bytes_for(piece_bytes_min: usize) -> Option<usize> {
    match piece_bytes_min {
        0 | 1 => None,
        2 => Some(2),
        3..7 => Some(3),
        _ => Some(4),
    }
}

/// At most four bytes as a number.
#[inline]
fn gram_of(bytes: &[u8]) -> u32 {
    match *bytes {
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        [a, b, c] => u32::from_le_bytes([a, b, c, 0]),
        [a, b] => u32::from_le_bytes([a, b, 0, 0]),
        _ => unreachable!("grams have two to four bytes"),
    }
}

/// The grams of each piece's window, placed where fewest other pieces share them.
fn candidates_of(pieces: &[&[u8]], gram_bytes: usize, stride: usize) -> Vec<Candidate> {
    let mut counts: HashMap<u32, usize> = HashMap::new();
    for piece in pieces {
        piece.windows(gram_bytes).for_each(|gram| *counts.entry(gram_of(gram)).or_default() += 1);
    }
    let mut candidates = Vec::new();
    for (number, piece) in pieces.iter().enumerate() {
        let shared = |gram: &[u8]| counts[&gram_of(gram)];
        let windows = piece.windows(stride + gram_bytes - 1).enumerate();
        let cost = |window: &[u8]| window.windows(gram_bytes).map(shared).max();
        let best = windows.min_by_key(|(_, window)| cost(window));
        let (from, window) = best.expect("the shortest piece has as many grams as the stride is long");
        let candidate =
            |(at, gram)| Candidate { gram: gram_of(gram), piece: number as u32, offset: (from + at) as u32 };
        candidates.extend(window.windows(gram_bytes).enumerate().map(candidate));
    }
    candidates
}
