//! A column of texts into an Arrow array of the column's type.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryViewBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, FixedSizeBinaryBuilder,
    Float32Builder, Float64Builder, Int16Builder, Int32Builder, Int64Builder, IntervalMonthDayNanoBuilder,
    StringViewBuilder, Time64MicrosecondBuilder, TimestampMicrosecondBuilder,
};
use braid_catalog::column_types::{is_without_precision, sql_type_of};
use braid_plan::values::codec::encode;
use braid_sql::functions::datetime::clocks::rounded_timestamp;
use braid_sql::functions::text_input::ReadingSession;
use braid_sql::input::enums::value_of_label;
use braid_sql::pg_catalog::TypeId;
use braid_sql::{Value, column_value};
use braid_storage::ColumnType;

use super::bytes::{fit_char, fit_name, fit_varchar, parse_boolean, parse_bytea, parse_uuid};
use super::numbers::{check_plain_digits, parse_double, parse_integer, parse_numeric, parse_real};
use crate::EngineError;
use braid_sql::input::column_values::{column_date, column_interval, column_timestamp, column_timestamptz};

/// Collects the texts of one column.
pub(crate) struct ColumnInput {
    column_type: ColumnType,
    session: ReadingSession,
    builder: Builder,
}

enum Builder {
    Boolean(BooleanBuilder),
    SmallInt(Int16Builder),
    Integer(Int32Builder),
    BigInt(Int64Builder),
    Real(Float32Builder),
    Double(Float64Builder),
    Numeric(Decimal128Builder),
    Text(StringViewBuilder),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    Interval(IntervalMonthDayNanoBuilder),
    Bytea(BinaryViewBuilder),
    Uuid(FixedSizeBinaryBuilder),
    /// Keys of the labels of a type.
    Enum(TypeId, Int64Builder),
    /// The bytes of a value that is being read, and those of the others.
    Encoded(Vec<u8>, BinaryViewBuilder),
}

/// Runs `$body` with `$b` bound to whichever builder there is.
macro_rules! each_builder {
    ($builder:expr, $b:ident => $body:expr) => {
        match $builder {
            Builder::Boolean($b) => $body,
            Builder::SmallInt($b) => $body,
            Builder::Integer($b) => $body,
            Builder::BigInt($b) => $body,
            Builder::Real($b) => $body,
            Builder::Double($b) => $body,
            Builder::Numeric($b) => $body,
            Builder::Text($b) => $body,
            Builder::Date($b) => $body,
            Builder::Time($b) => $body,
            Builder::Timestamp($b) => $body,
            Builder::Interval($b) => $body,
            Builder::Bytea($b) => $body,
            Builder::Uuid($b) => $body,
            Builder::Enum(_, $b) => $body,
            Builder::Encoded(_, $b) => $body,
        }
    };
}

impl ColumnInput {
    /// An empty column. Timestamps with time zone that carry no offset are read as local time of the session.
    pub fn new(column_type: ColumnType, session: ReadingSession) -> Self {
        let builder = match column_type {
            ColumnType::Boolean => Builder::Boolean(BooleanBuilder::new()),
            ColumnType::SmallInt => Builder::SmallInt(Int16Builder::new()),
            ColumnType::Integer => Builder::Integer(Int32Builder::new()),
            ColumnType::BigInt => Builder::BigInt(Int64Builder::new()),
            ColumnType::Real => Builder::Real(Float32Builder::new()),
            ColumnType::Double => Builder::Double(Float64Builder::new()),
            ColumnType::Numeric { .. } => {
                Builder::Numeric(Decimal128Builder::new().with_data_type(column_type.arrow()))
            }
            ColumnType::Text
            | ColumnType::Varchar(_)
            | ColumnType::UnlimitedVarchar
            | ColumnType::Char(_)
            | ColumnType::Name => Builder::Text(StringViewBuilder::new()),
            ColumnType::Date => Builder::Date(Date32Builder::new()),
            ColumnType::Time | ColumnType::RoundedTime(_) => Builder::Time(Time64MicrosecondBuilder::new()),
            ColumnType::Timestamp
            | ColumnType::TimestampTz
            | ColumnType::RoundedTimestamp(_)
            | ColumnType::RoundedTimestampTz(_) => {
                Builder::Timestamp(TimestampMicrosecondBuilder::new().with_data_type(column_type.arrow()))
            }
            ColumnType::Interval => Builder::Interval(IntervalMonthDayNanoBuilder::new()),
            ColumnType::Bytea => Builder::Bytea(BinaryViewBuilder::new()),
            ColumnType::Uuid => Builder::Uuid(FixedSizeBinaryBuilder::new(16)),
            ColumnType::Enum(_) => Builder::Enum(sql_type_of(column_type).id, Int64Builder::new()),
            ColumnType::Encoded { .. } => Builder::Encoded(Vec::new(), BinaryViewBuilder::new()),
        };
        Self { column_type, session, builder }
    }

    /// Reads one value.
    pub fn append(&mut self, text: &str) -> Result<(), EngineError> {
        match &mut self.builder {
            Builder::Boolean(b) => b.append_value(parse_boolean(text)?),
            Builder::SmallInt(b) => b.append_value(parse_integer(text, "smallint")?),
            Builder::Integer(b) => b.append_value(parse_integer(text, "integer")?),
            Builder::BigInt(b) => b.append_value(parse_integer(text, "bigint")?),
            Builder::Real(b) => b.append_value(parse_real(text)?),
            Builder::Double(b) => b.append_value(parse_double(text)?),
            Builder::Numeric(b) => {
                let ColumnType::Numeric { precision, scale } = self.column_type else {
                    unreachable!("a numeric builder belongs to a numeric column");
                };
                if is_without_precision(self.column_type) {
                    check_plain_digits(text, scale)?;
                }
                b.append_value(parse_numeric(text, precision, scale)?);
            }
            Builder::Text(b) => b.append_value(match self.column_type {
                ColumnType::Varchar(length_max) => fit_varchar(text, length_max)?,
                ColumnType::Char(length_max) => fit_char(text, length_max)?,
                ColumnType::Name => fit_name(text),
                _ => text,
            }),
            Builder::Date(b) => b.append_value(column_date(text, &self.session.surroundings())?),
            Builder::Time(b) => match column_value(text, sql_type_of(self.column_type), &self.session)? {
                Value::Time(us) => b.append_value(us),
                other => unreachable!("{other:?} is no time"),
            },
            Builder::Enum(id, b) => b.append_value(value_of_label(text, *id)?.as_enum().key),
            Builder::Encoded(bytes, b) => {
                bytes.clear();
                encode(&column_value(text, sql_type_of(self.column_type), &self.session)?, bytes)?;
                b.append_value(bytes);
            }
            Builder::Timestamp(b) => b.append_value(match self.column_type {
                ColumnType::TimestampTz => column_timestamptz(text, &self.session.surroundings())?,
                ColumnType::RoundedTimestamp(digits) => {
                    rounded_us(column_timestamp(text, &self.session.surroundings())?, digits)
                }
                ColumnType::RoundedTimestampTz(digits) => {
                    rounded_us(column_timestamptz(text, &self.session.surroundings())?, digits)
                }
                _ => column_timestamp(text, &self.session.surroundings())?,
            }),
            Builder::Interval(b) => b.append_value(column_interval(text, self.session.formats.interval_style)?),
            Builder::Bytea(b) => b.append_value(parse_bytea(text)?),
            Builder::Uuid(b) => b.append_value(parse_uuid(text)?).expect("a uuid has 16 bytes"),
        }
        Ok(())
    }

    /// Adds a null.
    pub fn append_null(&mut self) {
        each_builder!(&mut self.builder, b => b.append_null());
    }

    /// The array so far; the column is empty afterwards.
    pub fn finish(&mut self) -> ArrayRef {
        each_builder!(&mut self.builder, b => Arc::new(b.finish()))
    }
}

/// A timestamp rounded to digits of a second. Infinite ones stay.
pub(crate) fn rounded_us(us: i64, digits: u8) -> i64 {
    if [i64::MIN, i64::MAX].contains(&us) { us } else { rounded_timestamp(us, digits.into()) }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::Decimal128Type;

    use super::*;

    #[test]
    fn every_type_makes_its_own_arrow_type() {
        for (column_type, text) in [
            (ColumnType::Boolean, "t"),
            (ColumnType::SmallInt, "1"),
            (ColumnType::Integer, "1"),
            (ColumnType::BigInt, "1"),
            (ColumnType::Real, "1.5"),
            (ColumnType::Double, "1.5"),
            (ColumnType::Numeric { precision: 12, scale: 2 }, "1.5"),
            (ColumnType::Numeric { precision: 38, scale: 10 }, "1.5"),
            (ColumnType::Text, "x"),
            (ColumnType::Varchar(3), "abc"),
            (ColumnType::Char(3), "ab"),
            (ColumnType::Date, "2024-01-01"),
            (ColumnType::Timestamp, "2024-01-01 10:00:00"),
            (ColumnType::TimestampTz, "2024-01-01 10:00:00+00"),
            (ColumnType::Interval, "1 day"),
            (ColumnType::Bytea, "\\x00"),
            (ColumnType::Uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ] {
            let mut column = ColumnInput::new(column_type, ReadingSession::of_output());
            column.append(text).unwrap();
            column.append_null();
            let array = column.finish();
            assert_eq!(array.data_type(), &column_type.arrow(), "{column_type}");
            assert_eq!((array.len(), array.is_valid(0), array.is_null(1)), (2, true, true), "{column_type}");
            assert_eq!(column.finish().len(), 0, "{column_type}");
        }
    }

    #[test]
    fn numerics_take_the_scale_of_their_column() {
        let mut column = ColumnInput::new(ColumnType::Numeric { precision: 4, scale: 1 }, ReadingSession::of_output());
        column.append("12.35").unwrap();
        assert!(column.append("1000").is_err());
        assert_eq!(column.finish().as_primitive::<Decimal128Type>().value(0), 124);
    }
}
