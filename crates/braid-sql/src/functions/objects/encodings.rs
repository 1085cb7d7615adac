//! Character encodings by name and number, as PostgreSQL's catalog and clients ask for them.

use crate::encodings::Encoding;
use crate::functions::Implementations;
use crate::input::bytes::NAME_BYTES_MAX;
use crate::{SqlError, Value};

/// Functions of encodings, and of names.
pub const FUNCTIONS: Implementations = &[
    ("PG_encoding_to_char", |arguments, _| Ok(Value::text(encoding(&arguments[0]).map_or("", Encoding::name)))),
    ("PG_char_to_encoding", |arguments, _| Ok(Value::Int4(number_of(arguments[0].as_text())))),
    ("pg_encoding_max_length_sql", |arguments, _| {
        Ok(encoding(&arguments[0]).map_or(Value::Null, |encoding| Value::Int4(encoding.character_bytes_max())))
    }),
    ("getdatabaseencoding", |_, _| Ok(Value::text("UTF8"))),
    ("nameconcatoid", |arguments, _| numbered_name(arguments[0].as_text(), arguments[1].as_oid())),
];

fn encoding(number: &Value) -> Option<Encoding> {
    Encoding::numbered(number.as_int4())
}

/// The number of an encoding, -1 if there is none of the name.
fn number_of(name: &str) -> i32 {
    Encoding::named(name).map_or(-1, Encoding::number)
}

/// A name with a number after it; what would be too long of the name is left out.
fn numbered_name(name: &str, number: u32) -> Result<Value, SqlError> {
    let suffix = format!("_{number}");
    let end = name.floor_char_boundary(NAME_BYTES_MAX - suffix.len());
    Ok(Value::text(format!("{}{suffix}", &name[..end])))
}
