//! The encodings that PostgreSQL has, by name and number (`pg_enc2name_tbl`, `pg_encname_tbl`).

/// A character encoding, by PostgreSQL's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding(u8);

/// Names, and how many bytes a character has at most, by number.
const ENCODINGS: &[(&str, i32)] = &[
    ("SQL_ASCII", 1),
    ("EUC_JP", 3),
    ("EUC_CN", 3),
    ("EUC_KR", 3),
    ("EUC_TW", 4),
    ("EUC_JIS_2004", 3),
    ("UTF8", 4),
    ("MULE_INTERNAL", 4),
    ("LATIN1", 1),
    ("LATIN2", 1),
    ("LATIN3", 1),
    ("LATIN4", 1),
    ("LATIN5", 1),
    ("LATIN6", 1),
    ("LATIN7", 1),
    ("LATIN8", 1),
    ("LATIN9", 1),
    ("LATIN10", 1),
    ("WIN1256", 1),
    ("WIN1258", 1),
    ("WIN866", 1),
    ("WIN874", 1),
    ("KOI8R", 1),
    ("WIN1251", 1),
    ("WIN1252", 1),
    ("ISO_8859_5", 1),
    ("ISO_8859_6", 1),
    ("ISO_8859_7", 1),
    ("ISO_8859_8", 1),
    ("WIN1250", 1),
    ("WIN1253", 1),
    ("WIN1254", 1),
    ("WIN1255", 1),
    ("WIN1257", 1),
    ("KOI8U", 1),
    ("SJIS", 2),
    ("BIG5", 2),
    ("GBK", 2),
    ("UHC", 2),
    ("GB18030", 4),
    ("JOHAB", 3),
    ("SHIFT_JIS_2004", 2),
];

/// Other names, in lower case and without punctuation.
const ALIASES: &[(&str, &str)] = &[
    ("abc", "WIN1258"),
    ("alt", "WIN866"),
    ("iso88591", "LATIN1"),
    ("iso885910", "LATIN6"),
    ("iso885913", "LATIN7"),
    ("iso885914", "LATIN8"),
    ("iso885915", "LATIN9"),
    ("iso885916", "LATIN10"),
    ("iso88592", "LATIN2"),
    ("iso88593", "LATIN3"),
    ("iso88594", "LATIN4"),
    ("iso88599", "LATIN5"),
    ("koi8", "KOI8R"),
    ("mskanji", "SJIS"),
    ("shiftjis", "SJIS"),
    ("tcvn", "WIN1258"),
    ("tcvn5712", "WIN1258"),
    ("unicode", "UTF8"),
    ("vscii", "WIN1258"),
    ("win", "WIN1251"),
    ("win932", "SJIS"),
    ("win936", "GBK"),
    ("win949", "UHC"),
    ("win950", "BIG5"),
    ("windows1250", "WIN1250"),
    ("windows1251", "WIN1251"),
    ("windows1252", "WIN1252"),
    ("windows1253", "WIN1253"),
    ("windows1254", "WIN1254"),
    ("windows1255", "WIN1255"),
    ("windows1256", "WIN1256"),
    ("windows1257", "WIN1257"),
    ("windows1258", "WIN1258"),
    ("windows866", "WIN866"),
    ("windows874", "WIN874"),
    ("windows932", "SJIS"),
    ("windows936", "GBK"),
    ("windows949", "UHC"),
    ("windows950", "BIG5"),
];

impl Encoding {
    /// PostgreSQL's encoding without an encoding.
    pub const SQL_ASCII: Self = Self(0);
    /// The encoding of the database.
    pub const UTF8: Self = Self(6);
    /// PostgreSQL's encoding for many character sets at once.
    pub const MULE_INTERNAL: Self = Self(7);

    /// The encoding of a number.
    pub fn numbered(number: i32) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| usize::from(*number) < ENCODINGS.len()).map(Self)
    }

    /// The encoding of a name. Only letters and digits count, without case.
    pub fn named(name: &str) -> Option<Self> {
        let clean = |name: &str| -> String {
            name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
        };
        let wanted = clean(name);
        let wanted = ALIASES.iter().find(|(alias, _)| *alias == wanted).map_or(wanted, |(_, name)| clean(name));
        let known = ENCODINGS.iter().position(|(name, _)| clean(name) == wanted)?;
        u8::try_from(known).ok().map(Self)
    }

    /// The name, as PostgreSQL shows it.
    pub fn name(self) -> &'static str {
        ENCODINGS[usize::from(self.0)].0
    }

    /// PostgreSQL's number.
    pub fn number(self) -> i32 {
        self.0.into()
    }

    /// The most bytes of a character.
    pub fn character_bytes_max(self) -> i32 {
        ENCODINGS[usize::from(self.0)].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_all_spellings() {
        for (name, canonical) in [
            ("'utf-8'", "UTF8"),
            ("unicode", "UTF8"),
            ("latin 9", "LATIN9"),
            ("ISO-8859-1", "LATIN1"),
            ("Windows-1252", "WIN1252"),
            ("sql_ascii", "SQL_ASCII"),
            ("Shift_JIS", "SJIS"),
            ("mule_internal", "MULE_INTERNAL"),
        ] {
            assert_eq!(Encoding::named(name).map(Encoding::name), Some(canonical), "{name}");
        }
        for name in ["", "utf_8_x", "utf16"] {
            assert_eq!(Encoding::named(name), None, "{name}");
        }
        assert_eq!((Encoding::UTF8.name(), Encoding::MULE_INTERNAL.name()), ("UTF8", "MULE_INTERNAL"));
    }
}
