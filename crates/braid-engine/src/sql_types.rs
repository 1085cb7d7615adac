//! The types of SQL text as column types, and column types of Arrow's fields.
//!
//! This module defines the names of types, their parameters, and the types of PostgreSQL that Braid lacks (0A000), as opposed to
//! types that PostgreSQL lacks, too (42704).

use arrow::datatypes::{DataType as ArrowType, Field};
pub(crate) use braid_catalog::column_types::NUMERIC_DEFAULT;
use braid_storage::{ColumnType, SQL_TYPE_KEY};
use sqlparser::ast::{CharacterLength, DataType, ExactNumberInfo, TimezoneInfo};

use crate::names::fold_parts;
use crate::{EngineError, SqlState};

/// Longest `varchar(n)`, as in PostgreSQL.
const CHARACTERS_MAX: u64 = 10_485_760;

/// The column type that a type's name and parameters mean.
pub(crate) fn column_type(data_type: &DataType) -> Result<ColumnType, EngineError> {
    Ok(match data_type {
        DataType::Boolean | DataType::Bool => ColumnType::Boolean,
        DataType::SmallInt(None) | DataType::Int2(None) => ColumnType::SmallInt,
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => ColumnType::Integer,
        DataType::BigInt(None) | DataType::Int8(None) => ColumnType::BigInt,
        DataType::Real | DataType::Float4 => ColumnType::Real,
        DataType::Float(precision) => float(precision)?,
        DataType::DoublePrecision | DataType::Float8 => ColumnType::Double,
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => numeric(info)?,
        DataType::Text => ColumnType::Text,
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            characters(length.as_ref())?.map_or(ColumnType::Text, ColumnType::Varchar)
        }
        DataType::Char(length) | DataType::Character(length) => {
            ColumnType::Char(characters(length.as_ref())?.unwrap_or(1))
        }
        DataType::Date => ColumnType::Date,
        DataType::Timestamp(precision, zone) => timestamp(*precision, zone)?,
        DataType::TimestampNtz(precision) => timestamp(*precision, &TimezoneInfo::None)?,
        DataType::Interval { fields: None, precision: None } => ColumnType::Interval,
        DataType::Bytea => ColumnType::Bytea,
        DataType::Uuid => ColumnType::Uuid,
        DataType::Custom(name, parameters) => return named(&fold_parts(name)?, parameters),
        other => return Err(not_here(&other.to_string())),
    })
}

/// The types that reach us by name only, such as `pg_catalog.int4`.
fn named(name: &[String], parameters: &[String]) -> Result<ColumnType, EngineError> {
    let last = match name {
        [name] => name,
        [schema, name] if schema == "pg_catalog" => name,
        _ => return Err(undefined_type(&name.join("."))),
    };
    let column_type = match last.as_str() {
        "bool" | "boolean" => ColumnType::Boolean,
        "int2" | "smallint" => ColumnType::SmallInt,
        "int4" | "int" | "integer" => ColumnType::Integer,
        "int8" | "bigint" => ColumnType::BigInt,
        "float4" | "real" => ColumnType::Real,
        "float8" => ColumnType::Double,
        "numeric" | "decimal" => NUMERIC_DEFAULT,
        "text" | "varchar" => ColumnType::Text,
        "date" => ColumnType::Date,
        "timestamp" => ColumnType::Timestamp,
        "timestamptz" => ColumnType::TimestampTz,
        "interval" => ColumnType::Interval,
        "bytea" => ColumnType::Bytea,
        "uuid" => ColumnType::Uuid,
        "serial" | "serial4" | "bigserial" | "serial8" | "smallserial" | "serial2" => {
            return Err(EngineError::unsupported(format!(
                "type {last} is not supported: Braid has no sequences; INSERT or COPY must provide the values"
            )));
        }
        _ => return Err(not_here(last)),
    };
    if !parameters.is_empty() {
        let message = format!("type modifier is not allowed for type \"{last}\"");
        return Err(EngineError::new(SqlState::SyntaxError, message));
    }
    Ok(column_type)
}

/// Types that PostgreSQL has and Braid has not; and types that neither has.
fn not_here(name: &str) -> EngineError {
    // Texts of `name` end at 63 bytes, and blanks at the end of a `bpchar` without a length do not count.
    const POSTGRESQL_ONLY: [&str; 38] = [
        "name",
        "bpchar",
        "char",
        "jsonpath",
        "macaddr8",
        "pg_lsn",
        "regtype",
        "xid",
        "json",
        "jsonb",
        "xml",
        "time",
        "timetz",
        "money",
        "inet",
        "cidr",
        "macaddr",
        "bit",
        "varbit",
        "point",
        "line",
        "lseg",
        "box",
        "path",
        "polygon",
        "circle",
        "tsvector",
        "tsquery",
        "int4range",
        "int8range",
        "numrange",
        "tsrange",
        "tstzrange",
        "daterange",
        "oid",
        "regclass",
        "interval",
        "hstore",
    ];
    let word = name.to_lowercase();
    let base = word.split(['(', ' ']).next().unwrap_or_default();
    if POSTGRESQL_ONLY.contains(&base) || word.ends_with("[]") || word.starts_with("array") {
        EngineError::unsupported(format!("type {word} is not supported for columns"))
    } else {
        undefined_type(&word)
    }
}

fn undefined_type(name: &str) -> EngineError {
    EngineError::new(SqlState::UndefinedObject, format!("type \"{name}\" does not exist"))
}

fn float(info: &ExactNumberInfo) -> Result<ColumnType, EngineError> {
    match *info {
        ExactNumberInfo::None => Ok(ColumnType::Double),
        ExactNumberInfo::Precision(1..=24) => Ok(ColumnType::Real),
        ExactNumberInfo::Precision(25..=53) => Ok(ColumnType::Double),
        _ => {
            let message = "precision for type float must be between 1 and 53 bits";
            Err(EngineError::new(SqlState::InvalidParameterValue, message))
        }
    }
}

fn numeric(info: &ExactNumberInfo) -> Result<ColumnType, EngineError> {
    let (precision, scale) = match *info {
        ExactNumberInfo::None => return Ok(NUMERIC_DEFAULT),
        ExactNumberInfo::Precision(precision) => (precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (precision, scale),
    };
    // PostgreSQL's limits.
    if !(1..=1000).contains(&precision) {
        let message = format!("NUMERIC precision {precision} must be between 1 and 1000");
        return Err(EngineError::new(SqlState::InvalidParameterValue, message));
    }
    if !(-1000..=1000).contains(&scale) {
        let message = format!("NUMERIC scale {scale} must be between -1000 and 1000");
        return Err(EngineError::new(SqlState::InvalidParameterValue, message));
    }
    if precision > 38 || !(0..=precision as i64).contains(&scale) {
        let message = format!("type numeric({precision},{scale}) is not supported for columns");
        let detail = "The precision of a column is at most 38, and its scale is between 0 and the precision.";
        return Err(EngineError::unsupported(message).with_detail(detail));
    }
    Ok(ColumnType::Numeric { precision: precision as u8, scale: scale as u8 })
}

fn characters(length: Option<&CharacterLength>) -> Result<Option<u32>, EngineError> {
    match length {
        None => Ok(None),
        Some(CharacterLength::IntegerLength { length, .. }) if (1..=CHARACTERS_MAX).contains(length) => {
            Ok(Some(*length as u32))
        }
        Some(length) => {
            let message = format!("length {length} of a character type must be between 1 and {CHARACTERS_MAX}");
            Err(EngineError::new(SqlState::InvalidParameterValue, message))
        }
    }
}

fn timestamp(precision: Option<u64>, zone: &TimezoneInfo) -> Result<ColumnType, EngineError> {
    if !matches!(precision, None | Some(6)) {
        return Err(EngineError::unsupported("timestamps have microseconds; other precisions are not supported"));
    }
    Ok(match zone {
        TimezoneInfo::Tz | TimezoneInfo::WithTimeZone => ColumnType::TimestampTz,
        TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => ColumnType::Timestamp,
    })
}

/// The column type for a result column of a query, for CREATE TABLE AS and for loading files. `None` if no column can
/// have that type.
pub(crate) fn column_type_of(field: &Field) -> Option<ColumnType> {
    if let Some(column_type) = field.metadata().get(SQL_TYPE_KEY).and_then(|name| declared(name)) {
        return Some(column_type);
    }
    column_type_of_arrow(field.data_type())
}

/// The column type that holds every value of an Arrow type.
pub(crate) fn column_type_of_arrow(data_type: &ArrowType) -> Option<ColumnType> {
    Some(match data_type {
        ArrowType::Boolean => ColumnType::Boolean,
        ArrowType::Int8 | ArrowType::UInt8 | ArrowType::Int16 => ColumnType::SmallInt,
        ArrowType::UInt16 | ArrowType::Int32 => ColumnType::Integer,
        ArrowType::UInt32 | ArrowType::Int64 => ColumnType::BigInt,
        ArrowType::UInt64 => ColumnType::Numeric { precision: 20, scale: 0 },
        ArrowType::Float16 | ArrowType::Float32 => ColumnType::Real,
        ArrowType::Float64 => ColumnType::Double,
        ArrowType::Decimal32(precision, scale)
        | ArrowType::Decimal64(precision, scale)
        | ArrowType::Decimal128(precision, scale)
            if *scale >= 0 && *scale as u8 <= *precision =>
        {
            ColumnType::Numeric { precision: *precision, scale: *scale as u8 }
        }
        ArrowType::Utf8 | ArrowType::LargeUtf8 | ArrowType::Utf8View | ArrowType::Null => ColumnType::Text,
        ArrowType::Date32 | ArrowType::Date64 => ColumnType::Date,
        ArrowType::Timestamp(_, None) => ColumnType::Timestamp,
        ArrowType::Timestamp(_, Some(_)) => ColumnType::TimestampTz,
        ArrowType::Interval(_) => ColumnType::Interval,
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => ColumnType::Bytea,
        ArrowType::FixedSizeBinary(16) => ColumnType::Uuid,
        ArrowType::FixedSizeBinary(_) => ColumnType::Bytea,
        ArrowType::Dictionary(_, values) => return column_type_of_arrow(values),
        _ => return None,
    })
}

/// The inverse of what [`ColumnType::field`] writes.
fn declared(name: &str) -> Option<ColumnType> {
    let (base, length) = name.strip_suffix(')')?.split_once('(')?;
    let length = length.parse().ok()?;
    match base {
        "varchar" => Some(ColumnType::Varchar(length)),
        "char" => Some(ColumnType::Char(length)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn read(text: &str) -> Result<ColumnType, EngineError> {
        column_type(&Parser::new(&PostgreSqlDialect {}).try_with_sql(text).unwrap().parse_data_type().unwrap())
    }

    #[test]
    fn every_spelling_of_postgresql_reads() {
        for (text, column_type) in [
            ("boolean", ColumnType::Boolean),
            ("bool", ColumnType::Boolean),
            ("smallint", ColumnType::SmallInt),
            ("int2", ColumnType::SmallInt),
            ("int", ColumnType::Integer),
            ("integer", ColumnType::Integer),
            ("int4", ColumnType::Integer),
            ("bigint", ColumnType::BigInt),
            ("int8", ColumnType::BigInt),
            ("real", ColumnType::Real),
            ("float4", ColumnType::Real),
            ("float(24)", ColumnType::Real),
            ("float", ColumnType::Double),
            ("double precision", ColumnType::Double),
            ("float8", ColumnType::Double),
            ("numeric", NUMERIC_DEFAULT),
            ("numeric(12,2)", ColumnType::Numeric { precision: 12, scale: 2 }),
            ("decimal(5)", ColumnType::Numeric { precision: 5, scale: 0 }),
            ("dec(5,1)", ColumnType::Numeric { precision: 5, scale: 1 }),
            ("text", ColumnType::Text),
            ("varchar", ColumnType::Text),
            ("varchar(10)", ColumnType::Varchar(10)),
            ("character varying(10)", ColumnType::Varchar(10)),
            ("char", ColumnType::Char(1)),
            ("character(3)", ColumnType::Char(3)),
            ("date", ColumnType::Date),
            ("timestamp", ColumnType::Timestamp),
            ("timestamp without time zone", ColumnType::Timestamp),
            ("timestamp(6)", ColumnType::Timestamp),
            ("timestamptz", ColumnType::TimestampTz),
            ("timestamp with time zone", ColumnType::TimestampTz),
            ("interval", ColumnType::Interval),
            ("bytea", ColumnType::Bytea),
            ("uuid", ColumnType::Uuid),
            ("pg_catalog.int4", ColumnType::Integer),
        ] {
            assert_eq!(read(text).unwrap(), column_type, "{text}");
        }
    }

    #[test]
    fn what_does_not_exist_is_told_from_what_we_do_not_have() {
        for (text, sqlstate) in [
            ("nosuch", "42704"),
            ("myschema.thing", "42704"),
            ("serial", "0A000"),
            ("json", "0A000"),
            ("jsonb", "0A000"),
            ("time", "0A000"),
            ("int[]", "0A000"),
            ("timestamp(3)", "0A000"),
            ("numeric(39)", "0A000"),
            ("numeric(5,6)", "0A000"),
            ("numeric(5,-1)", "0A000"),
            ("numeric(1001)", "22023"),
            ("numeric(5,1001)", "22023"),
            ("bpchar", "0A000"),
            ("name", "0A000"),
            ("\"char\"", "0A000"),
            ("varchar(0)", "22023"),
            ("float(54)", "22023"),
        ] {
            assert_eq!(read(text).unwrap_err().sqlstate(), sqlstate, "{text}");
        }
    }

    #[test]
    fn fields_remember_lengths() {
        for column_type in [ColumnType::Varchar(7), ColumnType::Char(2), ColumnType::Text, ColumnType::Uuid] {
            assert_eq!(column_type_of(&column_type.field("a", true)), Some(column_type));
        }
    }
}
