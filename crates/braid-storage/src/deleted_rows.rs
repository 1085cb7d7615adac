//! The rows of a chunk that are deleted: a bitmap beside the chunk's immutable segments.
//!
//! Segments are never rewritten for a DELETE. A later table version shares the chunk and has another set of deleted rows,
//! which scans of that version leave out (positional deletes, as in Héman et al., SIGMOD 2010, without the values of updates).
//! Vectors with deleted rows have a bit for each row, at most 17 KiB for a chunk; `manifest/deleted_rows_section.rs` has the form
//! in the manifest.
//!
//! Invariants: rows are below the chunk's row count, bits at and above it are zero, and `count` is the number of ones.

use std::collections::BTreeMap;

use braid_base::{CHUNK_ROWS, ChunkId, VECTOR_ROWS};

use crate::Selection;
use crate::selection::SELECTION_WORDS;

/// Bits of a row's number in its chunk.
const ROW_BITS: u32 = CHUNK_ROWS.trailing_zeros();

const _: () = assert!(CHUNK_ROWS.is_power_of_two() && ROW_BITS + u32::BITS < i64::BITS);

/// The first number of chunks that only their transaction sees.
pub const PRIVATE_CHUNKS: u32 = 1 << 31;

/// Rows to delete, by chunk.
pub type RowDeletes = BTreeMap<ChunkId, DeletedRows>;

/// Deleted rows of one chunk, perhaps none, perhaps all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeletedRows {
    /// The vectors with deleted rows, ascending.
    vectors: Vec<DeletedInVector>,
    /// Rows of the chunk, deleted or not.
    row_count: u32,
    count: u32,
}

/// A bit for each row of one vector, least significant bit first; at least one of them is set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DeletedInVector {
    vector: usize,
    words: [u64; SELECTION_WORDS],
}

impl DeletedRows {
    /// No row of a chunk of `row_count` rows. Panics above [`CHUNK_ROWS`].
    pub fn none(row_count: u32) -> Self {
        assert!(row_count as usize <= CHUNK_ROWS, "a chunk has at most {CHUNK_ROWS} rows, not {row_count}");
        Self { vectors: Vec::new(), row_count, count: 0 }
    }

    /// These rows of a chunk of `row_count` rows, in any order. Panics when one is not in the chunk.
    pub fn of(row_count: u32, rows: impl IntoIterator<Item = u32>) -> Self {
        let mut deleted = Self::none(row_count);
        for row in rows {
            deleted.insert(row);
        }
        deleted
    }

    /// Deletes a row; whether it was there until then. Panics when it is not in the chunk.
    pub fn insert(&mut self, row: u32) -> bool {
        assert!(row < self.row_count, "row {row} of a chunk of {}", self.row_count);
        let (vector, word, bit) = place(row);
        let word = &mut self.words_mut(vector)[word];
        let is_new = *word & bit == 0;
        *word |= bit;
        self.count += u32::from(is_new);
        is_new
    }

    /// Rows of the chunk, deleted or not.
    pub fn row_count(&self) -> u32 {
        self.row_count
    }

    /// Number of deleted rows.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u64 {
        (size_of::<Self>() + self.vectors.capacity() * size_of::<DeletedInVector>()) as u64
    }

    /// Whether no row is deleted.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether every row is deleted.
    pub fn is_all(&self) -> bool {
        self.count == self.row_count
    }

    /// Whether `row` is deleted. Panics when it is not in the chunk.
    pub fn contains(&self, row: u32) -> bool {
        assert!(row < self.row_count, "row {row} of a chunk of {}", self.row_count);
        let (vector, word, bit) = place(row);
        self.words(vector).is_some_and(|words| words[word] & bit != 0)
    }

    /// Number of deleted rows below `row`.
    pub fn count_below(&self, row: u32) -> u32 {
        let (vector, word, bit) = place(row);
        let of_vector = |known: &DeletedInVector| {
            let whole = if known.vector < vector { SELECTION_WORDS } else { word };
            let ones: u32 = known.words[..whole].iter().map(|word| word.count_ones()).sum();
            let partial = if known.vector == vector { (known.words[word] & (bit - 1)).count_ones() } else { 0 };
            ones + partial
        };
        self.vectors.iter().take_while(|known| known.vector <= vector).map(of_vector).sum()
    }

    /// The deleted rows, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.vectors.iter().flat_map(|DeletedInVector { vector, words }| {
            let first = (vector * VECTOR_ROWS) as u32;
            let of_word = move |(word, at): (&u64, u32)| ones(*word).map(move |bit| first + at * u64::BITS + bit);
            words.iter().zip(0..).flat_map(of_word)
        })
    }

    /// The rows that are deleted here or in `other`. Panics when that is of a chunk with another number of rows.
    pub fn union(&self, other: &Self) -> Self {
        assert_eq!(self.row_count, other.row_count, "deleted rows of one chunk");
        let mut united = self.clone();
        for DeletedInVector { vector, words } in &other.vectors {
            united.words_mut(*vector).iter_mut().zip(words).for_each(|(word, more)| *word |= more);
        }
        let words = united.vectors.iter().flat_map(|of_vector| of_vector.words);
        united.count = words.map(u64::count_ones).sum();
        united
    }

    /// The rows that are deleted here and not in `other`. Panics when that is of a chunk with another number of rows.
    pub fn difference(&self, other: &Self) -> Self {
        assert_eq!(self.row_count, other.row_count, "deleted rows of one chunk");
        Self::of(self.row_count, self.iter().filter(|row| !other.contains(*row)))
    }

    /// The first row that is deleted here and in `other`.
    pub fn first_common(&self, other: &Self) -> Option<u32> {
        self.vectors.iter().find_map(|DeletedInVector { vector, words }| {
            let pairs = words.iter().zip(other.words(*vector)?).zip(0..);
            let mut common = pairs.map(|((own, other), at)| (own & other, at)).filter(|(word, _)| *word != 0);
            let first = (vector * VECTOR_ROWS) as u32;
            common.next().map(|(word, at)| first + at * u64::BITS + word.trailing_zeros())
        })
    }

    /// Takes the deleted rows out of a selection of the chunk's vector number `vector`.
    pub fn exclude_from(&self, vector: usize, selection: &mut Selection) {
        if let Some(words) = self.words(vector) {
            selection.and_not_words(words);
        }
    }

    /// The bits of a vector that has deleted rows.
    fn words(&self, vector: usize) -> Option<&[u64; SELECTION_WORDS]> {
        let at = self.vectors.binary_search_by_key(&vector, |of_vector| of_vector.vector).ok()?;
        Some(&self.vectors[at].words)
    }

    /// The bits of a vector, of which one will be set.
    fn words_mut(&mut self, vector: usize) -> &mut [u64; SELECTION_WORDS] {
        let at = self.vectors.binary_search_by_key(&vector, |of_vector| of_vector.vector).unwrap_or_else(|at| {
            self.vectors.insert(at, DeletedInVector { vector, words: [0; SELECTION_WORDS] });
            at
        });
        &mut self.vectors[at].words
    }
}

/// The vector of a row, the word within it, and the bit within that.
fn place(row: u32) -> (usize, usize, u64) {
    let row = row as usize;
    (row / VECTOR_ROWS, row % VECTOR_ROWS / 64, 1 << (row % 64))
}

/// The places of a word's ones, ascending.
fn ones(word: u64) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)))
        .take_while(|rest| *rest != 0)
        .map(u64::trailing_zeros)
}

/// A row of a table version: its chunk, and its number there, deleted rows counted too. Both stay what they are until the chunk is
/// written again ([`crate::moved_rows`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId {
    /// The chunk.
    pub chunk: ChunkId,
    /// The row's number in the chunk, from 0, below [`CHUNK_ROWS`].
    pub row: u32,
}

impl RowId {
    /// Chunk and row as one number, in the order of rows: `chunk << 17 | row`.
    pub fn to_number(self) -> i64 {
        assert!((self.row as usize) < CHUNK_ROWS, "row {} of a chunk", self.row);
        i64::from(self.chunk.0) << ROW_BITS | i64::from(self.row)
    }

    /// The row with a number that [`Self::to_number`] gave; `None` for any other number.
    pub fn of_number(number: i64) -> Option<Self> {
        let chunk = u32::try_from(number >> ROW_BITS).ok()?;
        Some(Self { chunk: ChunkId(chunk), row: (number & (CHUNK_ROWS as i64 - 1)) as u32 })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use braid_base::Random;
    use braid_testing::cases;

    use super::*;

    #[test]
    fn deleted_rows_are_the_set_of_what_was_deleted() {
        for case in cases!(0..200) {
            let mut random = case.random();
            let row_count = 1 + random.below([10, 1_000, 3_000, CHUNK_ROWS as u64][case.seed as usize % 4]) as u32;
            let mut draw = || {
                let count = random.below(u64::from(row_count).min(2_000) + 1);
                (0..count).map(|_| random.below(row_count.into()) as u32).collect::<Vec<_>>()
            };
            let (one, other) = (draw(), draw());
            let sets = [&one, &other].map(|rows| rows.iter().copied().collect::<BTreeSet<u32>>());
            let mut deleted = DeletedRows::none(row_count);
            let new = one.iter().filter(|row| deleted.insert(**row)).count();
            let further = DeletedRows::of(row_count, other);
            assert_eq!((new, deleted.count() as usize), (sets[0].len(), sets[0].len()));
            assert!(deleted.iter().eq(sets[0].iter().copied()));
            assert!((0..row_count).all(|row| deleted.contains(row) == sets[0].contains(&row)));
            for row in [0, row_count / 3, row_count / 2, row_count - 1] {
                assert_eq!(deleted.count_below(row) as usize, sets[0].range(..row).count(), "below {row}");
            }
            assert_eq!(deleted.first_common(&further), sets[0].intersection(&sets[1]).next().copied());
            let united = deleted.union(&further);
            assert!(united.iter().eq(sets[0].union(&sets[1]).copied()));
            assert_eq!(united, DeletedRows::of(row_count, united.iter()));
            assert!(united.difference(&further).iter().eq(sets[0].difference(&sets[1]).copied()));
            assert_eq!((united.is_empty(), united.is_all()), (united.count() == 0, united.count() == row_count));
        }
    }

    #[test]
    fn a_selection_keeps_the_rows_that_are_not_deleted() {
        let deleted = DeletedRows::of(2_500, [0, 63, 64, 1_023, 1_024, 2_047, 2_499]);
        let left: Vec<usize> = (0..3)
            .flat_map(|vector| {
                let mut selection = Selection::all(VECTOR_ROWS.min(2_500 - vector * VECTOR_ROWS));
                deleted.exclude_from(vector, &mut selection);
                selection.iter().map(|row| vector * VECTOR_ROWS + row).collect::<Vec<_>>()
            })
            .collect();
        assert!(left.into_iter().eq((0..2_500).filter(|row| !deleted.contains(*row as u32))));
    }

    #[test]
    fn a_row_id_is_a_number_in_the_order_of_rows_and_back() {
        let ids = [(0, 0), (0, 1), (0, CHUNK_ROWS as u32 - 1), (1, 0), (7, 130), (u32::MAX, CHUNK_ROWS as u32 - 1)];
        let ids = ids.map(|(chunk, row)| RowId { chunk: ChunkId(chunk), row });
        let numbers = ids.map(RowId::to_number);
        assert!(numbers.is_sorted_by(|a, b| a < b) && numbers[0] == 0);
        assert_eq!(numbers.map(RowId::of_number), ids.map(Some));
        assert_eq!([-1, i64::MIN, i64::MAX, 1 << 49].map(RowId::of_number), [None; 4]);
    }
}
