//! Intervals in PostgreSQL's `postgres` style, such as `1 year 2 mons -3 days +04:05:06.789`.
//!
//! An interval is months, days and microseconds, each with a sign of its own. Arrow's nanoseconds are cut to
//! microseconds, which is all the wire can carry. Source of the style: `EncodeInterval` in PostgreSQL's `datetime.c`.

use super::calendar::append_fraction;
use super::decimal_digits::{append_i64, append_padded};

/// Months, days and microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval {
    /// Months; twelve make a year.
    pub months: i32,
    /// Days, of whatever length they turn out to have.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

/// Appends the text form.
pub(crate) fn append_text(out: &mut Vec<u8>, interval: Interval) {
    let start = out.len();
    let mut after_negative = false;
    let units = [
        (i64::from(interval.months / 12), "year"),
        (i64::from(interval.months % 12), "mon"),
        (i64::from(interval.days), "day"),
    ];
    for (value, unit) in units {
        if value != 0 {
            append_separator(out, start);
            if after_negative && value > 0 {
                out.push(b'+');
            }
            append_i64(out, value);
            out.push(b' ');
            out.extend_from_slice(unit.as_bytes());
            if value != 1 {
                out.push(b's');
            }
            after_negative = value < 0;
        }
    }
    if interval.micros != 0 || out.len() == start {
        append_separator(out, start);
        match (interval.micros < 0, after_negative) {
            (true, _) => out.push(b'-'),
            (false, true) => out.push(b'+'),
            (false, false) => {}
        }
        let micros = interval.micros.unsigned_abs();
        let seconds = micros / 1_000_000;
        append_padded(out, seconds / 3600, 2);
        out.push(b':');
        append_padded(out, seconds / 60 % 60, 2);
        out.push(b':');
        append_padded(out, seconds % 60, 2);
        append_fraction(out, micros % 1_000_000);
    }
}

fn append_separator(out: &mut Vec<u8>, start: usize) {
    if out.len() != start {
        out.push(b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000;

    fn interval(months: i32, days: i32, micros: i64) -> Interval {
        Interval { months, days, micros }
    }

    #[test]
    fn intervals_print_as_postgresql_prints_them() {
        for (value, expected) in [
            (interval(0, 0, 0), "00:00:00"),
            (interval(14, 3, 4 * HOUR + 5_000_000), "1 year 2 mons 3 days 04:00:05"),
            (interval(1, 1, 0), "1 mon 1 day"),
            (interval(-14, 3, -HOUR), "-1 years -2 mons +3 days -01:00:00"),
            (interval(0, -1, HOUR), "-1 days +01:00:00"),
            (interval(0, 0, 100 * HOUR + 1), "100:00:00.000001"),
            (interval(0, 0, -1_500_000), "-00:00:01.5"),
        ] {
            let mut out = Vec::new();
            append_text(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
