//! An instant plus an interval: months and days are those of the session's time zone, so that a day may have 23 or 25 hours
//! (`timestamptz_pl_interval` in PostgreSQL).

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{AsArray, TimestampMicrosecondArray};
use arrow::compute::kernels::arity::try_binary;
use arrow::datatypes::{DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, TimestampMicrosecondType};
use arrow::error::ArrowError;
use braid_storage::ColumnType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::temporal::{instant_of, local_of};
use crate::input::datetime::{days_from_civil, days_in_month, utc};
use crate::output::datetime::civil_from_days;
use crate::{EngineError, SqlState};

const DAY_US: i64 = 86_400_000_000;

/// `instant + interval` or `instant - interval` in a time zone.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct ZonedSum {
    zone_name: String,
    subtracts: bool,
    signature: Signature,
}

impl ZonedSum {
    /// A sum, or a difference if it `subtracts`.
    pub fn new(zone_name: &str, subtracts: bool) -> Self {
        let types = vec![ColumnType::TimestampTz.arrow(), ColumnType::Interval.arrow()];
        let signature = Signature::exact(types, Volatility::Immutable);
        Self { zone_name: zone_name.to_owned(), subtracts, signature }
    }
}

impl ScalarUDFImpl for ZonedSum {
    fn name(&self) -> &str {
        "zoned_sum"
    }

    /// As the operator's, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(names.join(if self.subtracts { " - " } else { " + " }))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(ColumnType::TimestampTz.arrow())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let zone: Tz = self.zone_name.parse().unwrap_or_else(|_| utc());
        let arguments = ColumnarValue::values_to_arrays(&args.args)?;
        let [instants, intervals] = &arguments[..] else {
            return Err(EngineError::internal("a sum has two sides").into());
        };
        let sums: TimestampMicrosecondArray = try_binary(
            instants.as_primitive::<TimestampMicrosecondType>(),
            intervals.as_primitive::<IntervalMonthDayNanoType>(),
            |instant, interval| {
                let interval = if self.subtracts { negated(interval) } else { Some(interval) };
                let sum = interval.map_or_else(|| Err(out_of_range()), |interval| sum(instant, interval, &zone));
                sum.map_err(|error| ArrowError::ExternalError(Box::new(error)))
            },
        )?;
        Ok(ColumnarValue::Array(Arc::new(sums.with_data_type(ColumnType::TimestampTz.arrow()))))
    }
}

fn negated(interval: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
    let (months, days) = (interval.months.checked_neg()?, interval.days.checked_neg()?);
    Some(IntervalMonthDayNano::new(months, days, interval.nanoseconds.checked_neg()?))
}

fn sum(instant_us: i64, interval: IntervalMonthDayNano, zone: &Tz) -> Result<i64, EngineError> {
    let mut us = instant_us;
    if interval.months != 0 {
        let local = local_of(us, zone)?;
        let days = plus_months(local.div_euclid(DAY_US), interval.months).ok_or_else(out_of_range)?;
        us = instant_of(days * DAY_US + local.rem_euclid(DAY_US), zone)?;
    }
    if interval.days != 0 {
        let local = local_of(us, zone)?.checked_add(i64::from(interval.days) * DAY_US).ok_or_else(out_of_range)?;
        us = instant_of(local, zone)?;
    }
    us.checked_add(interval.nanoseconds / 1000).ok_or_else(out_of_range)
}

/// The same day of another month, or its last.
fn plus_months(days: i64, months: i32) -> Option<i64> {
    let (year, month, day) = civil_from_days(days);
    let month = year * 12 + i64::from(month) - 1 + i64::from(months);
    let (year, month) = (i32::try_from(month.div_euclid(12)).ok()?, month.rem_euclid(12) as u32 + 1);
    days_from_civil(year, month, day.min(days_in_month(year, month))).map(i64::from)
}

fn out_of_range() -> EngineError {
    EngineError::new(SqlState::DatetimeOverflow, "timestamp out of range")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::datetime::parse_timestamptz;

    /// Every expected value was PostgreSQL 15's answer.
    #[test]
    fn days_and_months_are_those_of_the_zone() {
        let zone: Tz = "America/New_York".parse().unwrap();
        let hour = 3_600_000_000_000;
        for (start, (months, days, ns), expected) in [
            ("2024-03-09 12:00", (0, 1, 0), "2024-03-10 12:00"),
            ("2024-03-09 12:00", (0, 0, 24 * hour), "2024-03-10 13:00"),
            ("2024-04-10 12:00", (-1, -2, 0), "2024-03-08 12:00"),
            ("2024-01-31 12:00", (1, 0, 0), "2024-02-29 12:00"),
            ("2024-03-09 02:30", (0, 1, 0), "2024-03-10 03:30"),
        ] {
            let instant = |text| parse_timestamptz(text, &zone).unwrap();
            let sum = sum(instant(start), IntervalMonthDayNano::new(months, days, ns), &zone).unwrap();
            assert_eq!(sum, instant(expected), "{start}");
        }
    }
}
