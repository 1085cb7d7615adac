//! The values of an Arrow array as text, whatever its type.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use braid_sql::formats::IntervalStyle;
use braid_sql::functions::text_input::ReadingSession;
use braid_sql::output::bytes::{write_bytea, write_hexadecimal};
use braid_sql::output::datetime_styles::{styled_date, styled_timestamp, styled_timestamptz};
use braid_sql::output::interval_styles::styled_interval;
use braid_sql::values::Interval;

use super::datetime::{write_interval, write_time_us};
use super::numbers::{write_double_with, write_numeric, write_real_with};
use crate::EngineError;
use crate::arrow_cast::strict_cast;
use crate::sent_columns::texts_with_bytes::texts_with_bytes;

/// How booleans are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BooleanStyle {
    /// `t` and `f`: results and COPY.
    Letter,
    /// `true` and `false`: casts to text.
    Word,
}

/// The texts of one column.
pub(crate) struct ColumnOutput {
    array: ArrayRef,
    session: ReadingSession,
    booleans: BooleanStyle,
}

impl ColumnOutput {
    /// A column to write in the zone and the formats of a session. Arrow types with several units are brought to one here, once.
    pub fn new(array: &ArrayRef, session: ReadingSession, booleans: BooleanStyle) -> Result<Self, EngineError> {
        let microseconds = |zone: &Option<Arc<str>>| DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
        let array = match array.data_type() {
            DataType::Timestamp(unit, zone) if *unit != TimeUnit::Microsecond => {
                strict_cast(array, &microseconds(zone))?
            }
            DataType::Date64 => strict_cast(array, &DataType::Date32)?,
            DataType::Time32(_) | DataType::Time64(TimeUnit::Nanosecond) => {
                strict_cast(array, &DataType::Time64(TimeUnit::Microsecond))?
            }
            DataType::Interval(unit) if *unit != IntervalUnit::MonthDayNano => {
                strict_cast(array, &DataType::Interval(IntervalUnit::MonthDayNano))?
            }
            DataType::Dictionary(_, values) => strict_cast(array, values)?,
            DataType::Decimal32(p, s) | DataType::Decimal64(p, s) => strict_cast(array, &DataType::Decimal128(*p, *s))?,
            DataType::Float16 => strict_cast(array, &DataType::Float32)?,
            DataType::LargeUtf8 | DataType::Utf8 => strict_cast(array, &DataType::Utf8View)?,
            DataType::Binary | DataType::LargeBinary => strict_cast(array, &DataType::BinaryView)?,
            _ => match texts_with_bytes(array) {
                Some((texts, _)) => strict_cast(&(Arc::new(texts.clone()) as ArrayRef), &DataType::Utf8View)?,
                None => array.clone(),
            },
        };
        Ok(Self { array, session, booleans })
    }

    /// Whether the value in `row` is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(row) || *self.array.data_type() == DataType::Null
    }

    /// Writes the value in `row`, which is not null.
    pub fn write(&self, row: usize, out: &mut String) -> Result<(), EngineError> {
        let (array, formats) = (&self.array, &self.session.formats);
        macro_rules! integer {
            ($type:ty) => {
                write!(out, "{}", array.as_primitive::<$type>().value(row)).expect("a String takes everything")
            };
        }
        match array.data_type() {
            DataType::Boolean => out.push_str(match (array.as_boolean().value(row), self.booleans) {
                (true, BooleanStyle::Letter) => "t",
                (false, BooleanStyle::Letter) => "f",
                (true, BooleanStyle::Word) => "true",
                (false, BooleanStyle::Word) => "false",
            }),
            DataType::Int8 => integer!(Int8Type),
            DataType::Int16 => integer!(Int16Type),
            DataType::Int32 => integer!(Int32Type),
            DataType::Int64 => integer!(Int64Type),
            DataType::UInt8 => integer!(UInt8Type),
            DataType::UInt16 => integer!(UInt16Type),
            DataType::UInt32 => integer!(UInt32Type),
            DataType::UInt64 => integer!(UInt64Type),
            DataType::Float32 => write_real_with(array.as_primitive::<Float32Type>().value(row), formats.floats, out),
            DataType::Float64 => write_double_with(array.as_primitive::<Float64Type>().value(row), formats.floats, out),
            DataType::Decimal128(_, scale) => {
                write_numeric(array.as_primitive::<Decimal128Type>().value(row), *scale, out);
            }
            DataType::Utf8View => out.push_str(array.as_string_view().value(row)),
            DataType::BinaryView => write_bytea(array.as_binary_view().value(row), formats.bytea, out),
            DataType::FixedSizeBinary(16) => write_uuid(array.as_fixed_size_binary().value(row), out),
            DataType::FixedSizeBinary(_) => write_bytea(array.as_fixed_size_binary().value(row), formats.bytea, out),
            DataType::Date32 => out.push_str(&styled_date(array.as_primitive::<Date32Type>().value(row), formats)),
            DataType::Time64(_) => write_time_us(array.as_primitive::<Time64MicrosecondType>().value(row), out),
            DataType::Timestamp(_, None) => {
                out.push_str(&styled_timestamp(array.as_primitive::<TimestampMicrosecondType>().value(row), formats));
            }
            DataType::Timestamp(_, Some(_)) => {
                let us = array.as_primitive::<TimestampMicrosecondType>().value(row);
                out.push_str(&styled_timestamptz(us, &self.session.zone, formats));
            }
            DataType::Interval(_) => {
                let interval = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
                match formats.interval_style {
                    IntervalStyle::Postgres => write_interval(interval, out),
                    style => {
                        let us = interval.nanoseconds / 1000;
                        out.push_str(&styled_interval(Interval::new(interval.months, interval.days, us), style));
                    }
                }
            }
            DataType::List(_) => self.write_list(&array.as_list::<i32>().value(row), out)?,
            DataType::LargeList(_) => self.write_list(&array.as_list::<i64>().value(row), out)?,
            DataType::FixedSizeList(..) => self.write_list(&array.as_fixed_size_list().value(row), out)?,
            _ => {
                let options = FormatOptions::default();
                let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
                write!(out, "{}", formatter.value(row)).expect("a String takes everything");
            }
        }
        Ok(())
    }

    /// An array value: `{1,NULL,"a b"}`.
    fn write_list(&self, values: &ArrayRef, out: &mut String) -> Result<(), EngineError> {
        let nested =
            matches!(values.data_type(), DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..));
        let elements = Self::new(values, self.session, BooleanStyle::Letter)?;
        let mut text = String::new();
        out.push('{');
        for row in 0..values.len() {
            if row > 0 {
                out.push(',');
            }
            if elements.is_null(row) {
                out.push_str("NULL");
                continue;
            }
            text.clear();
            elements.write(row, &mut text)?;
            if nested { out.push_str(&text) } else { write_element(&text, out) }
        }
        out.push('}');
        Ok(())
    }
}

/// An element of an array value, in quotes where it could be misread.
fn write_element(text: &str, out: &mut String) {
    let special = |c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\\' | '{' | '}' | ',');
    if !text.is_empty() && !text.contains(special) && !text.eq_ignore_ascii_case("null") {
        out.push_str(text);
        return;
    }
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

fn write_uuid(bytes: &[u8], out: &mut String) {
    for (at, range) in [0..4, 4..6, 6..8, 8..10, 10..16].into_iter().enumerate() {
        if at > 0 {
            out.push('-');
        }
        write_hexadecimal(&bytes[range], out);
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{BooleanArray, Int32Array, ListArray, TimestampNanosecondArray};
    use braid_storage::ColumnType;

    use super::*;
    use crate::input::ColumnInput;

    fn text_of(array: ArrayRef, row: usize) -> String {
        let column = ColumnOutput::new(&array, ReadingSession::of_output(), BooleanStyle::Letter).unwrap();
        let mut out = String::new();
        column.write(row, &mut out).unwrap();
        out
    }

    #[test]
    fn every_column_type_writes_what_it_reads() {
        for (column_type, text) in [
            (ColumnType::Boolean, "t"),
            (ColumnType::SmallInt, "-7"),
            (ColumnType::Integer, "7"),
            (ColumnType::BigInt, "-9223372036854775808"),
            (ColumnType::Real, "1.5"),
            (ColumnType::Double, "1e+20"),
            (ColumnType::Numeric { precision: 12, scale: 2 }, "-1.50"),
            (ColumnType::Numeric { precision: 38, scale: 0 }, "12345678901234567890123456789"),
            (ColumnType::Text, "a b"),
            (ColumnType::Varchar(3), "äöü"),
            (ColumnType::Date, "2024-02-29"),
            (ColumnType::Timestamp, "2024-02-29 13:14:15.123"),
            (ColumnType::TimestampTz, "2024-02-29 13:14:15+00"),
            (ColumnType::Bytea, "\\x00ff"),
            (ColumnType::Uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ] {
            let mut column = ColumnInput::new(column_type, ReadingSession::of_output());
            column.append(text).unwrap();
            assert_eq!(text_of(column.finish(), 0), text, "{column_type}");
        }
    }

    #[test]
    fn booleans_have_two_styles() {
        let array: ArrayRef = Arc::new(BooleanArray::from(vec![true, false]));
        let column = ColumnOutput::new(&array, ReadingSession::of_output(), BooleanStyle::Word).unwrap();
        let mut out = String::new();
        column.write(0, &mut out).unwrap();
        column.write(1, &mut out).unwrap();
        assert_eq!(out, "truefalse");
    }

    #[test]
    fn arrays_and_other_units_are_written_too() {
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None])]);
        assert_eq!(text_of(Arc::new(list), 0), "{1,NULL}");
        assert_eq!(text_of(Arc::new(TimestampNanosecondArray::from(vec![1_500])), 0), "1970-01-01 00:00:00.000001");
        let fives: ArrayRef = Arc::new(Int32Array::from(vec![5]));
        let dictionary = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Int32));
        assert_eq!(text_of(strict_cast(&fives, &dictionary).unwrap(), 0), "5");
        let mut out = String::new();
        write_element("a \"b\"", &mut out);
        assert_eq!(out, "\"a \\\"b\\\"\"");
    }
}
