//! Lists as PostgreSQL arrays, structs as records.
//!
//! Binary form of an array, big-endian:
//!
//! | width | meaning |
//! |---|---|
//! | 4 | number of dimensions; 0 for an empty array |
//! | 4 | 1 if an element is null |
//! | 4 | oid of the element type |
//! | 4 + 4 per dimension | length, lower bound (always 1) |
//! | 4 + n per element | length (-1 for null), bytes |
//!
//! Binary form of a record: number of fields (4), then for each field oid (4), length (4, -1 for null), bytes.
//! Text forms quote as `array_out` and `record_out` do. Lists of lists are dimensions of one array. In text form
//! they may be ragged, which PostgreSQL's arrays cannot be; in binary form that is an error.

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;

use braid_engine::element_of_array;

use super::column::Column;
use super::pg_type::PgType;
use super::{Format, ValueError};

/// A column of lists.
pub(crate) struct List {
    ranges: Ranges,
    elements: Column,
    element_oid: u32,
}

/// The range of a row's elements.
enum Ranges {
    Small(OffsetBuffer<i32>),
    Large(OffsetBuffer<i64>),
    Fixed(usize),
}

impl List {
    /// Binds a List, LargeList or FixedSizeList array.
    pub fn bind(array: &ArrayRef) -> Result<Self, ValueError> {
        let element_oid = PgType::innermost(array.data_type()).oid;
        let (ranges, values) = match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                (Ranges::Small(list.offsets().clone()), list.values())
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                (Ranges::Large(list.offsets().clone()), list.values())
            }
            _ => {
                let list = array.as_fixed_size_list();
                (Ranges::Fixed(list.value_length() as usize), list.values())
            }
        };
        Ok(Self { ranges, elements: Column::bind(values)?, element_oid })
    }

    /// The same lists as arrays of the type with this number: texts may be names or of limited length.
    pub fn with_elements_of(self, array_number: u32) -> Self {
        Self { element_oid: element_of_array(array_number).unwrap_or(self.element_oid), ..self }
    }

    fn range(&self, row: usize) -> std::ops::Range<usize> {
        match &self.ranges {
            Ranges::Small(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            Ranges::Large(offsets) => offsets[row] as usize..offsets[row + 1] as usize,
            Ranges::Fixed(length) => row * length..(row + 1) * length,
        }
    }

    /// Appends `{1,NULL,"a b"}`.
    pub fn append_text(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        let nested = self.elements.as_list().is_some();
        out.push(b'{');
        for (at, element) in self.range(row).enumerate() {
            if at > 0 {
                out.push(b',');
            }
            if self.elements.is_null(element) {
                out.extend_from_slice(b"NULL");
            } else {
                let start = out.len();
                self.elements.append(Format::Text, element, out)?;
                if !nested && array_element_needs_quotes(&out[start..]) {
                    quote(out, start, Escape::Backslash);
                }
            }
        }
        out.push(b'}');
        Ok(())
    }

    /// Appends the binary form.
    pub fn append_binary(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        let mut dimensions = Vec::new();
        self.measure(row, 0, &mut dimensions)?;
        let empty = dimensions.contains(&0);
        let dimension_count = if empty { 0 } else { dimensions.len() };
        out.extend_from_slice(&(dimension_count as i32).to_be_bytes());
        let flag_at = out.len();
        out.extend_from_slice(&0_i32.to_be_bytes());
        out.extend_from_slice(&self.element_oid.to_be_bytes());
        for length in &dimensions[..dimension_count] {
            out.extend_from_slice(&(*length as i32).to_be_bytes());
            out.extend_from_slice(&1_i32.to_be_bytes());
        }
        if !empty && self.append_elements(row, out)? {
            out[flag_at..flag_at + 4].copy_from_slice(&1_i32.to_be_bytes());
        }
        Ok(())
    }

    /// The lengths of all dimensions, which must be equal in all inner lists.
    fn measure(&self, row: usize, depth: usize, dimensions: &mut Vec<usize>) -> Result<(), ValueError> {
        let range = self.range(row);
        match dimensions.get(depth) {
            Some(length) if *length != range.len() => return Err(ValueError::RaggedArray),
            Some(_) => {}
            None => dimensions.push(range.len()),
        }
        if let Some(inner) = self.elements.as_list() {
            for element in range {
                if self.elements.is_null(element) {
                    return Err(ValueError::RaggedArray);
                }
                inner.measure(element, depth + 1, dimensions)?;
            }
        }
        Ok(())
    }

    /// Appends the innermost elements in order. True if one is null.
    fn append_elements(&self, row: usize, out: &mut Vec<u8>) -> Result<bool, ValueError> {
        let mut any_null = false;
        for element in self.range(row) {
            if let Some(inner) = self.elements.as_list() {
                any_null |= inner.append_elements(element, out)?;
            } else {
                any_null |= self.elements.is_null(element);
                append_sized(&self.elements, Format::Binary, element, out)?;
            }
        }
        Ok(any_null)
    }
}

/// A column of structs.
pub(crate) struct Record {
    fields: Vec<(u32, Column)>,
}

impl Record {
    /// Binds a Struct array.
    pub fn bind(array: &StructArray) -> Result<Self, ValueError> {
        let bind = |column: &ArrayRef| Ok((PgType::described(column.data_type()).0, Column::bind(column)?));
        Ok(Self { fields: array.columns().iter().map(bind).collect::<Result<_, ValueError>>()? })
    }

    /// Appends `(1,,"a b")`.
    pub fn append_text(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        out.push(b'(');
        for (at, (_, column)) in self.fields.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            if !column.is_null(row) {
                let start = out.len();
                column.append(Format::Text, row, out)?;
                if record_field_needs_quotes(&out[start..]) {
                    quote(out, start, Escape::Doubling);
                }
            }
        }
        out.push(b')');
        Ok(())
    }

    /// Appends the binary form.
    pub fn append_binary(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        out.extend_from_slice(&(self.fields.len() as i32).to_be_bytes());
        for (oid, column) in &self.fields {
            out.extend_from_slice(&oid.to_be_bytes());
            append_sized(column, Format::Binary, row, out)?;
        }
        Ok(())
    }
}

/// Appends the value's length (4 bytes, -1 for null) and the value.
#[inline]
pub(crate) fn append_sized(column: &Column, format: Format, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
    if column.is_null(row) {
        out.extend_from_slice(&(-1_i32).to_be_bytes());
        return Ok(());
    }
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    column.append(format, row, out)?;
    let bytes = out.len() - start - 4;
    let length = i32::try_from(bytes).map_err(|_| ValueError::RowTooLong { bytes })?;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    Ok(())
}

fn array_element_needs_quotes(text: &[u8]) -> bool {
    text.is_empty()
        || text.eq_ignore_ascii_case(b"null")
        || text.iter().any(|b| matches!(b, b'{' | b'}' | b',' | b'"' | b'\\') || b.is_ascii_whitespace() || *b == 0x0B)
}

fn record_field_needs_quotes(text: &[u8]) -> bool {
    text.is_empty()
        || text.iter().any(|b| matches!(b, b'(' | b')' | b',' | b'"' | b'\\') || b.is_ascii_whitespace() || *b == 0x0B)
}

/// How quotes and backslashes are escaped within double quotes.
#[derive(Clone, Copy)]
enum Escape {
    /// By a backslash, as arrays do.
    Backslash,
    /// By doubling, as records do.
    Doubling,
}

/// Puts `out[start..]` into double quotes.
fn quote(out: &mut Vec<u8>, start: usize, escape: Escape) {
    let text = out.split_off(start);
    out.push(b'"');
    for byte in text {
        if matches!(byte, b'"' | b'\\') {
            out.push(match escape {
                Escape::Backslash => b'\\',
                Escape::Doubling => byte,
            });
        }
        out.push(byte);
    }
    out.push(b'"');
}
