//! One column of a batch, ready to be sent: the value of a row appended as text or as binary.
//!
//! What Arrow tells apart and the wire does not (dictionaries, seconds and nanoseconds, narrow and unsigned integers)
//! is cast once per batch when the column is bound, so that the loop over rows has one `match` per value and no
//! allocation. Casts are checked: a value that the wire's type cannot hold is an error, never another value.
//!
//! Callers check [`Column::is_null`] first; a null has no bytes.

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use braid_engine::TimeZone;

use braid_engine::{binary_of_record, binary_of_text, texts_with_bytes};

use super::calendar::{self, POSTGRES_EPOCH_DAYS, POSTGRES_EPOCH_US};
use super::decimal_digits::append_i64;
use super::interval::{self, Interval};
use super::nested::{List, Record};
use super::{Format, ValueError, float_text, numeric};

/// Types whose binary form is their text: text, name, char(n), varchar, unknown, json.
const TEXT_OIDS: [u32; 6] = [25, 19, 1042, 1043, 705, 114];

/// The number of the type `record`.
const RECORD_OID: u32 = 2249;

/// A bound column.
pub(crate) struct Column {
    values: Values,
    nulls: Option<NullBuffer>,
}

/// The arrays a column can be bound to, after the casts.
enum Values {
    Null,
    Bool(BooleanArray),
    Int16(PrimitiveArray<Int16Type>),
    Int32(PrimitiveArray<Int32Type>),
    Int64(PrimitiveArray<Int64Type>),
    Float32(PrimitiveArray<Float32Type>),
    Float64(PrimitiveArray<Float64Type>),
    Numeric128(PrimitiveArray<Decimal128Type>, i8),
    Numeric256(PrimitiveArray<Decimal256Type>, i8),
    Text(StringArray),
    /// Texts of values of another type, whose number is beside them.
    TextOf(StringArray, u32),
    /// Texts of records, with the numbers of their fields' types.
    TextOfRecord(StringArray, Vec<u32>),
    /// Texts of values of the type with this oid, and their bytes in binary format, as far as they have one.
    TextWithBytes(StringArray, BinaryArray, u32),
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    Bytea(BinaryArray),
    LargeBytea(LargeBinaryArray),
    ByteaView(BinaryViewArray),
    FixedBytea(FixedSizeBinaryArray),
    Uuid(FixedSizeBinaryArray),
    Date(PrimitiveArray<Date32Type>),
    Time(PrimitiveArray<Time64MicrosecondType>),
    Timestamp(PrimitiveArray<TimestampMicrosecondType>),
    /// With the time zone in which it is shown, unless that is UTC.
    TimestampTz(PrimitiveArray<TimestampMicrosecondType>, Option<TimeZone>),
    Interval(PrimitiveArray<IntervalMonthDayNanoType>),
    List(Box<List>),
    Record(Record),
}

impl Column {
    /// Binds `array`, casting it first to the form the wire has.
    pub fn bind(array: &ArrayRef) -> Result<Self, ValueError> {
        let array = match wire_form(array.data_type()) {
            Some(target) => checked_cast(array, &target)?,
            None => array.clone(),
        };
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Bool(array.as_boolean().clone()),
            DataType::Int16 => Values::Int16(primitive(&array)),
            DataType::Int32 => Values::Int32(primitive(&array)),
            DataType::Int64 => Values::Int64(primitive(&array)),
            DataType::Float32 => Values::Float32(primitive(&array)),
            DataType::Float64 => Values::Float64(primitive(&array)),
            DataType::Decimal128(_, scale) => Values::Numeric128(primitive(&array), *scale),
            DataType::Decimal256(_, scale) => Values::Numeric256(primitive(&array), *scale),
            DataType::Utf8 => Values::Text(array.as_string().clone()),
            DataType::LargeUtf8 => Values::LargeText(array.as_string().clone()),
            DataType::Utf8View => Values::TextView(array.as_string_view().clone()),
            DataType::Binary => Values::Bytea(array.as_binary().clone()),
            DataType::LargeBinary => Values::LargeBytea(array.as_binary().clone()),
            DataType::BinaryView => Values::ByteaView(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(16) => Values::Uuid(array.as_fixed_size_binary().clone()),
            DataType::FixedSizeBinary(_) => Values::FixedBytea(array.as_fixed_size_binary().clone()),
            DataType::Date32 => Values::Date(primitive(&array)),
            DataType::Time64(TimeUnit::Microsecond) => Values::Time(primitive(&array)),
            DataType::Timestamp(TimeUnit::Microsecond, None) => Values::Timestamp(primitive(&array)),
            DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) => {
                let zone = if **zone == *"UTC" { None } else { zone.parse().ok() };
                Values::TimestampTz(primitive(&array), zone)
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => Values::Interval(primitive(&array)),
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
                Values::List(Box::new(List::bind(&array)?))
            }
            DataType::Struct(_) => Values::Record(Record::bind(array.as_struct())?),
            _ => Values::Text(rendered(&array)?),
        };
        let nulls = if matches!(values, Values::Null) { None } else { array.logical_nulls() };
        Ok(Self { values, nulls })
    }

    /// The same column, whose texts are those of records with fields of these types.
    pub fn with_record_fields(self, fields: Vec<u32>) -> Self {
        match self.values {
            Values::TextOf(texts, _) => Self { values: Values::TextOfRecord(texts, fields), ..self },
            values => Self { values, ..self },
        }
    }

    /// Binds `array` as values of the type with this number. Texts are those that its values are shown as.
    pub fn bind_as(array: &ArrayRef, number: u32) -> Result<Self, ValueError> {
        if let Some((texts, bytes)) = texts_with_bytes(array) {
            let values = Values::TextWithBytes(texts.clone(), bytes.clone(), number);
            return Ok(Self { values, nulls: array.logical_nulls() });
        }
        let column = Self::bind(array)?;
        Ok(match column.values {
            Values::Text(texts) if !TEXT_OIDS.contains(&number) => {
                Self { values: Values::TextOf(texts, number), ..column }
            }
            Values::List(list) => Self { values: Values::List(Box::new(list.with_elements_of(number))), ..column },
            values => Self { values, ..column },
        })
    }

    /// Whether the value of `row` is null.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match &self.nulls {
            Some(nulls) => nulls.is_null(row),
            None => matches!(self.values, Values::Null),
        }
    }

    /// Appends the value of `row`, which is not null.
    #[inline]
    pub fn append(&self, format: Format, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        match format {
            Format::Text => self.append_text(row, out),
            Format::Binary => self.append_binary(row, out),
        }
    }

    fn append_text(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        match &self.values {
            Values::Null => {}
            Values::Bool(a) => out.push(if a.value(row) { b't' } else { b'f' }),
            Values::Int16(a) => append_i64(out, i64::from(a.value(row))),
            Values::Int32(a) => append_i64(out, i64::from(a.value(row))),
            Values::Int64(a) => append_i64(out, a.value(row)),
            Values::Float32(a) => float_text::append_f32(out, a.value(row)),
            Values::Float64(a) => float_text::append_f64(out, a.value(row)),
            Values::Numeric128(a, scale) => numeric::append_text_128(out, a.value(row), *scale),
            Values::Numeric256(a, scale) => numeric::append_text_256(out, a.value(row), *scale),
            Values::Text(a) | Values::TextOf(a, _) | Values::TextOfRecord(a, _) | Values::TextWithBytes(a, ..) => {
                out.extend_from_slice(a.value(row).as_bytes())
            }
            Values::LargeText(a) => out.extend_from_slice(a.value(row).as_bytes()),
            Values::TextView(a) => out.extend_from_slice(a.value(row).as_bytes()),
            Values::Bytea(a) => append_hex(out, a.value(row)),
            Values::LargeBytea(a) => append_hex(out, a.value(row)),
            Values::ByteaView(a) => append_hex(out, a.value(row)),
            Values::FixedBytea(a) => append_hex(out, a.value(row)),
            Values::Uuid(a) => append_uuid(out, a.value(row)),
            Values::Date(a) => calendar::append_date(out, a.value(row)),
            Values::Time(a) => calendar::append_time(out, a.value(row)),
            Values::Timestamp(a) => calendar::append_timestamp(out, a.value(row)),
            Values::TimestampTz(a, zone) => calendar::append_timestamptz(out, a.value(row), zone.as_ref()),
            Values::Interval(a) => interval::append_text(out, interval_of(a, row)),
            Values::List(list) => return list.append_text(row, out),
            Values::Record(record) => return record.append_text(row, out),
        }
        Ok(())
    }

    fn append_binary(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ValueError> {
        match &self.values {
            Values::Null => {}
            Values::Bool(a) => out.push(u8::from(a.value(row))),
            Values::Int16(a) => out.extend_from_slice(&a.value(row).to_be_bytes()),
            Values::Int32(a) => out.extend_from_slice(&a.value(row).to_be_bytes()),
            Values::Int64(a) => out.extend_from_slice(&a.value(row).to_be_bytes()),
            Values::Float32(a) => out.extend_from_slice(&a.value(row).to_be_bytes()),
            Values::Float64(a) => out.extend_from_slice(&a.value(row).to_be_bytes()),
            Values::Numeric128(a, scale) => numeric::append_binary_128(out, a.value(row), *scale),
            Values::Numeric256(a, scale) => numeric::append_binary_256(out, a.value(row), *scale),
            Values::Text(a) => out.extend_from_slice(a.value(row).as_bytes()),
            Values::TextOf(a, number) => {
                let bytes = binary_of_text(*number, a.value(row));
                out.extend_from_slice(&bytes.map_err(|_| ValueError::NoBinaryForm { oid: *number })?);
            }
            Values::TextOfRecord(a, fields) => {
                let bytes = binary_of_record(fields, a.value(row));
                out.extend_from_slice(&bytes.map_err(|_| ValueError::NoBinaryForm { oid: RECORD_OID })?);
            }
            Values::TextWithBytes(_, bytes, oid) if bytes.is_null(row) => {
                return Err(ValueError::NoBinaryForm { oid: *oid });
            }
            Values::TextWithBytes(_, bytes, _) => out.extend_from_slice(bytes.value(row)),
            Values::LargeText(a) => out.extend_from_slice(a.value(row).as_bytes()),
            Values::TextView(a) => out.extend_from_slice(a.value(row).as_bytes()),
            Values::Bytea(a) => out.extend_from_slice(a.value(row)),
            Values::LargeBytea(a) => out.extend_from_slice(a.value(row)),
            Values::ByteaView(a) => out.extend_from_slice(a.value(row)),
            Values::FixedBytea(a) | Values::Uuid(a) => out.extend_from_slice(a.value(row)),
            Values::Date(a) => {
                let days = a.value(row);
                let days = match calendar::infinity(days.into(), i32::MIN.into(), i32::MAX.into()) {
                    Some(_) => days,
                    None => days.checked_sub(POSTGRES_EPOCH_DAYS).ok_or_else(|| below_range("date"))?,
                };
                out.extend_from_slice(&days.to_be_bytes());
            }
            Values::Time(a) => out.extend_from_slice(&a.value(row).to_be_bytes()),
            Values::Timestamp(a) | Values::TimestampTz(a, _) => {
                let micros = a.value(row);
                let micros = match calendar::infinity(micros, i64::MIN, i64::MAX) {
                    Some(_) => micros,
                    None => micros.checked_sub(POSTGRES_EPOCH_US).ok_or_else(|| below_range("timestamp"))?,
                };
                out.extend_from_slice(&micros.to_be_bytes());
            }
            Values::Interval(a) => {
                let Interval { months, days, micros } = interval_of(a, row);
                out.extend_from_slice(&micros.to_be_bytes());
                out.extend_from_slice(&days.to_be_bytes());
                out.extend_from_slice(&months.to_be_bytes());
            }
            Values::List(list) => return list.append_binary(row, out),
            Values::Record(record) => return record.append_binary(row, out),
        }
        Ok(())
    }

    /// The list this column is bound to, if it is one.
    pub fn as_list(&self) -> Option<&List> {
        match &self.values {
            Values::List(list) => Some(list),
            _ => None,
        }
    }
}

/// Casts without ever turning a value into null.
pub(crate) fn checked_cast(array: &ArrayRef, target: &DataType) -> Result<ArrayRef, ValueError> {
    let options = CastOptions { safe: false, format_options: FormatOptions::default() };
    Ok(cast_with_options(array, target, &options)?)
}

/// The type that `data_type` is cast to before it is sent; `None` where it is sent as it is.
fn wire_form(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::Int8 | DataType::UInt8 => DataType::Int16,
        DataType::UInt16 => DataType::Int32,
        DataType::UInt32 | DataType::UInt64 => DataType::Int64,
        DataType::Float16 => DataType::Float32,
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(TimeUnit::Nanosecond) => DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(unit, zone) if *unit != TimeUnit::Microsecond => {
            DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
        }
        DataType::Interval(IntervalUnit::YearMonth | IntervalUnit::DayTime) | DataType::Duration(_) => {
            DataType::Interval(IntervalUnit::MonthDayNano)
        }
        DataType::Dictionary(_, values) => wire_form(values).unwrap_or_else(|| (**values).clone()),
        DataType::RunEndEncoded(_, values) => {
            wire_form(values.data_type()).unwrap_or_else(|| values.data_type().clone())
        }
        _ => return None,
    })
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef) -> PrimitiveArray<T> {
    array.as_primitive().clone()
}

/// Maps, unions and whatever else has no type on the wire, as Arrow prints it.
fn rendered(array: &ArrayRef) -> Result<StringArray, ValueError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options)?;
    let render = |row| (!array.is_null(row)).then(|| formatter.value(row).try_to_string()).transpose();
    Ok((0..array.len()).map(render).collect::<Result<StringArray, _>>()?)
}

fn interval_of(array: &PrimitiveArray<IntervalMonthDayNanoType>, row: usize) -> Interval {
    let value = array.value(row);
    Interval { months: value.months, days: value.days, micros: value.nanoseconds / 1000 }
}

fn below_range(pg_type: &'static str) -> ValueError {
    ValueError::OutOfRange { pg_type, text: "below the smallest".to_owned() }
}

static HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

fn append_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(2 + 2 * bytes.len());
    out.extend_from_slice(b"\\x");
    for byte in bytes {
        append_hex_byte(out, *byte);
    }
}

fn append_hex_byte(out: &mut Vec<u8>, byte: u8) {
    out.extend_from_slice(&[HEX_DIGITS[usize::from(byte >> 4)], HEX_DIGITS[usize::from(byte & 15)]]);
}

fn append_uuid(out: &mut Vec<u8>, bytes: &[u8]) {
    for (at, byte) in bytes.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        append_hex_byte(out, *byte);
    }
}
