//! `extract` and `date_part`, and instants from seconds.
//!
//! `extract` is numeric: whole fields without digits after the point, seconds with six, milliseconds with three, as the
//! epoch of everything but a date has six (`timestamp_part_common` and similar functions of PostgreSQL). `date_part` is the same
//! number in double precision. Fields of instants are those of local time, which the argument already is
//! (`function_types`).

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array, Float64Array, PrimitiveArray, new_null_array};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Field as ArrowField, FieldRef, Float64Type, IntervalMonthDayNano,
    IntervalMonthDayNanoType, Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use arrow::error::ArrowError;
use braid_storage::ColumnType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::name_of;
use crate::arrow_cast::strict_cast;
use crate::input::datetime::days_from_civil;
use crate::output::datetime::civil_from_days;
use crate::{EngineError, SqlState};

/// What `EXTRACT(field FROM value)` calls, with the field as a text.
pub(crate) const EXTRACT: &str = "extract";
/// What `to_timestamp(seconds)` calls.
pub(crate) const EPOCH_INSTANT: &str = "epoch_instant";

const DAY_US: i64 = 86_400_000_000;
const DAY_SECONDS: i64 = 86_400;
/// 1970-01-01 as a Julian day.
const JULIAN_EPOCH: i64 = 2_440_588;

/// All functions of this module.
pub(crate) fn date_functions() -> [ScalarUDF; 3] {
    // DataFusion's own function has an alias, under which it would survive.
    let of = |kind: Kind| {
        let aliases = if kind == Kind::DatePart { vec!["datepart".to_owned()] } else { Vec::new() };
        ScalarUDF::from(FieldFunction { kind, aliases, signature: Signature::any(2, Volatility::Immutable) })
    };
    let seconds = Signature::exact(vec![DataType::Float64], Volatility::Immutable);
    [of(Kind::Extract), of(Kind::DatePart), ScalarUDF::from(EpochInstant { signature: seconds })]
}

/// A field of a date or an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    Week,
    IsoYear,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Julian,
    Epoch,
}

impl Field {
    fn of(name: &str, source: &DataType) -> Result<Self, EngineError> {
        let lower = name.to_ascii_lowercase();
        Ok(match lower.as_str() {
            "microseconds" | "microsecond" | "us" | "usec" | "usecs" => Self::Microseconds,
            "milliseconds" | "millisecond" | "ms" | "msec" | "msecs" => Self::Milliseconds,
            "second" | "seconds" | "sec" | "secs" | "s" => Self::Second,
            "minute" | "minutes" | "min" | "mins" | "m" => Self::Minute,
            "hour" | "hours" | "hr" | "hrs" | "h" => Self::Hour,
            "day" | "days" | "d" => Self::Day,
            "month" | "months" | "mon" | "mons" => Self::Month,
            "quarter" | "qtr" => Self::Quarter,
            "year" | "years" | "yr" | "yrs" | "y" => Self::Year,
            "decade" | "decades" => Self::Decade,
            "century" | "centuries" => Self::Century,
            "millennium" | "millennia" => Self::Millennium,
            "week" | "weeks" | "w" => Self::Week,
            "isoyear" => Self::IsoYear,
            "dow" => Self::DayOfWeek,
            "isodow" => Self::IsoDayOfWeek,
            "doy" => Self::DayOfYear,
            "julian" => Self::Julian,
            "epoch" => Self::Epoch,
            "timezone" | "timezone_hour" | "timezone_minute" => {
                return Err(EngineError::unsupported(format!("the field {lower} is not supported")));
            }
            _ => {
                let message = format!("unit \"{name}\" not recognized for type {}", name_of(source));
                return Err(EngineError::new(SqlState::InvalidParameterValue, message));
            }
        })
    }

    /// Digits after the point.
    fn scale(self, source: &DataType) -> i8 {
        match self {
            Self::Second => 6,
            Self::Milliseconds => 3,
            Self::Epoch if *source != DataType::Date32 => 6,
            _ => 0,
        }
    }

    fn numeric(self, source: &DataType) -> DataType {
        let precision = if matches!(self, Self::Epoch | Self::Microseconds) { 20 } else { 10 };
        DataType::Decimal128(precision, self.scale(source))
    }

    /// The field of a day, without its point.
    fn of_day(self, days: i64) -> Option<i64> {
        let (year, month, day) = civil_from_days(days);
        // Before the year 1 comes -1.
        let year_shown = if year > 0 { year } else { year - 1 };
        let day_of_week = (days + 4).rem_euclid(7);
        let thursday = days - (day_of_week + 6) % 7 + 3;
        let iso_year = civil_from_days(thursday).0;
        Some(match self {
            Self::Day => day.into(),
            Self::Month => month.into(),
            Self::Quarter => i64::from(month - 1) / 3 + 1,
            Self::Year => year_shown,
            Self::Decade => year.div_euclid(10),
            Self::Century if year > 0 => (year + 99) / 100,
            Self::Century => -((99 - year_shown) / 100),
            Self::Millennium if year > 0 => (year + 999) / 1000,
            Self::Millennium => -((999 - year_shown) / 1000),
            Self::Week => (thursday - first_day(iso_year)?) / 7 + 1,
            Self::IsoYear => iso_year,
            Self::DayOfWeek => day_of_week,
            Self::IsoDayOfWeek => (day_of_week + 6) % 7 + 1,
            Self::DayOfYear => days - first_day(year)? + 1,
            Self::Julian => days + JULIAN_EPOCH,
            Self::Epoch => days * DAY_SECONDS,
            _ => return None,
        })
    }

    /// The field of a time of the day.
    fn of_time(self, us: i64) -> Option<i64> {
        Some(match self {
            Self::Microseconds | Self::Milliseconds | Self::Second => us % 60_000_000,
            Self::Minute => us / 60_000_000 % 60,
            Self::Hour => us / 3_600_000_000,
            _ => return None,
        })
    }

    fn of_timestamp(self, us: i64) -> Option<i64> {
        match self {
            Self::Epoch => Some(us),
            Self::Julian => None,
            _ => self.of_time(us.rem_euclid(DAY_US)).or_else(|| self.of_day(us.div_euclid(DAY_US))),
        }
    }

    fn of_interval(self, interval: IntervalMonthDayNano) -> Option<i64> {
        let (months, us) = (i64::from(interval.months), interval.nanoseconds / 1000);
        Some(match self {
            Self::Day => interval.days.into(),
            Self::Month => months % 12,
            Self::Quarter => months % 12 / 3 + 1,
            Self::Year => months / 12,
            Self::Decade => months / 120,
            Self::Century => months / 1200,
            Self::Millennium => months / 12_000,
            Self::Epoch => {
                // A year has 365.25 days here, a month 30.
                let quarter_days = 1461 * (months / 12) + 120 * (months % 12) + 4 * i64::from(interval.days);
                (quarter_days * (DAY_SECONDS / 4)).checked_mul(1_000_000)?.checked_add(us)?
            }
            _ => return self.of_time(us),
        })
    }
}

fn first_day(year: i64) -> Option<i64> {
    days_from_civil(i32::try_from(year).ok()?, 1, 1).map(i64::from)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Extract,
    DatePart,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FieldFunction {
    kind: Kind,
    aliases: Vec<String>,
    signature: Signature,
}

impl ScalarUDFImpl for FieldFunction {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Extract => EXTRACT,
            Kind::DatePart => "date_part",
        }
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(EngineError::internal("the type of a field depends on the field").into())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let source = args.arg_fields[1].data_type();
        let data_type = match self.kind {
            Kind::DatePart => DataType::Float64,
            Kind::Extract => {
                let name = args.scalar_arguments[0].and_then(|name| name.try_as_str().flatten());
                let name =
                    name.ok_or_else(|| EngineError::unsupported("a field that is not a literal is not supported"))?;
                Field::of(name, source)?.numeric(source)
            }
        };
        Ok(Arc::new(ArrowField::new(self.name(), data_type, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ColumnarValue::Scalar(name) = &args.args[0] else {
            return Err(EngineError::unsupported("a field that is not a literal is not supported").into());
        };
        let values = args.args[1].to_array(args.number_rows)?;
        let Some(name) = name.try_as_str().flatten() else {
            return Ok(ColumnarValue::Array(new_null_array(args.return_field.data_type(), args.number_rows)));
        };
        let numerics = fields(Field::of(name, values.data_type())?, name, &values)?;
        let array: ArrayRef = match self.kind {
            Kind::Extract => Arc::new(numerics),
            Kind::DatePart => {
                let unit = 10_f64.powi(numerics.scale().into());
                Arc::new(numerics.unary::<_, Float64Type>(|unscaled| unscaled as f64 / unit))
            }
        };
        if let ColumnarValue::Scalar(_) = &args.args[1] {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?));
        }
        Ok(ColumnarValue::Array(array))
    }
}

/// The fields of dates, timestamps, times or intervals.
fn fields(field: Field, name: &str, values: &ArrayRef) -> Result<Decimal128Array, EngineError> {
    let source = values.data_type().clone();
    let missing = || {
        let message = format!("unit \"{name}\" not supported for type {}", name_of(&source));
        EngineError::unsupported(message)
    };
    let numerics = match &source {
        DataType::Null => new_null_array(&DataType::Decimal128(38, 0), values.len()).as_primitive().clone(),
        DataType::Date32 => each::<Date32Type>(values, |days| field.of_day(days.into()), missing)?,
        DataType::Timestamp(_, zone) => {
            let micros = strict_cast(values, &DataType::Timestamp(TimeUnit::Microsecond, zone.clone()))?;
            each::<TimestampMicrosecondType>(&micros, |us| field.of_timestamp(us), missing)?
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            let micros = strict_cast(values, &DataType::Time64(TimeUnit::Microsecond))?;
            let of_time = |us| if field == Field::Epoch { Some(us) } else { field.of_time(us) };
            each::<Time64MicrosecondType>(&micros, of_time, missing)?
        }
        DataType::Interval(_) => {
            let intervals = strict_cast(values, &ColumnType::Interval.arrow())?;
            each::<IntervalMonthDayNanoType>(&intervals, |interval| field.of_interval(interval), missing)?
        }
        other => {
            let message = format!("function pg_catalog.extract(unknown, {}) does not exist", name_of(other));
            return Err(EngineError::new(SqlState::UndefinedFunction, message)
                .with_hint("Cast the value to a date, a timestamp or an interval."));
        }
    };
    Ok(numerics.with_data_type(field.numeric(&source)))
}

fn each<T: ArrowPrimitiveType>(
    values: &ArrayRef,
    field: impl Fn(T::Native) -> Option<i64>,
    missing: impl Fn() -> EngineError,
) -> Result<Decimal128Array, EngineError> {
    let values: &PrimitiveArray<T> = values.as_primitive();
    let external = |error: EngineError| ArrowError::ExternalError(Box::new(error));
    Ok(values.try_unary(|value| field(value).map(i128::from).ok_or_else(|| external(missing())))?)
}

/// `to_timestamp(seconds)`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct EpochInstant {
    signature: Signature,
}

impl ScalarUDFImpl for EpochInstant {
    fn name(&self) -> &str {
        EPOCH_INSTANT
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(ColumnType::TimestampTz.arrow())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let seconds = args.args[0].to_array(args.number_rows)?;
        let seconds: &Float64Array = seconds.as_primitive();
        let instants: PrimitiveArray<TimestampMicrosecondType> = seconds.try_unary(|seconds| {
            let us = (seconds * 1e6).round_ties_even();
            let in_range = us.is_finite() && (FIRST_US..=LAST_US).contains(&us);
            in_range.then_some(us as i64).ok_or_else(|| {
                let message = format!("timestamp out of range: \"{seconds}\"");
                ArrowError::ExternalError(Box::new(EngineError::new(SqlState::DatetimeOverflow, message)))
            })
        })?;
        Ok(ColumnarValue::Array(Arc::new(instants.with_data_type(ColumnType::TimestampTz.arrow()))))
    }
}

/// 0001-01-01 00:00 and the end of 9999-12-31.
const FIRST_US: f64 = -62_135_596_800_000_000.0;
const LAST_US: f64 = 253_402_300_799_999_999.0;

#[cfg(test)]
mod tests {
    use super::*;

    /// Every expected value was PostgreSQL 15's answer.
    #[test]
    fn days_have_fields() {
        let days = |year, month, day| i64::from(days_from_civil(year, month, day).unwrap());
        for (day, field, expected) in [
            (days(2024, 2, 25), Field::DayOfWeek, 0),
            (days(2024, 2, 25), Field::IsoDayOfWeek, 7),
            (days(2021, 1, 1), Field::Week, 53),
            (days(2021, 1, 1), Field::IsoYear, 2020),
            (days(2024, 12, 31), Field::Week, 1),
            (days(2024, 12, 31), Field::IsoYear, 2025),
            (days(2024, 12, 31), Field::DayOfYear, 366),
            (days(2000, 2, 29), Field::Century, 20),
            (days(2024, 2, 29), Field::Millennium, 3),
            (days(2024, 2, 29), Field::Julian, 2_460_370),
        ] {
            assert_eq!(field.of_day(day), Some(expected), "{field:?}");
        }
    }

    #[test]
    fn intervals_have_fields() {
        let interval = IntervalMonthDayNano::new(14, 3, 14_706_500_000_000);
        for (field, expected) in
            [(Field::Year, 1), (Field::Month, 2), (Field::Second, 6_500_000), (Field::Epoch, 37_015_506_500_000)]
        {
            assert_eq!(field.of_interval(interval), Some(expected), "{field:?}");
        }
        assert_eq!(Field::Week.of_interval(interval), None);
    }
}
