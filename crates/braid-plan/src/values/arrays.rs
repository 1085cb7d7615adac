//! Values as arrays of Arrow, which vectors are made of, and back.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewBuilder, BooleanBuilder, Decimal128Builder, Float64Builder, Int64Builder,
    StringViewBuilder,
};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use braid_exec::values::intervals::{interval_bytes, interval_of_bytes};
use braid_sql::pg_catalog::TypeId;
use braid_sql::values::{EnumValue, Interval, Numeric};
use braid_sql::{SqlError, SqlState, Value};
use braid_storage::Scalar;

use super::Form;
use super::codec::{decode, encode};

/// Makes an array of values of one type.
#[derive(Debug)]
pub struct ArrayBuilder {
    column: Builder,
    bytes: usize,
}

#[derive(Debug)]
enum Builder {
    Bool(BooleanBuilder),
    Integer(Int64Builder),
    Float(Float64Builder),
    Text(StringViewBuilder),
    Bytes(BinaryViewBuilder),
    Encoded(BinaryViewBuilder),
    Fixed(Decimal128Builder, u8),
}

impl ArrayBuilder {
    /// Of a form.
    pub fn new(form: Form) -> Self {
        let column = match form {
            Form::Bool => Builder::Bool(BooleanBuilder::new()),
            Form::Integer => Builder::Integer(Int64Builder::new()),
            Form::Float => Builder::Float(Float64Builder::new()),
            Form::Text | Form::Unpadded { .. } => Builder::Text(StringViewBuilder::new()),
            Form::Bytes | Form::Interval => Builder::Bytes(BinaryViewBuilder::new()),
            Form::Encoded => Builder::Encoded(BinaryViewBuilder::new()),
            Form::Fixed { scale, .. } => {
                Builder::Fixed(Decimal128Builder::new().with_data_type(form.data_type()), scale)
            }
        };
        Self { column, bytes: 0 }
    }

    /// Adds a value.
    ///
    /// # Errors
    /// When the value is not of the builder's form.
    pub fn add(&mut self, value: &Value) -> Result<(), SqlError> {
        match (&mut self.column, value) {
            (Builder::Bool(column), Value::Null) => column.append_null(),
            (Builder::Integer(column), Value::Null) => column.append_null(),
            (Builder::Float(column), Value::Null) => column.append_null(),
            (Builder::Text(column), Value::Null) => column.append_null(),
            (Builder::Bytes(column) | Builder::Encoded(column), Value::Null) => column.append_null(),
            (Builder::Fixed(column, _), Value::Null) => column.append_null(),
            (Builder::Fixed(column, scale), value) => {
                column.append_value(unscaled_of(value, *scale).ok_or_else(|| misfit(value))?);
            }
            (Builder::Encoded(column), value) => {
                let mut encoded = Vec::new();
                encode(value, &mut encoded)?;
                self.bytes += encoded.len();
                column.append_value(encoded);
            }
            (Builder::Bool(column), Value::Bool(value)) => column.append_value(*value),
            (Builder::Integer(column), value) => column.append_value(integer_of(value).ok_or_else(|| misfit(value))?),
            (Builder::Float(column), Value::Float4(value)) => column.append_value(f64::from(*value)),
            (Builder::Float(column), Value::Float8(value)) => column.append_value(*value),
            (Builder::Text(column), Value::Text(value)) => {
                self.bytes += value.len();
                column.append_value(value);
            }
            (Builder::Bytes(column), Value::Bytea(value)) => {
                self.bytes += value.len();
                column.append_value(value);
            }
            (Builder::Bytes(column), Value::Uuid(value)) => column.append_value(value),
            (Builder::Bytes(column), Value::Interval(value)) => column.append_value(bytes_of(value)),
            (_, value) => return Err(misfit(value)),
        }
        Ok(())
    }

    /// Bytes of texts and the like that were added.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The array.
    pub fn finish(self) -> ArrayRef {
        match self.column {
            Builder::Bool(mut column) => Arc::new(column.finish()),
            Builder::Integer(mut column) => Arc::new(column.finish()),
            Builder::Float(mut column) => Arc::new(column.finish()),
            Builder::Text(mut column) => Arc::new(column.finish()),
            Builder::Bytes(mut column) | Builder::Encoded(mut column) => Arc::new(column.finish()),
            Builder::Fixed(mut column, _) => Arc::new(column.finish()),
        }
    }
}

/// The value of a row. `array` is of the form of the type, or has fixed-point numbers of type numeric.
///
/// # Errors
/// When the bytes of an encoded value mean nothing.
pub fn value_at(array: &dyn Array, row: usize, id: TypeId) -> Result<Value, SqlError> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    if let DataType::Decimal128(_, scale) = array.data_type() {
        let unscaled = array.as_primitive::<Decimal128Type>().value(row);
        return Ok(Value::Numeric(Numeric::from_unscaled(unscaled, scale.unsigned_abs().into())));
    }
    let float = || array.as_primitive::<Float64Type>().value(row);
    Ok(match Form::of(id) {
        Form::Bool => Value::Bool(array.as_boolean().value(row)),
        Form::Integer => integer_value(array.as_primitive::<Int64Type>().value(row), id),
        Form::Float if id == TypeId::FLOAT4 => Value::Float4(float() as f32),
        Form::Float => Value::Float8(float()),
        Form::Text | Form::Unpadded { .. } => Value::text(array.as_string_view().value(row)),
        Form::Bytes => bytes_value(array.as_binary_view().value(row), id),
        Form::Interval => interval_value(array.as_binary_view().value(row))?,
        Form::Encoded | Form::Fixed { .. } => decode(array.as_binary_view().value(row))?,
    })
}

/// A value as a constant of a plan; `None` for null.
///
/// # Errors
/// When the value is not of the form.
pub fn scalar_of(value: &Value, form: Form) -> Result<Option<Scalar>, SqlError> {
    Ok(Some(match (form, value) {
        (_, Value::Null) => return Ok(None),
        (Form::Encoded, value) => {
            let mut encoded = Vec::new();
            encode(value, &mut encoded)?;
            Scalar::Bytes(encoded)
        }
        (Form::Fixed { scale, .. }, value) => integer_scalar(unscaled_of(value, scale).ok_or_else(|| misfit(value))?),
        (Form::Bool, Value::Bool(value)) => Scalar::Bool(*value),
        (Form::Integer, value) => Scalar::Int(integer_of(value).ok_or_else(|| misfit(value))?),
        (Form::Float, Value::Float4(value)) => Scalar::Float(f64::from(*value)),
        (Form::Float, Value::Float8(value)) => Scalar::Float(*value),
        (Form::Unpadded { .. }, Value::Text(value)) => Scalar::Bytes(value.trim_end_matches(' ').as_bytes().to_vec()),
        (Form::Text, Value::Text(value)) => Scalar::Bytes(value.as_bytes().to_vec()),
        (Form::Bytes, Value::Bytea(value)) => Scalar::Bytes(value.to_vec()),
        (Form::Bytes, Value::Uuid(value)) => Scalar::Bytes(value.to_vec()),
        (Form::Interval, Value::Interval(value)) => Scalar::Bytes(bytes_of(value).to_vec()),
        (_, value) => return Err(misfit(value)),
    }))
}

/// An integer as a constant of a plan.
pub fn integer_scalar(value: i128) -> Scalar {
    i64::try_from(value).map_or(Scalar::Int128(value), Scalar::Int)
}

/// The integer of a numeric that shows `scale` digits after the point.
fn unscaled_of(value: &Value, scale: u8) -> Option<i128> {
    let Value::Numeric(number) = value else { return None };
    number.unscaled().and_then(|(unscaled, own)| (own == u16::from(scale)).then_some(unscaled))
}

fn integer_of(value: &Value) -> Option<i64> {
    Some(match value {
        Value::Int2(value) => i64::from(*value),
        Value::Int4(value) | Value::Date(value) => i64::from(*value),
        Value::Int8(value) | Value::Time(value) | Value::Timestamp(value) | Value::TimestampTz(value) => *value,
        Value::Enum(value) => value.key,
        _ => return None,
    })
}

fn integer_value(value: i64, id: TypeId) -> Value {
    match id {
        TypeId::INT2 => Value::Int2(value as i16),
        TypeId::INT4 => Value::Int4(value as i32),
        TypeId::DATE => Value::Date(value as i32),
        TypeId::TIME => Value::Time(value),
        TypeId::TIMESTAMP => Value::Timestamp(value),
        TypeId::TIMESTAMPTZ => Value::TimestampTz(value),
        id => match id.enum_type() {
            Some(enum_type) => Value::Enum(EnumValue { enum_type, key: value }),
            None => Value::Int8(value),
        },
    }
}

fn bytes_value(bytes: &[u8], id: TypeId) -> Value {
    match <[u8; 16]>::try_from(bytes) {
        Ok(uuid) if id == TypeId::UUID => Value::Uuid(uuid),
        _ => Value::Bytea(bytes.into()),
    }
}

fn bytes_of(value: &Interval) -> [u8; 16] {
    interval_bytes(value.months, value.days, value.us)
}

fn interval_value(bytes: &[u8]) -> Result<Value, SqlError> {
    let (months, days, us) = interval_of_bytes(bytes)
        .ok_or_else(|| SqlError::new(SqlState::InternalError, format!("an interval has {} bytes", bytes.len())))?;
    Ok(Value::Interval(Interval::new(months, days, us)))
}

fn misfit(value: &Value) -> SqlError {
    SqlError::new(SqlState::InternalError, format!("{value:?} is not of the type of its column"))
}
