//! Parquet files. Their columns are loaded into the table's columns of the same name, with the conversions of INSERT.
//!
//! A damaged file is an error that names the column: pages are checked against their checksums, where the file has them, and the number of
//! rows against the footer; a panic of the decoder on bytes that it does not expect is such an error, too.

use std::fs::File;
use std::path::{Path, PathBuf};

use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatch;
use braid_storage::ColumnType;
use futures::stream::BoxStream;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use tokio::sync::mpsc;

use super::CopyTarget;
use super::copy_file::cannot_open;
use super::decoder_panics::contained;
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
        let loaded = contained(|| ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()));
        let loaded = loaded.and_then(|loaded| loaded.map_err(|error| error.to_string()));
        let metadata = loaded.map_err(|error| unreadable(path, &error))?;
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
            let mut rows = match self.rows(columns.clone(), None) {
                Ok(rows) => rows,
                Err(error) => {
                    // Without a receiver the error is dropped.
                    let _ = sender.blocking_send(Err(unreadable(&self.path, &error)));
                    return;
                }
            };
            let mut row_count = 0;
            loop {
                let batch = match next_batch(&mut rows) {
                    Ok(Some(batch)) => Ok(batch),
                    Ok(None) => break,
                    Err(error) => Err(self.damage(&columns, row_count, &error)),
                };
                row_count += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
                let has_failed = batch.is_err();
                if sender.blocking_send(batch).is_err() || has_failed {
                    return;
                }
            }
            if row_count != self.row_count() {
                let error = format!("it has {row_count} rows, not {} as its footer says", self.row_count());
                let _ = sender.blocking_send(Err(unreadable(&self.path, &error)));
            }
        });
        let batches = futures::stream::unfold(receiver, |mut receiver| async {
            let batch = receiver.recv().await?;
            Some((batch, receiver))
        });
        Box::pin(batches)
    }

    /// The rows that the footer promises.
    fn row_count(&self) -> u64 {
        u64::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// A reader of some columns, of all row groups or one.
    fn rows(&self, columns: Vec<usize>, group: Option<usize>) -> Result<ParquetRecordBatchReader, String> {
        let file = self.file.try_clone().map_err(|error| error.to_string())?;
        let built = contained(move || {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, self.metadata.clone());
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
            let builder = builder.with_projection(mask).with_batch_size(BATCH_ROWS);
            group.into_iter().fold(builder, |builder, group| builder.with_row_groups(vec![group])).build()
        });
        built.and_then(|reader| reader.map_err(|error| error.to_string()))
    }

    /// The error of a batch that cannot be read, behind this many rows, with the column that it is in: the first one that cannot be read alone.
    fn damage(&self, columns: &[usize], row_count: u64, error: &str) -> EngineError {
        let mut rows_before = 0;
        let group = self.metadata.metadata().row_groups().iter().position(|group| {
            rows_before += u64::try_from(group.num_rows()).unwrap_or(0);
            row_count < rows_before
        });
        let group = group.unwrap_or_else(|| self.metadata.metadata().num_row_groups().saturating_sub(1));
        for column in columns {
            let read_alone = self.rows(vec![*column], Some(group)).and_then(|mut rows| {
                while next_batch(&mut rows)?.is_some() {}
                Ok(())
            });
            if let Err(error) = read_alone {
                let name = self.schema().field(*column).name();
                return unreadable(&self.path, &format!("column \"{name}\", row group {group}: {error}"));
            }
        }
        unreadable(&self.path, error)
    }
}

fn next_batch(rows: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>, String> {
    contained(|| rows.next())?.transpose().map_err(|error| error.to_string())
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
        if fields[at].data_type().is_nested() {
            let (path, data_type) = (file.path.display(), fields[at].data_type());
            let message =
                format!("column \"{name}\" of file \"{path}\" is of the type {data_type}, which is not supported");
            return Err(EngineError::unsupported(message));
        }
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
    let error = error.lines().next().unwrap_or_default();
    if error.contains("Disabled feature") {
        return EngineError::unsupported(format!("file \"{}\" cannot be read: {error}", path.display()));
    }
    EngineError::new(SqlState::BadCopyFileFormat, format!("file \"{}\" is not valid Parquet: {error}", path.display()))
}
