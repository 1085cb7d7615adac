//! Names of types: as PostgreSQL prints them, as statements write them, and what their parameters mean.
//!
//! `pg_type.typname` is the name in the catalog (`int4`). The SQL standard has others (`integer`), and some of several words. Parameters
//! are encoded in one integer, the modifier.

use crate::pg_catalog::key_words::quote_identifier;
use crate::pg_catalog::{TypeId, TypeKind, pg_catalog};
use crate::sql_type::SqlType;
use crate::sql_type::numeric_digits;
use crate::types::interval_modifier::{DAY, FULL_PRECISION, FULL_RANGE, HOUR, MINUTE, MONTH, SECOND, YEAR};
use crate::{SqlError, SqlState};

/// Most characters of `varchar(n)` and `char(n)` (`MaxAttrSize`, 10 MiB).
const LENGTH_MAX: i32 = 10 * 1024 * 1024;
/// Most bits of `bit(n)`.
const BITS_MAX: i32 = LENGTH_MAX * 8;
/// What PostgreSQL adds to lengths and precisions in modifiers: the header of a value of variable length.
const HEADER_BYTES: i32 = 4;
/// Most digits of seconds.
const SECONDS_DIGITS_MAX: i32 = 6;

/// The fields that an interval may be restricted to, and their words.
const INTERVAL_FIELDS: [(i32, &str); 14] = [
    (YEAR, "year"),
    (MONTH, "month"),
    (DAY, "day"),
    (HOUR, "hour"),
    (MINUTE, "minute"),
    (SECOND, "second"),
    (YEAR | MONTH, "year to month"),
    (DAY | HOUR, "day to hour"),
    (DAY | HOUR | MINUTE, "day to minute"),
    (DAY | HOUR | MINUTE | SECOND, "day to second"),
    (HOUR | MINUTE, "hour to minute"),
    (HOUR | MINUTE | SECOND, "hour to second"),
    (MINUTE | SECOND, "minute to second"),
    (FULL_RANGE, ""),
];

/// Names that `typname` does not have.
const STANDARD_NAMES: [(&str, TypeId); 28] = [
    ("bigint", TypeId::INT8),
    ("bit varying", TypeId::VARBIT),
    ("boolean", TypeId::BOOL),
    // The catalog's "char" is one byte; a statement must quote it.
    ("\"char\"", TypeId::CHAR),
    ("\"any\"", TypeId::ANY),
    ("\"bit\"", TypeId::BIT),
    ("char", TypeId::BPCHAR),
    ("char varying", TypeId::VARCHAR),
    ("character", TypeId::BPCHAR),
    ("character varying", TypeId::VARCHAR),
    ("dec", TypeId::NUMERIC),
    ("decimal", TypeId::NUMERIC),
    ("double precision", TypeId::FLOAT8),
    ("float", TypeId::FLOAT8),
    ("int", TypeId::INT4),
    ("integer", TypeId::INT4),
    ("national char", TypeId::BPCHAR),
    ("national char varying", TypeId::VARCHAR),
    ("national character", TypeId::BPCHAR),
    ("national character varying", TypeId::VARCHAR),
    ("nchar", TypeId::BPCHAR),
    ("nchar varying", TypeId::VARCHAR),
    ("real", TypeId::FLOAT4),
    ("smallint", TypeId::INT2),
    ("time with time zone", TypeId::TIMETZ),
    ("time without time zone", TypeId::TIME),
    ("timestamp with time zone", TypeId::TIMESTAMPTZ),
    ("timestamp without time zone", TypeId::TIMESTAMP),
];

/// The type of a name without schema (or in `pg_catalog`), as statements write it, in lower case. `name[]` and `_name` are arrays.
pub fn type_by_name(name: &str) -> Option<TypeId> {
    if let Some(element) = name.strip_suffix("[]") {
        return pg_catalog().type_entry(type_by_name(element)?).array;
    }
    let standard = STANDARD_NAMES.iter().find(|(written, _)| *written == name).map(|(_, id)| *id);
    standard.or_else(|| pg_catalog().type_named(name))
}

/// A type with its parameters, as `format_type(oid, modifier)` prints it: `numeric(10,2)`. Without a modifier, `char(n)` is `bpchar` and
/// `bit(n)` is `"bit"`, because the words `character` and `bit` alone mean a length of one.
pub fn format_type(sql_type: SqlType) -> String {
    if let Some(element) = printed_element(sql_type.id) {
        return format_type(SqlType { id: element, ..sql_type }) + "[]";
    }
    let SqlType { id, modifier } = sql_type;
    match id {
        TypeId::BIT | TypeId::BPCHAR if modifier < 0 => if id == TypeId::BIT { "\"bit\"" } else { "bpchar" }.to_owned(),
        // What is known of a record's fields has no name.
        TypeId::RECORD => type_name(id),
        _ if modifier < 0 || pg_catalog().element_of_array(id) == Some(TypeId::RECORD) => type_name(id),
        TypeId::BOOL | TypeId::INT2 | TypeId::INT4 | TypeId::INT8 | TypeId::FLOAT4 | TypeId::FLOAT8 => type_name(id),
        TypeId::BIT | TypeId::VARBIT => format!("{}({modifier})", type_name(id)),
        TypeId::BPCHAR | TypeId::VARCHAR => with_length(id, modifier - HEADER_BYTES),
        TypeId::NUMERIC => with_digits(modifier),
        TypeId::TIME | TypeId::TIMESTAMP => type_name(id).replacen(' ', &format!("({modifier}) "), 1),
        TypeId::TIMETZ | TypeId::TIMESTAMPTZ => type_name(id).replacen(' ', &format!("({modifier}) "), 1),
        TypeId::INTERVAL => with_fields(modifier),
        _ => format!("{}({modifier})", type_name(id)),
    }
}

fn with_length(id: TypeId, length: i32) -> String {
    if length > 0 { format!("{}({length})", type_name(id)) } else { type_name(id) }
}

fn with_digits(modifier: i32) -> String {
    if modifier < HEADER_BYTES {
        return "numeric".to_owned();
    }
    let (precision, scale) = numeric_digits(modifier);
    format!("numeric({precision},{scale})")
}

fn with_fields(modifier: i32) -> String {
    let (words, precision) = (interval_words(modifier).unwrap_or_default(), modifier & FULL_PRECISION);
    let separator = if words.is_empty() { "" } else { " " };
    let precision = if precision == FULL_PRECISION { String::new() } else { format!("({precision})") };
    format!("interval{separator}{words}{precision}")
}

/// The fields of an interval's modifier as words; `None` if there are no such fields.
pub fn interval_words(modifier: i32) -> Option<&'static str> {
    let fields = modifier >> 16 & FULL_RANGE;
    INTERVAL_FIELDS.iter().find(|(mask, _)| *mask == fields).map(|(_, words)| *words)
}

/// The name of a type without parameters, as messages print it: `integer`, `character varying`, `timestamp without time zone`.
pub fn type_name(id: TypeId) -> String {
    if let Some(element) = printed_element(id) {
        return type_name(element) + "[]";
    }
    let name = match id {
        TypeId::BIT => "bit",
        TypeId::BOOL => "boolean",
        TypeId::BPCHAR => "character",
        TypeId::CHAR => "\"char\"",
        TypeId::ANY => "\"any\"",
        TypeId::FLOAT4 => "real",
        TypeId::FLOAT8 => "double precision",
        TypeId::INT2 => "smallint",
        TypeId::INT4 => "integer",
        TypeId::INT8 => "bigint",
        TypeId::TIME => "time without time zone",
        TypeId::TIMETZ => "time with time zone",
        TypeId::TIMESTAMP => "timestamp without time zone",
        TypeId::TIMESTAMPTZ => "timestamp with time zone",
        TypeId::VARBIT => "bit varying",
        TypeId::VARCHAR => "character varying",
        other => match pg_catalog().find_type(other) {
            Some(entry) if entry.kind == TypeKind::Enum => return quote_identifier(entry.name),
            Some(entry) => entry.name,
            // As PostgreSQL prints a number that no type has.
            None => "???",
        },
    };
    name.to_owned()
}

/// The element of a type that is printed with `[]`. `oidvector` and `int2vector` are arrays, and print their own names.
fn printed_element(id: TypeId) -> Option<TypeId> {
    pg_catalog().find_type(id).and_then(|_| pg_catalog().element_of_dimension(id))
}

/// The modifier of a type that is written with these parameters: precision and scale, a length, digits of seconds. Of an array, that of
/// its elements. -1 for none.
///
/// An interval has one parameter, its digits of seconds, or two: the fields as a mask, then the digits. [`interval_modifier`] knows
/// intervals with fields. Where PostgreSQL warns that it reduces the digits of seconds to six, this refuses.
pub fn modifier_of(type_id: TypeId, parameters: &[i64]) -> Result<i32, SqlError> {
    if parameters.is_empty() {
        return Ok(-1);
    }
    let parameters: Vec<i32> = parameters.iter().map(|value| parameter(*value)).collect::<Result<_, _>>()?;
    let id = pg_catalog().element_of_array(type_id).unwrap_or(type_id);
    match (id, parameters.as_slice()) {
        (TypeId::NUMERIC, [precision]) => numeric_modifier(*precision, 0),
        (TypeId::NUMERIC, [precision, scale]) => numeric_modifier(*precision, *scale),
        (TypeId::NUMERIC, _) => Err(invalid("invalid NUMERIC type modifier".to_owned())),
        (TypeId::BPCHAR, [length]) => Ok(checked_length(*length, "char", LENGTH_MAX)? + HEADER_BYTES),
        (TypeId::VARCHAR, [length]) => Ok(checked_length(*length, "varchar", LENGTH_MAX)? + HEADER_BYTES),
        (TypeId::BIT, [length]) => checked_length(*length, "bit", BITS_MAX),
        (TypeId::VARBIT, [length]) => checked_length(*length, "varbit", BITS_MAX),
        (TypeId::TIME, [digits]) => seconds_digits(*digits, "TIME", ""),
        (TypeId::TIMETZ, [digits]) => seconds_digits(*digits, "TIME", " WITH TIME ZONE"),
        (TypeId::TIMESTAMP, [digits]) => seconds_digits(*digits, "TIMESTAMP", ""),
        (TypeId::TIMESTAMPTZ, [digits]) => seconds_digits(*digits, "TIMESTAMP", " WITH TIME ZONE"),
        (TypeId::INTERVAL, [digits]) => interval_modifier(FULL_RANGE, Some(i64::from(*digits))),
        (TypeId::INTERVAL, [fields, digits]) => interval_modifier(*fields, Some(i64::from(*digits))),
        (TypeId::INTERVAL, _) => Err(invalid("invalid INTERVAL type modifier".to_owned())),
        (
            TypeId::BPCHAR
            | TypeId::VARCHAR
            | TypeId::BIT
            | TypeId::VARBIT
            | TypeId::TIME
            | TypeId::TIMETZ
            | TypeId::TIMESTAMP
            | TypeId::TIMESTAMPTZ,
            _,
        ) => Err(invalid("invalid type modifier".to_owned())),
        _ => {
            let name = pg_catalog().find_type(id).map_or("???", |entry| entry.name);
            let message = format!("type modifier is not allowed for type \"{name}\"");
            Err(SqlError::new(SqlState::SyntaxError, message))
        }
    }
}

/// The fields of an interval by their words, such as `day to second`, for [`interval_modifier`]; no words for all fields.
pub fn interval_fields(words: &str) -> Option<i32> {
    INTERVAL_FIELDS.iter().find(|(_, known)| *known == words).map(|(mask, _)| *mask)
}

/// The modifier of an interval with these fields and digits of seconds.
pub fn interval_modifier(fields: i32, digits: Option<i64>) -> Result<i32, SqlError> {
    if !INTERVAL_FIELDS.iter().any(|(mask, _)| *mask == fields) {
        return Err(invalid("invalid INTERVAL type modifier".to_owned()));
    }
    match digits {
        None if fields == FULL_RANGE => Ok(-1),
        None => Ok(fields << 16 | FULL_PRECISION),
        Some(digits) => Ok(fields << 16 | seconds_digits(parameter(digits)?, "INTERVAL", "")?),
    }
}

/// The type that `float(digits)` means: binary digits of the mantissa.
pub fn float_of_digits(digits: i64) -> Result<TypeId, SqlError> {
    match digits {
        ..1 => Err(invalid("precision for type float must be at least 1 bit".to_owned())),
        1..=24 => Ok(TypeId::FLOAT4),
        25..=53 => Ok(TypeId::FLOAT8),
        54.. => Err(invalid("precision for type float must be less than 54 bits".to_owned())),
    }
}

fn parameter(value: i64) -> Result<i32, SqlError> {
    i32::try_from(value).map_err(|_| {
        SqlError::new(SqlState::NumericOutOfRange, format!("value \"{value}\" is out of range for type integer"))
    })
}

fn numeric_modifier(precision: i32, scale: i32) -> Result<i32, SqlError> {
    if !(1..=1000).contains(&precision) {
        return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and 1000")));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000")));
    }
    Ok(SqlType::numeric(precision, scale).modifier)
}

fn checked_length(length: i32, name: &str, most: i32) -> Result<i32, SqlError> {
    if length < 1 {
        return Err(invalid(format!("length for type {name} must be at least 1")));
    }
    if length > most {
        return Err(invalid(format!("length for type {name} cannot exceed {most}")));
    }
    Ok(length)
}

/// The digits of seconds that a type keeps: the most that there are, if more are asked for.
fn seconds_digits(digits: i32, name: &str, zone: &str) -> Result<i32, SqlError> {
    if digits < 0 {
        return Err(invalid(format!("{name}({digits}){zone} precision must not be negative")));
    }
    Ok(digits.min(SECONDS_DIGITS_MAX))
}

fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::InvalidParameterValue, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_prints_as_format_type_prints_it() {
        // SELECT oid, format_type(oid, NULL), format_type(oid, -1).
        let rows = include_str!("../../tests/resolution/type_names.tsv").lines().map(|line| line.split('\t').collect());
        for row in rows {
            let row: Vec<&str> = row;
            let id = TypeId(row[0].parse().expect("an oid"));
            assert_eq!((type_name(id).as_str(), format_type(SqlType::of(id)).as_str()), (row[1], row[2]));
        }
    }

    #[test]
    fn modifiers_are_encoded_and_printed_as_postgresql_does() {
        // SELECT atttypmod, format_type(atttypid, atttypmod) of columns of these types.
        let check = |name: &str, parameters: &[i64], modifier: i32, printed: &str| {
            let id = type_by_name(name).expect("a type");
            assert_eq!(modifier_of(id, parameters), Ok(modifier), "{name}");
            assert_eq!(format_type(SqlType { id, modifier }), printed);
        };
        check("numeric", &[10, 2], 655_366, "numeric(10,2)");
        check("decimal", &[10], 655_364, "numeric(10,0)");
        check("dec", &[3, -2], 198_658, "numeric(3,-2)");
        check("_numeric", &[5, 1], 327_685, "numeric(5,1)[]");
        check("char", &[5], 9, "character(5)");
        check("varchar", &[5], 9, "character varying(5)");
        check("varchar[]", &[5], 9, "character varying(5)[]");
        check("bit", &[3], 3, "bit(3)");
        check("bit varying", &[3], 3, "bit varying(3)");
        check("time", &[3], 3, "time(3) without time zone");
        check("timetz", &[0], 0, "time(0) with time zone");
        check("timestamp", &[6], 6, "timestamp(6) without time zone");
        check("timestamptz", &[2], 2, "timestamp(2) with time zone");
        check("interval", &[3], 2_147_418_115, "interval(3)");
        check("interval", &[], -1, "interval");
    }

    #[test]
    fn intervals_have_fields() {
        let check = |words: &str, digits: Option<i64>, modifier: i32, printed: &str| {
            let fields = interval_fields(words).expect("fields");
            assert_eq!(interval_modifier(fields, digits), Ok(modifier), "{words}");
            assert_eq!(format_type(SqlType { id: TypeId::INTERVAL, modifier }), printed);
        };
        check("year", None, 327_679, "interval year");
        check("year to month", None, 458_751, "interval year to month");
        check("day to second", Some(3), 470_286_339, "interval day to second(3)");
        check("second", Some(0), 268_435_456, "interval second(0)");
        check("second", Some(9), 268_435_462, "interval second(6)");
        check("minute to second", None, 402_718_719, "interval minute to second");
        assert!(interval_fields("day to year").is_none() && interval_modifier(3, None).is_err());
    }

    #[test]
    fn wrong_parameters_are_refused_in_postgresqls_words() {
        let check = |name: &str, parameters: &[i64], sqlstate: &str, message: &str| {
            let error = modifier_of(type_by_name(name).expect("a type"), parameters).expect_err("an error");
            assert_eq!((error.sqlstate(), error.message()), (sqlstate, message));
        };
        check("numeric", &[0], "22023", "NUMERIC precision 0 must be between 1 and 1000");
        check("numeric", &[1, 2000], "22023", "NUMERIC scale 2000 must be between -1000 and 1000");
        check("numeric", &[1, 2, 3], "22023", "invalid NUMERIC type modifier");
        check("varchar", &[0], "22023", "length for type varchar must be at least 1");
        check("char", &[0], "22023", "length for type char must be at least 1");
        check("varchar", &[20_000_000], "22023", "length for type varchar cannot exceed 10485760");
        check("bit", &[100_000_000], "22023", "length for type bit cannot exceed 83886080");
        check("varbit", &[0], "22023", "length for type varbit must be at least 1");
        check("text", &[3], "42601", "type modifier is not allowed for type \"text\"");
        check("timestamptz", &[-1], "22023", "TIMESTAMP(-1) WITH TIME ZONE precision must not be negative");
        check("numeric", &[99_999_999_999], "22003", "value \"99999999999\" is out of range for type integer");
        check("varchar", &[1, 2], "22023", "invalid type modifier");
        assert_eq!(float_of_digits(0).map_err(|error| error.sqlstate()), Err("22023"));
        assert_eq!((float_of_digits(24), float_of_digits(53)), (Ok(TypeId::FLOAT4), Ok(TypeId::FLOAT8)));
    }

    #[test]
    fn statements_name_types_in_several_ways() {
        let names =
            ["int", "integer", "int4", "double precision", "char", "\"char\"", "_int4", "text[]", "timestamptz"];
        let ids = [
            TypeId::INT4,
            TypeId::INT4,
            TypeId::INT4,
            TypeId::FLOAT8,
            TypeId::BPCHAR,
            TypeId::CHAR,
            TypeId::INT4_ARRAY,
            TypeId::TEXT_ARRAY,
            TypeId::TIMESTAMPTZ,
        ];
        assert_eq!(names.map(type_by_name), ids.map(Some));
        assert_eq!((type_by_name("no_such"), type_by_name("no_such[]")), (None, None));
    }
}
