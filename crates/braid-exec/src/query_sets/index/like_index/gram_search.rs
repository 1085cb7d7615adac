//! Where many pieces occur in a string, found by looking at a few of its bytes.
//!
//! A gram is some bytes in a row, and only every n-th gram of the string is looked up, `n` being the stride. Each piece
//! has a window of as many neighbouring grams as the stride is long; wherever it occurs, exactly one gram of its window
//! is looked up. So one table of the grams of all windows finds every occurrence, once, and tells where the piece would
//! begin; then the bytes are compared. Wu and Manber's search (1994) looks up blocks of bytes as well, but how far it goes
//! on depends on what it finds; here the stride is fixed, so that one lookup does not wait for another.
//!
//! Before a piece that a pattern begins with has occurred, no other matters. The buckets of those pieces come first, so
//! that one comparison leaves the others out.
//!
//! Of two occurrences that do not overlap the earlier comes first: its window does. In what order others come is left open.
//!
//! Pieces of one byte, and many that share all their grams, are not for this search.

use std::cmp::Reverse;
use std::collections::HashMap;

/// Candidates of one gram are compared one after the other; with more of them the automaton is faster.
const CANDIDATES_MAX: usize = 16;

/// Of a string's other grams one in 16 at most falls into a slot that is taken.
const SLOTS_PER_GRAM: usize = 16;

/// A slot is two bytes: at least 8 KiB, which a first-level cache hardly notices, at most 256 KiB for a second-level one.
const SLOTS_MIN: usize = 1 << 12;
const SLOTS_MAX: usize = 1 << 17;

/// Twice the stride halves what is left of the search, but doubles the table.
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
    /// Where the candidates of each bucket begin; bucket 0 has none.
    bucket_starts: Vec<u32>,
    /// Buckets up to that one have candidates that patterns begin with.
    first_buckets: usize,
    candidates: Vec<Candidate>,
}

/// A piece that may occur where a gram does.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    gram: u32,
    piece: u32,
    /// Bytes of the piece before the gram.
    offset: u32,
}

impl GramSearch {
    /// From distinct pieces and which of them patterns begin with; none when they are too short or too much alike.
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
            // A piece's occurrences that share a gram: the earlier first.
            bucket.sort_by_key(|candidate| Reverse(candidate.offset));
            self.slots[slot] = number;
            self.bucket_starts.push(self.candidates.len() as u32);
            self.candidates.extend(bucket);
        }
        self.bucket_starts.push(self.candidates.len() as u32);
        true
    }

    /// Calls `found` with the number, the beginning and the end of each piece that occurs: of all pieces, or from where
    /// one that patterns begin with has occurred.
    #[inline]
    pub fn occurrences(&self, string: &[u8], all: bool, found: impl FnMut(usize, usize, usize)) {
        match self.gram_bytes {
            2 => self.run::<2>(string, all, found),
            3 => self.run::<3>(string, all, found),
            _ => self.run::<4>(string, all, found),
        }
    }

    #[inline]
    fn run<const GRAM_BYTES: usize>(&self, string: &[u8], all: bool, mut found: impl FnMut(usize, usize, usize)) {
        let mut bucket_count = if all { usize::MAX } else { self.first_buckets };
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
                        found(candidate.piece as usize, start, start + piece.len());
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

/// How long grams are. Longer ones are rarer in strings, but leave a shorter stride.
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

/// The grams of each piece's window: where they are shared with the fewest other pieces.
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
