//! Between dates and timestamps, local and universal.
//!
//! A timestamp with time zone is an instant; as a date or a plain timestamp it is what a clock in the session's time
//! zone shows at that instant, and the other way round.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Date32Array, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType};
use braid_sql::functions::datetime::clocks::rounded_time;
use braid_sql::input::time_zones::{TimeZone, zone_offset_s};
use braid_storage::ColumnType;

use crate::arrow_cast::strict_cast;
use crate::input::datetime::instant_of_local;
use crate::input::rounded_us;
use crate::{EngineError, SqlState};

const DAY_US: i64 = 86_400_000_000;

/// A date, timestamp or timestamptz as another of the three.
pub(crate) fn to_instant(array: &ArrayRef, target: ColumnType, zone: &TimeZone) -> Result<ArrayRef, EngineError> {
    let zoned = matches!(array.data_type(), DataType::Timestamp(_, Some(_)));
    let naive = to_microseconds(array)?;
    let micros = naive.as_primitive::<TimestampMicrosecondType>();
    match (zoned, target) {
        (true, ColumnType::TimestampTz) | (false, ColumnType::Timestamp) => {
            Ok(Arc::new(micros.clone().with_data_type(target.arrow())))
        }
        (true, ColumnType::Timestamp) => {
            Ok(Arc::new(micros.try_unary::<_, TimestampMicrosecondType, _>(|us| local_of(us, zone))?))
        }
        (false, ColumnType::TimestampTz) => {
            let instants: TimestampMicrosecondArray = micros.try_unary(|local| instant_of(local, zone))?;
            Ok(Arc::new(instants.with_data_type(target.arrow())))
        }
        (zoned, _) => {
            let dates: Date32Array = micros.try_unary(|us| {
                let local = if zoned { local_of(us, zone)? } else { us };
                i32::try_from(local.div_euclid(DAY_US)).map_err(|_| out_of_range())
            })?;
            Ok(Arc::new(dates))
        }
    }
}

/// Times or timestamps of microseconds, rounded to the digits of a second that a column has.
pub(crate) fn rounded(array: &ArrayRef, target: ColumnType) -> Result<ArrayRef, EngineError> {
    Ok(match target {
        ColumnType::RoundedTime(digits) => {
            let times = array.as_primitive::<Time64MicrosecondType>();
            Arc::new(times.unary::<_, Time64MicrosecondType>(|us| rounded_time(us, digits.into())))
        }
        ColumnType::RoundedTimestamp(digits) | ColumnType::RoundedTimestampTz(digits) => {
            let timestamps = array.as_primitive::<TimestampMicrosecondType>();
            let rounded = timestamps.unary::<_, TimestampMicrosecondType>(|us| rounded_us(us, digits));
            Arc::new(rounded.with_data_type(target.arrow()))
        }
        _ => array.clone(),
    })
}

/// Any date or timestamp as plain microseconds, rounded down.
fn to_microseconds(array: &ArrayRef) -> Result<ArrayRef, EngineError> {
    let zone = match array.data_type() {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    };
    let micros = strict_cast(array, &DataType::Timestamp(TimeUnit::Microsecond, zone)).map_err(|_| out_of_range())?;
    let plain = micros.as_primitive::<TimestampMicrosecondType>().clone();
    Ok(Arc::new(plain.with_data_type(DataType::Timestamp(TimeUnit::Microsecond, None))))
}

/// What a clock in `zone` shows.
pub(super) fn local_of(us: i64, zone: &TimeZone) -> Result<i64, EngineError> {
    us.checked_add(i64::from(zone_offset_s(us, zone)) * 1_000_000).ok_or_else(out_of_range)
}

/// When a clock in `zone` shows it.
pub(super) fn instant_of(local: i64, zone: &TimeZone) -> Result<i64, EngineError> {
    instant_of_local(local, zone).ok_or_else(out_of_range)
}

fn out_of_range() -> EngineError {
    EngineError::new(SqlState::DatetimeOverflow, "date/time value out of range")
}

#[cfg(test)]
mod tests {
    use braid_sql::functions::text_input::ReadingSession;

    use super::*;
    use crate::conversion::convert;

    #[test]
    fn clocks_and_instants_convert_in_the_sessions_zone() {
        let hour = 3_600_000_000;
        let berlin: TimeZone = "Europe/Berlin".parse().unwrap();
        let instants: ArrayRef =
            Arc::new(TimestampMicrosecondArray::from(vec![Some(-hour), None]).with_timezone("UTC"));
        let to = |array: &ArrayRef, target| {
            convert(array, target, &ReadingSession { zone: berlin, ..ReadingSession::of_output() }).unwrap()
        };
        let local = to(&instants, ColumnType::Timestamp);
        assert_eq!(local.as_primitive::<TimestampMicrosecondType>().value(0), 0);
        assert_eq!(local.null_count(), 1);
        assert_eq!(&to(&local, ColumnType::TimestampTz), &instants);
        let dates = to(&instants, ColumnType::Date);
        assert_eq!(dates.as_primitive::<arrow::datatypes::Date32Type>().value(0), 0);
        assert_eq!(&to(&dates, ColumnType::TimestampTz), &instants);
    }

    #[test]
    fn days_before_1970_round_down() {
        let local: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![-1]));
        let dates = convert(&local, ColumnType::Date, &ReadingSession::of_output()).unwrap();
        assert_eq!(dates.as_primitive::<arrow::datatypes::Date32Type>().value(0), -1);
    }
}
