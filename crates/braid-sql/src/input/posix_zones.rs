//! Time zones of POSIX: `<+03>-3`, `EST5`, `CET-1CEST,M3.5.0,M10.5.0/3`.
//!
//! An offset has POSIX's sign: positive is west of Greenwich. Read as PostgreSQL's `tzparse` reads them (localtime.c). Summer time without
//! rules depends there on a file of the system, and is not read here.

use crate::values::calendar::{DAY_US, SECOND_US, civil_of_days, day_of_week, days_of_civil, is_leap_year};

/// Most bytes of a name. Longer ones are cut.
const NAME_BYTES_MAX: usize = 15;

/// Most hours of an offset or of a time: a week less one.
const HOURS_MAX: i32 = 24 * 7 - 1;

/// Summer time is an hour ahead, and begins and ends at two, unless the text says otherwise.
const HOUR_S: i32 = 3600;

/// A zone with an offset, and with rules for summer time if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PosixZone {
    standard: Name,
    standard_s: i32,
    summer: Option<Summer>,
}

/// A name of at most [`NAME_BYTES_MAX`] bytes, with its length before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Name(u8, [u8; NAME_BYTES_MAX]);

/// Summer time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Summer {
    name: Name,
    offset_s: i32,
    start: Change,
    end: Change,
}

/// When clocks are changed, each year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Change {
    day: ChangeDay,
    /// Seconds after midnight, by the clocks before the change.
    time_s: i32,
}

/// A day of each year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChangeDay {
    /// `Jn`: the nth day, without February 29.
    WithoutLeapDay(i32),
    /// `n`: the day after n others.
    AfterDays(i32),
    /// `Mm.w.d`: day d of the week in week w of month m; week 5 is the last.
    OfWeek { month: i64, week: i32, day: i32 },
}

impl PosixZone {
    /// The zone of a text; `None` if it is none.
    pub fn of(text: &str) -> Option<Self> {
        let (standard, rest) = name(text)?;
        let (west_s, rest) = time(rest)?;
        let zone = Self { standard: Name::of(standard), standard_s: -west_s, summer: None };
        if rest.is_empty() { Some(zone) } else { zone.with_summer(rest) }
    }

    fn with_summer(self, text: &str) -> Option<Self> {
        let (name, rest) = name(text)?;
        if name.is_empty() {
            return None;
        }
        let (offset_s, rest) = match rest.strip_prefix(',') {
            Some(_) => (self.standard_s + HOUR_S, rest),
            None => time(rest).map(|(west_s, rest)| (-west_s, rest))?,
        };
        let (start, rest) = change(rest.strip_prefix(',')?)?;
        let (end, rest) = change(rest.strip_prefix(',')?)?;
        let summer = Summer { name: Name::of(name), offset_s, start, end };
        rest.is_empty().then_some(Self { summer: Some(summer), ..self })
    }

    /// The zone so many seconds east of UTC, and its name in PostgreSQL: `<+05:30>-05:30`.
    pub fn at_offset(east_s: i32) -> Option<(Self, String)> {
        let (shown, sign, opposite) =
            (east_s.unsigned_abs(), if east_s < 0 { '-' } else { '+' }, if east_s < 0 { '+' } else { '-' });
        let mut digits = format!("{:02}", shown / 3600);
        for part in [shown / 60 % 60, shown % 60] {
            if part != 0 || (digits.len() == 2 && !shown.is_multiple_of(60)) {
                digits.push_str(&format!(":{part:02}"));
            }
        }
        let name = format!("<{sign}{digits}>{opposite}{digits}");
        Some((Self::of(&name)?, name))
    }

    /// Seconds east of UTC at an instant in microseconds, and whether it is summer time.
    pub fn offset_at(&self, instant_us: i64) -> (i32, bool) {
        match &self.summer {
            Some(summer) if summer.is_on(instant_us, self.standard_s) => (summer.offset_s, true),
            _ => (self.standard_s, false),
        }
    }

    /// What it calls its time at an instant.
    pub fn abbreviation_at(&self, instant_us: i64) -> String {
        let is_summer = self.offset_at(instant_us).1;
        let name = self.summer.filter(|_| is_summer).map_or(self.standard, |summer| summer.name);
        name.text()
    }

    /// The offset, if there is no summer time.
    pub fn constant_offset(&self) -> Option<i32> {
        self.summer.is_none().then_some(self.standard_s)
    }
}

impl Name {
    fn of(text: &str) -> Self {
        let mut bytes = [0; NAME_BYTES_MAX];
        let end = (0..=NAME_BYTES_MAX.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        bytes[..end].copy_from_slice(&text.as_bytes()[..end]);
        Self(end as u8, bytes)
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.1[..usize::from(self.0)]).into_owned()
    }
}

impl Summer {
    /// Whether it is summer time at an instant. In the south, summer begins late in a year and ends early in one.
    fn is_on(&self, instant_us: i64, standard_s: i32) -> bool {
        let local_days = (instant_us.saturating_add(i64::from(standard_s) * SECOND_US)).div_euclid(DAY_US);
        let (year, _, _) = civil_of_days(local_days);
        let start = self.start.instant_us(year, standard_s);
        let end = self.end.instant_us(year, self.offset_s);
        let instant_us = i128::from(instant_us);
        match start < end {
            true => (start..end).contains(&instant_us),
            false => !(end..start).contains(&instant_us),
        }
    }
}

impl Change {
    /// When clocks that are so far ahead of UTC show it in a year, in microseconds.
    fn instant_us(self, year: i64, offset_s: i32) -> i128 {
        let seconds = i128::from(self.time_s) - i128::from(offset_s);
        i128::from(self.day.in_year(year)) * i128::from(DAY_US) + seconds * i128::from(SECOND_US)
    }
}

impl ChangeDay {
    /// As days since 1970.
    fn in_year(self, year: i64) -> i64 {
        let first = days_of_civil(year, 1, 1);
        match self {
            Self::WithoutLeapDay(day) => first + i64::from(day - 1) + i64::from(is_leap_year(year) && day >= 60),
            Self::AfterDays(days) => first + i64::from(days),
            Self::OfWeek { month, week, day } => {
                let first = days_of_civil(year, month, 1);
                let next = if month == 12 { days_of_civil(year + 1, 1, 1) } else { days_of_civil(year, month + 1, 1) };
                let until_day = (i64::from(day) - day_of_week(first)).rem_euclid(7);
                let wanted = first + until_day + 7 * i64::from(week - 1);
                if wanted < next { wanted } else { wanted - 7 }
            }
        }
    }
}

/// A name, in angle brackets or up to a sign, a digit or a comma, and what follows.
fn name(text: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = text.strip_prefix('<') {
        return quoted.split_once('>');
    }
    let end = text.find(|c: char| c.is_ascii_digit() || matches!(c, ',' | '-' | '+')).unwrap_or(text.len());
    Some(text.split_at(end))
}

/// `[+-]hh[:mm[:ss]]` in seconds, and what follows.
fn time(text: &str) -> Option<(i32, &str)> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (hours, mut rest) = number(rest, 0..=HOURS_MAX)?;
    let mut seconds = hours * HOUR_S;
    for (unit_s, most) in [(60, 59), (1, 60)] {
        let Some(part) = rest.strip_prefix(':') else { break };
        let (count, after) = number(part, 0..=most)?;
        (seconds, rest) = (seconds + count * unit_s, after);
    }
    Some((sign * seconds, rest))
}

fn number(text: &str, range: std::ops::RangeInclusive<i32>) -> Option<(i32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number = text[..end].parse().ok().filter(|number| range.contains(number))?;
    Some((number, &text[end..]))
}

/// A day and a time of change, and what follows.
fn change(text: &str) -> Option<(Change, &str)> {
    let (day, rest) = if let Some(rest) = text.strip_prefix('J') {
        let (day, rest) = number(rest, 1..=365)?;
        (ChangeDay::WithoutLeapDay(day), rest)
    } else if let Some(rest) = text.strip_prefix('M') {
        let (month, rest) = number(rest, 1..=12)?;
        let (week, rest) = number(rest.strip_prefix('.')?, 1..=5)?;
        let (day, rest) = number(rest.strip_prefix('.')?, 0..=6)?;
        (ChangeDay::OfWeek { month: i64::from(month), week, day }, rest)
    } else {
        let (days, rest) = number(text, 0..=365)?;
        (ChangeDay::AfterDays(days), rest)
    };
    match rest.strip_prefix('/') {
        Some(rest) => time(rest).map(|(time_s, rest)| (Change { day, time_s }, rest)),
        None => Some((Change { day, time_s: 2 * HOUR_S }, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(zone: &str, (year, month, day, hour): (i64, i64, i64, i64)) -> i32 {
        let instant_us = days_of_civil(year, month, day) * DAY_US + hour * i64::from(HOUR_S) * SECOND_US;
        PosixZone::of(zone).unwrap().offset_at(instant_us).0
    }

    #[test]
    fn offsets_are_west_and_names_are_free() {
        for (zone, seconds) in [("<+03>-3", 10_800), ("EST5", -18_000), ("+3", -10_800), ("Mars/Base-0:30", 1800)] {
            assert_eq!(offset(zone, (2020, 1, 1, 0)), seconds, "{zone}");
        }
        for zone in
            ["", "FOO", "FOO-2BAR", "FOO-168", "FOO-1:60", "<FOO-1", "A1B,M13.1.0,M1.1.0", "A1B,M1.1.0", "A1B,J0,J1"]
        {
            assert_eq!(PosixZone::of(zone), None, "{zone}");
        }
    }

    #[test]
    fn clocks_change_by_the_rules_of_every_year() {
        let berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
        for (at, seconds) in [
            ((2020, 3, 29, 0), 3600),
            ((2020, 3, 29, 1), 7200),
            ((2020, 10, 25, 0), 7200),
            ((2020, 10, 25, 1), 3600),
            ((9999, 7, 1, 0), 7200),
        ] {
            assert_eq!(offset(berlin, at), seconds, "{at:?}");
        }
        let south = "AEST-10AEDT,M10.1.0,M4.1.0/3";
        assert_eq!((offset(south, (2021, 1, 1, 0)), offset(south, (2021, 7, 1, 0))), (39_600, 36_000));
        let julian = "A0B,J60,J61/0";
        assert_eq!((offset(julian, (2020, 3, 1, 3)), offset(julian, (2020, 2, 29, 3))), (3600, 0));
        assert_eq!(offset("A0B,59,60", (2020, 2, 29, 3)), 3600);
    }

    #[test]
    fn offsets_have_postgresqls_names() {
        for (east_s, name) in
            [(-10_800, "<-03>+03"), (19_800, "<+05:30>-05:30"), (0, "<+00>-00"), (3601, "<+01:00:01>-01:00:01")]
        {
            let (zone, shown) = PosixZone::at_offset(east_s).unwrap();
            assert_eq!((shown.as_str(), zone.offset_at(0)), (name, (east_s, false)));
        }
        assert!(PosixZone::at_offset(200 * 3600).is_none());
    }
}
