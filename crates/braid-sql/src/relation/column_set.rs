//! A set of columns of one statement, with a bit for each of their numbers, which are dense.
//!
//! It is for sets of much of what a statement has. A set of few columns of a large statement is smaller in another form.

use super::ColumnId;

/// Bits of a word.
const WORD_BITS: usize = u64::BITS as usize;

/// Columns of one statement.
#[derive(Clone, Debug, Default)]
pub struct ColumnSet {
    /// Bit `n % 64` of word `n / 64` is that of column `n`. Words beyond the last are zero.
    words: Vec<u64>,
}

impl ColumnSet {
    /// Adds a column.
    pub fn insert(&mut self, column: ColumnId) {
        let (word, bit) = place(column);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
    }

    /// Whether a column is one of them.
    pub fn contains(&self, column: &ColumnId) -> bool {
        let (word, bit) = place(*column);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }
}

/// The word of a column, and its bit there.
fn place(column: ColumnId) -> (usize, u64) {
    let number = column.0 as usize;
    (number / WORD_BITS, 1 << (number % WORD_BITS))
}

impl Extend<ColumnId> for ColumnSet {
    fn extend<I: IntoIterator<Item = ColumnId>>(&mut self, columns: I) {
        columns.into_iter().for_each(|column| self.insert(column));
    }
}

impl<'c> Extend<&'c ColumnId> for ColumnSet {
    fn extend<I: IntoIterator<Item = &'c ColumnId>>(&mut self, columns: I) {
        self.extend(columns.into_iter().copied());
    }
}

impl FromIterator<ColumnId> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = ColumnId>>(columns: I) -> Self {
        let mut set = Self::default();
        set.extend(columns);
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_columns_that_were_added() {
        let added = [0, 63, 64, 200].map(ColumnId);
        let set: ColumnSet = added.into_iter().collect();
        let found: Vec<ColumnId> = (0..1000).map(ColumnId).filter(|column| set.contains(column)).collect();
        assert_eq!(found, added);
    }
}
