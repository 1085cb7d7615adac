//! `bytea` as text, in the formats of `bytea_output`.

use std::fmt::Write;

use crate::formats::ByteaOutput;

/// Bytes.
pub fn write_bytea(bytes: &[u8], format: ByteaOutput, out: &mut String) {
    match format {
        ByteaOutput::Hex => {
            out.push_str("\\x");
            write_hexadecimal(bytes, out);
        }
        ByteaOutput::Escape => write_escaped(bytes, out),
    }
}

/// Two digits for each byte.
pub fn write_hexadecimal(bytes: &[u8], out: &mut String) {
    const DIGITS: [u8; 16] = *b"0123456789abcdef";
    out.reserve(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// Printable ASCII stands for itself, a backslash is doubled, and every other byte is three octal digits.
fn write_escaped(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => write!(out, "\\{byte:03o}").expect("a String takes everything"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::bytes::parse_bytea;

    #[test]
    fn both_formats_read_back() {
        for (bytes, hex, escaped) in [
            (&b"\x00a\\\xff"[..], "\\x00615cff", "\\000a\\\\\\377"),
            (b"~ \x7f", "\\x7e207f", "~ \\177"),
            (b"", "\\x", ""),
        ] {
            for (format, expected) in [(ByteaOutput::Hex, hex), (ByteaOutput::Escape, escaped)] {
                let mut text = String::new();
                write_bytea(bytes, format, &mut text);
                assert_eq!(text, expected);
                assert_eq!(parse_bytea(&text).unwrap(), bytes);
            }
        }
    }
}
