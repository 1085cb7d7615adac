//! The two outcomes of COPY that the client takes part in: data to receive and data to send. What the data goes through is
//! behind a trait, which the room of COPY implements.

use std::fmt;

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::EngineError;

/// What the data of a COPY FROM STDIN goes through. Dropping it leaves the table unchanged.
pub(crate) trait CopySink: Send {
    /// Columns of a record.
    fn column_count(&self) -> usize;

    /// Whether the data is in the binary format; otherwise it is text.
    fn is_binary(&self) -> bool;

    /// See [`CopyIn::describe`].
    fn describe(&mut self, file: CopiedFile);

    /// See [`CopyIn::data`].
    fn data(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), EngineError>>;

    /// See [`CopyIn::finish`].
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<u64, EngineError>>;
}

/// What the values of a column are to be, besides values of its type: texts that come back as they were written.
#[derive(Clone)]
pub(crate) struct ExpectedValues {
    /// Whether a text is one of them.
    pub holds: fn(&str) -> bool,
    /// What to do about another one.
    pub hint: String,
}

impl fmt::Debug for ExpectedValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpectedValues").field("hint", &self.hint).finish_non_exhaustive()
    }
}

/// The file that the data of a COPY FROM STDIN comes from, and what is known of it besides the statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopiedFile {
    /// Its name in errors.
    pub name: String,
    /// For each column of a record, what its values are to be, if its type was chosen for those of a part of the file.
    pub expected_values: Vec<Option<ExpectedValues>>,
    /// Texts of nulls besides that of the statement.
    pub nulls: Vec<String>,
}

/// A COPY FROM STDIN that waits for data. Dropping it leaves the table unchanged.
pub struct CopyIn(Box<dyn CopySink>);

impl CopyIn {
    pub(crate) fn new(sink: impl CopySink + 'static) -> Self {
        Self(Box::new(sink))
    }

    /// Columns of a record.
    pub fn column_count(&self) -> usize {
        self.0.column_count()
    }

    /// Whether the data is in the binary format; otherwise it is text.
    pub fn is_binary(&self) -> bool {
        self.0.is_binary()
    }

    /// Says where the data comes from, before there is any.
    pub(crate) fn describe(&mut self, file: CopiedFile) {
        self.0.describe(file);
    }

    /// Processes the next piece of data, which may end anywhere. After an error, the caller must drop the COPY.
    pub fn data(&mut self, bytes: Bytes) -> BoxFuture<'_, Result<(), EngineError>> {
        self.0.data(bytes)
    }

    /// Ends the data and commits. Returns the number of rows.
    pub fn finish(self) -> BoxFuture<'static, Result<u64, EngineError>> {
        self.0.finish()
    }
}

impl fmt::Debug for CopyIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyIn").field("column_count", &self.column_count()).finish_non_exhaustive()
    }
}

/// Where the data of a COPY TO STDOUT comes from. Dropping it stops the query.
pub(crate) trait CopySource: Send {
    /// Columns of a record.
    fn column_count(&self) -> usize;

    /// Whether the data is in the binary format; otherwise it is text.
    fn is_binary(&self) -> bool;

    /// See [`CopyOut::next`].
    fn next(&mut self) -> BoxFuture<'_, Option<Result<CopyRecords, EngineError>>>;

    /// See [`CopyOut::row_count`].
    fn row_count(&self) -> u64;
}

/// A running COPY TO STDOUT. Dropping it stops the query.
pub struct CopyOut(Box<dyn CopySource>);

impl CopyOut {
    pub(crate) fn new(source: impl CopySource + 'static) -> Self {
        Self(Box::new(source))
    }

    /// Columns of a record.
    pub fn column_count(&self) -> usize {
        self.0.column_count()
    }

    /// Whether the data is in the binary format; otherwise it is text.
    pub fn is_binary(&self) -> bool {
        self.0.is_binary()
    }

    /// The next piece of data: the header, or the records of a batch. `None` at the end.
    #[expect(clippy::should_implement_trait, reason = "it is a stream's next, not an iterator's")]
    pub fn next(&mut self) -> BoxFuture<'_, Option<Result<CopyRecords, EngineError>>> {
        self.0.next()
    }

    /// Number of rows returned so far. The tag at the end is `COPY row_count`.
    pub fn row_count(&self) -> u64 {
        self.0.row_count()
    }
}

impl fmt::Debug for CopyOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyOut")
            .field("column_count", &self.column_count())
            .field("row_count", &self.row_count())
            .finish_non_exhaustive()
    }
}

/// A piece of a COPY's data: whole records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyRecords {
    bytes: Vec<u8>,
    /// The end of each record in `bytes`.
    ends: Vec<usize>,
}

impl CopyRecords {
    /// The bytes of the current record, to append to.
    pub(crate) fn record(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Ends the current record.
    pub(crate) fn end_record(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// Adds a record of text.
    pub(crate) fn push_line(&mut self, line: &str) {
        self.bytes.extend_from_slice(line.as_bytes());
        self.bytes.push(b'\n');
        self.end_record();
    }

    /// The text of all records; empty for records that are not text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    /// Each record, of text with its newline. A CSV record may contain further newlines in quotes.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}
