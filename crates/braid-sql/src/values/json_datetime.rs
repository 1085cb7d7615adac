//! Dates and times as `.datetime()` of a jsonpath makes them. They are values within a path only, and leave it as strings.

use std::cmp::Ordering;

/// A date or a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonDatetime {
    /// Days since 1970-01-01.
    Date(i32),
    /// Microseconds since midnight.
    Time(i64),
    /// The same, and seconds west of UTC.
    TimeTz(i64, i32),
    /// Microseconds since 1970-01-01.
    Timestamp(i64),
    /// Microseconds since 1970-01-01 UTC, and seconds east of UTC, in which it is shown.
    TimestampTz(i64, i32),
}

impl JsonDatetime {
    /// The name of its type, as `.type()` says it.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Date(_) => "date",
            Self::Time(_) => "time without time zone",
            Self::TimeTz(..) => "time with time zone",
            Self::Timestamp(_) => "timestamp without time zone",
            Self::TimestampTz(..) => "timestamp with time zone",
        }
    }

    /// The order of two times with zones: by their instants, then by their zones.
    pub fn compare_timetz((us, west_s): (i64, i32), (other_us, other_west_s): (i64, i32)) -> Ordering {
        let instant = |us: i64, west_s: i32| us + i64::from(west_s) * 1_000_000;
        instant(us, west_s).cmp(&instant(other_us, other_west_s)).then(west_s.cmp(&other_west_s))
    }
}
