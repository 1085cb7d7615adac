//! Types of stored columns as PostgreSQL's types with modifiers, and back.

use braid_base::{EnumTypeRef, SchemaId};
use braid_sql::SqlType;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_storage::{Catalog, ColumnDef, ColumnType};

/// Digits of a column of `numeric` without precision that CREATE TABLE AS of earlier versions made of values of one scale. All other
/// columns of numerics of more than 37 digits, or with any number of them, have encoded values.
const PLAIN_NUMERIC_DIGITS: u8 = 38;

/// Whether a column stands for one without precision: what it would round is refused.
pub fn is_without_precision(column_type: ColumnType) -> bool {
    matches!(column_type, ColumnType::Numeric { precision: PLAIN_NUMERIC_DIGITS, .. })
}

/// PostgreSQL's type of a column.
pub fn sql_type_of(column_type: ColumnType) -> SqlType {
    match column_type {
        ColumnType::Boolean => SqlType::of(TypeId::BOOL),
        ColumnType::SmallInt => SqlType::of(TypeId::INT2),
        ColumnType::Integer => SqlType::of(TypeId::INT4),
        ColumnType::BigInt => SqlType::of(TypeId::INT8),
        ColumnType::Real => SqlType::of(TypeId::FLOAT4),
        ColumnType::Double => SqlType::of(TypeId::FLOAT8),
        ColumnType::Numeric { precision: PLAIN_NUMERIC_DIGITS, .. } => SqlType::of(TypeId::NUMERIC),
        ColumnType::Numeric { precision, scale } => SqlType::numeric(i32::from(precision), i32::from(scale)),
        ColumnType::Text => SqlType::of(TypeId::TEXT),
        ColumnType::Varchar(length) => with_length(TypeId::VARCHAR, length),
        ColumnType::Char(length) => with_length(TypeId::BPCHAR, length),
        ColumnType::Date => SqlType::of(TypeId::DATE),
        ColumnType::Timestamp => SqlType::of(TypeId::TIMESTAMP),
        ColumnType::TimestampTz => SqlType::of(TypeId::TIMESTAMPTZ),
        ColumnType::Interval => SqlType::of(TypeId::INTERVAL),
        ColumnType::Bytea => SqlType::of(TypeId::BYTEA),
        ColumnType::Uuid => SqlType::of(TypeId::UUID),
        ColumnType::Time => SqlType::of(TypeId::TIME),
        ColumnType::RoundedTime(digits) => with_second_digits(TypeId::TIME, digits),
        ColumnType::RoundedTimestamp(digits) => with_second_digits(TypeId::TIMESTAMP, digits),
        ColumnType::RoundedTimestampTz(digits) => with_second_digits(TypeId::TIMESTAMPTZ, digits),
        ColumnType::Name => SqlType::of(TypeId::NAME),
        ColumnType::UnlimitedVarchar => SqlType::of(TypeId::VARCHAR),
        ColumnType::Enum(enum_type) => SqlType::of(TypeId::of_enum(enum_type.opened())),
        ColumnType::Encoded { type_oid, modifier } => SqlType { id: TypeId(type_oid), modifier },
    }
}

/// The type that a column of a table is declared with: a domain, or that of its values.
pub fn declared_type(catalog: &Catalog, column: &ColumnDef) -> SqlType {
    let domain = column.domain.and_then(|domain| catalog.domain(domain.oid));
    domain.map_or_else(|| sql_type_of(column.column_type), |known| SqlType::of(TypeId::of_domain(known.id)))
}

/// The type with this oid: one of the system's, or an enumerated type or a domain of a catalog, or an array type of one.
pub fn type_of_oid(catalog: &Catalog, oid: u32) -> TypeId {
    own_type_of_oid(catalog, oid).unwrap_or(TypeId(oid))
}

/// The enumerated type or domain with this oid, or the array type of one.
pub fn own_type_of_oid(catalog: &Catalog, oid: u32) -> Option<TypeId> {
    let of_enum = catalog.enum_types().find_map(|known| match oid {
        oid if known.definition.oid == oid => Some(TypeId::of_enum(known.id)),
        oid if known.definition.array_oid == oid => Some(TypeId::of_enum_array(known.id)),
        _ => None,
    });
    of_enum.or_else(|| {
        catalog.domains().find_map(|known| match oid {
            oid if known.definition.oid == oid => Some(TypeId::of_domain(known.id)),
            oid if known.definition.array_oid == oid => Some(TypeId::of_domain_array(known.id)),
            _ => None,
        })
    })
}

/// The enumerated type or domain of a schema, or the array type of one, with this name.
pub fn type_in(catalog: &Catalog, schema: SchemaId, name: &str) -> Option<TypeId> {
    let mut enums = catalog.enum_types().filter(|known| known.definition.schema == schema);
    let of_enum = enums.find_map(|known| match name {
        name if known.definition.name == name => Some(TypeId::of_enum(known.id)),
        name if known.definition.array_name == name => Some(TypeId::of_enum_array(known.id)),
        _ => None,
    });
    let mut domains = catalog.domains().filter(|known| known.definition.schema == schema);
    of_enum.or_else(|| {
        domains.find_map(|known| match name {
            name if known.definition.name == name => Some(TypeId::of_domain(known.id)),
            name if known.definition.array_name == name => Some(TypeId::of_domain_array(known.id)),
            _ => None,
        })
    })
}

/// Lengths are at most 10 485 760; a manifest that says more has the largest modifier.
fn with_length(id: TypeId, length: u32) -> SqlType {
    let length = i32::try_from(length).unwrap_or(i32::MAX).min(i32::MAX - 4);
    SqlType::with_length(id, length)
}

/// The type of a column that stores values of a type; `None` if no column does.
pub fn column_type_of(sql_type: SqlType) -> Option<ColumnType> {
    Some(match sql_type.id {
        TypeId::BOOL => ColumnType::Boolean,
        TypeId::INT2 => ColumnType::SmallInt,
        TypeId::INT4 => ColumnType::Integer,
        TypeId::INT8 => ColumnType::BigInt,
        TypeId::FLOAT4 => ColumnType::Real,
        TypeId::FLOAT8 => ColumnType::Double,
        TypeId::NUMERIC => match sql_type.numeric_digits() {
            Some((precision @ 1..=37, scale @ 0..=37)) if scale <= precision => {
                ColumnType::Numeric { precision: precision as u8, scale: scale as u8 }
            }
            _ => encoded(sql_type),
        },
        TypeId::TEXT => ColumnType::Text,
        TypeId::VARCHAR => length_of(sql_type).map_or(ColumnType::UnlimitedVarchar, ColumnType::Varchar),
        TypeId::BPCHAR => length_of(sql_type).map_or(ColumnType::Text, ColumnType::Char),
        TypeId::DATE => ColumnType::Date,
        TypeId::TIME => second_digits(sql_type).map_or(ColumnType::Time, ColumnType::RoundedTime),
        TypeId::TIMESTAMP => second_digits(sql_type).map_or(ColumnType::Timestamp, ColumnType::RoundedTimestamp),
        TypeId::TIMESTAMPTZ => second_digits(sql_type).map_or(ColumnType::TimestampTz, ColumnType::RoundedTimestampTz),
        TypeId::INTERVAL => ColumnType::Interval,
        TypeId::BYTEA => ColumnType::Bytea,
        TypeId::UUID => ColumnType::Uuid,
        TypeId::NAME => ColumnType::Name,
        id if id.enum_type().is_some() => ColumnType::Enum(EnumTypeRef::Open(id.enum_type()?)),
        id if is_stored_encoded(id) => encoded(sql_type),
        _ => return None,
    })
}

fn with_second_digits(id: TypeId, digits: u8) -> SqlType {
    SqlType { id, modifier: digits.into() }
}

/// The digits of a second to which values are rounded; `None` where none are given.
fn second_digits(sql_type: SqlType) -> Option<u8> {
    u8::try_from(sql_type.modifier).ok().filter(|digits| *digits <= 6)
}

fn encoded(sql_type: SqlType) -> ColumnType {
    ColumnType::Encoded { type_oid: sql_type.id.0, modifier: sql_type.modifier }
}

/// Whether columns have values of a type as bytes of the front end.
fn is_stored_encoded(id: TypeId) -> bool {
    match id {
        TypeId::JSON | TypeId::JSONB | TypeId::JSONPATH | TypeId::TIMETZ | TypeId::OID | TypeId::CHAR => true,
        TypeId::BIT | TypeId::VARBIT => true,
        _ => {
            let element = pg_catalog().element_of_array(id);
            // Stored bytes name the type of the elements, which is a number of the process for an enumerated type.
            let is_stored = |id: TypeId| id.enum_type().is_none() && column_type_of(SqlType::of(id)).is_some();
            element.is_some_and(is_stored)
        }
    }
}

fn length_of(sql_type: SqlType) -> Option<u32> {
    sql_type.length().and_then(|length| u32::try_from(length).ok())
}
