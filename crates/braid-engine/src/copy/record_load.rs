//! The data of a COPY FROM, in any format of records, into rows of its table.

use std::path::Path;

use braid_storage::TableAppender;

use super::CopyTarget;
use super::binary_records::{BinaryRecord, BinaryRecords};
use super::record_rows::RecordRows;
use super::record_splitter::RecordSplitter;
use crate::EngineError;
use crate::statement::{CopyFormat, CopyOptions};

/// What the data goes through.
pub(crate) struct RecordLoad {
    target: CopyTarget,
    records: Records,
    rows: RecordRows,
    /// What errors say of data whose place is not known.
    source: Option<String>,
}

/// Bytes into records.
enum Records {
    Text(RecordSplitter),
    Binary(BinaryRecords),
}

impl RecordLoad {
    /// Data for a target, from the client or from a file.
    pub fn new(target: CopyTarget, options: &CopyOptions, file: Option<&Path>) -> Self {
        let file = file.map(|path| path.display().to_string());
        let rows = RecordRows::new(&target.assignment, &target.columns, options, file.as_deref());
        let records = match options.format {
            CopyFormat::Binary => Records::Binary(BinaryRecords::new(target.def(), &target.columns)),
            _ => Records::Text(RecordSplitter::new(options)),
        };
        let source = file.map(|file| format!("COPY {}, file {file}", target.def().name));
        Self { target, records, rows, source }
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
        let Self { target, records, rows, source } = &mut self;
        let in_source = |error| placed(source.as_deref(), error);
        match records {
            Records::Text(splitter) => {
                if let Some(record) = splitter.last_record().map_err(in_source)? {
                    rows.push(record, &target.assignment)?;
                }
            }
            Records::Binary(records) => {
                let finished = records.finish().map_err(in_source);
                // An earlier row that cannot be stored comes first.
                finished.or_else(|error| rows.finish(&target.assignment).and(Err(error)))?;
            }
        }
        self.append().await?;
        Ok(self.target.appender)
    }

    /// Adds the next row, if all of its bytes are there.
    fn next_row(&mut self) -> Result<bool, EngineError> {
        let Self { target, records, rows, source } = self;
        let in_source = |error| placed(source.as_deref(), error);
        match records {
            Records::Text(splitter) => match splitter.next_record().map_err(in_source)? {
                Some(record) => rows.push(record, &target.assignment).map(|()| true),
                None => Ok(false),
            },
            Records::Binary(records) => match records.next_record() {
                Ok(Some(BinaryRecord { row, byte_count, texts })) => {
                    rows.push_texts((row, byte_count), &texts, &target.assignment).map(|()| true)
                }
                Ok(None) => Ok(false),
                // An earlier row that cannot be stored comes first.
                Err(error) => rows.finish(&target.assignment).and(Err(in_source(error))),
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

/// An error with the place that data comes from, if it has none.
fn placed(source: Option<&str>, error: EngineError) -> EngineError {
    match (error.context(), source) {
        (None, Some(source)) => error.with_context(source.to_owned()),
        _ => error,
    }
}
