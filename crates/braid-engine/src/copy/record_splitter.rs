//! Splits bytes into records, as PostgreSQL's `CopyReadLineText` does.
//!
//! Bytes arrive in pieces that may end anywhere; a record is returned when its end is found. The first line end says how all lines
//! end: with `\n`, `\r\n` or `\r`. Another one is an error, unless it belongs to the record: within quotes (CSV) or after a backslash
//! (text format). `\.` ends the data, as in PostgreSQL's old protocol and in files of pg_dump: alone on a line in CSV, anywhere in the text format.
//!
//! 1. Where the next byte decides and is not there, the splitter waits, and goes on from the same place.
//! 2. All bytes are checked to be text before they are split ([`VerifiedText`]).
//! 3. The length of a record is bounded: a quote that is never closed gives an error after [`RECORD_BYTES_MAX`].
//!
//! A record of several lines has the number of its first one. PostgreSQL's errors name its last one.

use super::verified_text::VerifiedText;
use crate::statement::CopyOptions;
use crate::{EngineError, SqlState};

/// Maximum length of a record in bytes.
pub(crate) const RECORD_BYTES_MAX: usize = 64 << 20;

/// Where data comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DataSource {
    /// A client, whose data ends with the first end-of-data mark.
    Client,
    /// A file, which PostgreSQL reads on behind a mark that is not at the beginning of a line.
    File,
    /// A file that is loaded whole: it has no mark, and `\.` is a value.
    WholeFile,
}

/// Splits a stream of bytes into records.
pub(crate) struct RecordSplitter {
    csv: bool,
    quote: u8,
    /// What makes a quote in quotes part of the value, if it is not a quote too. A doubled quote closes and opens the quotes, with
    /// the same result.
    escape: Option<u8>,
    source: DataSource,
    /// The bytes that may mean something; all others are skipped.
    special: [bool; 256],
    input: VerifiedText,
    buffer: Vec<u8>,
    /// Start of the current record.
    start: usize,
    /// End of the scanned part of `buffer`.
    scanned: usize,
    in_quotes: bool,
    /// How lines end, after the first one.
    line_end: Option<LineEnd>,
    /// First line of the current record, from 1.
    line: u64,
    /// Number of line ends within the current record so far.
    newlines: u64,
    /// Whether `buffer` has the last byte.
    is_complete: bool,
    ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Newline,
    CarriageReturn,
    Both,
}

/// What a special byte means.
enum Step {
    /// It and perhaps the next one belong to the record.
    Over(usize),
    /// The next byte decides.
    Waits,
    /// The record ends before it; the next one begins at `next`.
    Line { next: usize },
    /// The end-of-data mark begins here; `next` is behind its line.
    Mark { next: usize },
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
    pub fn new(options: &CopyOptions, source: DataSource) -> Self {
        let csv = options.is_csv();
        let escape = (csv && options.escape != options.quote).then_some(options.escape);
        let mut special = [false; 256];
        let quote = csv.then_some(options.quote);
        for byte in [b'\n', b'\r', b'\\'].into_iter().chain(quote).chain(escape) {
            special[usize::from(byte)] = true;
        }
        Self {
            csv,
            quote: options.quote,
            escape,
            source,
            special,
            input: VerifiedText::default(),
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            in_quotes: false,
            line_end: None,
            line: 1,
            newlines: 0,
            is_complete: false,
            ended: false,
        }
    }

    /// Says that the data is a whole file, before there is any.
    pub fn read_whole_file(&mut self) {
        self.source = DataSource::WholeFile;
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
        }
        self.input.push(bytes, &mut self.buffer);
    }

    /// Says that all bytes are added. [`Self::next_record`] then returns the rest.
    pub fn end(&mut self) {
        self.input.end();
        self.is_complete = true;
    }

    /// The next record; `None` until its end is there.
    ///
    /// # Errors
    /// For line ends of several kinds, misplaced end-of-data marks, quotes left open and too long records (22P04), and for bytes that
    /// are no text (22021). [`Self::line`] is their place.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, EngineError> {
        if self.ended {
            return Ok(None);
        }
        match self.find_end()? {
            Step::Line { next } => Ok(Some(self.take(self.scanned, next))),
            Step::Mark { next } => {
                let is_alone = self.scanned == self.start;
                self.ended = is_alone || self.source == DataSource::Client;
                Ok((!is_alone).then(|| self.take(self.scanned, next)))
            }
            Step::Over(_) | Step::Waits => self.rest(),
        }
    }

    /// The line that the current record begins in, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// Whether the end-of-data line was found. Later bytes are ignored.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The last record, if no line end follows it.
    fn rest(&mut self) -> Result<Option<Record<'_>>, EngineError> {
        let length = self.buffer.len() - self.start;
        if length > RECORD_BYTES_MAX {
            return Err(self.too_long());
        }
        if let Some(fault) = self.input.fault() {
            return Err(fault);
        }
        if !self.is_complete || length == 0 {
            return Ok(None);
        }
        if self.in_quotes {
            return Err(malformed("unterminated CSV quoted field"));
        }
        let end = self.buffer.len();
        Ok(Some(self.take(end, end)))
    }

    /// Scans until a line or the data ends before the byte at `scanned`, or for want of bytes.
    fn find_end(&mut self) -> Result<Step, EngineError> {
        loop {
            let unscanned = &self.buffer[self.scanned..];
            let Some(plain) = unscanned.iter().position(|byte| self.special[usize::from(*byte)]) else {
                self.scanned = self.buffer.len();
                return Ok(Step::Waits);
            };
            self.scanned += plain;
            match self.step(self.scanned)? {
                Step::Over(count) => self.scanned += count,
                other => return Ok(other),
            }
        }
    }

    fn step(&mut self, at: usize) -> Result<Step, EngineError> {
        let byte = self.buffer[at];
        if self.in_quotes {
            return Ok(self.step_in_quotes(at, byte));
        }
        if self.csv && byte == self.quote {
            self.in_quotes = true;
            return Ok(Step::Over(1));
        }
        match byte {
            b'\r' => self.carriage_return(at),
            b'\n' => self.newline(at),
            b'\\' if self.csv && (self.source == DataSource::WholeFile || at != self.start) => Ok(Step::Over(1)),
            b'\\' => self.backslash(at),
            _ => Ok(Step::Over(1)),
        }
    }

    fn step_in_quotes(&mut self, at: usize, byte: u8) -> Step {
        if Some(byte) == self.escape {
            return if self.has(at + 1) { self.over(at, 2) } else { Step::Waits };
        }
        if byte == self.quote {
            self.in_quotes = false;
        }
        self.over(at, 1)
    }

    /// Passes bytes of the record, and counts the lines that they end.
    fn over(&mut self, at: usize, count: usize) -> Step {
        let line_end = if self.line_end == Some(LineEnd::CarriageReturn) { b'\r' } else { b'\n' };
        let passed = self.buffer[at..].iter().take(count);
        self.newlines += passed.filter(|byte| **byte == line_end).count() as u64;
        Step::Over(count.min(self.buffer.len() - at))
    }

    fn carriage_return(&mut self, at: usize) -> Result<Step, EngineError> {
        match (self.line_end, self.buffer.get(at + 1)) {
            (Some(LineEnd::CarriageReturn), _) => Ok(Step::Line { next: at + 1 }),
            (Some(LineEnd::Newline), _) => Err(self.stray("carriage return", "\\r")),
            (_, None) if !self.is_complete => Ok(Step::Waits),
            (_, Some(b'\n')) => {
                self.line_end = Some(LineEnd::Both);
                Ok(Step::Line { next: at + 2 })
            }
            (Some(LineEnd::Both), _) => Err(self.stray("carriage return", "\\r")),
            (None, _) => {
                self.line_end = Some(LineEnd::CarriageReturn);
                Ok(Step::Line { next: at + 1 })
            }
        }
    }

    fn newline(&mut self, at: usize) -> Result<Step, EngineError> {
        if matches!(self.line_end, Some(LineEnd::CarriageReturn | LineEnd::Both)) {
            return Err(self.stray("newline", "\\n"));
        }
        self.line_end = Some(LineEnd::Newline);
        Ok(Step::Line { next: at + 1 })
    }

    /// A backslash where it may begin an end-of-data mark.
    fn backslash(&mut self, at: usize) -> Result<Step, EngineError> {
        match self.buffer.get(at + 1) {
            Some(b'.') => self.mark(at),
            None if !self.is_complete => Ok(Step::Waits),
            _ if self.csv => Ok(Step::Over(1)),
            _ => Ok(self.over(at, 2)),
        }
    }

    /// `\.`, which in CSV is a value unless the line ends behind it.
    fn mark(&mut self, at: usize) -> Result<Step, EngineError> {
        let mut end = at + 2;
        if self.line_end == Some(LineEnd::Both) {
            match self.buffer.get(end) {
                Some(b'\r') => end += 1,
                None if !self.is_complete => return Ok(Step::Waits),
                _ if self.csv => return Ok(Step::Over(1)),
                Some(b'\n') => return Err(malformed("end-of-copy marker does not match previous newline style")),
                _ => return Err(malformed("end-of-copy marker corrupt")),
            }
        }
        match (self.buffer.get(end), self.line_end) {
            (None, _) if !self.is_complete => Ok(Step::Waits),
            (Some(b'\n'), None | Some(LineEnd::Newline | LineEnd::Both))
            | (Some(b'\r'), None | Some(LineEnd::CarriageReturn)) => Ok(Step::Mark { next: end + 1 }),
            (Some(b'\n' | b'\r'), _) => Err(malformed("end-of-copy marker does not match previous newline style")),
            _ if self.csv => Ok(Step::Over(1)),
            _ => Err(malformed("end-of-copy marker corrupt")),
        }
    }

    /// Whether the byte is there, or will never be.
    fn has(&self, at: usize) -> bool {
        self.is_complete || at < self.buffer.len()
    }

    /// Returns the record before `end` and continues at `next`.
    fn take(&mut self, end: usize, next: usize) -> Record<'_> {
        let start = std::mem::replace(&mut self.start, next);
        self.scanned = next;
        let line = self.line;
        self.line += self.newlines + 1;
        self.newlines = 0;
        Record { bytes: &self.buffer[start..end], line }
    }

    /// A line end that is not the one of the earlier lines.
    fn stray(&self, name: &str, escape: &str) -> EngineError {
        if self.csv {
            let hint = format!("Use quoted CSV field to represent {name}.");
            return malformed(&format!("unquoted {name} found in data")).with_hint(hint);
        }
        malformed(&format!("literal {name} found in data")).with_hint(format!("Use \"{escape}\" to represent {name}."))
    }

    fn too_long(&self) -> EngineError {
        let error = malformed(&format!("a record is longer than {RECORD_BYTES_MAX} bytes"));
        if self.in_quotes { error.with_hint("Check whether a quote is left open.") } else { error }
    }
}

fn malformed(message: &str) -> EngineError {
    EngineError::new(SqlState::BadCopyFileFormat, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records, each with its line.
    type Lines = [(&'static str, u64)];

    /// The line of an error, and its message.
    type FailedLine = (u64, &'static str);
    use crate::statement::CopyFormat;

    type Split = (Vec<(String, u64)>, Option<(u64, String)>);

    /// The records with their lines, and the error that ends them with its line.
    fn split(options: &CopyOptions, source: DataSource, data: &[u8], piece: usize) -> Split {
        let mut splitter = RecordSplitter::new(options, source);
        let mut records = Vec::new();
        for bytes in data.chunks(piece).map(Some).chain([None]) {
            match bytes {
                Some(bytes) => splitter.push(bytes),
                None => splitter.end(),
            }
            loop {
                match splitter.next_record() {
                    Ok(Some(record)) => records.push((String::from_utf8(record.bytes.to_vec()).unwrap(), record.line)),
                    Ok(None) => break,
                    Err(error) => {
                        let error = (splitter.line(), error.message().to_owned());
                        return (records, Some(error));
                    }
                }
            }
        }
        (records, None)
    }

    fn check(options: &CopyOptions, source: DataSource, data: &str, expected: &Lines, error: Option<(u64, &str)>) {
        let records: Vec<(String, u64)> = expected.iter().map(|(text, line)| ((*text).to_owned(), *line)).collect();
        let error = error.map(|(line, message)| (line, message.to_owned()));
        for piece in [1, 2, 3, 1000] {
            let found = split(options, source, data.as_bytes(), piece);
            assert_eq!(found, (records.clone(), error.clone()), "{data:?} in pieces of {piece}");
        }
    }

    fn csv_escaped_by_backslash() -> CopyOptions {
        CopyOptions { escape: b'\\', ..CopyOptions::defaults(CopyFormat::Csv) }
    }

    #[test]
    fn a_whole_file_has_no_end_mark() {
        let mut splitter = RecordSplitter::new(&CopyOptions::defaults(CopyFormat::Csv), DataSource::WholeFile);
        splitter.push(b"a\n\\.\nb\n");
        splitter.end();
        let mut found = Vec::new();
        while let Some(record) = splitter.next_record().unwrap() {
            found.push((record.bytes.to_vec(), record.line));
        }
        assert_eq!(found, [(b"a".to_vec(), 1), (b"\\.".to_vec(), 2), (b"b".to_vec(), 3)]);
    }

    #[test]
    fn records_end_where_lines_do_unless_quoted_or_escaped() {
        let (csv, text) = (CopyOptions::defaults(CopyFormat::Csv), CopyOptions::defaults(CopyFormat::Text));
        let backslash = csv_escaped_by_backslash();
        let cases: [(&CopyOptions, &str, &Lines); 11] = [
            (&csv, "a,b\r\nc,d\r\ne,f", &[("a,b", 1), ("c,d", 2), ("e,f", 3)]),
            (&csv, "a,b\rc,d\re,f\r", &[("a,b", 1), ("c,d", 2), ("e,f", 3)]),
            (&csv, "a,\"x\ny\"\n\"q\"\"\n\",z\nlast\n", &[("a,\"x\ny\"", 1), ("\"q\"\"\n\",z", 3), ("last", 5)]),
            (&csv, "a\n\"b\r\nc\"\nd", &[("a", 1), ("\"b\r\nc\"", 2), ("d", 4)]),
            (&csv, "a\r\"b\rc\"\rd", &[("a", 1), ("\"b\rc\"", 2), ("d", 4)]),
            (&csv, "\n\na", &[("", 1), ("", 2), ("a", 3)]),
            (&backslash, "\"x\\\"\ny\"\nz", &[("\"x\\\"\ny\"", 1), ("z", 3)]),
            (&backslash, "x\\\ny", &[("x\\", 1), ("y", 2)]),
            (&text, "a\\\nb\nc\\\\\nd\"\n", &[("a\\\nb", 1), ("c\\\\", 3), ("d\"", 4)]),
            (&text, "a\\\rb\rc\\", &[("a\\\rb", 1), ("c\\", 2)]),
            (&text, "", &[]),
        ];
        for (options, data, expected) in cases {
            check(options, DataSource::File, data, expected, None);
        }
    }

    /// As PostgreSQL 15 answers for the same files.
    #[test]
    fn line_ends_of_two_kinds_are_an_error() {
        let (csv, text) = (CopyOptions::defaults(CopyFormat::Csv), CopyOptions::defaults(CopyFormat::Text));
        let (cr, nl) = ("unquoted carriage return found in data", "unquoted newline found in data");
        let (text_cr, text_nl) = ("literal carriage return found in data", "literal newline found in data");
        for (options, data, first, error) in [
            (&csv, "1,a\r\n2,b\r3,c", "1,a", cr),
            (&csv, "1,a\r2,b\n3,c", "1,a", nl),
            (&csv, "1,a\n2,b\r\n", "1,a", cr),
            (&csv, "1,a\r\n2,b\n", "1,a", nl),
            (&text, "1\ta\n2\tb\r\n", "1\ta", text_cr),
            (&text, "1\ta\r\n2\tb\n", "1\ta", text_nl),
            (&text, "1\ta\r\n2\tb\\\r\n3\tc\r\n", "1\ta", text_nl),
        ] {
            check(options, DataSource::File, data, &[(first, 1)], Some((2, error)));
        }
    }

    /// As PostgreSQL 15 answers for the same data.
    #[test]
    fn the_end_of_data_mark_stands_on_a_line_as_the_others_end() {
        let (csv, text) = (CopyOptions::defaults(CopyFormat::Csv), CopyOptions::defaults(CopyFormat::Text));
        let (corrupt, style) =
            ("end-of-copy marker corrupt", "end-of-copy marker does not match previous newline style");
        let nl = "unquoted newline found in data";
        let cases: [(&CopyOptions, &str, &Lines, Option<FailedLine>); 15] = [
            (&text, "a\n\\.\nx", &[("a", 1)], None),
            (&text, "a\r\n\\.\r\nx", &[("a", 1)], None),
            (&text, "\\.\rx", &[], None),
            (&text, "a\n\\.\r\nx", &[("a", 1)], Some((2, style))),
            (&text, "a\r\n\\.\nx", &[("a", 1)], Some((2, style))),
            (&text, "a\r\n\\.x\n", &[("a", 1)], Some((2, corrupt))),
            (&text, "a\nb\\.x\n", &[("a", 1)], Some((2, corrupt))),
            (&text, "a\n\\.", &[("a", 1)], Some((2, corrupt))),
            (&csv, "a\n\\.\nx", &[("a", 1)], None),
            (&csv, "a\n\\.\rx", &[("a", 1)], Some((2, style))),
            (&csv, "a\r\n\\.\nx", &[("a", 1)], Some((2, nl))),
            (&csv, "a\n\\.", &[("a", 1), ("\\.", 2)], None),
            (&csv, "\\.x,b\n1,2\n", &[("\\.x,b", 1), ("1,2", 2)], None),
            (&csv, "x\\.\n\"\\.\n\"\n", &[("x\\.", 1), ("\"\\.\n\"", 2)], None),
            (&csv_escaped_by_backslash(), "\"\\.\"\n\\.\nx", &[("\"\\.\"", 1)], None),
        ];
        for (options, data, expected, error) in cases {
            check(options, DataSource::Client, data, expected, error);
            check(options, DataSource::File, data, expected, error);
        }
        check(&text, DataSource::Client, "a\nb\\.\nc\n", &[("a", 1), ("b", 2)], None);
        check(&text, DataSource::File, "a\nb\\.\nc\n", &[("a", 1), ("b", 2), ("c", 3)], None);
    }

    #[test]
    fn faults_come_behind_the_records_before_them() {
        let csv = CopyOptions::defaults(CopyFormat::Csv);
        check(&csv, DataSource::File, "a\n\"b\nc\n", &[("a", 1)], Some((2, "unterminated CSV quoted field")));
        let nul = "invalid byte sequence for encoding \"UTF8\": 0x00";
        check(&csv, DataSource::File, "a\n\"b\nc\0\n", &[("a", 1)], Some((2, nul)));
        check(&csv, DataSource::File, "a\r\0", &[], Some((1, nul)));
    }
}
