//! Rows of the operators as Arrow's batches, of a number of rows and of bytes that a reader can take at once.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, SchemaRef};
use arrow::error::ArrowError;
use braid_base::BATCH_BYTES_MAX;
use braid_exec::{Batch, ExecError, Vector};

use super::value_bytes::value_bytes;

/// Collects rows, and makes batches of them.
#[derive(Debug)]
pub(super) struct RowConverter {
    schema: SchemaRef,
    batch_rows: usize,
    row_count: usize,
    columns: Vec<Vector>,
}

/// Takes a batch that is ready. A batch may be one of very many that are made of the same rows, so each is taken before the next
/// is made.
pub(super) type TakeBatch<'a> = dyn FnMut(RecordBatch) -> Result<(), ExecError> + 'a;

impl RowConverter {
    /// Batches of about `batch_rows` rows with the columns of `schema`.
    pub fn new(schema: SchemaRef, batch_rows: usize) -> Self {
        Self { schema, batch_rows, row_count: 0, columns: Vec::new() }
    }

    /// Number of rows that are in no batch yet.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Adds rows. `take` gets the batches that are full.
    pub fn add(&mut self, batch: Batch, take: &mut TakeBatch<'_>) -> Result<(), ExecError> {
        self.append(batch);
        if self.is_full() { self.flush(take) } else { Ok(()) }
    }

    /// Adds rows, and makes no batch of them yet.
    pub fn append(&mut self, mut batch: Batch) {
        let columns: Vec<Arc<Vector>> = (0..batch.column_count()).map(|column| batch.column(column)).collect();
        if self.columns.is_empty() {
            self.columns = columns.into_iter().map(|column| column.as_ref().clone()).collect();
        } else {
            self.columns.iter_mut().zip(&columns).for_each(|(to, from)| to.append(from));
        }
        self.row_count += batch.row_count();
    }

    /// Whether there are enough rows for a batch.
    pub fn is_full(&self) -> bool {
        self.row_count >= self.batch_rows || self.columns.iter().map(Vector::bytes).sum::<usize>() >= BATCH_BYTES_MAX
    }

    /// Makes batches of the rows there are.
    pub fn flush(&mut self, take: &mut TakeBatch<'_>) -> Result<(), ExecError> {
        if self.row_count == 0 {
            return Ok(());
        }
        let mut pieces = self.pieces()?;
        self.clear();
        pieces.try_for_each(|piece| take(piece?))
    }

    /// The rows there are as batches. They stay here.
    pub fn pieces(&self) -> Result<Pieces, ExecError> {
        let types = self.schema.fields().iter().map(|field| field.data_type());
        let array = |(column, data_type): (&Vector, &DataType)| {
            column.to_array(shared_type(data_type)).map_err(|error| match (error, integer_name(data_type)) {
                (ArrowError::ComputeError(_), Some(type_name)) => ExecError::OutOfRange { type_name },
                (error, _) => foreign(error),
            })
        };
        let arrays: Result<Vec<ArrayRef>, ExecError> = self.columns.iter().zip(types).map(array).collect();
        let (arrays, row_count) = (arrays?, self.row_count);
        let bytes: usize = arrays.iter().map(|array| value_bytes(array)).sum();
        let piece_rows = (row_count * BATCH_BYTES_MAX / bytes.max(1)).clamp(1, row_count.max(1));
        Ok(Pieces { schema: self.schema.clone(), arrays, row_count, bytes, piece_rows, next: 0 })
    }

    /// Forgets the rows.
    pub fn clear(&mut self) {
        self.row_count = 0;
        self.columns.clear();
    }

    /// Takes the rows out.
    pub fn take(&mut self) -> Batch {
        let row_count = std::mem::take(&mut self.row_count);
        Batch::of_vectors(row_count, std::mem::take(&mut self.columns).into_iter().map(Arc::new))
    }
}

/// Rows as batches, each made when the one before it is taken.
pub(super) struct Pieces {
    schema: SchemaRef,
    arrays: Vec<ArrayRef>,
    row_count: usize,
    bytes: usize,
    piece_rows: usize,
    next: usize,
}

impl Pieces {
    /// Bytes of all batches.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// A batch of some rows. Strings that shared their bytes until now may take their own.
    fn batch(&self, rows: Range<usize>) -> Result<RecordBatch, ExecError> {
        let typed = |(array, field): (&ArrayRef, &FieldRef)| {
            let piece = array.slice(rows.start, rows.len());
            if piece.data_type() == field.data_type() { Ok(piece) } else { cast(&piece, field.data_type()) }
        };
        let arrays: Result<Vec<ArrayRef>, ArrowError> =
            self.arrays.iter().zip(self.schema.fields()).map(typed).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let batch = arrays.and_then(|arrays| RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options));
        batch.map_err(foreign)
    }
}

impl Iterator for Pieces {
    type Item = Result<RecordBatch, ExecError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rows = self.next..(self.next + self.piece_rows).min(self.row_count);
        self.next = rows.end;
        (!rows.is_empty()).then(|| self.batch(rows))
    }
}

/// The type in which strings share their bytes with vectors, for a type in which they would be copied.
fn shared_type(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => &DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => &DataType::BinaryView,
        other => other,
    }
}

fn foreign(error: ArrowError) -> ExecError {
    ExecError::Foreign(Box::new(error))
}

/// PostgreSQL's name of an integer type.
fn integer_name(data_type: &DataType) -> Option<&'static str> {
    match data_type {
        DataType::Int16 => Some("smallint"),
        DataType::Int32 => Some("integer"),
        DataType::Int64 => Some("bigint"),
        _ => None,
    }
}
