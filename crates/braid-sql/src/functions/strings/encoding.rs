//! Texts as bytes and bytes as texts: `encode`, `decode`, character encodings, and Unicode's normal forms.
//!
//! Character encodings are those of [`crate::encodings`].

use unicode_normalization::UnicodeNormalization;

use super::bytes::{bytea, hexadecimal};
use super::characters::is_in_class;
use super::results::check_allocation;
use crate::encodings::Encoding;
use crate::functions::Call;
use crate::functions::Implementations;
use crate::input::bytes::{parse_escaped, parse_hex};
use crate::{SqlError, SqlState, Value};

/// Functions of encodings.
pub const FUNCTIONS: Implementations = &[
    ("binary_encode", encode),
    ("binary_decode", decode),
    ("pg_convert_from", |args, _| {
        let encoding = encoding(args[1].as_text(), "source")?;
        check_conversion(encoding, Encoding::UTF8)?;
        Ok(Value::text(encoding.decode(args[0].as_bytea())?))
    }),
    ("pg_convert_to", |args, _| {
        let encoding = encoding(args[1].as_text(), "destination")?;
        check_conversion(Encoding::UTF8, encoding)?;
        Ok(bytea(&encoding.encode(args[0].as_text())?))
    }),
    ("pg_convert", convert),
    ("length_in_encoding", length_in_encoding),
    ("unicode_normalize_func", |args, _| {
        check_normalizable(args[0].as_text())?;
        Ok(Value::text(normalized(args[0].as_text(), form(args[1].as_text())?)))
    }),
    ("unicode_is_normalized", |args, _| {
        let form = form(args[1].as_text())?;
        check_normalizable(args[0].as_text())?;
        Ok(Value::Bool(normalized(args[0].as_text(), form) == args[0].as_text()))
    }),
];

fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::InvalidParameterValue, message)
}

#[derive(Clone, Copy)]
enum BinaryFormat {
    Hex,
    Base64,
    Escape,
}

fn binary_format(name: &str) -> Result<BinaryFormat, SqlError> {
    match name.to_ascii_lowercase().as_str() {
        "hex" => Ok(BinaryFormat::Hex),
        "base64" => Ok(BinaryFormat::Base64),
        "escape" => Ok(BinaryFormat::Escape),
        _ => Err(invalid(format!("unrecognized encoding: \"{name}\""))),
    }
}

fn encode(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let (bytes, format) = (args[0].as_bytea(), binary_format(args[1].as_text())?);
    // No format makes more than four characters of a byte.
    if bytes.len() > super::results::VALUE_BYTES_MAX / 4 {
        check_allocation(match format {
            BinaryFormat::Hex => bytes.len() * 2,
            BinaryFormat::Base64 => bytes.len() / 3 * 4 + bytes.len() / 57,
            BinaryFormat::Escape => bytes.iter().map(|byte| escaped_bytes(*byte)).sum(),
        })?;
    }
    Ok(Value::text(match format {
        BinaryFormat::Hex => hexadecimal(bytes),
        BinaryFormat::Base64 => base64(bytes),
        BinaryFormat::Escape => escaped(bytes),
    }))
}

fn decode(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let text = args[0].as_text();
    Ok(bytea(match binary_format(args[1].as_text())? {
        BinaryFormat::Hex => parse_hex(text)?,
        BinaryFormat::Base64 => parse_base64(text)?,
        BinaryFormat::Escape => parse_escaped(text)?,
    }))
}

fn escaped_bytes(byte: u8) -> usize {
    match byte {
        b'\\' => 2,
        1..=127 => 1,
        _ => 4,
    }
}

/// Zero and what is not ASCII in octal; a backslash twice.
fn escaped(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            1..=127 => out.push(char::from(*byte)),
            _ => out.push_str(&format!("\\{byte:03o}")),
        }
    }
    out
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Characters in a line (RFC 2045). A full line ends with a newline, the last one too.
const BASE64_LINE: usize = 76;

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() / 3 * 4 + bytes.len() / 57 + 4);
    for (at, chunk) in bytes.chunks(3).enumerate() {
        let number = chunk.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let bits = number >> (18 - 6 * digit) & 0x3f;
            out.push(if digit <= chunk.len() { char::from(BASE64[bits as usize]) } else { '=' });
        }
        if chunk.len() == 3 && (at + 1) % (BASE64_LINE / 4) == 0 {
            out.push('\n');
        }
    }
    out
}

/// Groups of four characters, white space anywhere. After the first group with an end mark, groups are as short as that one.
fn parse_base64(text: &str) -> Result<Vec<u8>, SqlError> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut number, mut count) = (0_u32, 0);
    let mut group_bytes = 3;
    for c in text.chars() {
        let bits = match c {
            ' ' | '\t' | '\n' | '\r' => continue,
            '=' => {
                if group_bytes == 3 {
                    group_bytes = match count {
                        2 | 3 => count - 1,
                        _ => return Err(invalid("unexpected \"=\" while decoding base64 sequence".to_owned())),
                    };
                }
                0
            }
            _ => BASE64
                .iter()
                .position(|digit| char::from(*digit) == c)
                .ok_or_else(|| invalid(format!("invalid symbol \"{c}\" found while decoding base64 sequence")))?
                as u32,
        };
        number = number << 6 | bits;
        count += 1;
        if count == 4 {
            bytes.extend_from_slice(&number.to_be_bytes()[1..=group_bytes]);
            (number, count) = (0, 0);
        }
    }
    if count == 0 {
        return Ok(bytes);
    }
    Err(invalid("invalid base64 end sequence".to_owned())
        .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted."))
}

/// Encodings that PostgreSQL converts into each other without UTF8.
const DIRECT: [&[&str]; 4] =
    [&["KOI8R", "WIN1251", "WIN866", "ISO_8859_5"], &["LATIN2", "WIN1250"], &["EUC_JP", "SJIS"], &["EUC_TW", "BIG5"]];

/// An encoding by its name, in which only letters and digits count.
fn encoding(name: &str, role: &str) -> Result<Encoding, SqlError> {
    Encoding::named(name).ok_or_else(|| invalid(format!("invalid {role} encoding name \"{name}\"")))
}

/// Converts bytes from one encoding into another one.
fn convert(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let source = encoding(args[1].as_text(), "source")?;
    let destination = encoding(args[2].as_text(), "destination")?;
    let bytes = args[0].as_bytea();
    if source == destination {
        source.character_count(bytes)?;
        return Ok(bytea(bytes));
    }
    check_conversion(source, destination)?;
    match (source, destination) {
        // Bytes of the one are taken for bytes of the other.
        (Encoding::SQL_ASCII, to) => to.character_count(bytes).map(|_| bytea(bytes)),
        (from, Encoding::SQL_ASCII) => from.character_count(bytes).map(|_| bytea(bytes)),
        _ => Ok(bytea(&destination.encode(&source.decode(bytes)?)?)),
    }
}

/// Checks that PostgreSQL has a conversion, and Braid has it, too.
fn check_conversion(from: Encoding, to: Encoding) -> Result<(), SqlError> {
    if from == to || [from, to].contains(&Encoding::SQL_ASCII) {
        return Ok(());
    }
    let is_direct = DIRECT.iter().any(|group| group.contains(&from.name()) && group.contains(&to.name()));
    let is_of_mule = [from, to].contains(&Encoding::MULE_INTERNAL);
    if is_direct || is_of_mule && ![from, to].contains(&Encoding::UTF8) {
        let message = format!("conversion from {} to {} is not supported", from.name(), to.name());
        return Err(SqlError::unsupported(message).with_hint("Convert to UTF8 first."));
    }
    if is_of_mule || ![from, to].contains(&Encoding::UTF8) {
        let message =
            format!("default conversion function for encoding \"{}\" to \"{}\" does not exist", from.name(), to.name());
        return Err(SqlError::new(SqlState::UndefinedFunction, message));
    }
    from.check_convertible()?;
    to.check_convertible()
}

fn length_in_encoding(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let name = args[1].as_text();
    let encoding = encoding(name, "").map_err(|error| match error.state() {
        SqlState::InvalidParameterValue => invalid(format!("invalid encoding name \"{name}\"")),
        _ => error,
    })?;
    Ok(Value::Int4(encoding.character_count(args[0].as_bytea())? as i32))
}

#[derive(Clone, Copy)]
enum NormalForm {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

fn form(name: &str) -> Result<NormalForm, SqlError> {
    match name.to_ascii_lowercase().as_str() {
        "nfc" => Ok(NormalForm::Nfc),
        "nfd" => Ok(NormalForm::Nfd),
        "nfkc" => Ok(NormalForm::Nfkc),
        "nfkd" => Ok(NormalForm::Nfkd),
        _ => Err(invalid(format!("invalid normalization form: {name}"))),
    }
}

fn normalized(text: &str, form: NormalForm) -> String {
    match form {
        NormalForm::Nfc => text.nfc().collect(),
        NormalForm::Nfd => text.nfd().collect(),
        NormalForm::Nfkc => text.nfkc().collect(),
        NormalForm::Nfkd => text.nfkd().collect(),
    }
}

/// PostgreSQL 15 has the normal forms of Unicode 14. Younger characters have others here, and are refused, with all characters that
/// the C library of that time did not print.
fn check_normalizable(text: &str) -> Result<(), SqlError> {
    let is_known = |c: char| c.is_ascii() || is_in_class("print", c) || is_in_class("cntrl", c);
    match text.chars().find(|c| !is_known(*c)) {
        None => Ok(()),
        Some(c) => {
            let message = format!("normal forms of the character U+{:04X} are not supported", u32::from(c));
            Err(SqlError::unsupported(message))
        }
    }
}
