//! Selected rows as Arrow arrays.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, BooleanBufferBuilder, FixedSizeBinaryArray, PrimitiveArray,
    new_null_array,
};
use arrow::buffer::{BooleanBuffer, Buffer, MutableBuffer, NullBuffer};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use braid_base::VECTOR_ROWS;

use super::body::{Body, Constant, interval_of, is_text};
use super::byte_views::ByteViews;
use super::encoded_numerics::as_declared;
use crate::codec::alp::{AlpFloats, Float};
use crate::codec::bitmap;
use crate::codec::target::Target;
use crate::{ColumnType, Segment, Selection};

/// Bytes of a uuid.
const UUID_BYTES: usize = 16;

/// Some vectors and the selected rows of each.
#[derive(Clone, Copy)]
pub(crate) struct SelectedVectors<'a> {
    pub(super) first: usize,
    pub(super) selections: &'a [Selection],
}

impl SelectedVectors<'_> {
    /// Number of selected rows.
    pub(crate) fn count(&self) -> usize {
        self.selections.iter().map(Selection::count).sum()
    }

    /// Calls `visit` with each vector that has selected rows.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(usize, &Selection)) {
        for (i, selection) in self.selections.iter().enumerate() {
            if !selection.is_empty() {
                visit(self.first + i, selection);
            }
        }
    }
}

impl Segment {
    /// The selected rows of `vectors`, as one array of the column's Arrow type; `selections[i]` belongs to vector
    /// `vectors.start + i`.
    ///
    /// Panics when there are no such vectors, or a selection has another number of rows than its vector.
    pub fn gather(&self, vectors: Range<usize>, selections: &[Selection]) -> ArrayRef {
        assert_eq!(selections.len(), vectors.len(), "one selection for each vector");
        for (vector, selection) in vectors.clone().zip(selections) {
            assert_eq!(selection.len(), self.vector_rows(vector), "a selection has as many rows as its vector");
        }
        let selected = SelectedVectors { first: vectors.start, selections };
        if let Body::Constant(Constant::Null) = self.body() {
            return new_null_array(&self.column_type().arrow(), selected.count());
        }
        let nulls = self.gather_nulls(selected);
        match self.column_type() {
            ColumnType::Boolean => Arc::new(BooleanArray::new(self.gather_bits(selected), nulls)),
            ColumnType::SmallInt => self.gather_primitive::<Int16Type>(selected, nulls),
            ColumnType::Integer => self.gather_primitive::<Int32Type>(selected, nulls),
            ColumnType::BigInt | ColumnType::Enum(_) => self.gather_primitive::<Int64Type>(selected, nulls),
            ColumnType::Real => match self.body() {
                Body::Floats32(floats) => gather_floats::<Float32Type>(floats, selected, nulls),
                _ => self.gather_primitive::<Float32Type>(selected, nulls),
            },
            ColumnType::Double => match self.body() {
                Body::Floats64(floats) => gather_floats::<Float64Type>(floats, selected, nulls),
                _ => self.gather_primitive::<Float64Type>(selected, nulls),
            },
            ColumnType::Numeric { .. } => self.gather_primitive::<Decimal128Type>(selected, nulls),
            ColumnType::Date => self.gather_primitive::<Date32Type>(selected, nulls),
            ColumnType::Time | ColumnType::RoundedTime(_) => {
                self.gather_primitive::<Time64MicrosecondType>(selected, nulls)
            }
            ColumnType::Timestamp
            | ColumnType::TimestampTz
            | ColumnType::RoundedTimestamp(_)
            | ColumnType::RoundedTimestampTz(_) => self.gather_primitive::<TimestampMicrosecondType>(selected, nulls),
            ColumnType::Interval => self.gather_intervals(selected, nulls),
            ColumnType::Uuid => self.gather_uuids(selected, nulls),
            ColumnType::Text
            | ColumnType::Varchar(_)
            | ColumnType::UnlimitedVarchar
            | ColumnType::Char(_)
            | ColumnType::Name
            | ColumnType::Bytea
            | ColumnType::Encoded { .. } => self.gather_strings(selected, nulls),
        }
    }

    /// As [`Self::gather`], in the Arrow type of a column that is declared so: encoded numerics that are stored as integers as
    /// the bytes that they were.
    pub fn gather_declared(&self, vectors: Range<usize>, selections: &[Selection], declared: ColumnType) -> ArrayRef {
        as_declared(self.gather(vectors, selections), declared)
    }

    fn gather_primitive<T: ArrowPrimitiveType<Native: Target>>(
        &self,
        selected: SelectedVectors<'_>,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let mut values = Vec::with_capacity(selected.count());
        match self.body() {
            Body::Constant(Constant::Integer(value)) => {
                values.resize(selected.count(), T::Native::from_integer(*value));
            }
            Body::Constant(Constant::SixteenBytes(value)) => {
                values.resize(selected.count(), T::Native::from_wide(*value));
            }
            Body::Integers(integers) => {
                selected.for_each(|vector, selection| integers.gather(vector, selection, &mut values));
            }
            Body::SixteenBytes(wide) => {
                selected
                    .for_each(|vector, selection| wide.gather(vector, selection, T::Native::from_wide, &mut values));
            }
            _ => unreachable!("opening the segment matched its body to the column's type"),
        }
        Arc::new(PrimitiveArray::<T>::new(values.into(), nulls).with_data_type(self.column_type().arrow()))
    }

    fn gather_intervals(&self, selected: SelectedVectors<'_>, nulls: Option<NullBuffer>) -> ArrayRef {
        let mut values = Vec::with_capacity(selected.count());
        match self.body() {
            Body::Constant(Constant::SixteenBytes(value)) => values.resize(selected.count(), interval_of(*value)),
            Body::SixteenBytes(wide) => {
                selected.for_each(|vector, selection| wide.gather(vector, selection, interval_of, &mut values));
            }
            _ => unreachable!("opening the segment matched its body to the column's type"),
        }
        Arc::new(PrimitiveArray::<IntervalMonthDayNanoType>::new(values.into(), nulls))
    }

    fn gather_bits(&self, selected: SelectedVectors<'_>) -> BooleanBuffer {
        match self.body() {
            Body::Constant(Constant::Integer(0)) => BooleanBuffer::new_unset(selected.count()),
            Body::Constant(_) => BooleanBuffer::new_set(selected.count()),
            Body::Bits(bits) => gather_bitmap(bits, selected),
            _ => unreachable!("opening the segment matched its body to the column's type"),
        }
    }

    fn gather_strings(&self, selected: SelectedVectors<'_>, nulls: Option<NullBuffer>) -> ArrayRef {
        let text = is_text(self.column_type());
        match self.body() {
            Body::Constant(Constant::Bytes(bytes)) => {
                let mut views = ByteViews::with_capacity(1);
                views.push(bytes);
                views.finish().select(&vec![0; selected.count()]).into_array(text, nulls)
            }
            Body::Strings(strings) => strings.gather(selected).into_array(text, nulls),
            _ => unreachable!("opening the segment matched its body to the column's type"),
        }
    }

    fn gather_uuids(&self, selected: SelectedVectors<'_>, nulls: Option<NullBuffer>) -> ArrayRef {
        let mut values = MutableBuffer::with_capacity(selected.count() * UUID_BYTES);
        // Nulls are stored as empty strings.
        let mut push = |bytes: &[u8]| {
            let mut uuid = [0; UUID_BYTES];
            let len = bytes.len().min(UUID_BYTES);
            uuid[..len].copy_from_slice(&bytes[..len]);
            values.extend_from_slice(&uuid);
        };
        match self.body() {
            Body::Constant(Constant::Bytes(bytes)) => (0..selected.count()).for_each(|_| push(bytes)),
            Body::Strings(strings) => strings.gather(selected).for_each(push),
            _ => unreachable!("opening the segment matched its body to the column's type"),
        }
        Arc::new(FixedSizeBinaryArray::new(UUID_BYTES as i32, Buffer::from(values), nulls))
    }

    fn gather_nulls(&self, selected: SelectedVectors<'_>) -> Option<NullBuffer> {
        let validity = NullBuffer::new(gather_bitmap(self.validity()?, selected));
        (validity.null_count() > 0).then_some(validity)
    }
}

fn gather_floats<T: ArrowPrimitiveType<Native: Float>>(
    floats: &AlpFloats<T::Native>,
    selected: SelectedVectors<'_>,
    nulls: Option<NullBuffer>,
) -> ArrayRef {
    let mut values = Vec::with_capacity(selected.count());
    selected.for_each(|vector, selection| floats.gather(vector, selection, &mut values));
    Arc::new(PrimitiveArray::<T>::new(values.into(), nulls))
}

fn gather_bitmap(bitmap: &[u8], selected: SelectedVectors<'_>) -> BooleanBuffer {
    let mut bits = BooleanBufferBuilder::new(selected.count());
    selected.for_each(|vector, selection| {
        if selection.is_all() {
            let first = vector * VECTOR_ROWS;
            return bits.append_packed_range(first..first + selection.len(), bitmap);
        }
        let words = bitmap::vector_words(bitmap, vector);
        selection.iter().for_each(|row| bits.append(words[row / 64] >> (row % 64) & 1 == 1));
    });
    bits.finish()
}
