//! The fields that `extract` and `date_trunc` name, and their errors.

use crate::{SqlError, SqlState};

/// A field of a date, time or interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Seconds with their fraction, in microseconds.
    Microsecond,
    /// The same in milliseconds.
    Millisecond,
    /// The same in seconds.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// Of the month.
    Day,
    /// Of ISO 8601.
    Week,
    /// 1 to 12.
    Month,
    /// 1 to 4.
    Quarter,
    /// Without year 0.
    Year,
    /// Year divided by 10.
    Decade,
    /// From 1.
    Century,
    /// From 1.
    Millennium,
    /// Day of the week from Sunday, 0.
    DayOfWeek,
    /// Day of the week from Monday, 1.
    IsoDayOfWeek,
    /// The year that a week belongs to.
    IsoYear,
    /// Day of the year.
    DayOfYear,
    /// Julian day.
    Julian,
    /// Seconds since 1970, or of an interval.
    Epoch,
    /// Seconds east of UTC.
    Timezone,
    /// Hours of it.
    TimezoneHour,
    /// Minutes of it.
    TimezoneMinute,
    /// A word for a certain time, which no value has as a field.
    Special,
}

impl Part {
    /// A field by its name or one of its abbreviations, in lower case.
    pub fn of(name: &str) -> Option<Self> {
        Self::of_unit(name).or_else(|| {
            Some(match name {
                "dow" => Self::DayOfWeek,
                "isodow" => Self::IsoDayOfWeek,
                "isoyear" => Self::IsoYear,
                "doy" => Self::DayOfYear,
                "j" | "jd" | "julian" => Self::Julian,
                "mm" => Self::Minute,
                "epoch" => Self::Epoch,
                "-infinity" | "allballs" | "infinity" | "now" | "today" | "tomorrow" | "yesterday" => Self::Special,
                _ => return None,
            })
        })
    }

    /// The same of the units that intervals have: all that `date_trunc` knows. Only ten letters count.
    pub fn of_unit(name: &str) -> Option<Self> {
        Some(match name.get(..10).unwrap_or(name) {
            "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => Self::Microsecond,
            "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => Self::Millisecond,
            "s" | "sec" | "secs" | "second" | "seconds" => Self::Second,
            "m" | "min" | "mins" | "minute" | "minutes" => Self::Minute,
            "h" | "hr" | "hrs" | "hour" | "hours" => Self::Hour,
            "d" | "day" | "days" => Self::Day,
            "w" | "week" | "weeks" => Self::Week,
            "mon" | "mons" | "month" | "months" => Self::Month,
            "qtr" | "quarter" => Self::Quarter,
            "y" | "yr" | "yrs" | "year" | "years" => Self::Year,
            "dec" | "decs" | "decade" | "decades" => Self::Decade,
            "c" | "cent" | "century" | "centuries" => Self::Century,
            "mil" | "mils" | "millennium" | "millennia" => Self::Millennium,
            "timezone" => Self::Timezone,
            "timezone_h" => Self::TimezoneHour,
            "timezone_m" => Self::TimezoneMinute,
            _ => return None,
        })
    }

    /// Whether the field grows for ever, so that it is infinite for an infinite time.
    pub fn is_monotonic(self) -> bool {
        use Part::{Century, Decade, Epoch, IsoYear, Julian, Millennium, Year};
        matches!(self, Year | Decade | Century | Millennium | Julian | IsoYear | Epoch)
    }
}

/// `unit "x" not recognized for type date`
pub fn unknown_unit(name: &str, type_name: &str) -> SqlError {
    let message = format!("unit \"{name}\" not recognized for type {type_name}");
    SqlError::new(SqlState::InvalidParameterValue, message)
}

/// `unit "x" not supported for type date`
pub fn unsupported_unit(name: &str, type_name: &str) -> SqlError {
    SqlError::unsupported(format!("unit \"{name}\" not supported for type {type_name}"))
}

/// A name as PostgreSQL folds it before a look-up: lower case, at most 63 bytes.
pub fn folded(name: &str) -> String {
    let mut end = name.len().min(63);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_ascii_lowercase()
}

/// The years, decades, centuries and millennia of a year, in which 0 is 1 BC.
pub fn years_in(year: i64, part: Part) -> i64 {
    match part {
        // There is no year 0.
        Part::Year if year > 0 => year,
        Part::Year => year - 1,
        Part::Decade if year >= 0 => year / 10,
        Part::Decade => -((8 - (year - 1)) / 10),
        Part::Century if year > 0 => (year + 99) / 100,
        Part::Century => -((99 - (year - 1)) / 100),
        _ if year > 0 => (year + 999) / 1000,
        _ => -((999 - (year - 1)) / 1000),
    }
}
