//! Splits bytes into records.
//!
//! Bytes arrive in pieces that may end anywhere; a record is returned when its end is found. Lines end with `\n` or `\r\n`. A
//! newline belongs to the record within quotes (CSV) or after a backslash (text format). A line `\.` ends the data, as in
//! PostgreSQL's old protocol and in files of pg_dump.
//!
//! The length of a record is bounded: a quote that is never closed gives an error after [`RECORD_BYTES_MAX`].

use std::ops::Range;

use crate::statement::CopyOptions;
use crate::{EngineError, SqlState};

/// Maximum length of a record in bytes.
pub(crate) const RECORD_BYTES_MAX: usize = 64 << 20;

/// Splits a stream of bytes into records.
pub(crate) struct RecordSplitter {
    csv: bool,
    quote: u8,
    escape: u8,
    buffer: Vec<u8>,
    /// Start of the current record.
    start: usize,
    /// End of the scanned part of `buffer`.
    scanned: usize,
    in_quotes: bool,
    /// Whether the byte at `scanned` follows an escape and has no special meaning.
    escaped: bool,
    /// First line of the current record, from 1.
    line: u64,
    /// Number of newlines in the current record so far.
    newlines: u64,
    ended: bool,
}

/// One record, without its line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// Its bytes.
    pub bytes: &'a [u8],
    /// Its first line, from 1.
    pub line: u64,
}

impl RecordSplitter {
    /// A splitter for the format of `options`.
    pub fn new(options: &CopyOptions) -> Self {
        Self {
            csv: options.is_csv(),
            quote: options.quote,
            escape: options.escape,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            in_quotes: false,
            escaped: false,
            line: 1,
            newlines: 0,
            ended: false,
        }
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete record.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, EngineError> {
        if self.ended {
            return Ok(None);
        }
        match self.find_end() {
            Some(end) => Ok(self.take(end..end + 1)),
            None if self.buffer.len() - self.start > RECORD_BYTES_MAX => Err(self.too_long()),
            None => Ok(None),
        }
    }

    /// The last record, if it has no line end, after all bytes are added.
    pub fn last_record(&mut self) -> Result<Option<Record<'_>>, EngineError> {
        if self.ended || self.start == self.buffer.len() {
            return Ok(None);
        }
        if self.in_quotes {
            let message = format!("unterminated CSV quoted field in the record that begins in line {}", self.line);
            return Err(EngineError::new(SqlState::BadCopyFileFormat, message));
        }
        let end = self.buffer.len();
        Ok(self.take(end..end))
    }

    /// Whether the end-of-data line was found. Later bytes are ignored.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Position of the newline that ends the record.
    fn find_end(&mut self) -> Option<usize> {
        for at in self.scanned..self.buffer.len() {
            let byte = self.buffer[at];
            if self.escaped {
                self.escaped = false;
                self.newlines += u64::from(byte == b'\n');
            } else if byte == b'\n' {
                if !self.in_quotes {
                    self.scanned = at + 1;
                    return Some(at);
                }
                self.newlines += 1;
            } else if self.csv {
                // If the escape is the quote itself, a doubled quote closes and opens the quotes, with the same result.
                if byte == self.quote {
                    self.in_quotes = !self.in_quotes;
                } else if byte == self.escape && self.in_quotes {
                    self.escaped = true;
                }
            } else if byte == b'\\' {
                self.escaped = true;
            }
        }
        self.scanned = self.buffer.len();
        None
    }

    /// Returns the record before `separator` and continues behind it. `None` for the end-of-data line.
    fn take(&mut self, separator: Range<usize>) -> Option<Record<'_>> {
        let start = std::mem::replace(&mut self.start, separator.end);
        self.scanned = separator.end;
        let line = self.line;
        self.line += self.newlines + 1;
        self.newlines = 0;
        self.escaped = false;
        let bytes = &self.buffer[start..separator.start];
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        if bytes == b"\\." {
            self.ended = true;
            return None;
        }
        Some(Record { bytes, line })
    }

    fn too_long(&self) -> EngineError {
        let message = format!("the record that begins in line {} is longer than {} bytes", self.line, RECORD_BYTES_MAX);
        let error = EngineError::new(SqlState::BadCopyFileFormat, message);
        if self.in_quotes { error.with_hint("Check whether a quote is left open.") } else { error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::{CopyFormat, Header};

    pub(crate) fn options(format: CopyFormat) -> CopyOptions {
        CopyOptions {
            format,
            delimiter: if format == CopyFormat::Csv { b',' } else { b'\t' },
            null: String::new(),
            header: Header::None,
            quote: b'"',
            escape: b'"',
            force_quote: Some(Vec::new()),
            freeze: false,
        }
    }

    fn split(options: &CopyOptions, data: &[u8], piece: usize) -> Vec<(String, u64)> {
        let mut splitter = RecordSplitter::new(options);
        let mut records = Vec::new();
        let mut note = |record: Record<'_>| {
            records.push((String::from_utf8(record.bytes.to_vec()).unwrap(), record.line));
        };
        for bytes in data.chunks(piece) {
            splitter.push(bytes);
            while let Some(record) = splitter.next_record().unwrap() {
                note(record);
            }
        }
        if let Some(record) = splitter.last_record().unwrap() {
            note(record);
        }
        records
    }

    #[test]
    fn records_end_where_lines_do_unless_quoted_or_escaped() {
        let csv = options(CopyFormat::Csv);
        let text = options(CopyFormat::Text);
        let mut backslash = options(CopyFormat::Csv);
        backslash.escape = b'\\';
        for (options, data, expected) in [
            (&csv, "a,b\nc,d\r\ne,f", vec![("a,b", 1), ("c,d", 2), ("e,f", 3)]),
            (&csv, "a,\"x\ny\"\n\"q\"\"\n\",z\nlast\n", vec![("a,\"x\ny\"", 1), ("\"q\"\"\n\",z", 3), ("last", 5)]),
            (&csv, "\n\na", vec![("", 1), ("", 2), ("a", 3)]),
            (&csv, "a\n\\.\nb", vec![("a", 1)]),
            (&backslash, "\"x\\\"\ny\"\nz", vec![("\"x\\\"\ny\"", 1), ("z", 3)]),
            (&text, "a\\\nb\nc\\\\\nd\"\n", vec![("a\\\nb", 1), ("c\\\\", 3), ("d\"", 4)]),
            (&text, "", vec![]),
        ] {
            let expected: Vec<(String, u64)> =
                expected.into_iter().map(|(text, line)| (text.to_owned(), line)).collect();
            for piece in [1, 2, 3, 1000] {
                assert_eq!(split(options, data.as_bytes(), piece), expected, "{data:?} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn an_open_quote_is_found_at_the_end() {
        let mut splitter = RecordSplitter::new(&options(CopyFormat::Csv));
        splitter.push(b"a\n\"b\nc\n");
        assert!(splitter.next_record().unwrap().is_some());
        assert!(splitter.next_record().unwrap().is_none());
        let error = splitter.last_record().unwrap_err();
        assert_eq!(error.sqlstate(), "22P04");
        assert!(error.message().contains("line 2"), "{error}");
    }
}
