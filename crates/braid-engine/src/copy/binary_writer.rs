//! Rows as records of COPY's binary format ([`super::binary_records`]).

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, SchemaRef};
use arrow::record_batch::RecordBatch;
use braid_catalog::column_types::sql_type_of;
use braid_sql::functions::text_input::ReadingSession;

use super::binary_records::{END, SIGNATURE};
use crate::outcome::{CopyRecords, DescribedType, binary_of_record, binary_of_text, record_fields};
use crate::output::{BooleanStyle, ColumnOutput};
use crate::sent_columns::texts_with_bytes::texts_with_bytes;
use crate::sql_types::column_type_of_arrow;
use crate::{EngineError, SqlState};

/// Writes records. The header is a part of the first one, or of the end, as PostgreSQL sends it.
pub(super) struct BinaryWriter {
    columns: Vec<Column>,
    header_pending: bool,
    end_pending: bool,
}

/// How the values of a column become bytes: by the number of their type, or those of the fields of their records.
enum Column {
    Value(u32),
    Record(Vec<u32>),
    /// They are beside the texts. With the name of the column.
    Bytes(String),
}

impl BinaryWriter {
    /// A writer of rows with these columns.
    ///
    /// # Errors
    /// For more columns than a record has, and a column of a type without a binary format.
    pub fn new(schema: &SchemaRef) -> Result<Self, EngineError> {
        let columns = schema.fields().iter().map(|field| column_of(field)).collect::<Result<_, _>>()?;
        Ok(Self { columns, header_pending: true, end_pending: true })
    }

    /// The records of a batch.
    ///
    /// # Errors
    /// For values of types without a binary format (0A000).
    pub fn encode(&mut self, batch: &RecordBatch) -> Result<CopyRecords, EngineError> {
        let output = |array| ColumnOutput::new(array, ReadingSession::of_output(), BooleanStyle::Letter);
        let columns = batch.columns().iter().map(output).collect::<Result<Vec<_>, EngineError>>()?;
        let count = i16::try_from(self.columns.len()).map_err(|_| too_many())?;
        let (mut out, mut text) = (CopyRecords::default(), String::new());
        for row in 0..batch.num_rows() {
            self.begin(&mut out);
            out.record().extend_from_slice(&count.to_be_bytes());
            for ((column, kind), array) in columns.iter().zip(&self.columns).zip(batch.columns()) {
                if column.is_null(row) {
                    out.record().extend_from_slice(&(-1_i32).to_be_bytes());
                    continue;
                }
                text.clear();
                column.write(row, &mut text)?;
                let bytes = match kind {
                    Column::Value(number) => binary_of_text(*number, &text)?,
                    Column::Record(fields) => binary_of_record(fields, &text)?,
                    Column::Bytes(name) => bytes_of(name, array, row)?,
                };
                let length = i32::try_from(bytes.len()).map_err(|_| too_long())?;
                out.record().extend_from_slice(&length.to_be_bytes());
                out.record().extend_from_slice(&bytes);
            }
            out.end_record();
        }
        Ok(out)
    }

    /// The end of the data, once.
    pub fn end(&mut self) -> Option<CopyRecords> {
        if !std::mem::take(&mut self.end_pending) {
            return None;
        }
        let mut out = CopyRecords::default();
        self.begin(&mut out);
        out.record().extend_from_slice(&END.to_be_bytes());
        out.end_record();
        Some(out)
    }

    fn begin(&mut self, out: &mut CopyRecords) {
        if std::mem::take(&mut self.header_pending) {
            out.record().extend_from_slice(SIGNATURE);
            // No flags, and no extension.
            out.record().extend_from_slice(&[0; 8]);
        }
    }
}

fn bytes_of(name: &str, array: &ArrayRef, row: usize) -> Result<Vec<u8>, EngineError> {
    let bytes = texts_with_bytes(array).map(|(_, bytes)| bytes).filter(|bytes| bytes.is_valid(row));
    bytes.map(|bytes| bytes.value(row).to_vec()).ok_or_else(|| no_format(name))
}

fn column_of(field: &Field) -> Result<Column, EngineError> {
    if let DataType::Struct(_) = field.data_type() {
        return Ok(Column::Bytes(field.name().clone()));
    }
    if let Some(fields) = record_fields(field) {
        return Ok(Column::Record(fields));
    }
    let of_arrow = || column_type_of_arrow(field.data_type()).map(|column_type| sql_type_of(column_type).id.0);
    let number = DescribedType::of(field).map(|described| described.number).or_else(of_arrow);
    number.map(Column::Value).ok_or_else(|| no_format(field.name()))
}

fn no_format(name: &str) -> EngineError {
    EngineError::unsupported(format!("column \"{name}\" has no binary format here"))
}

fn too_many() -> EngineError {
    EngineError::new(SqlState::TooManyColumns, format!("COPY has at most {} columns", i16::MAX))
}

fn too_long() -> EngineError {
    EngineError::new(SqlState::ProgramLimitExceeded, format!("a value of COPY has at most {} bytes", i32::MAX))
}
