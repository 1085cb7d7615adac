//! The words of a batch's rows: for each word of the pass a column of integers, and for each row the queries that it belongs
//! to so far.

use std::collections::HashSet;

/// The words of rows by their class: an interned combination of values of some columns. A word of queries that those columns do
/// not concern has no table.
#[derive(Clone, Debug)]
pub struct ClassWords {
    by_word: Vec<Option<Box<[u64]>>>,
}

impl ClassWords {
    /// The tables for `class_count` classes. `bits` gives the bits of a class in a word; bits that are not in `used` have no
    /// meaning.
    pub fn new(used: &[u64], class_count: usize, bits: impl Fn(usize, usize) -> u64) -> Self {
        let table = |(word, used): (usize, &u64)| {
            let table: Box<[u64]> = (0..class_count).map(|class| bits(class, word) & used).collect();
            table.iter().any(|bits| bits != used).then_some(table)
        };
        Self { by_word: used.iter().enumerate().map(table).collect() }
    }
}

/// The words of rows.
#[derive(Clone, Debug, Default)]
pub struct RowWords {
    columns: Vec<Vec<u64>>,
    row_count: usize,
    any: Vec<u64>,
}

impl RowWords {
    /// Makes `row_count` rows that belong to all queries in `used`.
    pub fn begin(&mut self, used: &[u64], row_count: usize) {
        self.columns.resize_with(used.len(), Vec::new);
        for (column, used) in self.columns.iter_mut().zip(used) {
            column.clear();
            column.resize(row_count, *used);
        }
        self.row_count = row_count;
    }

    /// The words of one column.
    pub fn column(&self, word: usize) -> &[u64] {
        &self.columns[word]
    }

    /// Narrows the rows to the queries of their classes. Panics unless each row has a class.
    #[inline]
    pub fn narrow<C: Copy>(&mut self, classes: &[C], words: &ClassWords, index: impl Fn(C) -> usize) {
        assert_eq!(classes.len(), self.row_count, "a class for each row");
        for (column, table) in self.columns.iter_mut().zip(&words.by_word) {
            if let Some(table) = table {
                for (word, class) in column.iter_mut().zip(classes) {
                    *word &= table[index(*class)];
                }
            }
        }
    }

    /// Writes the positions of the rows that belong to any query.
    pub fn wanted(&mut self, rows: &mut Vec<u32>) {
        let Self { columns, any, row_count } = self;
        rows.clear();
        let Some((first, others)) = columns.split_first() else { return };
        if others.is_empty() {
            return positions(first, u64::MAX, rows);
        }
        any.clear();
        any.resize(*row_count, 0);
        for column in columns {
            any.iter_mut().zip(column.iter()).for_each(|(any, word)| *any |= word);
        }
        positions(any, u64::MAX, rows);
    }

    /// Keeps the rows at these positions, which ascend.
    pub fn keep(&mut self, rows: &[u32]) {
        for column in &mut self.columns {
            for (to, from) in rows.iter().enumerate() {
                // No position is above that of the row that it comes from.
                column[to] = column[*from as usize];
            }
            column.truncate(rows.len());
        }
        self.row_count = rows.len();
    }

    /// Adds the words of each row that belongs to any query, as one key of all words.
    pub fn collect_into(&self, sets: &mut HashSet<Box<[u64]>>, scratch: &mut Vec<u64>) -> u64 {
        let mut row_count = 0;
        for row in 0..self.row_count {
            scratch.clear();
            scratch.extend(self.columns.iter().map(|column| column[row]));
            if scratch.iter().all(|word| *word == 0) {
                continue;
            }
            row_count += 1;
            if !sets.contains(scratch.as_slice()) {
                sets.insert(scratch.as_slice().into());
            }
        }
        row_count
    }
}

/// Replaces `rows` by the positions of the words with a bit of `mask`. The loop has no branch on the data.
pub fn positions(words: &[u64], mask: u64, rows: &mut Vec<u32>) {
    rows.clear();
    rows.resize(words.len(), 0);
    let mut count = 0;
    for (at, word) in words.iter().enumerate() {
        rows[count] = at as u32;
        count += usize::from(word & mask != 0);
    }
    rows.truncate(count);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lose_the_queries_of_other_classes() {
        let used = [0b1111, 0b11];
        let words = ClassWords::new(&used, 3, |class, word| match (class, word) {
            (class, 0) => [0b0000, 0b0011, 0b1_0110][class],
            _ => u64::MAX,
        });
        assert!(words.by_word[1].is_none(), "no class of it drops a query of the second word");
        let mut rows = RowWords::default();
        rows.begin(&used, 4);
        rows.narrow(&[2u8, 0, 1, 1], &words, usize::from);
        assert_eq!((rows.column(0), rows.column(1)), (&[0b0110, 0, 0b11, 0b11][..], &[0b11; 4][..]));
        let none = ClassWords::new(&used, 2, |class, _| if class == 0 { 0 } else { u64::MAX });
        rows.narrow(&[0u8, 0, 1, 1], &none, usize::from);
        let mut wanted = Vec::new();
        rows.wanted(&mut wanted);
        assert_eq!(wanted, [2, 3]);
        rows.keep(&wanted);
        assert_eq!((rows.column(0), rows.row_count), (&[0b11, 0b11][..], 2));
        let mut sets = HashSet::new();
        assert_eq!((rows.collect_into(&mut sets, &mut Vec::new()), sets.len()), (2, 1));
    }
}
