//! A pinned chunk as an origin of columns. A column is decoded when it is first read, for the rows that remain by then.
//!
//! Ascending rows are decoded vector by vector; for other rows, the distinct ones are decoded and then repeated. Strings stay
//! codes if the segment has a small enough dictionary, which all vectors of the segment share.

use std::sync::{Arc, OnceLock};

use arrow::array::Array;
use braid_base::{ChunkId, VECTOR_ROWS};
use braid_buffer::PinnedChunk;
use braid_storage::{ColumnType, PhysicalType, Scalar, Segment, Selection};

use crate::scan::row_ids;
use crate::values::intervals::interval_vector;
use crate::values::row_numbers::{RowNumbers, VectorSelection};
use crate::values::vector::{CodedStrings, Values};
use crate::{ByteStrings, Origin, Vector};

/// Maximum number of strings of a dictionary that is read completely. A scan may use only few strings of a larger one.
const DICTIONARY_STRINGS_MAX: usize = 4 * VECTOR_ROWS;

/// A pinned chunk's columns. Row numbers count from the start of the chunk.
pub(crate) struct ChunkOrigin {
    pub(crate) columns: Vec<ChunkColumn>,
    /// The chunk whose rows have their identities as a further column, behind the others.
    pub(crate) row_ids: Option<ChunkId>,
    pub(crate) _pin: Arc<PinnedChunk>,
}

pub(crate) struct ChunkColumn {
    pub(crate) segment: Arc<Segment>,
    /// The type of the column's values in all chunks. Those of a chunk may be stored in a narrower one.
    value_type: ColumnType,
    /// The segment's dictionary, if it is small enough.
    dictionary: OnceLock<Option<Arc<ByteStrings>>>,
}

impl Origin for ChunkOrigin {
    fn read(&self, column: usize, rows: &RowNumbers) -> Vector {
        match self.columns.get(column) {
            Some(column) => column.read(rows),
            None => row_ids::of_rows(self.identified_chunk(), rows.as_slice().iter().copied()),
        }
    }
}

impl ChunkOrigin {
    /// Number of columns, with that of the identities.
    pub(crate) fn column_count(&self) -> usize {
        self.columns.len() + usize::from(self.row_ids.is_some())
    }

    /// The values of a column in selected rows of a vector.
    pub(crate) fn read_vector(&self, column: usize, selection: &VectorSelection) -> Vector {
        match self.columns.get(column) {
            Some(column) => column.read_vectors(std::slice::from_ref(selection)),
            None => row_ids::of_selection(self.identified_chunk(), selection),
        }
    }

    fn identified_chunk(&self) -> ChunkId {
        self.row_ids.expect("the column behind the stored ones is that of the identities")
    }
}

impl ChunkColumn {
    pub(crate) fn new(segment: Arc<Segment>, value_type: ColumnType) -> Self {
        Self { segment, value_type, dictionary: OnceLock::new() }
    }

    fn read(&self, rows: &RowNumbers) -> Vector {
        let vector_rows = |vector| self.segment.vector_rows(vector);
        if let Some(selections) = rows.selections(vector_rows) {
            return self.read_vectors(selections);
        }
        let numbers = rows.as_slice();
        let mut distinct = numbers.to_vec();
        let is_sorted = numbers.is_sorted();
        if !is_sorted {
            distinct.sort_unstable();
        }
        distinct.dedup();
        let places: Vec<u32> = if is_sorted {
            // A join has repeated rows in place, so that they still ascend.
            let mut at = 0;
            let place = |number: &u32| {
                at += u32::from(distinct[at as usize] != *number);
                at
            };
            numbers.iter().map(place).collect()
        } else {
            let place = |row: &u32| distinct.binary_search(row).expect("every row is among the distinct ones") as u32;
            numbers.iter().map(place).collect()
        };
        let distinct = RowNumbers::from(distinct);
        let selections = distinct.selections(vector_rows).expect("distinct rows ascend");
        self.read_vectors(selections).take(&places)
    }

    /// Whether the chunk holds integers of numerics that other chunks hold as bytes.
    fn is_converted(&self) -> bool {
        self.value_type.is_encoded_numeric() && self.segment.column_type() != self.value_type
    }

    fn read_vectors(&self, selections: &[VectorSelection]) -> Vector {
        let row_count = selections.iter().map(|selection| selection.rows.count()).sum();
        let mut reader = ColumnReader::new(self, row_count);
        selections.iter().for_each(|VectorSelection { vector, rows }| reader.read(*vector, rows));
        reader.finish()
    }

    fn dictionary(&self) -> Option<&Arc<ByteStrings>> {
        let read = || {
            let count = self.segment.dictionary_strings()?;
            (count <= DICTIONARY_STRINGS_MAX).then(|| {
                let strings = self.segment.dictionary().expect("it has a dictionary");
                let bytes = strings.iter().map(|string| match string {
                    Scalar::Bytes(bytes) => bytes.as_slice(),
                    _ => unreachable!("dictionaries of columns of strings hold strings"),
                });
                let mut strings = ByteStrings::from_strings(bytes);
                strings.shrink();
                Arc::new(strings)
            })
        };
        self.dictionary.get_or_init(read).as_ref()
    }
}

/// Collects the selected rows of one or more vectors of a segment in a [`Vector`].
struct ColumnReader<'a> {
    segment: &'a Segment,
    value_type: ColumnType,
    values: Reading,
    valid: Option<Vec<bool>>,
    row_count: usize,
}

enum Reading {
    Integers(Vec<i64>),
    Codes(Vec<i32>, Arc<ByteStrings>),
    /// One Arrow array for each vector.
    Vector(Option<Vector>),
}

impl<'a> ColumnReader<'a> {
    fn new(column: &'a ChunkColumn, row_count: usize) -> Self {
        let values = match column.segment.column_type().physical() {
            _ if column.is_converted() => Reading::Vector(None),
            _ if column.segment.holds_integers() => Reading::Integers(Vec::with_capacity(row_count)),
            PhysicalType::Bytes => match column.dictionary() {
                Some(dictionary) => Reading::Codes(Vec::with_capacity(row_count), dictionary.clone()),
                None => Reading::Vector(None),
            },
            _ => Reading::Vector(None),
        };
        Self { segment: &column.segment, value_type: column.value_type, values, valid: None, row_count: 0 }
    }

    fn read(&mut self, vector: usize, selection: &Selection) {
        let before = self.row_count;
        self.row_count += selection.count();
        match &mut self.values {
            Reading::Integers(values) => self.segment.gather_integers(vector, selection, values),
            Reading::Codes(codes, _) => self.segment.gather_codes(vector, selection, codes),
            Reading::Vector(so_far) => {
                let selections = std::slice::from_ref(selection);
                let array = self.segment.gather_declared(vector..vector + 1, selections, self.value_type);
                let read = match interval_vector(&array).or_else(|| Vector::from_array(&array)) {
                    Some(read) => read,
                    None => unreachable!("a source's columns have types that vectors hold: {}", array.data_type()),
                };
                match so_far {
                    None => *so_far = Some(read),
                    Some(so_far) => so_far.append(&read),
                }
                return;
            }
        }
        match (self.segment.valid_rows(vector), &mut self.valid) {
            (None, None) => {}
            (None, Some(valid)) => valid.resize(self.row_count, true),
            (Some(rows), valid) => {
                let valid = valid.get_or_insert_with(|| vec![true; before]);
                valid.extend(selection.iter().map(|row| rows.contains(row)));
            }
        }
    }

    fn finish(self) -> Vector {
        match self.values {
            Reading::Integers(values) => Vector::new(Values::Int(values), self.valid),
            Reading::Codes(codes, dictionary) => {
                let codes = codes.into_iter().map(|code| code as u32).collect();
                Vector::new(Values::Coded(CodedStrings { codes, dictionary }), self.valid)
            }
            Reading::Vector(vector) => vector.unwrap_or_else(|| Vector::repeat(None, 0)),
        }
    }
}
