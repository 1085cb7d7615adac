//! Character encodings by name and number. Texts in Braid are UTF-8 only; these are what PostgreSQL's catalog and clients name.

use crate::functions::Implementations;
use crate::input::bytes::NAME_BYTES_MAX;
use crate::{SqlError, Value};

/// Functions of encodings, and of names.
pub const FUNCTIONS: Implementations = &[
    ("PG_encoding_to_char", |arguments, _| Ok(Value::text(encoding(&arguments[0]).map_or("", |(name, _)| name)))),
    ("PG_char_to_encoding", |arguments, _| Ok(Value::Int4(number_of(arguments[0].as_text())))),
    ("pg_encoding_max_length_sql", |arguments, _| {
        Ok(encoding(&arguments[0]).map_or(Value::Null, |(_, bytes_max)| Value::Int4(bytes_max)))
    }),
    ("getdatabaseencoding", |_, _| Ok(Value::text("UTF8"))),
    ("nameconcatoid", |arguments, _| numbered_name(arguments[0].as_text(), arguments[1].as_oid())),
];

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

fn encoding(number: &Value) -> Option<(&'static str, i32)> {
    usize::try_from(number.as_int4()).ok().and_then(|number| ENCODINGS.get(number)).copied()
}

/// The number of an encoding, -1 if there is none of the name. Case and punctuation do not matter.
fn number_of(name: &str) -> i32 {
    let clean = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let wanted = clean(name);
    let wanted = ALIASES.iter().find(|(alias, _)| *alias == wanted).map_or(wanted, |(_, name)| clean(name));
    ENCODINGS.iter().position(|(name, _)| clean(name) == wanted).map_or(-1, |number| number as i32)
}

/// A name with a number after it; what would be too long of the name is left out.
fn numbered_name(name: &str, number: u32) -> Result<Value, SqlError> {
    let suffix = format!("_{number}");
    let end = name.floor_char_boundary(NAME_BYTES_MAX - suffix.len());
    Ok(Value::text(format!("{}{suffix}", &name[..end])))
}
