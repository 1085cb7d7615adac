//! Values as columns of a result: arrays of Arrow of one row, with the SQL type in the field's metadata.
//!
//! Where the session's formats change the texts of a type, its values are sent as texts with their bytes beside them.
//! What has no form in Arrow that the server sends rightly is refused as unsupported: infinite dates, numerics beyond 38 digits.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array,
    Float64Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, new_empty_array, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use braid_sql::functions::SessionFacts;
use braid_sql::output::enums::label_of;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::values::{ArrayValue, Interval};
use braid_sql::{Evaluation, SqlError, SqlType, Value};

use super::texts_with_bytes;
use crate::outcome::described_as;

/// Digits that an Arrow decimal has at most.
const DECIMAL_DIGITS_MAX: u8 = 38;

/// The field of a column, before its value is known.
pub(crate) fn described_field(name: &str, sql_type: SqlType, session: &dyn SessionFacts) -> Result<Field, SqlError> {
    let data_type = arrow_type(sql_type, session)?;
    if session.formats().change_texts_of(sql_type.id) {
        return Ok(sent_field(name, sql_type, session));
    }
    Ok(field_of_type(name, data_type, sql_type))
}

/// The field of a column of many values, each of which is sent as it is.
pub(crate) fn sent_field(name: &str, sql_type: SqlType, session: &dyn SessionFacts) -> Field {
    field_of_type(name, sent_type(sql_type, session), sql_type)
}

/// A column of many values, of [`sent_field`]'s type.
pub(crate) fn sent_column(
    values: &[Value],
    sql_type: SqlType,
    evaluation: &Evaluation<'_>,
) -> Result<ArrayRef, SqlError> {
    /// An array of the values of a variant; null for all others, of which only null can be there.
    macro_rules! array {
        ($array:ty, $variant:ident) => {
            Arc::new(
                values
                    .iter()
                    .map(|value| match value {
                        Value::$variant(value) => Some(*value),
                        _ => None,
                    })
                    .collect::<$array>(),
            )
        };
    }
    let data_type = sent_type(sql_type, evaluation.session());
    Ok(match (&data_type, sql_type.id) {
        (DataType::Boolean, _) => array!(BooleanArray, Bool),
        (DataType::Int16, _) => array!(Int16Array, Int2),
        (DataType::Int32, _) => array!(Int32Array, Int4),
        (DataType::Int64, _) => array!(Int64Array, Int8),
        (DataType::Float32, _) => array!(Float32Array, Float4),
        (DataType::Float64, _) => array!(Float64Array, Float8),
        (DataType::Date32, _) => array!(Date32Array, Date),
        (DataType::Time64(_), _) => array!(Time64MicrosecondArray, Time),
        (DataType::Timestamp(..), TypeId::TIMESTAMP) => {
            let array: Arc<TimestampMicrosecondArray> = array!(TimestampMicrosecondArray, Timestamp);
            Arc::new(array.as_ref().clone().with_data_type(data_type))
        }
        (DataType::Timestamp(..), _) => {
            let array: Arc<TimestampMicrosecondArray> = array!(TimestampMicrosecondArray, TimestampTz);
            Arc::new(array.as_ref().clone().with_data_type(data_type))
        }
        (DataType::Struct(_), _) => texts_with_bytes::column(values, sql_type, evaluation)?,
        (DataType::Utf8, _) => {
            let texts = values.iter().map(|value| evaluation.text(value, sql_type));
            Arc::new(StringArray::from(texts.collect::<Result<Vec<Option<String>>, _>>()?))
        }
        _ => {
            let pieces = values.iter().map(|value| array_of(value, &data_type)).collect::<Result<Vec<_>, _>>()?;
            let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| &**piece).collect();
            match pieces.is_empty() {
                true => new_empty_array(&data_type),
                false => concat(&pieces).map_err(|error| SqlError::unsupported(format!("a result: {error}")))?,
            }
        }
    })
}

/// The Arrow type in which the server gets values of a type: text for those whose values have no form in Arrow, or not all of them.
fn sent_type(sql_type: SqlType, session: &dyn SessionFacts) -> DataType {
    match sql_type.id {
        id if session.formats().change_texts_of(id) => texts_with_bytes::data_type(),
        TypeId::NUMERIC => DataType::Utf8,
        id if texts_with_bytes::needs_bytes(id) => texts_with_bytes::data_type(),
        // Arrays of several dimensions, or that do not begin at 1, are no lists.
        id if pg_catalog().element_of_array(id).is_some() => DataType::Utf8,
        _ => arrow_type(sql_type, session).unwrap_or(DataType::Utf8),
    }
}

/// A column of one value, and its field.
pub(crate) fn column_of(
    name: &str,
    value: &Value,
    sql_type: SqlType,
    session: &dyn SessionFacts,
) -> Result<(Field, ArrayRef), SqlError> {
    if session.formats().change_texts_of(sql_type.id) {
        let field = described_field(name, sql_type, session)?;
        let column = sent_column(std::slice::from_ref(value), sql_type, &Evaluation::new(session, &[]))?;
        return Ok((field, column));
    }
    let array = assigned_column(value, sql_type, session)?;
    Ok((field_of_type(name, array.data_type().clone(), sql_type), array))
}

/// A column of one value, from which it is assigned to one of a table.
pub(crate) fn assigned_column(
    value: &Value,
    sql_type: SqlType,
    session: &dyn SessionFacts,
) -> Result<ArrayRef, SqlError> {
    array_of(value, &arrow_type(sql_type, session)?)
}

/// The field of a column of values of a type that is sent in these arrays.
pub(crate) fn field_of_type(name: &str, data_type: DataType, sql_type: SqlType) -> Field {
    let metadata = HashMap::from([described_as(sql_type)]);
    Field::new(name, data_type, true).with_metadata(metadata)
}

/// The Arrow type of a type's values. A numeric's scale is that of its value, unless the type has one.
fn arrow_type(sql_type: SqlType, session: &dyn SessionFacts) -> Result<DataType, SqlError> {
    if let Some(element) = pg_catalog().element_of_array(sql_type.id) {
        // Decimals of one array have one scale in Arrow, and each its own in PostgreSQL.
        if element == TypeId::NUMERIC {
            return Err(unsupported(sql_type));
        }
        let element = arrow_type(SqlType { id: element, modifier: sql_type.modifier }, session)?;
        return Ok(DataType::List(Arc::new(Field::new("item", element, true))));
    }
    Ok(match sql_type.id {
        TypeId::BOOL => DataType::Boolean,
        TypeId::INT2 => DataType::Int16,
        TypeId::INT4 => DataType::Int32,
        TypeId::INT8 => DataType::Int64,
        TypeId::FLOAT4 => DataType::Float32,
        TypeId::FLOAT8 => DataType::Float64,
        TypeId::NUMERIC => match sql_type.numeric_digits() {
            Some((precision @ 1..=38, scale @ 0..=38)) if scale <= precision => {
                DataType::Decimal128(precision as u8, scale as i8)
            }
            Some(_) => return Err(unsupported(sql_type)),
            None => DataType::Decimal128(DECIMAL_DIGITS_MAX, 0),
        },
        TypeId::TEXT | TypeId::VARCHAR | TypeId::BPCHAR | TypeId::NAME | TypeId::VOID => DataType::Utf8,
        TypeId::BYTEA => DataType::Binary,
        TypeId::UUID => DataType::FixedSizeBinary(16),
        TypeId::DATE => DataType::Date32,
        TypeId::TIME => DataType::Time64(TimeUnit::Microsecond),
        TypeId::TIMESTAMP => DataType::Timestamp(TimeUnit::Microsecond, None),
        TypeId::TIMESTAMPTZ => DataType::Timestamp(TimeUnit::Microsecond, Some(session.zone_name().into())),
        TypeId::INTERVAL => DataType::Interval(IntervalUnit::MonthDayNano),
        // Their labels.
        id if id.enum_type().is_some() => DataType::Utf8,
        _ => return Err(unsupported(sql_type)),
    })
}

fn unsupported(sql_type: SqlType) -> SqlError {
    let name = braid_sql::types::type_names::format_type(sql_type);
    SqlError::unsupported(format!("results of type {name} are not supported"))
}

/// An array of one value.
pub(crate) fn array_of(value: &Value, data_type: &DataType) -> Result<ArrayRef, SqlError> {
    Ok(match value {
        Value::Null => new_null_array(data_type, 1),
        Value::Bool(value) => Arc::new(BooleanArray::from(vec![*value])),
        Value::Int2(value) => Arc::new(Int16Array::from(vec![*value])),
        Value::Int4(value) => Arc::new(Int32Array::from(vec![*value])),
        Value::Int8(value) => Arc::new(Int64Array::from(vec![*value])),
        Value::Float4(value) => Arc::new(Float32Array::from(vec![*value])),
        Value::Float8(value) => Arc::new(Float64Array::from(vec![*value])),
        Value::Numeric(value) => decimal(value, data_type)?,
        Value::Text(text) => Arc::new(StringArray::from(vec![&**text])),
        Value::Enum(value) => Arc::new(StringArray::from(vec![&*label_of(*value)?])),
        Value::Bytea(bytes) => Arc::new(BinaryArray::from(vec![&**bytes])),
        Value::Uuid(bytes) => {
            Arc::new(FixedSizeBinaryArray::try_from_iter(std::iter::once(bytes)).expect("a uuid has 16 bytes"))
        }
        // Infinite times are the largest and the least number, as in columns.
        Value::Date(days) => Arc::new(Date32Array::from(vec![*days])),
        Value::Time(us) => Arc::new(Time64MicrosecondArray::from(vec![*us])),
        Value::Timestamp(us) | Value::TimestampTz(us) => {
            Arc::new(TimestampMicrosecondArray::from(vec![*us]).with_data_type(data_type.clone()))
        }
        Value::Interval(interval) => Arc::new(IntervalMonthDayNanoArray::from(vec![in_nanoseconds(*interval)?])),
        Value::Array(array) => list(array, data_type)?,
        _ => return Err(SqlError::unsupported("a result of this value is not supported")),
    })
}

/// With the scale of its type, or its own if the type has none.
fn decimal(value: &braid_sql::values::Numeric, data_type: &DataType) -> Result<ArrayRef, SqlError> {
    let too_wide =
        || SqlError::unsupported(format!("results of more than {DECIMAL_DIGITS_MAX} digits are not supported"));
    let (unscaled, scale) = value.unscaled().ok_or_else(too_wide)?;
    let scale = u8::try_from(scale).ok().filter(|scale| *scale <= DECIMAL_DIGITS_MAX).ok_or_else(too_wide)?;
    if unscaled.unsigned_abs() >= 10_u128.pow(u32::from(DECIMAL_DIGITS_MAX)) {
        return Err(too_wide());
    }
    let (precision, scale) = match data_type {
        DataType::Decimal128(precision, of_type) if *of_type == scale as i8 => (*precision, scale),
        _ => (DECIMAL_DIGITS_MAX, scale),
    };
    Ok(Arc::new(Decimal128Array::from(vec![unscaled]).with_data_type(DataType::Decimal128(precision, scale as i8))))
}

fn in_nanoseconds(interval: Interval) -> Result<IntervalMonthDayNano, SqlError> {
    let nanoseconds = interval.us.checked_mul(1000);
    let nanoseconds =
        nanoseconds.ok_or_else(|| SqlError::unsupported("results of intervals this long are not supported"))?;
    Ok(IntervalMonthDayNano::new(interval.months, interval.days, nanoseconds))
}

/// A list, for arrays of one dimension that begin at 1.
fn list(array: &ArrayValue, data_type: &DataType) -> Result<ArrayRef, SqlError> {
    let DataType::List(item) = data_type else {
        return Err(SqlError::unsupported("a result of this array is not supported"));
    };
    let is_plain = matches!(array.dimensions[..], [] | [(_, 1)]);
    if !is_plain {
        return Err(SqlError::unsupported("a result of this array is not supported"));
    }
    let elements = array.values.iter().map(|value| array_of(value, item.data_type())).collect::<Result<Vec<_>, _>>()?;
    let elements: Vec<&dyn Array> = elements.iter().map(|element| &**element).collect();
    let values = match elements.is_empty() {
        true => new_null_array(item.data_type(), 0),
        false => {
            concat(&elements).map_err(|error| SqlError::unsupported(format!("a result of this array: {error}")))?
        }
    };
    Ok(Arc::new(ListArray::new(item.clone(), OffsetBuffer::from_lengths([values.len()]), values, None)))
}
