//! Parquet files. Their columns are loaded into the table's columns of the same name, with the conversions of INSERT.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use braid_storage::ColumnType;
use futures::stream::BoxStream;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use tokio::sync::mpsc;

use super::CopyTarget;
use super::copy_file::cannot_open;
use crate::conversion::is_binary;
use crate::{EngineError, SqlState};

/// Rows per batch, so that a few columns fit into the processor's cache.
const BATCH_ROWS: usize = 8192;

/// Maximum number of batches that wait for the encoder.
const BATCHES_WAITING_MAX: usize = 4;

/// An open Parquet file.
pub(crate) struct ParquetFile {
    path: PathBuf,
    file: File,
    metadata: ArrowReaderMetadata,
}

/// The mapping of a file's columns to a table's columns.
pub(crate) struct ColumnSources {
    /// The file's top-level columns to read, ascending.
    pub file_columns: Vec<usize>,
    /// For each column of the table, its position in the batches that are read.
    pub batch_columns: Vec<Option<usize>>,
}

impl ParquetFile {
    /// Opens a file and reads its footer.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        let file = File::open(path).map_err(|error| cannot_open(path, &error))?;
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())
            .map_err(|error| unreadable(path, &error.to_string()))?;
        Ok(Self { path: path.to_owned(), file, metadata })
    }

    /// Its columns.
    pub fn schema(&self) -> &SchemaRef {
        self.metadata.schema()
    }

    /// The rows with these top-level columns, decoded by a separate thread. Dropping the stream stops the thread.
    pub fn read(self, columns: Vec<usize>) -> BoxStream<'static, Result<RecordBatch, EngineError>> {
        let (sender, receiver) = mpsc::channel(BATCHES_WAITING_MAX);
        tokio::task::spawn_blocking(move || {
            let path = self.path.clone();
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file, self.metadata);
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
            let reader = match builder.with_projection(mask).with_batch_size(BATCH_ROWS).build() {
                Ok(reader) => reader,
                Err(error) => {
                    // Without a receiver the error is dropped.
                    let _ = sender.blocking_send(Err(unreadable(&path, &error.to_string())));
                    return;
                }
            };
            for batch in reader {
                let batch = batch.map_err(|error| unreadable(&path, &error.to_string()));
                if sender.blocking_send(batch).is_err() {
                    return;
                }
            }
        });
        let batches = futures::stream::unfold(receiver, |mut receiver| async {
            let batch = receiver.recv().await?;
            Some((batch, receiver))
        });
        Box::pin(batches)
    }
}

/// Matches the columns of a table and a file by name. Without a column list in the statement, both must have the same
/// columns. With a column list, the file may have more columns.
pub(crate) fn column_sources(target: &CopyTarget, file: &ParquetFile) -> Result<ColumnSources, EngineError> {
    let fields = file.schema().fields();
    let find = |name: &str| {
        let exact = fields.iter().position(|field| field.name() == name);
        exact.or_else(|| fields.iter().position(|field| field.name().eq_ignore_ascii_case(name)))
    };
    let names = target.column_names();
    let mut chosen = Vec::with_capacity(names.len());
    for name in &names {
        let at = find(name).ok_or_else(|| {
            let message = format!("file \"{}\" has no column \"{name}\"", file.path.display());
            let has: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            EngineError::new(SqlState::UndefinedColumn, message)
                .with_detail(format!("The columns of the file are: {}.", has.join(", ")))
        })?;
        let of_table = target.def().columns.iter().find(|column| column.name == *name);
        if let Some(ColumnType::Encoded { .. }) = of_table.map(|column| column.column_type)
            && is_binary(fields[at].data_type())
        {
            let message =
                format!("column \"{name}\" of file \"{}\" has bytes, which are no value", file.path.display());
            return Err(EngineError::new(SqlState::DatatypeMismatch, message));
        }
        if let Some(ColumnType::Enum(_)) = of_table.map(|column| column.column_type)
            && !is_text(fields[at].data_type())
        {
            let message = format!("column \"{name}\" of file \"{}\" has no texts, as labels are", file.path.display());
            return Err(EngineError::new(SqlState::DatatypeMismatch, message));
        }
        chosen.push(at);
    }
    if !target.columns_given
        && let Some(extra) = (0..fields.len()).find(|at| !chosen.contains(at))
    {
        let message =
            format!("column \"{}\" of file \"{}\" is not in the table", fields[extra].name(), file.path.display());
        return Err(EngineError::new(SqlState::UndefinedColumn, message)
            .with_hint("List the columns to load: COPY table (a, b) FROM ..."));
    }
    let mut file_columns = chosen.clone();
    file_columns.sort_unstable();
    file_columns.dedup();
    let mut batch_columns = vec![None; target.def().columns.len()];
    for (at, source) in target.columns.iter().zip(&chosen) {
        batch_columns[*at] = file_columns.iter().position(|column| column == source);
    }
    Ok(ColumnSources { file_columns, batch_columns })
}

/// Whether values are texts, perhaps of a dictionary.
fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        other => matches!(other, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

fn unreadable(path: &Path, error: &str) -> EngineError {
    EngineError::new(SqlState::BadCopyFileFormat, format!("file \"{}\" is not valid Parquet: {error}", path.display()))
}
