//! Character encodings of clients and files, and the conversion of texts between them and UTF8, in which Braid keeps them.
//!
//! | module | contents |
//! |---|---|
//! | [`names`] | the encodings that PostgreSQL has, by name and number |
//! | [`characters`] | where characters begin and end |
//! | [`tables`] | which codes are which characters, as PostgreSQL converts them |
//! | [`stream`] | texts that come in pieces |
//!
//! [`Encoding::decode`] and [`Encoding::encode`] fail as PostgreSQL does: 22021 for bytes that are no characters, 22P05 for characters that
//! the other encoding lacks. UTF8 and SQL_ASCII are not converted; texts must be valid UTF8 in both, as they come into a database of UTF8.
//! The tables are PostgreSQL's own, because those of the web's standard differ: they fill the gaps of WIN1252, and take LATIN5 for WIN1254.
//! EUC_JIS_2004, SHIFT_JIS_2004 and JOHAB are refused, as MULE_INTERNAL is in PostgreSQL.

mod characters;
mod names;
mod stream;
mod tables;

use std::borrow::Cow;

pub use names::Encoding;
pub use stream::StreamDecoder;

use crate::{SqlError, SqlState};

/// Most bytes of a text that an error shows.
const SHOWN_BYTES_MAX: usize = 8;

impl Encoding {
    /// Whether texts of it are those of the database: it is UTF8 or SQL_ASCII.
    pub fn is_unconverted(self) -> bool {
        self == Self::UTF8 || self == Self::SQL_ASCII
    }

    /// Checks that texts of it can be read and written.
    ///
    /// # Errors
    /// 0A000
    pub fn check_convertible(self) -> Result<(), SqlError> {
        if self.is_unconverted() || tables::has_table(self) {
            return Ok(());
        }
        Err(SqlError::unsupported(format!("conversion between {} and UTF8 is not supported", self.name())))
    }

    /// The text of bytes in this encoding.
    ///
    /// # Errors
    /// 22021, 22P05, and 0A000 as [`Self::check_convertible`].
    pub fn decode(self, bytes: &[u8]) -> Result<Cow<'_, str>, SqlError> {
        if self.is_unconverted() {
            return self.checked(bytes).map(Cow::Borrowed);
        }
        self.check_convertible()?;
        if let Some(text) = ascii_text(bytes) {
            return Ok(Cow::Borrowed(text));
        }
        let (mut text, mut at) = (String::with_capacity(bytes.len() * 2), 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
            let length = characters::length(self, rest).ok_or_else(|| self.invalid_bytes(rest))?;
            match rest[0] {
                ascii @ 1..=0x7f => text.push(char::from(ascii)),
                _ => text.push(
                    tables::character(self, &rest[..length])
                        .ok_or_else(|| untranslatable(&rest[..length], (self, Self::UTF8)))?,
                ),
            }
            at += length;
        }
        Ok(Cow::Owned(text))
    }

    /// A text as bytes in this encoding.
    ///
    /// # Errors
    /// 22P05, and 0A000 as [`Self::check_convertible`].
    pub fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, SqlError> {
        if self.is_unconverted() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        self.check_convertible()?;
        if text.is_ascii() {
            return Ok(Cow::Borrowed(text.as_bytes()));
        }
        let mut bytes = Vec::with_capacity(text.len());
        for c in text.chars() {
            if c.is_ascii() {
                bytes.push(c as u8);
            } else if !tables::push_code(self, c, &mut bytes) {
                return Err(untranslatable(c.encode_utf8(&mut [0; 4]).as_bytes(), (Self::UTF8, self)));
            }
        }
        Ok(Cow::Owned(bytes))
    }

    /// As [`Self::encode`], with `?` for each character that the encoding lacks.
    pub fn encode_what_there_is(self, text: &str) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len());
        for c in text.chars() {
            match self.encode(c.encode_utf8(&mut [0; 4])) {
                Ok(code) => bytes.extend_from_slice(&code),
                Err(_) => bytes.push(b'?'),
            }
        }
        bytes
    }

    /// The number of characters in bytes of this encoding.
    ///
    /// # Errors
    /// 22021
    pub fn character_count(self, bytes: &[u8]) -> Result<usize, SqlError> {
        if self == Self::UTF8 {
            return Ok(self.checked(bytes)?.chars().count());
        }
        let (mut at, mut count) = (0, 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
            at += characters::length(self, rest).ok_or_else(|| self.invalid_bytes(rest))?;
            count += 1;
        }
        Ok(count)
    }

    /// Bytes as a text of UTF8, which are not converted.
    fn checked(self, bytes: &[u8]) -> Result<&str, SqlError> {
        let zero = bytes.iter().position(|byte| *byte == 0);
        let wrong = |at: usize| Self::UTF8.invalid_bytes(&bytes[at..]);
        match (std::str::from_utf8(bytes), zero) {
            (Ok(text), None) => Ok(text),
            (Ok(_), Some(zero)) => Err(wrong(zero)),
            (Err(error), zero) => Err(wrong(zero.map_or(error.valid_up_to(), |zero| zero.min(error.valid_up_to())))),
        }
    }

    /// The error shows the bytes that the first one announces.
    fn invalid_bytes(self, bytes: &[u8]) -> SqlError {
        let announced = characters::announced(self, bytes).min(bytes.len());
        let message = format!("invalid byte sequence for encoding \"{}\": {}", self.name(), shown(&bytes[..announced]));
        SqlError::new(SqlState::CharacterNotInRepertoire, message)
    }
}

/// Bytes that are a text in every encoding.
fn ascii_text(bytes: &[u8]) -> Option<&str> {
    let is_ascii = bytes.is_ascii() && !bytes.contains(&0);
    std::str::from_utf8(bytes).ok().filter(|_| is_ascii)
}

fn untranslatable(character: &[u8], (from, to): (Encoding, Encoding)) -> SqlError {
    let message = format!(
        "character with byte sequence {} in encoding \"{}\" has no equivalent in encoding \"{}\"",
        shown(character),
        from.name(),
        to.name()
    );
    SqlError::new(SqlState::UntranslatableCharacter, message)
}

fn shown(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
    shown.iter().map(|byte| format!("0x{byte:02x}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Encoding {
        Encoding::named(name).unwrap()
    }

    /// Texts and their bytes, as PostgreSQL converts them.
    #[test]
    fn texts_are_converted_as_postgresql_does() {
        for (encoding, text, bytes) in [
            ("LATIN1", "a é ÿ \u{80}", &b"a \xe9 \xff \x80"[..]),
            ("LATIN9", "€", b"\xa4"),
            ("WIN1252", "€ „a“", b"\x80 \x84a\x93"),
            ("WIN1251", "Привет", b"\xcf\xf0\xe8\xe2\xe5\xf2"),
            ("KOI8R", "Привет", b"\xf0\xd2\xc9\xd7\xc5\xd4"),
            ("EUC_JP", "日本～ｱ丂", b"\xc6\xfc\xcb\xdc\xa1\xc1\x8e\xb1\x8f\xb0\xa1"),
            ("SJIS", "日本ｱ\\~", b"\x93\xfa\x96\x7b\xb1\\~"),
            ("EUC_KR", "한국어", b"\xc7\xd1\xb1\xb9\xbe\xee"),
            ("UHC", "한국어", b"\xc7\xd1\xb1\xb9\xbe\xee"),
            ("BIG5", "中文", b"\xa4\xa4\xa4\xe5"),
            ("EUC_TW", "中文", b"\xc4\xe3\xc5\xc6"),
            ("EUC_CN", "中文", b"\xd6\xd0\xce\xc4"),
            ("GBK", "中文", b"\xd6\xd0\xce\xc4"),
            ("GB18030", "中\u{80}é😀\u{10ffff}", b"\xd6\xd0\x810\x810\xa8\xa6\x949\xfc6\xe32\x9a5"),
        ] {
            let encoding = named(encoding);
            assert_eq!(encoding.encode(text).unwrap(), bytes, "{}", encoding.name());
            assert_eq!(encoding.decode(bytes).unwrap(), text, "{}", encoding.name());
        }
    }

    #[test]
    fn faults_are_postgresql_s() {
        for (encoding, bytes, message) in [
            ("LATIN1", &b"a\0"[..], "invalid byte sequence for encoding \"LATIN1\": 0x00"),
            ("SQL_ASCII", b"\x81\x40", "invalid byte sequence for encoding \"UTF8\": 0x81"),
            ("SJIS", b"\xff", "invalid byte sequence for encoding \"SJIS\": 0xff"),
            ("EUC_JP", b"\x81\x40", "invalid byte sequence for encoding \"EUC_JP\": 0x81 0x40"),
            ("EUC_JP", b"\x8e", "invalid byte sequence for encoding \"EUC_JP\": 0x8e"),
            ("EUC_KR", b"\xa1", "invalid byte sequence for encoding \"EUC_KR\": 0xa1"),
            (
                "WIN1252",
                b"\x81",
                "character with byte sequence 0x81 in encoding \"WIN1252\" has no equivalent in encoding \"UTF8\"",
            ),
        ] {
            assert_eq!(named(encoding).decode(bytes).unwrap_err().message(), message);
        }
        let message =
            "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"";
        assert_eq!(named("LATIN1").encode("x€").unwrap_err().message(), message);
        assert_eq!(named("LATIN1").encode_what_there_is("é€"), b"\xe9?");
        assert_eq!(named("JOHAB").decode(b"a").unwrap_err().state(), SqlState::FeatureNotSupported);
    }
}
