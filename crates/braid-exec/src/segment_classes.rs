//! The classes of the rows of one segment, found on what is stored: once for each value of a dictionary, from integers
//! without making them anything else, and once for the whole segment when it is constant.

use braid_storage::{PhysicalType, Scalar, Segment, Selection};

use crate::{PredicateIndex, RowClass};

/// How the rows of a segment are classified by a predicate index.
#[derive(Debug)]
pub struct SegmentClasses {
    stored: Stored,
    integers: Vec<i64>,
    codes: Vec<i32>,
}

/// How classes are found.
#[derive(Debug)]
enum Stored {
    /// One for each value of the dictionary.
    Dictionary(Vec<RowClass>),
    Integers,
    Strings,
    /// Types without a physical form of their own here: row by row.
    Scalars,
}

impl SegmentClasses {
    /// Prepares to classify the rows of a segment. Panics, now or later, when the index is of another type.
    pub fn new(index: &PredicateIndex, segment: &Segment) -> Self {
        let stored = match (segment.dictionary(), segment.column_type().physical()) {
            (Some(values), _) => Stored::Dictionary(values.iter().map(|value| index.class_of(value)).collect()),
            (None, PhysicalType::Int) => Stored::Integers,
            (None, PhysicalType::Bytes) => Stored::Strings,
            (None, _) => Stored::Scalars,
        };
        Self { stored, integers: Vec::new(), codes: Vec::new() }
    }

    /// Replaces `classes` by those of the selected rows of a vector; of the index and the segment that this was made for.
    ///
    /// Panics when there is no such vector, or the selection has another number of rows.
    pub fn of_rows(
        &mut self,
        index: &PredicateIndex,
        segment: &Segment,
        vector: usize,
        selection: &Selection,
        classes: &mut Vec<RowClass>,
    ) {
        classes.clear();
        match &self.stored {
            Stored::Dictionary(by_code) => {
                self.codes.clear();
                segment.gather_codes(vector, selection, &mut self.codes);
                classes.extend(self.codes.iter().map(|code| by_code[*code as usize]));
            }
            Stored::Integers => {
                self.integers.clear();
                segment.gather_integers(vector, selection, &mut self.integers);
                index.classes_of_integers(&self.integers, classes);
            }
            Stored::Strings => {
                let mut value = Scalar::Bytes(Vec::new());
                segment.for_each_string(vector, selection, |string| {
                    if let Scalar::Bytes(bytes) = &mut value {
                        bytes.clear();
                        bytes.extend_from_slice(string);
                    }
                    classes.push(index.class_of(&value));
                });
            }
            Stored::Scalars => classes.extend(selection.iter().map(|row| {
                let value = segment.value(vector * braid_base::VECTOR_ROWS + row);
                value.map_or(index.class_of_null(), |value| index.class_of(&value))
            })),
        }
        classify_nulls(index, segment, vector, selection, classes);
    }
}

fn classify_nulls(
    index: &PredicateIndex,
    segment: &Segment,
    vector: usize,
    selection: &Selection,
    classes: &mut [RowClass],
) {
    let Some(valid) = segment.valid_rows(vector) else { return };
    for (class, row) in classes.iter_mut().zip(selection.iter()) {
        if !valid.contains(row) {
            *class = index.class_of_null();
        }
    }
}
