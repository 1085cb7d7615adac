//! The columns of a query's rows: as operators make them, as the client gets them, and as a table stores them.
//!
//! Where vectors convert to the arrays that the server sends, they do. All other values are sent as texts, with their type beside them. Values whose
//! texts follow the session's formats are sent as texts, with their bytes, in a session whose formats are not the default ones.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Field, Float32Type, Float64Type, Schema, SchemaRef, TimeUnit,
    TimestampMicrosecondType,
};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use braid_plan::lowering::{LoweredQuery, pad};
use braid_plan::values::Form;
use braid_plan::values::arrays::value_at;
use braid_sql::functions::SessionFacts;
use braid_sql::functions::in_formats::InFormats;
use braid_sql::functions::text_input::ReadingSession;
use braid_sql::pg_catalog::TypeId;
use braid_sql::{Evaluation, SqlError, SqlType, Value};
use braid_storage::{ColumnType, encoded_numerics};

use super::arrow_columns::{field_of_type, sent_column, sent_field};
use super::encoded_array;
use crate::EngineError;
use crate::input::ColumnInput;
use crate::outcome::described_fields;

/// The columns of a query.
#[derive(Clone, Debug)]
pub(crate) struct ShownColumns {
    columns: Arc<[ShownColumn]>,
    /// As operators make them.
    pub made: SchemaRef,
    /// As the client gets them.
    pub sent: SchemaRef,
}

#[derive(Clone, Copy, Debug)]
struct ShownColumn {
    sql_type: SqlType,
    sent: Sent,
}

/// How a column is sent.
#[derive(Clone, Copy, Debug)]
enum Sent {
    /// As the array that operators make.
    AsMade,
    /// The same, with blanks up to this length in characters.
    Padded(u32),
    /// As its output function writes it.
    Text,
    /// The same, of the array that operators make, which other sessions are sent.
    Restyled,
}

impl ShownColumns {
    /// The columns of a lowered query, for a session.
    pub fn of(query: &LoweredQuery, session: &dyn SessionFacts) -> Self {
        let (mut columns, mut made, mut sent) = (Vec::new(), Vec::new(), Vec::new());
        let formats = session.formats();
        for (at, ((name, sql_type), form)) in query.columns.iter().zip(&query.forms).enumerate() {
            let direct = direct_type(*form, *sql_type, session);
            let how = match (form, &direct) {
                (Form::Unpadded { length }, _) => Sent::Padded(*length),
                (_, Some(_)) if formats.change_texts_of(sql_type.id) => Sent::Restyled,
                (_, Some(_)) => Sent::AsMade,
                (_, None) => Sent::Text,
            };
            columns.push(ShownColumn { sql_type: *sql_type, sent: how });
            let field = match (&direct, how) {
                (Some(data_type), Sent::AsMade | Sent::Padded(_)) => field_of_type(name, data_type.clone(), *sql_type),
                _ => sent_field(name, *sql_type, session),
            };
            let further = query.record_types[at].as_ref().map(|record_type| described_fields(record_type));
            let metadata = field.metadata().clone().into_iter().chain(further).collect();
            sent.push(field.with_metadata(metadata));
            // Names of columns need not differ.
            made.push(Field::new(format!("c{at}"), direct.unwrap_or_else(|| form.data_type()), true));
        }
        Self { columns: columns.into(), made: Arc::new(Schema::new(made)), sent: Arc::new(Schema::new(sent)) }
    }

    /// The same without its last columns.
    pub fn without_last(self, count: usize) -> Self {
        let left = self.columns.len() - count;
        let first = |schema: &SchemaRef| Arc::new(Schema::new(schema.fields()[..left].to_vec()));
        Self { columns: self.columns[..left].into(), made: first(&self.made), sent: first(&self.sent) }
    }

    /// Rows of the operators as the client gets them.
    ///
    /// # Errors
    /// When an output function fails.
    pub fn sent_batch(&self, batch: &RecordBatch, session: &dyn SessionFacts) -> Result<RecordBatch, SqlError> {
        let evaluation = Evaluation::new(session, &[]);
        let arrays = batch.columns().iter().zip(&*self.columns).map(|(array, column)| match column.sent {
            Sent::AsMade => Ok(array.clone()),
            Sent::Padded(length) => Ok(pad(array, length)),
            Sent::Text => {
                let values = (0..batch.num_rows()).map(|row| value_at(array, row, column.sql_type.id));
                sent_column(&values.collect::<Result<Vec<_>, _>>()?, column.sql_type, &evaluation)
            }
            Sent::Restyled => {
                let values = (0..batch.num_rows()).map(|row| direct_value(array, row, column.sql_type.id));
                sent_column(&values.collect::<Vec<_>>(), column.sql_type, &evaluation)
            }
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>, SqlError>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.sent.clone(), arrays, &options)
            .map_err(|error| SqlError::unsupported(format!("a result has no form as a column: {error}")))
    }

    /// Rows of the operators as columns of these types, which have the same values, are stored. Further columns stay as operators make them.
    ///
    /// # Errors
    /// When an output function fails, and for a value that the column has no form for.
    pub fn stored_batch(
        &self,
        batch: &RecordBatch,
        types: &[ColumnType],
        session: &dyn SessionFacts,
    ) -> Result<RecordBatch, EngineError> {
        let session = &InFormats::of_stored_texts(session);
        let evaluation = Evaluation::new(session, &[]);
        let reader = ReadingSession::of(session);
        let types = types.iter().map(Some).chain(std::iter::repeat(None));
        let arrays = batch.columns().iter().zip(&*self.columns).zip(types).map(|((array, column), column_type)| {
            let Some(column_type) = column_type else { return Ok(array.clone()) };
            if let (true, Some(integers)) =
                (column_type.is_encoded_numeric(), array.as_primitive_opt::<Decimal128Type>())
            {
                return Ok(Arc::new(encoded_numerics(integers)) as ArrayRef);
            }
            // Operators hold the keys that columns store.
            if let (ColumnType::Enum(_), DataType::Int64) = (column_type, array.data_type()) {
                return Ok(array.clone());
            }
            if let ColumnType::Encoded { .. } = column_type {
                let values = (0..batch.num_rows()).map(|row| value_at(array, row, column.sql_type.id));
                return Ok(encoded_array(values.collect::<Result<Vec<_>, _>>()?)?);
            }
            let Sent::Text = column.sent else { return Ok(array.clone()) };
            let mut input = ColumnInput::new(*column_type, reader);
            for row in 0..batch.num_rows() {
                match evaluation.text(&value_at(array, row, column.sql_type.id)?, column.sql_type)? {
                    Some(text) => input.append(&text)?,
                    None => input.append_null(),
                }
            }
            Ok(input.finish())
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>, EngineError>>()?;
        let field = |(at, array): (usize, &ArrayRef)| Field::new(format!("c{at}"), array.data_type().clone(), true);
        let schema = Schema::new(arrays.iter().enumerate().map(field).collect::<Vec<_>>());
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options)?)
    }
}

/// The value of a type in an array of [`direct_type`]: one of those whose texts follow the session's formats.
fn direct_value(array: &ArrayRef, row: usize, id: TypeId) -> Value {
    if array.is_null(row) {
        return Value::Null;
    }
    match id {
        TypeId::DATE => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        TypeId::TIMESTAMP => Value::Timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        TypeId::TIMESTAMPTZ => Value::TimestampTz(array.as_primitive::<TimestampMicrosecondType>().value(row)),
        TypeId::FLOAT4 => Value::Float4(array.as_primitive::<Float32Type>().value(row)),
        TypeId::FLOAT8 => Value::Float8(array.as_primitive::<Float64Type>().value(row)),
        TypeId::BYTEA => Value::Bytea(array.as_binary::<i32>().value(row).into()),
        other => unreachable!("arrays of type {other:?} are the same in all formats"),
    }
}

/// The array that vectors of this form convert to, and that is sent as values of the type.
fn direct_type(form: Form, sql_type: SqlType, session: &dyn SessionFacts) -> Option<DataType> {
    Some(match (form, sql_type.id) {
        (Form::Bool, _) => DataType::Boolean,
        (Form::Integer, TypeId::INT2) => DataType::Int16,
        (Form::Integer, TypeId::INT4) => DataType::Int32,
        (Form::Integer, TypeId::INT8) => DataType::Int64,
        (Form::Integer, TypeId::DATE) => DataType::Date32,
        (Form::Integer, TypeId::TIMESTAMP) => DataType::Timestamp(TimeUnit::Microsecond, None),
        (Form::Integer, TypeId::TIMESTAMPTZ) => {
            DataType::Timestamp(TimeUnit::Microsecond, Some(session.zone_name().into()))
        }
        (Form::Float, TypeId::FLOAT4) => DataType::Float32,
        (Form::Float, TypeId::FLOAT8) => DataType::Float64,
        (Form::Text | Form::Unpadded { .. }, _) => DataType::Utf8View,
        (Form::Bytes, TypeId::BYTEA) => DataType::Binary,
        (Form::Bytes, TypeId::UUID) => DataType::FixedSizeBinary(16),
        (form @ Form::Fixed { .. }, TypeId::NUMERIC) => form.data_type(),
        _ => return None,
    })
}
