//! Batches into DataRow messages, straight from Arrow arrays into the connection's output buffer.
//!
//! A [`RowEncoder`] is made once per result, when its columns and formats are known, and describes them; a
//! [`RowCursor`] walks one batch and can stop after any row, because a portal may be suspended in the middle of a
//! batch and the output buffer is sent whenever it is full. The description is binding: a column of another type is
//! cast to the described type, because clients decode according to the RowDescription.
//!
//! DataRow: `D`, length (4), number of columns (2), then per column length (4, -1 for null) and bytes.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::RecordBatch;
use braid_base::ByteSize;
use braid_engine::{DescribedType, Formats, record_fields};
use pgwire::messages::data::{FieldDescription, RowDescription};

use super::column::{Column, checked_cast};
use super::nested::append_sized;
use super::pg_type::{PgType, type_modifier};
use super::{Format, ValueError};

/// The encoder of one result's rows.
#[derive(Debug, Clone)]
pub(crate) struct RowEncoder {
    columns: Vec<EncodedColumn>,
    /// The formats of the session in which the rows were asked for: the texts of the rows are in these.
    written_in: Formats,
}

#[derive(Debug, Clone)]
struct EncodedColumn {
    name: String,
    data_type: DataType,
    /// The type that the column says it has.
    described: Option<DescribedType>,
    format: Format,
}

impl RowEncoder {
    /// An encoder for rows of `schema`. `format_codes` are those of Bind: an empty list means text, a single code applies to all
    /// columns, otherwise there is one per column. `None` for any other number.
    pub fn new(schema: &Schema, format_codes: &[i16]) -> Option<Self> {
        let columns = schema.fields().iter().map(|field| EncodedColumn {
            name: field.name().clone(),
            data_type: field.data_type().clone(),
            described: DescribedType::of(field),
            format: Format::Text,
        });
        Self { columns: columns.collect(), written_in: Formats::default() }.with_formats(format_codes)
    }

    /// Notes the formats of the session in which the rows are asked for.
    pub fn note_formats(&mut self, formats: Formats) {
        self.written_in = formats;
    }

    /// Refuses to send texts in a session whose formats have changed since.
    pub fn check_formats(&self, now: Formats) -> Result<(), ValueError> {
        let differs = |column: &EncodedColumn| {
            column.format == Format::Text
                && column.described.is_some_and(|described| described.texts_differ(&self.written_in, &now))
        };
        if self.columns.iter().any(differs) { Err(ValueError::ChangedFormats) } else { Ok(()) }
    }

    /// The encoder for the same rows in other formats.
    pub fn with_formats(&self, format_codes: &[i16]) -> Option<Self> {
        if format_codes.len() > 1 && format_codes.len() != self.columns.len() {
            return None;
        }
        let mut other = self.clone();
        for (at, column) in other.columns.iter_mut().enumerate() {
            column.format = Format::at(format_codes, at);
        }
        Some(other)
    }

    /// The RowDescription message of these rows.
    pub fn description(&self) -> RowDescription {
        let describe = |column: &EncodedColumn| {
            if let Some(DescribedType { oid, length, modifier, .. }) = column.described {
                return FieldDescription::new(column.name.clone(), 0, 0, oid, length, modifier, column.format.code());
            }
            let (oid, length) = PgType::described(&column.data_type);
            let modifier = type_modifier(&column.data_type);
            FieldDescription::new(column.name.clone(), 0, 0, oid, length, modifier, column.format.code())
        };
        RowDescription::new(self.columns.iter().map(describe).collect())
    }

    /// The formats of the columns, and the ids of their types.
    pub fn formats(&self) -> Vec<(Format, u32)> {
        let oid =
            |column: &EncodedColumn| column.described.map_or(PgType::described(&column.data_type).0, |known| known.oid);
        self.columns.iter().map(|column| (column.format, oid(column))).collect()
    }

    /// Number of columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Starts a batch, which must have the described number of columns.
    pub fn start(&self, batch: &RecordBatch) -> Result<RowCursor, ValueError> {
        assert_eq!(batch.num_columns(), self.columns.len(), "a batch has the columns its schema has");
        let schema = batch.schema();
        let columns = self.columns.iter().zip(batch.columns()).zip(schema.fields()).map(|((column, array), field)| {
            let bound = match column.described {
                Some(described) if DescribedType::of(field) == Some(described) => {
                    let bound = Column::bind_as(array, described.number)?;
                    match record_fields(field) {
                        Some(fields) => bound.with_record_fields(fields),
                        None => bound,
                    }
                }
                Some(_) => Column::bind(&unchanged(array, &column.data_type)?)?,
                None => Column::bind(&as_described(array, &column.data_type)?)?,
            };
            Ok((bound, column.format))
        });
        Ok(RowCursor { columns: columns.collect::<Result<_, ValueError>>()?, next: 0, end: batch.num_rows() })
    }
}

/// A column of which the client was told a type of PostgreSQL must have it: a cast to the Arrow type that stood for it could lose digits.
fn unchanged(array: &ArrayRef, described: &DataType) -> Result<ArrayRef, ValueError> {
    if PgType::described(array.data_type()) == PgType::described(described) {
        return Ok(array.clone());
    }
    Err(ValueError::ChangedType)
}

/// Casts a column whose type on the wire would differ from the described one.
fn as_described(array: &ArrayRef, described: &DataType) -> Result<ArrayRef, ValueError> {
    if PgType::described(array.data_type()) == PgType::described(described) {
        Ok(array.clone())
    } else {
        checked_cast(array, described)
    }
}

/// A position in a batch.
pub(crate) struct RowCursor {
    columns: Vec<(Column, Format)>,
    next: usize,
    end: usize,
}

impl RowCursor {
    /// Switches to the formats of `encoder`, which has the same columns.
    pub fn set_formats(&mut self, encoder: &RowEncoder) {
        for ((_, format), column) in self.columns.iter_mut().zip(&encoder.columns) {
            *format = column.format;
        }
    }

    /// Rows not yet appended.
    pub fn remaining(&self) -> usize {
        self.end - self.next
    }

    /// Appends up to `rows_max` rows, but no further row once `out` is `full`. Returns the number of rows.
    pub fn append(&mut self, out: &mut Vec<u8>, rows_max: usize, full: ByteSize) -> Result<usize, ValueError> {
        let first = self.next;
        let end = self.end.min(first.saturating_add(rows_max));
        while self.next < end && (out.len() as u64) < full.0 {
            self.append_row(out)?;
            self.next += 1;
        }
        Ok(self.next - first)
    }

    /// Skips up to `rows_max` rows. Returns the number of rows.
    pub fn skip(&mut self, rows_max: usize) -> usize {
        let rows = self.remaining().min(rows_max);
        self.next += rows;
        rows
    }

    #[inline]
    fn append_row(&self, out: &mut Vec<u8>) -> Result<(), ValueError> {
        let start = out.len();
        out.extend_from_slice(b"D\0\0\0\0");
        out.extend_from_slice(&(self.columns.len() as u16).to_be_bytes());
        for (column, format) in &self.columns {
            if let Err(error) = append_sized(column, *format, self.next, out) {
                // A partial message must not reach the client, because an ErrorResponse follows.
                out.truncate(start);
                return Err(error);
            }
        }
        let bytes = out.len() - start - 1;
        let Ok(length) = i32::try_from(bytes) else {
            out.truncate(start);
            return Err(ValueError::RowTooLong { bytes });
        };
        out[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
        Ok(())
    }
}

#[cfg(test)]
#[path = "row_encoder_tests.rs"]
mod tests;
