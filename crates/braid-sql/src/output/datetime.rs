//! Times and intervals of columns as text: IntervalStyle `postgres`.

use std::fmt::Write;

use arrow::datatypes::IntervalMonthDayNano;

/// `HH:MM:SS[.ffffff]`, without trailing zeros in the fraction.
pub fn write_time_us(us: i64, out: &mut String) {
    let seconds = us / 1_000_000;
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        .expect("a String takes everything");
    write_fraction(us % 1_000_000, out);
}

fn write_fraction(us: i64, out: &mut String) {
    if us != 0 {
        write!(out, ".{us:06}").expect("a String takes everything");
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// An interval: `1 year 2 mons -3 days 04:05:06.5`; microseconds, as PostgreSQL has them.
pub fn write_interval(interval: IntervalMonthDayNano, out: &mut String) {
    let start = out.len();
    // PostgreSQL marks what is positive after a negative part.
    let mut after_negative = false;
    let mut part = |count: i32, unit: &str| {
        if count != 0 {
            let separator = if out.len() > start { " " } else { "" };
            let sign = if after_negative && count > 0 { "+" } else { "" };
            let plural = if count == 1 { "" } else { "s" };
            write!(out, "{separator}{sign}{count} {unit}{plural}").expect("a String takes everything");
            after_negative = count < 0;
        }
    };
    part(interval.months / 12, "year");
    part(interval.months % 12, "mon");
    part(interval.days, "day");
    let us = interval.nanoseconds / 1000;
    if us == 0 && out.len() > start {
        return;
    }
    if out.len() > start {
        out.push(' ');
    }
    if us < 0 {
        out.push('-');
    } else if after_negative {
        out.push('+');
    }
    let us = us.abs();
    let seconds = us / 1_000_000;
    write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        .expect("a String takes everything");
    write_fraction(us % 1_000_000, out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_look_as_in_postgresql() {
        for (months, days, nanoseconds, text) in [
            (0, 0, 0, "00:00:00"),
            (14, 3, 14_706_500_000_000, "1 year 2 mons 3 days 04:05:06.5"),
            (0, 1, 0, "1 day"),
            (-1, 0, 0, "-1 mons"),
            (0, -1, 3_600_000_000_000, "-1 days +01:00:00"),
            (-1, 3, 3_600_000_000_000, "-1 mons +3 days 01:00:00"),
            (0, 0, -1_000_000_000, "-00:00:01"),
            (0, 0, 360_000_000_000_000, "100:00:00"),
        ] {
            let mut out = String::new();
            write_interval(IntervalMonthDayNano::new(months, days, nanoseconds), &mut out);
            assert_eq!(out, text);
        }
    }
}
