//! The names of types in statements.

use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, Ident, IntervalFields, ObjectName, ObjectNamePart,
    TimezoneInfo,
};

use super::places::Place;
use super::{Binder, Statement, fold};
use crate::functions::SessionFacts;
use crate::functions::call::{is_schema, no_schema};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::tables::NoTables;
use crate::types::type_names::{
    float_of_digits, interval_fields, interval_modifier, modifier_of, type_by_name, type_name,
};
use crate::{SqlError, SqlState, SqlType};

/// The type that a name and its parameters mean outside of queries, in the definition of a table.
///
/// # Errors
/// For a type that does not exist (42704), and parameters that it does not have.
pub fn type_of_syntax(syntax: &DataType, session: &dyn SessionFacts) -> Result<SqlType, SqlError> {
    Statement::new("", session, &NoTables).binder().type_of(syntax)
}

impl Binder<'_> {
    /// The type that a name and its parameters mean.
    pub(super) fn type_of(&self, syntax: &DataType) -> Result<SqlType, SqlError> {
        use DataType as D;
        let plain = |id| Ok(SqlType::of(id));
        match syntax {
            D::Boolean | D::Bool => plain(TypeId::BOOL),
            D::SmallInt(None) | D::Int2(None) => plain(TypeId::INT2),
            D::Int(None) | D::Integer(None) | D::Int4(None) => plain(TypeId::INT4),
            D::BigInt(None) | D::Int8(None) => plain(TypeId::INT8),
            D::Real | D::Float4 => plain(TypeId::FLOAT4),
            D::DoublePrecision | D::Float8 => plain(TypeId::FLOAT8),
            D::Float(info) => float(info),
            D::Numeric(info) | D::Decimal(info) | D::Dec(info) => numeric(info),
            D::Text => plain(TypeId::TEXT),
            D::Varchar(length) | D::CharacterVarying(length) | D::CharVarying(length) => {
                characters(TypeId::VARCHAR, length.as_ref(), None)
            }
            D::Char(length) | D::Character(length) => characters(TypeId::BPCHAR, length.as_ref(), Some(1)),
            D::Bit(length) => sized(TypeId::BIT, Some(length.unwrap_or(1))),
            D::BitVarying(length) | D::VarBit(length) => sized(TypeId::VARBIT, *length),
            D::Date => plain(TypeId::DATE),
            D::Time(precision, zone) => seconds(*precision, zone, TypeId::TIME, TypeId::TIMETZ),
            D::Timestamp(precision, zone) => seconds(*precision, zone, TypeId::TIMESTAMP, TypeId::TIMESTAMPTZ),
            D::TimestampNtz(precision) => {
                seconds(*precision, &TimezoneInfo::None, TypeId::TIMESTAMP, TypeId::TIMESTAMPTZ)
            }
            D::Interval { fields, precision } => interval(fields.as_ref(), *precision),
            D::Bytea => plain(TypeId::BYTEA),
            D::Uuid => plain(TypeId::UUID),
            D::JSON => plain(TypeId::JSON),
            D::JSONB => plain(TypeId::JSONB),
            D::Regclass => plain(TypeId::REGCLASS),
            D::Array(ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element)) => {
                array_of(self.type_of(element)?)
            }
            D::Custom(name, parameters) => self.named_type(name, parameters),
            other => Err(SqlError::unsupported(format!("type {other} is not supported"))),
        }
    }

    /// A type that the parser does not know.
    fn named_type(&self, name: &ObjectName, parameters: &[String]) -> Result<SqlType, SqlError> {
        let parts: Option<Vec<&Ident>> = name.0.iter().map(ObjectNamePart::as_ident).collect();
        let parts = parts.ok_or_else(|| SqlError::unsupported(format!("type {name} is not supported")))?;
        let place = parts.first().map_or(Place::Nowhere, |first| Place::At(first.span.start));
        let unknown = |shown: String| {
            let error = SqlError::new(SqlState::UndefinedObject, format!("type \"{shown}\" does not exist"));
            self.places.mark(error, place)
        };
        let shown = parts.iter().map(|part| fold(part)).collect::<Vec<_>>().join(".");
        let (schema, last) = match &parts[..] {
            [last] => (None, last),
            [schema, last] => (Some(fold(schema)), last),
            _ => return Err(unknown(shown)),
        };
        let folded = fold(last);
        let of_system = match &schema {
            // A quoted name is a name of the catalog; `"char"` is not `char`.
            None if last.quote_style.is_none() => type_by_name(&folded),
            None => pg_catalog().type_named(&folded),
            Some(schema) if schema == "pg_catalog" => pg_catalog().type_named(&folded),
            Some(_) => None,
        };
        let of_users = || self.session.objects()?.type_id(schema.as_deref(), &folded);
        let id = match (of_system.or_else(of_users), &schema) {
            (Some(id), _) => id,
            (None, Some(schema)) if !is_schema(self.session, schema) => {
                return Err(self.places.mark(no_schema(schema), place));
            }
            (None, _) => return Err(unknown(shown)),
        };
        if id.is_domain_array() {
            return Err(SqlError::unsupported(format!("type {} is not supported", type_name(id))));
        }
        if parameters.is_empty() {
            return Ok(SqlType::of(id));
        }
        let parameters: Result<Vec<i64>, _> = parameters.iter().map(|parameter| parameter.parse()).collect();
        let parameters = parameters.map_err(|_| {
            let message = "type modifiers must be simple constants or identifiers";
            self.places.mark(SqlError::new(SqlState::SyntaxError, message), place)
        })?;
        Ok(SqlType { id, modifier: modifier_of(id, &parameters).map_err(|error| self.places.mark(error, place))? })
    }
}

fn array_of(element: SqlType) -> Result<SqlType, SqlError> {
    // An array of arrays is an array with more dimensions.
    if pg_catalog().element_of_dimension(element.id).is_some() {
        return Ok(element);
    }
    if element.id.domain().is_some() {
        return Err(SqlError::unsupported(format!("arrays of domain {} are not supported", type_name(element.id))));
    }
    let array = pg_catalog().type_entry(element.id).array;
    let array = array.ok_or_else(|| SqlError::unsupported("arrays of this type are not supported"))?;
    Ok(SqlType { id: array, modifier: element.modifier })
}

fn float(info: &ExactNumberInfo) -> Result<SqlType, SqlError> {
    match *info {
        ExactNumberInfo::None => Ok(SqlType::of(TypeId::FLOAT8)),
        ExactNumberInfo::Precision(digits) => Ok(SqlType::of(float_of_digits(whole(digits))?)),
        ExactNumberInfo::PrecisionAndScale(..) => Err(SqlError::unsupported("float with a scale is not supported")),
    }
}

fn numeric(info: &ExactNumberInfo) -> Result<SqlType, SqlError> {
    let parameters = match *info {
        ExactNumberInfo::None => return Ok(SqlType::of(TypeId::NUMERIC)),
        ExactNumberInfo::Precision(precision) => vec![whole(precision)],
        ExactNumberInfo::PrecisionAndScale(precision, scale) => vec![whole(precision), scale],
    };
    Ok(SqlType { id: TypeId::NUMERIC, modifier: modifier_of(TypeId::NUMERIC, &parameters)? })
}

fn characters(id: TypeId, length: Option<&CharacterLength>, default: Option<i64>) -> Result<SqlType, SqlError> {
    let length = match length {
        None => default,
        Some(CharacterLength::IntegerLength { length, .. }) => Some(whole(*length)),
        Some(other) => return Err(SqlError::unsupported(format!("the length {other} is not supported"))),
    };
    match length {
        None => Ok(SqlType::of(id)),
        Some(length) => Ok(SqlType { id, modifier: modifier_of(id, &[length])? }),
    }
}

/// A type with a length, if it is given.
fn sized(id: TypeId, length: Option<u64>) -> Result<SqlType, SqlError> {
    let modifier = length.map(|length| modifier_of(id, &[whole(length)])).transpose()?;
    Ok(modifier.map_or(SqlType::of(id), |modifier| SqlType { id, modifier }))
}

fn seconds(precision: Option<u64>, zone: &TimezoneInfo, plain: TypeId, zoned: TypeId) -> Result<SqlType, SqlError> {
    let id = match zone {
        TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => plain,
        TimezoneInfo::Tz | TimezoneInfo::WithTimeZone => zoned,
    };
    match precision {
        None => Ok(SqlType::of(id)),
        Some(precision) => Ok(SqlType { id, modifier: modifier_of(id, &[whole(precision)])? }),
    }
}

fn interval(fields: Option<&IntervalFields>, digits: Option<u64>) -> Result<SqlType, SqlError> {
    if fields.is_none() && digits.is_none() {
        return Ok(SqlType::of(TypeId::INTERVAL));
    }
    let words = fields.map(|fields| fields.to_string().to_lowercase()).unwrap_or_default();
    interval_of(&words, digits)
}

/// An interval with the fields that these words name, `day to second`.
pub(super) fn interval_of(words: &str, digits: Option<u64>) -> Result<SqlType, SqlError> {
    let fields = interval_fields(words);
    let fields = fields.ok_or_else(|| SqlError::unsupported(format!("interval {words} is not supported")))?;
    Ok(SqlType { id: TypeId::INTERVAL, modifier: interval_modifier(fields, digits.map(whole))? })
}

/// A parameter as PostgreSQL's grammar has it; what is too large is out of every range.
fn whole(parameter: u64) -> i64 {
    i64::try_from(parameter).unwrap_or(i64::MAX)
}
