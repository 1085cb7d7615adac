//! Bytes of a COPY into UTF-8 text without NUL bytes, before anything else looks at them.
//!
//! Bytes arrive in pieces that may end anywhere, also within a character. All text before the first byte that is none is passed
//! on, so that an error in an earlier record is reported first, as by PostgreSQL; after that byte nothing is passed on. So compressed files,
//! UTF-16 and damaged files are errors wherever their bytes are: in a header, in a field, behind the last line end.

use std::ops::Range;

use crate::{EngineError, SqlState};

/// Checks a stream of bytes.
#[derive(Default)]
pub(crate) struct VerifiedText {
    /// The first bytes of a character whose last ones have not come yet.
    begun: Vec<u8>,
    /// What is wrong with the bytes behind the text so far.
    fault: Option<EngineError>,
}

impl VerifiedText {
    /// Adds the text of the next bytes to `text`.
    pub fn push(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        if self.fault.is_some() {
            return;
        }
        if self.begun.is_empty() {
            self.take(bytes, text);
        } else {
            let joined = [&std::mem::take(&mut self.begun), bytes].concat();
            self.take(&joined, text);
        }
    }

    /// Says that no bytes follow.
    pub fn end(&mut self) {
        let begun = std::mem::take(&mut self.begun);
        if !begun.is_empty() && self.fault.is_none() {
            self.fault = Some(invalid_sequence(&begun));
        }
    }

    /// The error of the first byte that is no text, if one was found.
    pub fn fault(&mut self) -> Option<EngineError> {
        self.fault.take()
    }

    fn take(&mut self, bytes: &[u8], text: &mut Vec<u8>) {
        let valid = valid_length(bytes);
        let (valid, rest) = bytes.split_at(valid);
        text.extend_from_slice(valid);
        let Some(first) = rest.first() else { return };
        // The error shows all bytes that the first one announces, in whatever pieces they come.
        if rest.len() < announced_bytes(*first) {
            self.begun = rest.to_vec();
        } else {
            self.fault = Some(invalid_sequence(rest));
        }
    }
}

/// The place of the first of some bytes that are no text: a NUL or no UTF-8.
///
/// # Errors
/// 22021, with the bytes.
pub(crate) fn check_text(bytes: &[u8]) -> Result<&str, EngineError> {
    let invalid: Range<usize> = valid_length(bytes)..bytes.len();
    if !invalid.is_empty() {
        return Err(invalid_sequence(&bytes[invalid]));
    }
    std::str::from_utf8(bytes).map_err(|_| EngineError::internal("checked text is no UTF-8"))
}

/// How many bytes at the beginning are text.
fn valid_length(bytes: &[u8]) -> usize {
    let valid = match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) => error.valid_up_to(),
    };
    bytes[..valid].iter().position(|byte| *byte == 0).unwrap_or(valid)
}

/// How many bytes a character that begins with this byte has.
fn announced_bytes(first: u8) -> usize {
    match first {
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF7 => 4,
        _ => 1,
    }
}

fn invalid_sequence(bytes: &[u8]) -> EngineError {
    let shown = bytes.iter().take(bytes.first().map_or(0, |first| announced_bytes(*first)));
    let shown: Vec<String> = shown.map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
    EngineError::new(SqlState::CharacterNotInRepertoire, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text and the bytes that the error shows, from pieces of a length.
    fn verified(bytes: &[u8], piece: usize) -> (String, Option<String>) {
        let (mut verified, mut text) = (VerifiedText::default(), Vec::new());
        bytes.chunks(piece).for_each(|bytes| verified.push(bytes, &mut text));
        verified.end();
        let shown = verified.fault().map(|error| {
            assert_eq!(error.sqlstate(), "22021");
            error.message().rsplit(": ").next().unwrap().to_owned()
        });
        (String::from_utf8(text).unwrap(), shown)
    }

    /// The bytes shown are PostgreSQL's.
    #[test]
    fn text_before_the_first_fault_is_passed_on_in_any_pieces() {
        for (bytes, text, shown) in [
            (&b"a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"[..], "aä€😀", None),
            (b"a\0b", "a", Some("0x00")),
            (b"\x1f\x8b\x08\0", "\x1f", Some("0x8b")),
            (b"1,2\n\xc3(,x\n", "1,2\n", Some("0xc3 0x28")),
            (b"\xe2\x82", "", Some("0xe2 0x82")),
            (b"\xe2\x82x,1", "", Some("0xe2 0x82 0x78")),
            (b"\xed\xa0\x80", "", Some("0xed 0xa0 0x80")),
            (b"\xff\xfe1", "", Some("0xff")),
            (b"\xf8\x88\x80\x80\x80", "", Some("0xf8")),
        ] {
            for piece in [1, 2, 3, 1000] {
                let expected = (text.to_owned(), shown.map(str::to_owned));
                assert_eq!(verified(bytes, piece), expected, "{bytes:x?} in pieces of {piece}");
            }
        }
    }
}
