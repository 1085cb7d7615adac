//! Rows of a table as values, for what is computed of a row and for errors that show one; and values as a column of a table.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, FixedSizeBinaryArray, Float32Array, Float64Array, Int16Array,
    Int32Array, Int64Array, IntervalMonthDayNanoArray, StringViewArray, Time64MicrosecondArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow::error::ArrowError;
use braid_base::EnumTypeRef;
use braid_catalog::column_types::sql_type_of;
use braid_plan::values::Form;
use braid_plan::values::arrays::ArrayBuilder;
use braid_plan::values::codec::decode;
use braid_sql::functions::SessionFacts;
use braid_sql::values::{EnumValue, Interval, Numeric};
use braid_sql::{Evaluation, SqlError, SqlState, Value};
use braid_storage::{ColumnType, TableDef};

use crate::arrow_cast::strict_cast;
use crate::sent_columns::encoded_array;

/// Bytes of a value that an error shows, as in PostgreSQL.
const SHOWN_BYTES_MAX: usize = 64;

/// The value of a row of a column of this type, as tables store it.
///
/// # Errors
/// When the bytes of an encoded value mean nothing.
pub(crate) fn stored_value(array: &dyn Array, row: usize, column_type: ColumnType) -> Result<Value, SqlError> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    let text = || array.as_string_view().value(row);
    let micros = || array.as_primitive::<TimestampMicrosecondType>().value(row);
    Ok(match column_type {
        ColumnType::Boolean => Value::Bool(array.as_boolean().value(row)),
        ColumnType::SmallInt => Value::Int2(array.as_primitive::<Int16Type>().value(row)),
        ColumnType::Integer => Value::Int4(array.as_primitive::<Int32Type>().value(row)),
        ColumnType::BigInt => Value::Int8(array.as_primitive::<Int64Type>().value(row)),
        ColumnType::Real => Value::Float4(array.as_primitive::<Float32Type>().value(row)),
        ColumnType::Double => Value::Float8(array.as_primitive::<Float64Type>().value(row)),
        ColumnType::Numeric { scale, .. } => {
            Value::Numeric(Numeric::from_unscaled(array.as_primitive::<Decimal128Type>().value(row), scale.into()))
        }
        ColumnType::Text | ColumnType::Varchar(_) | ColumnType::UnlimitedVarchar | ColumnType::Name => {
            Value::text(text())
        }
        ColumnType::Char(length) => Value::text(padded(text(), length as usize)),
        ColumnType::Date => Value::Date(array.as_primitive::<Date32Type>().value(row)),
        ColumnType::Time | ColumnType::RoundedTime(_) => {
            Value::Time(array.as_primitive::<Time64MicrosecondType>().value(row))
        }
        ColumnType::Timestamp | ColumnType::RoundedTimestamp(_) => Value::Timestamp(micros()),
        ColumnType::TimestampTz | ColumnType::RoundedTimestampTz(_) => Value::TimestampTz(micros()),
        ColumnType::Interval => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            Value::Interval(Interval { months: value.months, days: value.days, us: value.nanoseconds / 1000 })
        }
        ColumnType::Bytea => Value::Bytea(array.as_binary_view().value(row).into()),
        ColumnType::Uuid => {
            let bytes = <[u8; 16]>::try_from(array.as_fixed_size_binary().value(row));
            Value::Uuid(bytes.map_err(|_| SqlError::unsupported("a uuid has 16 bytes"))?)
        }
        ColumnType::Enum(EnumTypeRef::Open(enum_type)) => {
            Value::Enum(EnumValue { enum_type, key: array.as_primitive::<Int64Type>().value(row) })
        }
        ColumnType::Enum(EnumTypeRef::Stored(_)) => {
            return Err(SqlError::unsupported("a value of an enumerated type that is not open"));
        }
        ColumnType::Encoded { .. } => decode(array.as_binary_view().value(row))?,
    })
}

/// Values of a column of this type, as tables store them.
///
/// # Errors
/// When a value is none of the type, or has no form in which it is stored.
pub(crate) fn stored_array(values: &[Value], column_type: ColumnType) -> Result<ArrayRef, SqlError> {
    macro_rules! array {
        ($array:ty, $variant:ident) => {
            <$array>::from(present(values, column_type, |value| match value {
                Value::$variant(value) => Some(*value),
                _ => None,
            })?)
        };
    }
    Ok(match column_type {
        ColumnType::Boolean => Arc::new(array!(BooleanArray, Bool)),
        ColumnType::SmallInt => Arc::new(array!(Int16Array, Int2)),
        ColumnType::Integer => Arc::new(array!(Int32Array, Int4)),
        ColumnType::BigInt => Arc::new(array!(Int64Array, Int8)),
        ColumnType::Real => Arc::new(array!(Float32Array, Float4)),
        ColumnType::Double => Arc::new(array!(Float64Array, Float8)),
        ColumnType::Date => Arc::new(array!(Date32Array, Date)),
        ColumnType::Time | ColumnType::RoundedTime(_) => Arc::new(array!(Time64MicrosecondArray, Time)),
        ColumnType::Timestamp | ColumnType::RoundedTimestamp(_) => {
            Arc::new(array!(TimestampMicrosecondArray, Timestamp).with_data_type(column_type.arrow()))
        }
        ColumnType::TimestampTz | ColumnType::RoundedTimestampTz(_) => {
            Arc::new(array!(TimestampMicrosecondArray, TimestampTz).with_data_type(column_type.arrow()))
        }
        ColumnType::Interval => {
            let intervals = present(values, column_type, |value| match value {
                Value::Interval(interval) => in_nanoseconds(*interval),
                _ => None,
            });
            Arc::new(IntervalMonthDayNanoArray::from(intervals?))
        }
        ColumnType::Enum(_) => {
            let keys = present(values, column_type, |value| match value {
                Value::Enum(value) => Some(value.key),
                _ => None,
            });
            Arc::new(Int64Array::from(keys?))
        }
        ColumnType::Text | ColumnType::Varchar(_) | ColumnType::UnlimitedVarchar | ColumnType::Name => {
            Arc::new(StringViewArray::from_iter(texts(values, column_type)?))
        }
        ColumnType::Char(_) => {
            let texts = texts(values, column_type)?.into_iter();
            // The blanks at the end of a value are not stored.
            Arc::new(StringViewArray::from_iter(texts.map(|text| text.map(|text| text.trim_end_matches(' ')))))
        }
        ColumnType::Uuid => {
            let uuids = present(values, column_type, |value| match value {
                Value::Uuid(uuid) => Some(*uuid),
                _ => None,
            });
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids?.into_iter(), 16);
            Arc::new(array.map_err(broken)?)
        }
        ColumnType::Numeric { .. } | ColumnType::Bytea => {
            let mut formed = ArrayBuilder::new(Form::of_column(column_type));
            values.iter().try_for_each(|value| formed.add(value))?;
            strict_cast(&formed.finish(), &column_type.arrow()).map_err(broken)?
        }
        ColumnType::Encoded { .. } => encoded_array(values.iter().cloned())?,
    })
}

/// What `of` makes of each value, and nothing of nulls.
fn present<'v, T>(
    values: &'v [Value],
    column_type: ColumnType,
    of: impl Fn(&'v Value) -> Option<T>,
) -> Result<Vec<Option<T>>, SqlError> {
    let misfit = |value: &Value| {
        SqlError::unsupported(format!("{value:?} as a value of a stored column of type {column_type} is not supported"))
    };
    let made = values.iter().map(|value| match value {
        Value::Null => Ok(None),
        value => of(value).map(Some).ok_or_else(|| misfit(value)),
    });
    made.collect()
}

fn texts(values: &[Value], column_type: ColumnType) -> Result<Vec<Option<&str>>, SqlError> {
    present(values, column_type, |value| match value {
        Value::Text(text) => Some(&**text),
        _ => None,
    })
}

/// As it is stored, unless it is too long for that.
fn in_nanoseconds(interval: Interval) -> Option<IntervalMonthDayNano> {
    let nanoseconds = interval.us.checked_mul(1000)?;
    Some(IntervalMonthDayNano::new(interval.months, interval.days, nanoseconds))
}

fn broken(error: ArrowError) -> SqlError {
    SqlError::new(SqlState::InternalError, error.to_string())
}

fn padded(text: &str, length: usize) -> String {
    let blanks = length.saturating_sub(text.chars().count());
    let mut padded = text.to_owned();
    padded.extend(std::iter::repeat_n(' ', blanks));
    padded
}

/// `(1, x, null)`: a row as PostgreSQL's errors show it.
pub(crate) fn shown_row(def: &TableDef, columns: &[ArrayRef], row: usize, facts: &dyn SessionFacts) -> String {
    let values = def.columns.iter().zip(columns).map(|(column, array)| {
        let value = stored_value(array.as_ref(), row, column.column_type);
        let text = value.and_then(|value| Evaluation::new(facts, &[]).text(&value, sql_type_of(column.column_type)));
        text.ok().flatten().map_or_else(|| "null".to_owned(), shortened)
    });
    format!("({})", values.collect::<Vec<_>>().join(", "))
}

/// The only value of a column of a key, as errors show it: a numeric without a precision comes as its text.
pub(crate) fn shown_key_value(array: &ArrayRef, column_type: ColumnType, facts: &dyn SessionFacts) -> String {
    if let (ColumnType::Encoded { .. }, Some(texts)) = (column_type, array.as_string_view_opt()) {
        return if texts.is_null(0) { "null".to_owned() } else { texts.value(0).to_owned() };
    }
    let value = stored_value(array.as_ref(), 0, column_type);
    let text = value.and_then(|value| Evaluation::new(facts, &[]).text(&value, sql_type_of(column_type)));
    text.ok().flatten().unwrap_or_else(|| "null".to_owned())
}

fn shortened(mut text: String) -> String {
    if text.len() > SHOWN_BYTES_MAX {
        text.truncate(text.floor_char_boundary(SHOWN_BYTES_MAX));
        text.push_str("...");
    }
    text
}
