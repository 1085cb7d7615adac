//! Bytes of COPY's binary format into records of values' texts.
//!
//! ```text
//! signature (11 bytes), flags (u32), length of an extension (u32) and that many bytes
//! record: number of fields (i16), for each its length (i32, -1 for null) and that many bytes
//! end: -1 in place of a number of fields
//! ```
//!
//! All numbers are big-endian. Bytes arrive in pieces that may end anywhere; a record is returned when all of it is there.

use braid_catalog::column_types::sql_type_of;
use braid_sql::functions::text_input::ReadingSession;
use braid_sql::input::binary::receive;
use braid_sql::{Evaluation, SqlType};
use braid_storage::TableDef;

use super::record_splitter::RECORD_BYTES_MAX;
use crate::{EngineError, SqlState};

/// What the data begins with.
pub(super) const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// Bytes of the signature, the flags and the length of the extension.
const HEADER_BYTES: usize = SIGNATURE.len() + 8;

/// The flag of rows with oids, which PostgreSQL has no more.
const HAS_OIDS: u32 = 1 << 16;

/// Flags that a reader must know.
const CRITICAL_FLAGS: u32 = 0xffff_0000;

/// In place of a number of fields: the end.
pub(super) const END: i16 = -1;

/// Reads records.
pub(crate) struct BinaryRecords {
    /// The names and types of the columns.
    columns: Vec<(String, SqlType)>,
    table: String,
    buffer: Vec<u8>,
    /// The bytes that are read.
    start: usize,
    has_header: bool,
    has_ended: bool,
    row: u64,
}

/// A record: its number from 1, its bytes, and the texts of its values.
pub(crate) struct BinaryRecord {
    pub row: u64,
    pub byte_count: usize,
    pub texts: Vec<Option<String>>,
}

impl BinaryRecords {
    /// Reads records with these columns of a table.
    pub fn new(def: &TableDef, columns: &[usize]) -> Self {
        let column = |at: &usize| {
            let column = &def.columns[*at];
            (column.name.clone(), sql_type_of(column.column_type))
        };
        Self {
            columns: columns.iter().map(column).collect(),
            table: def.name.clone(),
            buffer: Vec::new(),
            start: 0,
            has_header: false,
            has_ended: false,
            row: 0,
        }
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..std::mem::take(&mut self.start));
        self.buffer.extend_from_slice(bytes);
    }

    /// The next record; `None` until all of it is there.
    ///
    /// # Errors
    /// For what is no such data (22P04), and values that their types do not read.
    pub fn next_record(&mut self) -> Result<Option<BinaryRecord>, EngineError> {
        if !self.has_header && !self.read_header()? {
            return Ok(None);
        }
        let rest = &self.buffer[self.start..];
        if self.has_ended {
            return if rest.is_empty() { Ok(None) } else { Err(self.wrong("received copy data after EOF marker")) };
        }
        let Some(count) = number(rest, 0).map(i16::from_be_bytes) else { return Ok(None) };
        if count == END {
            (self.has_ended, self.start) = (true, self.start + 2);
            return self.next_record();
        }
        self.row += 1;
        let record = self.record(count);
        if !matches!(record, Ok(Some(_))) {
            self.row -= 1;
        }
        record
    }

    /// Checks that the data has come to its end.
    ///
    /// # Errors
    /// 22P04 if it ends within a record or has no header. A missing mark at the end is allowed, as in PostgreSQL.
    pub fn finish(&self) -> Result<(), EngineError> {
        match (self.has_header, self.start == self.buffer.len()) {
            (false, _) if self.buffer.starts_with(SIGNATURE) => {
                Err(self.wrong("invalid COPY file header (missing length)"))
            }
            (false, _) => Err(self.wrong("COPY file signature not recognized")),
            (true, false) => {
                let error = EngineError::new(SqlState::BadCopyFileFormat, "unexpected EOF in COPY data");
                Err(error.with_context(format!("COPY {}, line {}", self.table, self.row + 1)))
            }
            (true, true) => Ok(()),
        }
    }

    fn read_header(&mut self) -> Result<bool, EngineError> {
        let known = self.buffer.len().min(SIGNATURE.len());
        if self.buffer[..known] != SIGNATURE[..known] {
            return Err(self.wrong("COPY file signature not recognized"));
        }
        let (Some(flags), Some(extension)) =
            (number(&self.buffer, SIGNATURE.len()), number(&self.buffer, SIGNATURE.len() + 4))
        else {
            return Ok(false);
        };
        let flags = u32::from_be_bytes(flags);
        if flags & HAS_OIDS != 0 {
            return Err(self.wrong("invalid COPY file header (WITH OIDS)"));
        }
        if flags & CRITICAL_FLAGS != 0 {
            return Err(self.wrong("unrecognized critical flags in COPY file header"));
        }
        let extension = usize::try_from(i32::from_be_bytes(extension));
        let extension = extension.map_err(|_| self.wrong("invalid COPY file header (missing length)"))?;
        self.check_length(extension)?;
        if self.buffer.len() < HEADER_BYTES + extension {
            return Ok(false);
        }
        (self.start, self.has_header) = (HEADER_BYTES + extension, true);
        Ok(true)
    }

    /// The record at the beginning, with this number of fields.
    fn record(&mut self, count: i16) -> Result<Option<BinaryRecord>, EngineError> {
        if usize::try_from(count) != Ok(self.columns.len()) {
            let message = format!("row field count is {count}, expected {}", self.columns.len());
            return Err(self.wrong(&message));
        }
        let (first, mut at) = (self.start, self.start + 2);
        let mut fields = Vec::with_capacity(self.columns.len());
        for _ in 0..self.columns.len() {
            let Some(length) = number(&self.buffer, at).map(i32::from_be_bytes) else { return Ok(None) };
            at += 4;
            fields.push(match length {
                -1 => None,
                length => {
                    let length = usize::try_from(length).map_err(|_| self.wrong("invalid field size"))?;
                    self.check_length(at - first + length)?;
                    let field = at..at + length;
                    at = field.end;
                    Some(field)
                }
            });
            if at > self.buffer.len() {
                return Ok(None);
            }
        }
        let session = ReadingSession::of_output();
        let evaluation = Evaluation::new(&session, &[]);
        let mut texts = Vec::with_capacity(fields.len());
        for (field, (name, sql_type)) in fields.into_iter().zip(&self.columns) {
            let Some(field) = field else {
                texts.push(None);
                continue;
            };
            let text = receive(sql_type.id, &self.buffer[field]).and_then(|value| evaluation.text(&value, *sql_type));
            let at_column = |error| {
                let place = format!("COPY {}, line {}, column {name}", self.table, self.row);
                EngineError::from(error).with_context(place)
            };
            texts.push(text.map_err(at_column)?);
        }
        self.start = at;
        Ok(Some(BinaryRecord { row: self.row, byte_count: at - first, texts }))
    }

    fn check_length(&self, bytes: usize) -> Result<(), EngineError> {
        if bytes <= RECORD_BYTES_MAX {
            return Ok(());
        }
        let message = format!("a record of COPY has more than {RECORD_BYTES_MAX} bytes");
        Err(EngineError::new(SqlState::ProgramLimitExceeded, message).with_context(self.place()))
    }

    fn wrong(&self, message: &str) -> EngineError {
        let error = EngineError::new(SqlState::BadCopyFileFormat, message);
        if self.has_header { error.with_context(self.place()) } else { error }
    }

    fn place(&self) -> String {
        format!("COPY {}, line {}", self.table, self.row)
    }
}

/// The bytes of a number at a place, if they are there.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}
