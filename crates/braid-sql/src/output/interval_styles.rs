//! Intervals as text in the styles of `IntervalStyle` (`EncodeInterval` in PostgreSQL's datetime.c).

use std::fmt::Write;

use super::datetime_text::interval_text;
use crate::formats::IntervalStyle;
use crate::values::Interval;
use crate::values::calendar::{HOUR_US, MINUTE_US, SECOND_US};

/// An interval.
pub fn styled_interval(interval: Interval, style: IntervalStyle) -> String {
    let parts = Parts::of(interval);
    match style {
        IntervalStyle::Postgres => interval_text(interval),
        IntervalStyle::PostgresVerbose => parts.verbose(),
        IntervalStyle::SqlStandard => parts.standard(),
        IntervalStyle::Iso8601 => parts.iso(),
    }
}

/// The fields of an interval. Years and months have one sign, and so have the fields of its time.
#[derive(Clone, Copy)]
struct Parts {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    /// Microseconds below a minute.
    us: i64,
}

impl Parts {
    fn of(interval: Interval) -> Self {
        Self {
            years: (interval.months / 12).into(),
            months: (interval.months % 12).into(),
            days: interval.days.into(),
            hours: interval.us / HOUR_US,
            minutes: interval.us / MINUTE_US % 60,
            us: interval.us % MINUTE_US,
        }
    }

    fn all(&self) -> [i64; 6] {
        [self.years, self.months, self.days, self.hours, self.minutes, self.us]
    }

    /// `@ 1 year 2 mons`, with `ago` behind it where the first field that is not zero is negative.
    fn verbose(&self) -> String {
        let mut text = "@".to_owned();
        let mut is_ago = None;
        let counted = [
            (self.years, "year"),
            (self.months, "mon"),
            (self.days, "day"),
            (self.hours, "hour"),
            (self.minutes, "min"),
        ];
        for (count, unit) in counted.into_iter().filter(|(count, _)| *count != 0) {
            let count = if *is_ago.get_or_insert(count < 0) { -count } else { count };
            let plural = if count == 1 { "" } else { "s" };
            write!(text, " {count} {unit}{plural}").expect("a String takes everything");
        }
        if self.us != 0 {
            let is_negative = *is_ago.get_or_insert(self.us < 0) != (self.us < 0);
            let sign = if is_negative { "-" } else { "" };
            let plural = if self.us.abs() == SECOND_US { "" } else { "s" };
            write!(text, " {sign}{} sec{plural}", seconds(self.us, 1)).expect("a String takes everything");
        }
        match is_ago {
            None => text + " 0",
            Some(true) => text + " ago",
            Some(false) => text,
        }
    }

    /// The standard's literals, where it has one: years and months or days and time, of one sign. Otherwise each part has its sign.
    fn standard(&self) -> String {
        let (has_negative, has_positive) =
            (self.all().iter().any(|part| *part < 0), self.all().iter().any(|part| *part > 0));
        let has_months = self.years != 0 || self.months != 0;
        let has_time = self.hours != 0 || self.minutes != 0 || self.us != 0;
        if !has_negative && !has_positive {
            return "0".to_owned();
        }
        let [years, months, days, hours, minutes, us] = self.all().map(i64::abs);
        let (minutes, seconds) = (format!("{minutes:02}"), seconds(us, 2));
        if (has_negative && has_positive) || (has_months && (self.days != 0 || has_time)) {
            let sign = |is_negative| if is_negative { '-' } else { '+' };
            let of_months = sign(self.years < 0 || self.months < 0);
            let of_time = sign(self.hours < 0 || self.minutes < 0 || self.us < 0);
            let of_days = sign(self.days < 0);
            return format!("{of_months}{years}-{months} {of_days}{days} {of_time}{hours}:{minutes}:{seconds}");
        }
        let sign = if has_negative { "-" } else { "" };
        match (has_months, self.days != 0) {
            (true, _) => format!("{sign}{years}-{months}"),
            (false, true) => format!("{sign}{days} {hours}:{minutes}:{seconds}"),
            (false, false) => format!("{sign}{hours}:{minutes}:{seconds}"),
        }
    }

    /// `P1Y2M3DT4H5M6S`
    fn iso(&self) -> String {
        if self.all() == [0; 6] {
            return "PT0S".to_owned();
        }
        let mut text = "P".to_owned();
        designate(self.years, 'Y', &mut text);
        designate(self.months, 'M', &mut text);
        designate(self.days, 'D', &mut text);
        if self.hours != 0 || self.minutes != 0 || self.us != 0 {
            text.push('T');
        }
        designate(self.hours, 'H', &mut text);
        designate(self.minutes, 'M', &mut text);
        if self.us != 0 {
            let sign = if self.us < 0 { "-" } else { "" };
            write!(text, "{sign}{}S", seconds(self.us, 1)).expect("a String takes everything");
        }
        text
    }
}

/// A number with the letter of its unit, unless it is zero.
fn designate(count: i64, unit: char, out: &mut String) {
    if count != 0 {
        write!(out, "{count}{unit}").expect("a String takes everything");
    }
}

/// Seconds without a sign, with at least so many digits before the point, and a fraction without trailing zeros.
fn seconds(us: i64, width: usize) -> String {
    let us = us.unsigned_abs();
    let (whole, fraction) = (us / SECOND_US as u64, us % SECOND_US as u64);
    match fraction {
        0 => format!("{whole:0width$}"),
        fraction => format!("{whole:0width$}.{fraction:06}").trim_end_matches('0').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every expected text is PostgreSQL 15's.
    #[test]
    fn intervals_look_as_in_postgresql() {
        let second = SECOND_US;
        for ((months, days, us), verbose, standard, iso) in [
            ((0, 0, 0), "@ 0", "0", "PT0S"),
            ((14, 0, 0), "@ 1 year 2 mons", "1-2", "P1Y2M"),
            ((-14, 0, 0), "@ 1 year 2 mons ago", "-1-2", "P-1Y-2M"),
            ((0, 3, 14_706_500_000), "@ 3 days 4 hours 5 mins 6.5 secs", "3 4:05:06.5", "P3DT4H5M6.5S"),
            ((0, -1, 3600 * second), "@ 1 day -1 hours ago", "+0-0 -1 +1:00:00", "P-1DT1H"),
            ((14, -3, second), "@ 1 year 2 mons -3 days 1 sec", "+1-2 -3 +0:00:01", "P1Y2M-3DT1S"),
            ((0, 0, -second), "@ 1 sec ago", "-0:00:01", "PT-1S"),
            ((0, 1, -second / 2), "@ 1 day -0.5 secs", "+0-0 +1 -0:00:00.5", "P1DT-0.5S"),
            ((0, 0, -second / 2), "@ 0.5 secs ago", "-0:00:00.5", "PT-0.5S"),
            ((0, -1, second), "@ 1 day -1 sec ago", "+0-0 -1 +0:00:01", "P-1DT1S"),
            ((0, -1, -second), "@ 1 day 1 sec ago", "-1 0:00:01", "P-1DT-1S"),
            ((1, 0, 90 * second), "@ 1 mon 1 min 30 secs", "+0-1 +0 +0:01:30", "P1MT1M30S"),
        ] {
            let styled = |style| styled_interval(Interval::new(months, days, us), style);
            let texts =
                [IntervalStyle::PostgresVerbose, IntervalStyle::SqlStandard, IntervalStyle::Iso8601].map(styled);
            assert_eq!(texts, [verbose, standard, iso]);
        }
    }
}
