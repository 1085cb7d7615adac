//! Intervals.

/// `interval`: months, days and microseconds are kept apart, because days and months have no fixed length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Months; years are twelve of them.
    pub months: i32,
    /// Days.
    pub days: i32,
    /// Microseconds; hours, minutes and seconds.
    pub us: i64,
}

impl Interval {
    /// An interval of these parts.
    pub fn new(months: i32, days: i32, us: i64) -> Self {
        Self { months, days, us }
    }

    /// Its length in microseconds, by which intervals are compared: a month has 30 days, a day 24 hours (`interval_cmp_value`).
    pub fn comparable_us(self) -> i128 {
        let days = i128::from(self.months) * 30 + i128::from(self.days);
        days * 86_400_000_000 + i128::from(self.us)
    }
}
