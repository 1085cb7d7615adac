//! A record into fields, for both text formats.
//!
//! All records use one buffer for their fields, without an allocation per value.

use std::ops::Range;

use super::verified_text::check_text;
use crate::statement::CopyOptions;
use crate::{EngineError, SqlState};

/// The fields of one record.
#[derive(Debug, Default)]
pub(crate) struct RecordFields {
    /// Unquoted, unescaped bytes, one field after the other.
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    range: Range<usize>,
    is_null: bool,
}

/// How a CSV field is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CsvForm {
    Plain,
    /// At least a part of it is in quotes.
    Quoted,
}

/// What a field of the text format has escapes of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// Of characters, or none.
    Characters,
    /// Of bytes that may be no text.
    Bytes,
}

impl RecordFields {
    /// Reads a record, which is text, and replaces the previous one.
    ///
    /// # Errors
    /// For quotes left open (22P04), and escapes of bytes that are no text (22021).
    pub fn read(&mut self, record: &[u8], options: &CopyOptions) -> Result<(), EngineError> {
        self.bytes.clear();
        self.fields.clear();
        if options.is_csv() { self.read_csv(record, options) } else { self.read_text(record, options) }
    }

    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// The field's text, `None` for a null.
    pub fn get(&self, at: usize) -> Result<Option<&str>, EngineError> {
        let field = &self.fields[at];
        if field.is_null {
            return Ok(None);
        }
        let text = std::str::from_utf8(&self.bytes[field.range.clone()]);
        text.map(Some).map_err(|_| EngineError::internal("a field of checked text is no UTF-8"))
    }

    fn read_csv(&mut self, record: &[u8], options: &CopyOptions) -> Result<(), EngineError> {
        let (mut start, mut form, mut in_quotes) = (0, CsvForm::Plain, false);
        let mut at = 0;
        while let Some(&byte) = record.get(at) {
            at += 1;
            if in_quotes {
                let next = record.get(at).copied();
                if byte == options.escape && (next == Some(options.quote) || next == Some(options.escape)) {
                    self.bytes.extend(next);
                    at += 1;
                } else if byte == options.quote {
                    in_quotes = false;
                } else {
                    self.bytes.push(byte);
                }
            } else if byte == options.delimiter {
                self.end_csv_field(start, form, options);
                (start, form) = (self.bytes.len(), CsvForm::Plain);
            } else if byte == options.quote {
                (in_quotes, form) = (true, CsvForm::Quoted);
            } else {
                self.bytes.push(byte);
            }
        }
        if in_quotes {
            return Err(EngineError::new(SqlState::BadCopyFileFormat, "unterminated CSV quoted field"));
        }
        self.end_csv_field(start, form, options);
        Ok(())
    }

    /// Only an unquoted field can be null.
    fn end_csv_field(&mut self, start: usize, form: CsvForm, options: &CopyOptions) {
        let range = start..self.bytes.len();
        let is_null = form == CsvForm::Plain && options.is_null(&self.bytes[range.clone()]);
        self.fields.push(Field { range, is_null });
    }

    fn read_text(&mut self, record: &[u8], options: &CopyOptions) -> Result<(), EngineError> {
        let mut rest = record;
        loop {
            let end = end_of_text_field(rest, options.delimiter);
            let start = self.bytes.len();
            let raw = &rest[..end];
            let is_null = options.is_null(raw);
            if !is_null && self.unescape(raw) == Escapes::Bytes {
                check_text(&self.bytes[start..])?;
            }
            self.fields.push(Field { range: start..self.bytes.len(), is_null });
            match rest.get(end + 1..) {
                Some(after) => rest = after,
                None => return Ok(()),
            }
        }
    }

    /// `\b \f \n \r \t \v`, `\ooo`, `\xhh`. Before any other character, a backslash is removed.
    fn unescape(&mut self, raw: &[u8]) -> Escapes {
        let (mut at, mut escapes) = (0, Escapes::Characters);
        while let Some(&byte) = raw.get(at) {
            at += 1;
            if byte != b'\\' {
                self.bytes.push(byte);
                continue;
            }
            let Some(&escaped) = raw.get(at) else {
                self.bytes.push(byte);
                return escapes;
            };
            at += 1;
            let (value, length) = match escaped {
                b'b' => (0x08, 0),
                b'f' => (0x0C, 0),
                b'n' => (b'\n', 0),
                b'r' => (b'\r', 0),
                b't' => (b'\t', 0),
                b'v' => (0x0B, 0),
                b'0'..=b'7' => {
                    let (value, length) = digits(&raw[at - 1..], 8, 3);
                    (value, length - 1)
                }
                b'x' => match digits(&raw[at..], 16, 2) {
                    (_, 0) => (b'x', 0),
                    found => found,
                },
                other => (other, 0),
            };
            if value == 0 || !value.is_ascii() {
                escapes = Escapes::Bytes;
            }
            self.bytes.push(value);
            at += length;
        }
        escapes
    }
}

/// Position of the delimiter that ends the first field, or the end of the record. A delimiter after a backslash is data.
fn end_of_text_field(record: &[u8], delimiter: u8) -> usize {
    let mut at = 0;
    while let Some(&byte) = record.get(at) {
        if byte == delimiter {
            return at;
        }
        at += if byte == b'\\' { 2 } else { 1 };
    }
    record.len()
}

/// A number of up to `length_max` digits as a byte, and its number of digits.
fn digits(text: &[u8], radix: u32, length_max: usize) -> (u8, usize) {
    let mut value = 0_u32;
    let mut length = 0;
    for byte in text.iter().take(length_max) {
        let Some(digit) = char::from(*byte).to_digit(radix) else { break };
        value = value * radix + digit;
        length += 1;
    }
    // \777 is above a byte; PostgreSQL keeps its low eight bits.
    (value as u8, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::CopyFormat;

    fn options(format: CopyFormat, null: &str) -> CopyOptions {
        CopyOptions { null: null.to_owned(), ..CopyOptions::defaults(format) }
    }

    fn fields(record: &str, options: &CopyOptions) -> Vec<Option<String>> {
        let mut fields = RecordFields::default();
        fields.read(record.as_bytes(), options).unwrap();
        (0..fields.len()).map(|at| fields.get(at).unwrap().map(str::to_owned)).collect()
    }

    #[test]
    fn csv_quotes_protect_and_distinguish() {
        let csv = options(CopyFormat::Csv, "");
        for (record, expected) in [
            ("a,b", vec![Some("a"), Some("b")]),
            ("", vec![None]),
            (",", vec![None, None]),
            ("\"\",", vec![Some(""), None]),
            ("\"a,b\",\"c\"\"d\"", vec![Some("a,b"), Some("c\"d")]),
            ("\"x\ny\", z ", vec![Some("x\ny"), Some(" z ")]),
            ("pre\"fix\"ed", vec![Some("prefixed")]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|field| field.map(str::to_owned)).collect();
            assert_eq!(fields(record, &csv), expected, "{record:?}");
        }
        assert_eq!(fields("NULL,\"NULL\"", &options(CopyFormat::Csv, "NULL")), [None, Some("NULL".to_owned())]);
        let mut backslash = options(CopyFormat::Csv, "");
        backslash.escape = b'\\';
        assert_eq!(fields("\"a\\\"b\\\\c\"", &backslash), [Some("a\"b\\c".to_owned())]);
        let error = RecordFields::default().read(b"\"a", &csv).unwrap_err();
        assert_eq!(error.sqlstate(), "22P04");
    }

    #[test]
    fn text_escapes_are_undone_after_nulls_are_found() {
        let text = options(CopyFormat::Text, "\\N");
        for (record, expected) in [
            ("a\tb", vec![Some("a"), Some("b")]),
            ("\\N\t\\\\N", vec![None, Some("\\N")]),
            ("a\\tb\\n\\\\", vec![Some("a\tb\n\\")]),
            ("\\101\\x42\\x\\q", vec![Some("ABxq")]),
            ("a\\\tb", vec![Some("a\tb")]),
            ("\t", vec![Some(""), Some("")]),
        ] {
            let expected: Vec<_> = expected.into_iter().map(|field| field.map(str::to_owned)).collect();
            assert_eq!(fields(record, &text), expected, "{record:?}");
        }
    }

    /// As PostgreSQL 15 answers.
    #[test]
    fn escapes_of_bytes_make_text() {
        let text = options(CopyFormat::Text, "\\N");
        assert_eq!(
            fields("a\\xc3\\xa4b\t\\303\\244\t\\ä", &text),
            ["aäb", "ä", "ä"].map(|field| Some(field.to_owned()))
        );
        for (record, shown) in
            [("a\\000b", "0x00"), ("\\xff", "0xff"), ("\\777b", "0xff"), ("\\200b", "0x80"), ("a\\xc3", "0xc3")]
        {
            let error = RecordFields::default().read(record.as_bytes(), &text).unwrap_err();
            let message = format!("invalid byte sequence for encoding \"UTF8\": {shown}");
            assert_eq!((error.sqlstate(), error.message()), ("22021", message.as_str()), "{record}");
        }
    }
}
