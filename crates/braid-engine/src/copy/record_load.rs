//! The data of a COPY FROM, in any format of records, into rows of its table.

use std::path::Path;

use braid_storage::TableAppender;

use super::CopyTarget;
use super::binary_records::{BinaryRecord, BinaryRecords};
use super::record_rows::RecordRows;
use super::record_splitter::{DataSource, RecordSplitter};
use crate::EngineError;
use crate::outcome::CopiedFile;
use crate::statement::{CopyFormat, CopyOptions};

/// What the data goes through.
pub(crate) struct RecordLoad {
    target: CopyTarget,
    records: Records,
    rows: RecordRows,
    /// The name of the data in errors: `COPY t` or `COPY t, file x.csv`.
    source: String,
    is_of_file: bool,
}

/// Bytes into records.
enum Records {
    Text(Box<RecordSplitter>),
    Binary(BinaryRecords),
}

impl RecordLoad {
    /// Data for a target, from the client or from a file.
    pub fn new(target: CopyTarget, options: &CopyOptions, file: Option<&Path>) -> Self {
        let file = file.map(|path| path.display().to_string());
        let rows = RecordRows::new(&target.assignment, &target.columns, options, file.as_deref());
        let records = match options.format {
            CopyFormat::Binary => Records::Binary(BinaryRecords::new(target.def(), &target.columns)),
            _ => {
                let source = if file.is_some() { DataSource::File } else { DataSource::Client };
                Records::Text(Box::new(RecordSplitter::new(options, source)))
            }
        };
        let table = &target.def().name;
        let source = file.as_ref().map_or_else(|| format!("COPY {table}"), |file| format!("COPY {table}, file {file}"));
        Self { target, records, rows, source, is_of_file: file.is_some() }
    }

    /// Says which file the data comes from, before there is any.
    pub fn describe(&mut self, file: CopiedFile) {
        (self.source, self.is_of_file) = (format!("COPY {}, file {}", self.target.def().name, file.name), true);
        if let Records::Text(splitter) = &mut self.records {
            splitter.read_whole_file();
        }
        self.rows.describe(&self.source, file);
    }

    /// The number of columns of a record.
    pub fn column_count(&self) -> usize {
        self.target.columns.len()
    }

    /// Takes the next bytes, which may end anywhere; false when the data has ended before them.
    ///
    /// # Errors
    /// For what is no row of the table, with the place, and what writing fails with.
    pub async fn take(&mut self, bytes: &[u8]) -> Result<bool, EngineError> {
        match &mut self.records {
            Records::Text(splitter) => splitter.push(bytes),
            Records::Binary(records) => records.push(bytes),
        }
        while self.next_row()? {
            if self.rows.is_full() {
                self.append().await?;
            }
        }
        Ok(!matches!(&self.records, Records::Text(splitter) if splitter.has_ended()))
    }

    /// The appender with all rows, at the end of the data.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub async fn complete(mut self) -> Result<TableAppender, EngineError> {
        if let Records::Text(splitter) = &mut self.records {
            splitter.end();
        }
        while self.next_row()? {}
        let Self { target, records, rows, source, is_of_file } = &mut self;
        match records {
            Records::Text(splitter) => rows.end(splitter.line())?,
            Records::Binary(records) => {
                let finished = records.finish().map_err(|error| placed(source, *is_of_file, error));
                // An earlier row that cannot be stored comes first.
                finished.or_else(|error| rows.finish(&target.assignment).and(Err(error)))?;
            }
        }
        self.append().await?;
        Ok(self.target.appender)
    }

    /// Adds the next row, if all of its bytes are there. An earlier row that cannot be stored comes before what is no row.
    fn next_row(&mut self) -> Result<bool, EngineError> {
        let Self { target, records, rows, source, is_of_file } = self;
        match records {
            Records::Text(splitter) => {
                let line = splitter.line();
                match splitter.next_record() {
                    Ok(Some(record)) => rows.push(record, &target.assignment).map(|()| true),
                    Ok(None) => Ok(false),
                    Err(error) => {
                        let error = error.with_context(format!("{source}, line {line}"));
                        rows.finish(&target.assignment).and(Err(error))
                    }
                }
            }
            Records::Binary(records) => match records.next_record() {
                Ok(Some(BinaryRecord { row, byte_count, texts })) => {
                    rows.push_texts((row, byte_count), &texts, &target.assignment).map(|()| true)
                }
                Ok(None) => Ok(false),
                Err(error) => rows.finish(&target.assignment).and(Err(placed(source, *is_of_file, error))),
            },
        }
    }

    async fn append(&mut self) -> Result<(), EngineError> {
        if let Some(batch) = self.rows.finish(&self.target.assignment)? {
            self.target.appender.append(batch).await?;
        }
        Ok(())
    }
}

/// An error of binary data, with the file that the data comes from if its place is not known.
fn placed(source: &str, is_of_file: bool, error: EngineError) -> EngineError {
    if is_of_file && error.context().is_none() { error.with_context(source) } else { error }
}
