//! The classes of the rows of one segment, computed on encoded data: once for each value of a dictionary, directly on encoded
//! integers, and once for a constant segment.

use braid_storage::{PhysicalType, Scalar, Segment, Selection};

use crate::{PredicateIndex, RowClass};

/// The classification of the rows of a segment by a predicate index.
#[derive(Debug)]
pub struct SegmentClasses {
    stored: Stored,
    integers: Vec<i64>,
    codes: Vec<i32>,
}

/// The method of classification.
#[derive(Debug)]
enum Stored {
    /// One class for each value of the dictionary.
    Dictionary(Vec<RowClass>),
    Integers,
    Strings,
    /// Row by row, for all other encodings.
    Scalars,
}

impl SegmentClasses {
    /// Prepares the classification of a segment. Panics, here or later, if the index has another type.
    pub fn new(index: &PredicateIndex, segment: &Segment) -> Self {
        let stored = match (segment.dictionary(), segment.column_type().physical()) {
            (None, _) if segment.holds_integers() => Stored::Integers,
            (Some(values), _) => Stored::Dictionary(values.iter().map(|value| index.class_of(value)).collect()),
            (None, PhysicalType::Bytes) => Stored::Strings,
            (None, _) => Stored::Scalars,
        };
        Self { stored, integers: Vec::new(), codes: Vec::new() }
    }

    /// Replaces `out` by `map` of the class of each selected row of a vector. The index and the segment must be those of
    /// [`Self::new`].
    ///
    /// Panics when the vector does not exist, or the selection has another number of rows.
    pub fn of_rows<T>(
        &mut self,
        index: &PredicateIndex,
        segment: &Segment,
        vector: usize,
        selection: &Selection,
        map: impl Fn(RowClass) -> T,
        out: &mut Vec<T>,
    ) {
        out.clear();
        match &self.stored {
            Stored::Dictionary(by_code) => {
                self.codes.clear();
                segment.gather_codes(vector, selection, &mut self.codes);
                out.extend(self.codes.iter().map(|code| map(by_code[*code as usize])));
            }
            Stored::Integers => {
                self.integers.clear();
                segment.gather_integers(vector, selection, &mut self.integers);
                index.map_integers(&self.integers, &map, out);
            }
            Stored::Strings => {
                let mut value = Scalar::Bytes(Vec::new());
                segment.for_each_string(vector, selection, |string| {
                    if let Scalar::Bytes(bytes) = &mut value {
                        bytes.clear();
                        bytes.extend_from_slice(string);
                    }
                    out.push(map(index.class_of(&value)));
                });
            }
            Stored::Scalars => out.extend(selection.iter().map(|row| {
                let value = segment.value(vector * braid_base::VECTOR_ROWS + row);
                map(value.map_or(index.class_of_null(), |value| index.class_of(&value)))
            })),
        }
        let Some(valid) = segment.valid_rows(vector) else { return };
        for (class, row) in out.iter_mut().zip(selection.iter()) {
            if !valid.contains(row) {
                *class = map(index.class_of_null());
            }
        }
    }
}
