//! The rows of an origin that a batch has, as a list of numbers or as selections within vectors.
//!
//! Scans produce selections and joins produce numbers. Decoding needs selections and gathering needs numbers. Each form is
//! computed from the other at its first use, once for all columns.

use std::sync::OnceLock;

use braid_base::VECTOR_ROWS;
use braid_storage::Selection;

use crate::values::vector::NO_ROW;

/// Rows by number.
#[derive(Clone, Debug, Default)]
pub struct RowNumbers {
    count: usize,
    numbers: OnceLock<Vec<u32>>,
    selections: OnceLock<Option<Vec<VectorSelection>>>,
}

/// Selected rows of one vector.
#[derive(Clone, Debug)]
pub struct VectorSelection {
    /// The vector: row `r` of the origin lies in vector `r / VECTOR_ROWS`.
    pub vector: usize,
    /// Its selected rows; at least one.
    pub rows: Selection,
}

impl RowNumbers {
    /// The selected rows of vectors, which ascend.
    pub fn of_selections(selections: Vec<VectorSelection>) -> Self {
        let count = selections.iter().map(|selection| selection.rows.count()).sum();
        Self { count, numbers: OnceLock::new(), selections: OnceLock::from(Some(selections)) }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The numbers.
    pub fn as_slice(&self) -> &[u32] {
        self.numbers.get_or_init(|| {
            let mut numbers = Vec::with_capacity(self.count);
            for VectorSelection { vector, rows } in self.selections.get().into_iter().flatten().flatten() {
                let first = (vector * VECTOR_ROWS) as u32;
                if rows.is_all() {
                    numbers.extend(first..first + rows.len() as u32);
                } else {
                    let mut indices = [0; VECTOR_ROWS];
                    numbers.extend(rows.indices(&mut indices).iter().map(|row| first + u32::from(*row)));
                }
            }
            numbers
        })
    }

    /// The rows as selections within vectors; `None` unless the rows ascend without repetition. `vector_rows` gives the number
    /// of rows of a vector.
    pub fn selections(&self, vector_rows: impl Fn(usize) -> usize) -> Option<&[VectorSelection]> {
        let select = || {
            let numbers = self.as_slice();
            let ascend = numbers.is_sorted_by(|a, b| a < b) && numbers.last() != Some(&NO_ROW);
            ascend.then(|| {
                let by_vector = numbers.chunk_by(|a, b| a / VECTOR_ROWS as u32 == b / VECTOR_ROWS as u32);
                by_vector.map(|numbers| VectorSelection::of_numbers(numbers, &vector_rows)).collect()
            })
        };
        self.selections.get_or_init(select).as_deref()
    }

    /// The rows at these positions.
    pub fn take(&self, positions: &[u32]) -> Self {
        let numbers = self.as_slice();
        Self::from(positions.iter().map(|position| numbers[*position as usize]).collect::<Vec<u32>>())
    }
}

impl From<Vec<u32>> for RowNumbers {
    fn from(numbers: Vec<u32>) -> Self {
        Self { count: numbers.len(), numbers: OnceLock::from(numbers), selections: OnceLock::new() }
    }
}

impl VectorSelection {
    fn of_numbers(numbers: &[u32], vector_rows: &impl Fn(usize) -> usize) -> Self {
        let vector = numbers[0] as usize / VECTOR_ROWS;
        let row_count = vector_rows(vector);
        if numbers.len() == row_count {
            return Self { vector, rows: Selection::all(row_count) };
        }
        let mut rows = Selection::none(row_count);
        numbers.iter().for_each(|row| rows.insert(*row as usize % VECTOR_ROWS));
        Self { vector, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_selections_are_the_same_rows() {
        let all = VectorSelection { vector: 1, rows: Selection::all(1024) };
        let mut some = VectorSelection { vector: 3, rows: Selection::none(500) };
        some.rows.insert(7);
        some.rows.insert(499);
        let rows = RowNumbers::of_selections(vec![all, some]);
        let numbers: Vec<u32> = (1024..2048).chain([3 * 1024 + 7, 3 * 1024 + 499]).collect();
        assert_eq!((rows.len(), rows.as_slice()), (1026, numbers.as_slice()));
        let vector_rows = |vector| if vector == 3 { 500 } else { 1024 };
        let back = RowNumbers::from(numbers);
        let selections = back.selections(vector_rows).expect("they ascend");
        assert_eq!(selections.iter().map(|s| (s.vector, s.rows.count())).collect::<Vec<_>>(), [(1, 1024), (3, 2)]);
        assert!(selections[0].rows.is_all());
        for unordered in [vec![3, 3], vec![4, 3], vec![5, NO_ROW]] {
            assert!(RowNumbers::from(unordered).selections(vector_rows).is_none());
        }
        assert_eq!(rows.take(&[1025, 0]).as_slice(), [3 * 1024 + 499, 1024]);
    }
}
