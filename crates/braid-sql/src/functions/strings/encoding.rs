//! Texts as bytes and bytes as texts: `encode`, `decode`, character encodings, and Unicode's normal forms.
//!
//! Of the character encodings there are UTF8 and LATIN1; others are refused.

use unicode_normalization::UnicodeNormalization;

use super::bytes::{bytea, hexadecimal};
use super::characters::is_in_class;
use super::results::check_allocation;
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
        Ok(Value::text(encoding.decode(args[0].as_bytea())?))
    }),
    ("pg_convert_to", |args, _| {
        let encoding = encoding(args[1].as_text(), "destination")?;
        Ok(bytea(encoding.encode(args[0].as_text())?))
    }),
    ("pg_convert", |args, _| {
        let source = encoding(args[1].as_text(), "source")?;
        let destination = encoding(args[2].as_text(), "destination")?;
        Ok(bytea(destination.encode(&source.decode(args[0].as_bytea())?)?))
    }),
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Latin1,
}

/// The beginnings of the names of PostgreSQL's other encodings, without punctuation.
const OTHER_ENCODINGS: &[&str] = &[
    "abc",
    "alt",
    "big5",
    "euc",
    "gb18030",
    "gbk",
    "iso8859",
    "johab",
    "koi8",
    "latin",
    "mskanji",
    "muleinternal",
    "shiftjis",
    "sjis",
    "sqlascii",
    "tcvn",
    "uhc",
    "vscii",
    "win",
];

/// An encoding by its name, in which only letters and digits count.
fn encoding(name: &str, role: &str) -> Result<Encoding, SqlError> {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    match letters.as_str() {
        "utf8" | "unicode" => Ok(Encoding::Utf8),
        "latin1" | "iso88591" => Ok(Encoding::Latin1),
        other if OTHER_ENCODINGS.iter().any(|known| other.starts_with(known)) => {
            Err(SqlError::unsupported(format!("the encoding \"{name}\" is not supported")))
        }
        _ => Err(invalid(format!("invalid {role} encoding name \"{name}\""))),
    }
}

impl Encoding {
    fn decode(self, bytes: &[u8]) -> Result<String, SqlError> {
        let zero = bytes.iter().position(|byte| *byte == 0);
        let text = match self {
            Self::Utf8 => std::str::from_utf8(bytes).map(str::to_owned).map_err(|error| error.valid_up_to()),
            Self::Latin1 => Ok(bytes.iter().copied().map(char::from).collect()),
        };
        let wrong = match (&text, zero) {
            (Err(wrong), Some(zero)) => Some(zero.min(*wrong)),
            (Err(wrong), None) => Some(*wrong),
            (Ok(_), zero) => zero,
        };
        match (text, wrong) {
            (Ok(text), None) => Ok(text),
            (_, wrong) => Err(self.invalid_bytes(&bytes[wrong.unwrap_or(0)..])),
        }
    }

    fn encode(self, text: &str) -> Result<Vec<u8>, SqlError> {
        match self {
            Self::Utf8 => Ok(text.as_bytes().to_vec()),
            Self::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).map_err(|_| not_in_latin1(c))).collect(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF8",
            Self::Latin1 => "LATIN1",
        }
    }

    /// The error shows the bytes that the first one announces.
    fn invalid_bytes(self, bytes: &[u8]) -> SqlError {
        let announced = match (self, bytes.first()) {
            (Self::Utf8, Some(0xC0..=0xDF)) => 2,
            (Self::Utf8, Some(0xE0..=0xEF)) => 3,
            (Self::Utf8, Some(0xF0..=0xF7)) => 4,
            _ => 1,
        };
        let shown = shown_bytes(&bytes[..announced.min(bytes.len())]);
        let message = format!("invalid byte sequence for encoding \"{}\": {shown}", self.name());
        SqlError::new(SqlState::CharacterNotInRepertoire, message)
    }
}

fn shown_bytes(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

fn not_in_latin1(c: char) -> SqlError {
    let mut buffer = [0; 4];
    let shown = shown_bytes(c.encode_utf8(&mut buffer).as_bytes());
    let message =
        format!("character with byte sequence {shown} in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"");
    SqlError::new(SqlState::UntranslatableCharacter, message)
}

fn length_in_encoding(args: &[Value], _: &Call<'_>) -> Result<Value, SqlError> {
    let name = args[1].as_text();
    let encoding = encoding(name, "").map_err(|error| match error.state() {
        SqlState::InvalidParameterValue => invalid(format!("invalid encoding name \"{name}\"")),
        _ => error,
    })?;
    Ok(Value::Int4(encoding.decode(args[0].as_bytea())?.chars().count() as i32))
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
