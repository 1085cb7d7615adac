//! Texts that come in pieces, as a COPY's do: a character may be cut between two of them.

use std::borrow::Cow;

use super::{Encoding, characters};
use crate::SqlError;

/// Decodes a text piece by piece.
#[derive(Debug)]
pub struct StreamDecoder {
    encoding: Encoding,
    /// The beginning of a character whose end has not come yet.
    begun: Vec<u8>,
}

impl StreamDecoder {
    /// A decoder of a text in an encoding.
    pub fn of(encoding: Encoding) -> Self {
        Self { encoding, begun: Vec::new() }
    }

    /// The next piece in UTF8. What is not converted is handed on as it is, unchecked.
    ///
    /// # Errors
    /// As [`Encoding::decode`].
    pub fn next<'a>(&mut self, piece: &'a [u8]) -> Result<Cow<'a, [u8]>, SqlError> {
        if self.encoding.is_unconverted() {
            return Ok(Cow::Borrowed(piece));
        }
        if self.begun.is_empty() && piece.is_ascii() {
            return Ok(Cow::Borrowed(piece));
        }
        let mut bytes = std::mem::take(&mut self.begun);
        bytes.extend_from_slice(piece);
        self.begun = bytes.split_off(self.end_of_characters(&bytes));
        Ok(Cow::Owned(self.encoding.decode(&bytes)?.into_owned().into_bytes()))
    }

    /// Checks that no character lacks its end.
    ///
    /// # Errors
    /// 22021
    pub fn finish(self) -> Result<(), SqlError> {
        self.encoding.decode(&self.begun).map(|_| ())
    }

    /// The place of a last character that is not complete, or the end.
    fn end_of_characters(&self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            // Of GB18030 the second byte tells the length.
            let is_cut = rest[0] >= 0x80 && (rest.len() == 1 && self.encoding.character_bytes_max() > 1);
            let announced = characters::announced(self.encoding, rest);
            if announced > rest.len() || is_cut && announced > 1 {
                return at;
            }
            at += announced;
        }
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_may_end_anywhere() {
        let text = "a日本ｱ中文é😀é.";
        for name in ["GB18030", "EUC_JP", "SJIS", "LATIN1", "BIG5", "UHC"] {
            let encoding = Encoding::named(name).unwrap();
            let text: String = text.chars().filter(|c| encoding.encode(&c.to_string()).is_ok()).collect();
            let bytes = encoding.encode(&text).unwrap();
            for length in 1..5 {
                let mut decoder = StreamDecoder::of(encoding);
                let mut read = Vec::new();
                bytes.chunks(length).for_each(|piece| read.extend_from_slice(&decoder.next(piece).unwrap()));
                assert_eq!(String::from_utf8(read).unwrap(), text, "{name} {length}");
                decoder.finish().unwrap();
            }
        }
        let mut decoder = StreamDecoder::of(Encoding::named("SJIS").unwrap());
        assert!(decoder.next(b"\x93").unwrap().is_empty());
        assert_eq!(decoder.finish().unwrap_err().message(), "invalid byte sequence for encoding \"SJIS\": 0x93");
    }
}
