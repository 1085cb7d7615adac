//! Arrow's values as PostgreSQL prints them.
//!
//! The server has an encoder of its own for the wire, with every type and both formats. This one is written apart from
//! it, for the tests' few types, so that a misprint there does not hide itself here.

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Float32Type, Float64Type, IntervalMonthDayNanoType, IntervalUnit, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType,
};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use braid_engine::texts_with_bytes;

use crate::calendar_text::{DAY_US, date_text, timestamp_text};
use crate::text_forms::{
    array_text, bytea_text, dimension_text, float4_text, float8_text, interval_text, record_text, time_text, uuid_text,
};

/// What the largest date and timestamp are.
const INFINITY: &str = "infinity";

/// A value's text; `None` for null.
pub fn pg_text(column: &dyn Array, row: usize) -> Result<Option<String>, ArrowError> {
    // A column of nothing but nulls has no validity bits to ask.
    if column.is_null(row) || column.data_type() == &DataType::Null {
        return Ok(None);
    }
    if let Some((texts, _)) = texts_with_bytes(column) {
        return Ok(Some(texts.value(row).to_owned()));
    }
    let text = match column.data_type() {
        DataType::Boolean => if column.as_boolean().value(row) { "t" } else { "f" }.to_owned(),
        DataType::Float32 => float4_text(column.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => float8_text(column.as_primitive::<Float64Type>().value(row)),
        DataType::Binary => bytea_text(column.as_binary::<i32>().value(row)),
        DataType::LargeBinary => bytea_text(column.as_binary::<i64>().value(row)),
        DataType::BinaryView => bytea_text(column.as_binary_view().value(row)),
        DataType::FixedSizeBinary(16) => {
            let bytes = column.as_fixed_size_binary().value(row);
            uuid_text(bytes.try_into().expect("the type says that there are 16"))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = column.as_primitive::<IntervalMonthDayNanoType>().value(row);
            interval_text(value.months, value.days, value.nanoseconds / 1000)
        }
        DataType::Struct(_) => {
            let fields = column.as_struct().columns().iter().map(|field| pg_text(field, row));
            record_text(fields.collect::<Result<Vec<_>, _>>()?)
        }
        DataType::List(_) => list_text(column.as_list::<i32>().value(row).as_ref())?,
        DataType::Date32 => match column.as_primitive::<Date32Type>().value(row) {
            i32::MAX => INFINITY.to_owned(),
            i32::MIN => format!("-{INFINITY}"),
            days => date_text(i64::from(days) * DAY_US).map_err(ArrowError::ComputeError)?,
        },
        DataType::Time64(TimeUnit::Microsecond) => {
            time_text(column.as_primitive::<Time64MicrosecondType>().value(row).unsigned_abs())
        }
        DataType::Timestamp(_, zone) => {
            let target = DataType::Timestamp(TimeUnit::Microsecond, zone.clone());
            let micros = cast(&column.slice(row, 1), &target)?.as_primitive::<TimestampMicrosecondType>().value(0);
            let zone = zone.as_deref().map(str::parse).transpose()?;
            match micros {
                i64::MAX => INFINITY.to_owned(),
                i64::MIN => format!("-{INFINITY}"),
                micros => timestamp_text(micros, zone).map_err(ArrowError::ComputeError)?,
            }
        }
        _ => ArrayFormatter::try_new(column, &FormatOptions::new())?.value(row).try_to_string()?,
    };
    Ok(Some(text))
}

fn list_text(values: &dyn Array) -> Result<String, ArrowError> {
    let texts = (0..values.len()).map(|row| pg_text(values, row)).collect::<Result<Vec<_>, _>>()?;
    if matches!(values.data_type(), DataType::List(_)) {
        return Ok(dimension_text(texts.into_iter().map(|inner| inner.unwrap_or_else(|| "NULL".to_owned()))));
    }
    Ok(array_text(texts))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ListArray, StructArray, TimestampNanosecondArray};
    use arrow::datatypes::{Field, Int32Type};

    use super::*;

    #[test]
    fn nested_values_and_timestamps_print_as_in_postgresql() {
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
        assert_eq!(pg_text(&list, 0).unwrap().as_deref(), Some("{1,NULL}"));
        let field = Arc::new(Field::new("f", list.data_type().clone(), true));
        let record = StructArray::from(vec![(field, Arc::new(list) as _)]);
        assert_eq!(pg_text(&record, 0).unwrap().as_deref(), Some("(\"{1,NULL}\")"));
        let noon = TimestampNanosecondArray::from(vec![1_704_067_200_500_000_000]);
        assert_eq!(pg_text(&noon, 0).unwrap().as_deref(), Some("2024-01-01 00:00:00.5"));
        let zoned = noon.with_timezone("Asia/Kolkata");
        assert_eq!(pg_text(&zoned, 0).unwrap().as_deref(), Some("2024-01-01 05:30:00.5+05:30"));
    }
}
