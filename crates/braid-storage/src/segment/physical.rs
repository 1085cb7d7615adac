//! Selected rows in physical form, for operators that compute on what is stored: integers as 64 bits whatever their SQL
//! type, strings as codes of the segment's dictionary.
//!
//! Nulls are not told apart here: [`Segment::valid_rows`] does that, once a vector.

use super::body::{Body, Constant};
use super::string_column::StringColumn;
use super::{Segment, SelectedVectors};
use crate::codec::bitmap;
use crate::{PhysicalType, Scalar, Selection};

impl Segment {
    /// The rows of a vector that are not null; `None` when all are. Panics when there is no such vector.
    pub fn valid_rows(&self, vector: usize) -> Option<Selection> {
        let rows = self.vector_rows(vector);
        match self.null_count() {
            0 => None,
            nulls if nulls == self.row_count() => Some(Selection::none(rows)),
            _ => {
                let mut valid = Selection::all(rows);
                valid.and_words(&bitmap::vector_words(self.validity()?, vector));
                Some(valid)
            }
        }
    }

    /// Whether all values are integers that fit 64 bits: always if the physical type is [`PhysicalType::Int`], and for each
    /// segment anew if it is [`PhysicalType::Int128`].
    pub fn holds_integers(&self) -> bool {
        match self.column_type().physical() {
            PhysicalType::Int => true,
            PhysicalType::Int128 => {
                !matches!(self.body(), Body::SixteenBytes(_) | Body::Constant(Constant::SixteenBytes(_)))
            }
            _ => false,
        }
    }

    /// Appends the integers of the selected rows of a vector: numerics unscaled, dates in days, timestamps in
    /// microseconds; some integer for a null.
    ///
    /// Panics when the values are no [integers of 64 bits](Self::holds_integers), or the selection has another number of rows
    /// than the vector.
    pub fn gather_integers(&self, vector: usize, selection: &Selection, integers: &mut Vec<i64>) {
        assert!(self.holds_integers(), "a column of {}", self.column_type());
        assert_eq!(selection.len(), self.vector_rows(vector), "a selection has as many rows as its vector");
        match self.body() {
            Body::Constant(Constant::Integer(value)) => integers.resize(integers.len() + selection.count(), *value),
            Body::Constant(_) => integers.resize(integers.len() + selection.count(), 0),
            Body::Integers(values) => values.gather(vector, selection, integers),
            _ => unreachable!("opening the segment matched its body to the column's type"),
        }
    }

    /// Number of distinct strings of a segment that has a [dictionary](Self::dictionary).
    pub fn dictionary_strings(&self) -> Option<usize> {
        match self.body() {
            Body::Strings(StringColumn::Dictionary(dictionary)) => Some(dictionary.value_count()),
            Body::Constant(Constant::Bytes(_)) => Some(1),
            _ => None,
        }
    }

    /// The distinct strings of a segment that has them, ascending; `None` when it is not encoded so.
    pub fn dictionary(&self) -> Option<Vec<Scalar>> {
        match self.body() {
            Body::Strings(StringColumn::Dictionary(dictionary)) => {
                Some(dictionary.values().map(|value| Scalar::Bytes(value.to_vec())).collect())
            }
            Body::Constant(Constant::Bytes(value)) => Some(vec![Scalar::Bytes(value.clone())]),
            _ => None,
        }
    }

    /// Appends, for the selected rows of a vector, the positions of their strings in [`Self::dictionary`]; some position
    /// for a null.
    ///
    /// Panics when the segment has no dictionary, or the selection has another number of rows than the vector.
    pub fn gather_codes(&self, vector: usize, selection: &Selection, codes: &mut Vec<i32>) {
        assert_eq!(selection.len(), self.vector_rows(vector), "a selection has as many rows as its vector");
        match self.body() {
            Body::Strings(StringColumn::Dictionary(dictionary)) => dictionary.gather_codes(vector, selection, codes),
            Body::Constant(Constant::Bytes(_)) => codes.resize(codes.len() + selection.count(), 0),
            _ => panic!("a segment without a dictionary"),
        }
    }

    /// Calls `visit` with the string of each selected row of a vector; with some string for a null.
    ///
    /// Panics when the column holds no strings, or the selection has another number of rows than the vector.
    pub fn for_each_string(&self, vector: usize, selection: &Selection, mut visit: impl FnMut(&[u8])) {
        assert_eq!(selection.len(), self.vector_rows(vector), "a selection has as many rows as its vector");
        match self.body() {
            Body::Strings(strings) => {
                let selections = std::slice::from_ref(selection);
                strings.gather(SelectedVectors { first: vector, selections }).for_each(visit);
            }
            Body::Constant(Constant::Bytes(value)) => (0..selection.count()).for_each(|_| visit(value)),
            Body::Constant(Constant::Null) => (0..selection.count()).for_each(|_| visit(b"")),
            _ => panic!("strings of a column of {}", self.column_type()),
        }
    }
}
