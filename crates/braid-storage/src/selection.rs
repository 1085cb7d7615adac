//! Which rows of one vector are still wanted: a bitmap of at most [`VECTOR_ROWS`] bits.
//!
//! Filters AND into a selection, word by word; gathers read it back as an index list. Invariant: bits at and above
//! `len` are zero, so that counting and iteration need not mask.

use std::ops::Range;

use braid_base::VECTOR_ROWS;

/// Words of a selection: 1024 / 64.
pub const SELECTION_WORDS: usize = VECTOR_ROWS / 64;

const _: () = assert!(VECTOR_ROWS.is_multiple_of(64));

/// A subset of the rows `0..len` of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    words: [u64; SELECTION_WORDS],
    len: usize,
}

impl Selection {
    /// Every row of a vector of `len` rows. Panics above [`VECTOR_ROWS`].
    pub fn all(len: usize) -> Self {
        assert!(len <= VECTOR_ROWS, "a vector has at most {VECTOR_ROWS} rows, not {len}");
        let mut words = [0; SELECTION_WORDS];
        for (i, word) in words.iter_mut().enumerate() {
            *word = low_bits(len.saturating_sub(i * 64));
        }
        Self { words, len }
    }

    /// No row of a vector of `len` rows. Panics above [`VECTOR_ROWS`].
    pub fn none(len: usize) -> Self {
        assert!(len <= VECTOR_ROWS, "a vector has at most {VECTOR_ROWS} rows, not {len}");
        Self { words: [0; SELECTION_WORDS], len }
    }

    /// Rows of the vector, selected or not.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Number of selected rows.
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// Whether every row is selected.
    pub fn is_all(&self) -> bool {
        self.count() == self.len
    }

    /// Whether `row` is selected. Panics when `row` is not in the vector.
    pub fn contains(&self, row: usize) -> bool {
        assert!(row < self.len, "row {row} of a vector of {}", self.len);
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// Selects `row`. Panics when `row` is not in the vector.
    pub fn insert(&mut self, row: usize) {
        assert!(row < self.len, "row {row} of a vector of {}", self.len);
        self.words[row / 64] |= 1 << (row % 64);
    }

    /// Deselects `row`. Panics when `row` is not in the vector.
    pub fn remove(&mut self, row: usize) {
        assert!(row < self.len, "row {row} of a vector of {}", self.len);
        self.words[row / 64] &= !(1 << (row % 64));
    }

    /// Deselects every row.
    pub fn clear(&mut self) {
        self.words = [0; SELECTION_WORDS];
    }

    /// Keeps the first `count` selected rows: LIMIT.
    pub fn truncate(&mut self, mut count: usize) {
        for word in &mut self.words {
            let ones = word.count_ones() as usize;
            if ones > count {
                *word = lowest_ones(*word, count);
            }
            count = count.saturating_sub(ones);
        }
    }

    /// The bitmap, least significant bit first.
    pub fn words(&self) -> &[u64; SELECTION_WORDS] {
        &self.words
    }

    /// The bitmap, for narrowing. Bits at and above the length must stay zero.
    pub(crate) fn words_mut(&mut self) -> &mut [u64; SELECTION_WORDS] {
        &mut self.words
    }

    /// Keeps the rows whose bit is set in `words`.
    pub(crate) fn and_words(&mut self, words: &[u64; SELECTION_WORDS]) {
        for (word, other) in self.words.iter_mut().zip(words) {
            *word &= other;
        }
    }

    /// Keeps the rows whose bit is not set in `words`.
    pub(crate) fn and_not_words(&mut self, words: &[u64; SELECTION_WORDS]) {
        for (word, other) in self.words.iter_mut().zip(words) {
            *word &= !other;
        }
    }

    /// Keeps the rows that satisfy `keep`, which is asked only about selected rows.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        for (i, word) in self.words.iter_mut().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                let bit = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if !keep(i * 64 + bit) {
                    *word &= !(1 << bit);
                }
            }
        }
    }

    /// Keeps those selected rows for which `keep` says so, which has an entry for each of them, in order. Panics when it
    /// has fewer.
    pub fn retain_where(&mut self, keep: &[bool]) {
        let mut at = 0;
        for word in &mut self.words {
            if *word == u64::MAX {
                *word = pack(keep[at..at + 64].try_into().expect("64 decisions"));
                at += 64;
                continue;
            }
            let (mut rest, mut kept) = (*word, 0);
            while rest != 0 {
                kept |= u64::from(keep[at]) << rest.trailing_zeros();
                at += 1;
                rest &= rest - 1;
            }
            *word = kept;
        }
    }

    /// The selected rows, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros() as usize;
                (rest != 0).then(|| {
                    rest &= rest - 1;
                    i * 64 + bit
                })
            })
        })
    }

    /// The selected rows, ascending, as an index list in `indices`.
    pub fn indices<'a>(&self, indices: &'a mut [u16; VECTOR_ROWS]) -> &'a [u16] {
        let mut count = 0;
        for (i, &word) in self.words.iter().enumerate().filter(|(_, word)| **word != 0) {
            for (at, byte) in word.to_le_bytes().into_iter().enumerate() {
                let first = (i * 64 + at * 8) as u16;
                // Eight indices are written, and as many count as there are bits. There is enough space, because at most `first`
                // rows came before.
                indices[count..count + 8].copy_from_slice(&ONES[usize::from(byte)].map(|bit| first + bit));
                count += byte.count_ones() as usize;
            }
        }
        &indices[..count]
    }
}

/// The places of the bits that are set in each byte, ascending, and zeros behind them. 16 bits wide, as indices are, so that
/// eight are loaded, moved to their byte's place and stored in one go: 4 KiB.
const ONES: [[u16; 8]; 256] = {
    let mut ones = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                ones[byte][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    ones
};

/// A bit for each decision.
#[inline]
fn pack(keep: &[bool; 64]) -> u64 {
    let (eights, _) = keep.as_chunks::<8>();
    eights.iter().rev().fold(0, |word, eight| {
        let bytes = u64::from_le_bytes(eight.map(u8::from));
        // Each byte is 0 or 1; the product brings bit 0 of byte i to bit 56 + i.
        word << 8 | bytes.wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

/// A word with the `count` lowest bits set; all of them from 64 on.
pub(crate) fn low_bits(count: usize) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The `count` lowest set bits of `word`.
fn lowest_ones(word: u64, count: usize) -> u64 {
    let mut rest = word;
    for _ in 0..count {
        rest &= rest.wrapping_sub(1);
    }
    word & !rest
}

/// Sets the bits of `range` in a bitmap.
pub(crate) fn set_range(words: &mut [u64], range: Range<usize>) {
    if range.is_empty() {
        return;
    }
    let Range { start, end } = range;
    let (first, last) = (start / 64, (end - 1) / 64);
    let from = u64::MAX << (start % 64);
    let to = u64::MAX >> (63 - (end - 1) % 64);
    if first == last {
        words[first] |= from & to;
    } else {
        words[first] |= from;
        words[first + 1..last].fill(u64::MAX);
        words[last] |= to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_and_none_hold_what_they_say() {
        for len in [0, 1, 63, 64, 65, 1000, 1023, 1024] {
            let (all, none) = (Selection::all(len), Selection::none(len));
            assert_eq!((all.count(), all.is_all(), all.len()), (len, true, len));
            assert_eq!((none.count(), none.is_empty(), none.is_all()), (0, true, len == 0));
            assert!(all.iter().eq(0..len));
        }
    }

    #[test]
    fn rows_come_back_ascending_as_iterator_and_as_index_list() {
        let rows = [0, 1, 62, 63, 64, 500, 1023];
        let mut selection = Selection::none(1024);
        rows.iter().for_each(|&r| selection.insert(r));
        assert!(selection.iter().eq(rows));
        let mut indices = [0; VECTOR_ROWS];
        assert!(selection.indices(&mut indices).iter().map(|&i| usize::from(i)).eq(rows));
        selection.remove(63);
        assert!(!selection.contains(63) && selection.contains(64));
        selection.retain(|r| r % 2 == 0);
        assert!(selection.iter().eq([0, 62, 64, 500]));
        assert_eq!(Selection::all(1024).indices(&mut indices).len(), 1024);
    }

    #[test]
    fn decisions_are_about_selected_rows() {
        for (len, first) in [(1024, 0), (1000, 0), (700, 13), (64, 1), (3, 0)] {
            let mut selection = Selection::all(len);
            (0..first).for_each(|row| selection.remove(row));
            let rows: Vec<usize> = selection.iter().collect();
            let keep: Vec<bool> = rows.iter().map(|row| (row * 7 + row / 3) % 5 < 2).collect();
            selection.retain_where(&keep);
            let expected = rows.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(row, _)| *row);
            assert!(selection.iter().eq(expected), "{len} from {first}");
        }
    }

    #[test]
    fn truncation_keeps_the_first_rows() {
        for count in [0, 1, 64, 70, 200, 5000] {
            let mut selection = Selection::all(200);
            selection.remove(3);
            selection.truncate(count);
            assert!(selection.iter().eq((0..200).filter(|&r| r != 3).take(count)), "{count}");
        }
    }

    #[test]
    fn ranges_set_exactly_their_bits() {
        for (start, end) in [(0, 0), (0, 1), (5, 64), (63, 65), (64, 128), (10, 1024), (1023, 1024), (7, 7)] {
            let mut words = [0; SELECTION_WORDS];
            set_range(&mut words, start..end);
            let mut selection = Selection::all(1024);
            selection.and_words(&words);
            assert!(selection.iter().eq(start..end), "{start}..{end}");
            selection = Selection::all(1024);
            selection.and_not_words(&words);
            assert_eq!(selection.count(), 1024 - (end - start));
        }
    }
}
