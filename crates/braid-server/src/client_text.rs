//! What the server sends in the client's encoding: the texts in its messages, and the values of rows.
//!
//! Messages and rows are written in UTF8, and translated in place where the client has another encoding. Texts in text format are translated
//! whole; of a value in binary format that depends on its type: of arrays and records of texts it is refused.

use std::borrow::Cow;

use braid_engine::{Encoding, EncodingError};

use crate::error_report::ErrorReport;
use crate::value::Format;

/// Bytes of a field of a RowDescription behind its name.
const FIELD_BYTES: usize = 4 + 2 + 4 + 2 + 4 + 2;

/// Where the binary form of a type has text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BinaryText {
    /// Nowhere.
    Nowhere,
    /// From this byte on.
    From(usize),
    /// Between other bytes, or of a type that is not known here.
    Between,
}

/// Types whose binary form is a text: json, name, text, xml, unknown, char(n), varchar, refcursor, cstring.
const TEXTS: [u32; 9] = [114, 19, 25, 142, 705, 1042, 1043, 1790, 2275];

/// jsonb, whose first byte is its version.
const JSONB: u32 = 3802;

/// Types, and arrays of types, without texts: numbers, times, bytes, addresses, ids, and their like.
const WITHOUT_TEXTS: [u32; 62] = [
    16, 17, 18, 20, 21, 22, 23, 26, 27, 28, 29, 30, 600, 601, 602, 603, 604, 628, 650, 651, 700, 701, 718, 774, 790,
    791, 829, 869, 1000, 1001, 1002, 1005, 1006, 1007, 1016, 1021, 1022, 1028, 1040, 1041, 1082, 1083, 1114, 1115,
    1182, 1183, 1184, 1185, 1186, 1187, 1231, 1266, 1270, 1560, 1561, 1562, 1563, 1700, 2278, 2950, 2951, 3220,
];

impl BinaryText {
    fn of(oid: u32) -> Self {
        match oid {
            JSONB => Self::From(1),
            text if TEXTS.contains(&text) => Self::From(0),
            other if WITHOUT_TEXTS.contains(&other) => Self::Nowhere,
            _ => Self::Between,
        }
    }
}

/// A parameter that a client has sent, in UTF8.
pub(crate) fn received<'a>(
    bytes: &'a [u8],
    (format, oid): (Format, u32),
    encoding: Encoding,
) -> Result<Cow<'a, [u8]>, ErrorReport> {
    let from = match format {
        // Bytes that are not converted are checked where they are read.
        _ if encoding.is_unconverted() => return Ok(bytes.into()),
        Format::Text => 0,
        Format::Binary => match BinaryText::of(oid) {
            BinaryText::Nowhere => return Ok(bytes.into()),
            BinaryText::From(from) => from.min(bytes.len()),
            BinaryText::Between => return Err(no_binary_form(oid, encoding)),
        },
    };
    match encoding.decode(&bytes[from..])? {
        Cow::Borrowed(_) => Ok(bytes.into()),
        Cow::Owned(text) => Ok([&bytes[..from], text.as_bytes()].concat().into()),
    }
}

/// Translates the rows from a place in the output on, whose columns have these formats and types.
///
/// # Errors
/// For a character that the encoding lacks. The rows before it stay.
pub(crate) fn translate_rows(
    output: &mut Vec<u8>,
    from: usize,
    columns: &[(Format, u32)],
    encoding: Encoding,
) -> Result<(), ErrorReport> {
    if encoding.is_unconverted() {
        return Ok(());
    }
    let rows = output.split_off(from);
    let mut rest = &rows[..];
    while let Some((head, values)) = rest.split_first_chunk::<7>() {
        let (row, others) = values.split_at(length_of(head[1..5].try_into().expect("four bytes")) - 6);
        let start = output.len();
        output.extend_from_slice(head);
        if let Err(error) = translate_values(output, row, columns, encoding) {
            output.truncate(start);
            return Err(error);
        }
        put_length(output, start);
        rest = others;
    }
    Ok(())
}

fn translate_values(
    output: &mut Vec<u8>,
    mut row: &[u8],
    columns: &[(Format, u32)],
    encoding: Encoding,
) -> Result<(), ErrorReport> {
    for column in columns {
        let (length, rest) = row.split_first_chunk::<4>().expect("a row has its columns");
        output.extend_from_slice(length);
        row = rest;
        if i32::from_be_bytes(*length) < 0 {
            continue;
        }
        let (value, rest) = row.split_at(length_of(*length));
        row = rest;
        let start = output.len();
        translate_value(output, value, *column, encoding)?;
        let bytes = (output.len() - start) as u32;
        output[start - 4..start].copy_from_slice(&bytes.to_be_bytes());
    }
    Ok(())
}

fn translate_value(
    output: &mut Vec<u8>,
    value: &[u8],
    (format, oid): (Format, u32),
    encoding: Encoding,
) -> Result<(), ErrorReport> {
    let text_from = match format {
        Format::Text => 0,
        Format::Binary => match BinaryText::of(oid) {
            BinaryText::Nowhere => value.len(),
            BinaryText::From(from) => from.min(value.len()),
            BinaryText::Between => return Err(no_binary_form(oid, encoding)),
        },
    };
    let (before, text) = value.split_at(text_from);
    output.extend_from_slice(before);
    output.extend_from_slice(&encoding.encode(utf8(text))?);
    Ok(())
}

/// An encoded message with its texts as `translate` gives them.
pub(crate) fn translated(
    message: &[u8],
    translate: impl Fn(&str) -> Result<Vec<u8>, EncodingError>,
) -> Result<Vec<u8>, EncodingError> {
    let (head, body) = message.split_at(5);
    // How many bytes precede the texts, and follow each.
    let (before, after) = match head[0] {
        b'E' | b'N' | b'S' | b'C' => (0, 0),
        b'A' => (4, 0),
        b'T' => (2, FIELD_BYTES),
        _ => return Ok(message.to_vec()),
    };
    let (start, mut rest) = body.split_at(before);
    let mut out = [head, start].concat();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        out.extend(translate(utf8(&rest[..end]))?);
        let behind = (end + 1 + after).min(rest.len());
        out.extend_from_slice(&rest[end..behind]);
        rest = &rest[behind..];
    }
    out.extend_from_slice(rest);
    put_length(&mut out, 0);
    Ok(out)
}

/// Writes the length of the message that begins at a place and is the last one.
fn put_length(output: &mut [u8], start: usize) {
    let length = (output.len() - start - 1) as u32;
    output[start + 1..start + 5].copy_from_slice(&length.to_be_bytes());
}

fn length_of(bytes: [u8; 4]) -> usize {
    u32::from_be_bytes(bytes) as usize
}

fn utf8(text: &[u8]) -> &str {
    std::str::from_utf8(text).expect("texts are written in UTF8")
}

fn no_binary_form(oid: u32, encoding: Encoding) -> ErrorReport {
    let message = format!(
        "values of the type with oid {oid} are not supported in binary format with client_encoding {}",
        encoding.name()
    );
    ErrorReport::error("0A000", message).with_hint("Use the text format, or SET client_encoding = 'UTF8'.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latin1() -> Encoding {
        Encoding::named("LATIN1").unwrap()
    }

    fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut out = vec![b'D', 0, 0, 0, 0];
        out.extend((values.len() as u16).to_be_bytes());
        for value in values {
            out.extend(value.map_or(-1, |value| value.len() as i32).to_be_bytes());
            out.extend(value.unwrap_or_default());
        }
        put_length(&mut out, 0);
        out
    }

    #[test]
    fn rows_are_translated_by_their_formats() {
        let columns = [(Format::Text, 25), (Format::Binary, 23), (Format::Binary, JSONB), (Format::Binary, 25)];
        let utf8 = row(&[Some("é".as_bytes()), Some(&[0, 0, 0, 200]), Some("\u{1}\"é\"".as_bytes()), None]);
        let mut output = [&b"before"[..], &utf8, &utf8].concat();
        translate_rows(&mut output, 6, &columns, latin1()).unwrap();
        let expected = row(&[Some(b"\xe9"), Some(&[0, 0, 0, 200]), Some(b"\x01\"\xe9\""), None]);
        assert_eq!(output, [&b"before"[..], &expected, &expected].concat());
        let wrong = row(&[Some("€".as_bytes())]);
        let mut output = [row(&[Some(b"a")]), wrong].concat();
        let error = translate_rows(&mut output, 0, &[(Format::Text, 25)], latin1()).unwrap_err();
        assert_eq!((error.code, output), ("22P05", row(&[Some(b"a")])));
        let mut output = row(&[Some(b"")]);
        assert_eq!(translate_rows(&mut output, 0, &[(Format::Binary, 1009)], latin1()).unwrap_err().code, "0A000");
    }

    #[test]
    fn parameters_are_translated_by_their_formats() {
        let of = |bytes: &'static [u8], format, oid| received(bytes, (format, oid), latin1()).map(Cow::into_owned);
        assert_eq!(of(b"\xe9", Format::Text, 1009).unwrap(), "é".as_bytes());
        assert_eq!(of(b"\xe9", Format::Binary, 25).unwrap(), "é".as_bytes());
        assert_eq!(of(b"\xe9", Format::Binary, 17).unwrap(), b"\xe9");
        assert_eq!(of(b"\xe9", Format::Binary, 1009).unwrap_err().code, "0A000");
    }

    #[test]
    fn texts_of_messages_are_translated() {
        let encode = |text: &str| latin1().encode(text).map(Cow::into_owned);
        let notice = b"N\0\0\0\x0dMd\xc3\xa9\0Dx\0\0";
        assert_eq!(translated(notice, encode).unwrap(), b"N\0\0\0\x0cMd\xe9\0Dx\0\0");
        let described = [&b"T\0\0\0\x1b\0\x01\xc3\xa9\0"[..], &[0xff; FIELD_BYTES]].concat();
        let expected = [&b"T\0\0\0\x1a\0\x01\xe9\0"[..], &[0xff; FIELD_BYTES]].concat();
        assert_eq!(translated(&described, encode).unwrap(), expected);
        assert!(translated("N\0\0\0\x0aM€\0\0".as_bytes(), encode).is_err());
    }
}
