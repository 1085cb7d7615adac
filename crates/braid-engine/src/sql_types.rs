//! The types of SQL text as column types, and column types of Arrow's fields.
//!
//! Types of PostgreSQL of which Braid has no columns (0A000) are told from those that PostgreSQL lacks, too (42704).

use arrow::datatypes::{DataType as ArrowType, Field};
use braid_catalog::column_types::column_type_of as column_type_of_sql;
use braid_sql::SqlType;
use braid_sql::binder::type_of_syntax;
use braid_sql::functions::SessionFacts;
use braid_sql::pg_catalog::TypeId;
use braid_sql::types::type_names::format_type;
use braid_storage::{ColumnDomain, ColumnType, SQL_TYPE_KEY};
use sqlparser::ast::DataType;

use crate::{EngineError, SqlState};

/// The column type that a type's name and parameters mean, and the domain that they mean.
///
/// # Errors
/// As the binder's for a type in an expression; 0A000 for a type of which no column is.
pub(crate) fn column_type(
    data_type: &DataType,
    session: &dyn SessionFacts,
) -> Result<(ColumnType, Option<ColumnDomain>), EngineError> {
    column_of_type(type_of_syntax(data_type, session)?, session)
}

/// The column type of a type with its modifier, and the domain that it is.
///
/// # Errors
/// 0A000 for a type of which no column is.
pub(crate) fn column_of_type(
    sql_type: SqlType,
    session: &dyn SessionFacts,
) -> Result<(ColumnType, Option<ColumnDomain>), EngineError> {
    let domain = sql_type.id.domain().map(|id| {
        let domain = session.objects().map_or_else(|| id.definition(), |objects| objects.domain(id));
        ColumnDomain { oid: domain.oid, revision: domain.revision }
    });
    Ok((column_type_of_sql_type(sql_type.base())?, domain))
}

/// Types of which there are no columns in PostgreSQL.
const PSEUDO_TYPES: &[&str] = &[
    "any",
    "anyarray",
    "anycompatible",
    "anycompatiblearray",
    "anycompatiblemultirange",
    "anycompatiblenonarray",
    "anycompatiblerange",
    "anyelement",
    "anyenum",
    "anymultirange",
    "anynonarray",
    "anyrange",
    "cstring",
    "event_trigger",
    "internal",
    "record",
    "record[]",
    "trigger",
    "unknown",
    "void",
];

/// The column type of a type with its modifier, which is no domain.
///
/// # Errors
/// 0A000 for a type of which no column is.
pub(crate) fn column_type_of_sql_type(sql_type: SqlType) -> Result<ColumnType, EngineError> {
    let is_cut = match sql_type.id {
        TypeId::INTERVAL => sql_type.modifier >= 0,
        // Blanks at its end do not count.
        TypeId::BPCHAR => sql_type.modifier < 0,
        _ => false,
    };
    let column_type = column_type_of_sql(sql_type).filter(|_| !is_cut);
    column_type.ok_or_else(|| {
        let shown = format_type(sql_type);
        match PSEUDO_TYPES.contains(&&*shown) {
            true => EngineError::new(SqlState::InvalidTableDefinition, format!("column has pseudo-type {shown}")),
            false => EngineError::unsupported(format!("type {shown} is not supported for columns")),
        }
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
    match name {
        "varchar" => return Some(ColumnType::UnlimitedVarchar),
        "name" => return Some(ColumnType::Name),
        _ => {}
    }
    let (base, length) = name.strip_suffix(')')?.split_once('(')?;
    let length: u32 = length.parse().ok()?;
    match base {
        "varchar" => Some(ColumnType::Varchar(length)),
        "char" => Some(ColumnType::Char(length)),
        "time" => second_digits(length).map(ColumnType::RoundedTime),
        "timestamp" => second_digits(length).map(ColumnType::RoundedTimestamp),
        "timestamptz" => second_digits(length).map(ColumnType::RoundedTimestampTz),
        _ => None,
    }
}

fn second_digits(digits: u32) -> Option<u8> {
    u8::try_from(digits).ok().filter(|digits| *digits <= 6)
}

#[cfg(test)]
mod tests {
    use braid_sql::functions::text_input::ReadingSession;
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::parser::Parser;

    use super::*;

    fn read(text: &str) -> Result<ColumnType, EngineError> {
        let syntax = Parser::new(&PostgreSqlDialect {}).try_with_sql(text).unwrap().parse_data_type().unwrap();
        column_type(&syntax, &ReadingSession::of_output()).map(|(column_type, _)| column_type)
    }

    fn encoded(id: TypeId, modifier: i32) -> ColumnType {
        ColumnType::Encoded { type_oid: id.0, modifier }
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
            ("numeric", encoded(TypeId::NUMERIC, -1)),
            ("numeric(12,2)", ColumnType::Numeric { precision: 12, scale: 2 }),
            ("decimal(5)", ColumnType::Numeric { precision: 5, scale: 0 }),
            ("dec(5,1)", ColumnType::Numeric { precision: 5, scale: 1 }),
            ("text", ColumnType::Text),
            ("varchar", ColumnType::UnlimitedVarchar),
            ("varchar(10)", ColumnType::Varchar(10)),
            ("character varying(10)", ColumnType::Varchar(10)),
            ("char", ColumnType::Char(1)),
            ("character(3)", ColumnType::Char(3)),
            ("date", ColumnType::Date),
            ("timestamp", ColumnType::Timestamp),
            ("timestamp without time zone", ColumnType::Timestamp),
            ("timestamp(6)", ColumnType::RoundedTimestamp(6)),
            ("timestamptz", ColumnType::TimestampTz),
            ("timestamp with time zone", ColumnType::TimestampTz),
            ("interval", ColumnType::Interval),
            ("bytea", ColumnType::Bytea),
            ("uuid", ColumnType::Uuid),
            ("pg_catalog.int4", ColumnType::Integer),
            ("time", ColumnType::Time),
            ("time(0)", ColumnType::RoundedTime(0)),
            ("timestamp(3)", ColumnType::RoundedTimestamp(3)),
            ("timestamptz(6)", ColumnType::RoundedTimestampTz(6)),
            ("timestamptz(5)", ColumnType::RoundedTimestampTz(5)),
            ("timetz(2)", encoded(TypeId::TIMETZ, 2)),
            ("name", ColumnType::Name),
            ("jsonb", encoded(TypeId::JSONB, -1)),
            ("json", encoded(TypeId::JSON, -1)),
            ("\"char\"", encoded(TypeId::CHAR, -1)),
            ("numeric(39)", encoded(TypeId::NUMERIC, SqlType::numeric(39, 0).modifier)),
            ("numeric(38,2)", encoded(TypeId::NUMERIC, SqlType::numeric(38, 2).modifier)),
            ("numeric(5,-1)", encoded(TypeId::NUMERIC, SqlType::numeric(5, -1).modifier)),
            ("int[]", encoded(TypeId::INT4_ARRAY, -1)),
            ("varchar(3)[][]", encoded(TypeId(1015), 7)),
        ] {
            assert_eq!(read(text).unwrap(), column_type, "{text}");
        }
    }

    #[test]
    fn what_does_not_exist_is_told_from_what_we_do_not_have() {
        for (text, sqlstate) in [
            ("nosuch", "42704"),
            ("myschema.thing", "3F000"),
            ("serial", "42704"),
            ("numeric(1001)", "22023"),
            ("numeric(5,1001)", "22023"),
            ("bpchar", "0A000"),
            ("point", "0A000"),
            ("interval(3)", "0A000"),
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
