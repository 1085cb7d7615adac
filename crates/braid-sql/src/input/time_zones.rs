//! Time zones by name, abbreviation and offset, and their offsets at any time that a timestamp can hold.
//!
//! Names are those of the IANA database and compare without case. An offset within a name has POSIX's sign: `UTC+3` and `+3` lie
//! west of Greenwich. POSIX's rules for summer time (`EST5EDT4,M3.2.0,M11.1.0`) are not read.
//!
//! The database's tables end in 2099. A zone that has summer time then keeps its rules: a later year is looked up as the year of
//! the table's last 28 that has the same calendar, as PostgreSQL finds it in the year's 400-year cycle.

use arrow::array::timezone::Tz;
use arrow::datatypes::TimestampMicrosecondType;
use arrow::temporal_conversions::as_datetime_with_timezone;
use chrono::TimeZone as _;
use chrono_tz::{OffsetComponents as _, OffsetName as _};

use super::time_zone_abbreviations::{Abbreviation, abbreviation};
use crate::values::calendar::{DAY_US, SECOND_US, civil_of_days, day_of_week, days_of_civil, is_leap_year};
use crate::{SqlError, SqlState};

/// A time zone of a value or a setting.
#[derive(Clone, Copy, Debug)]
pub enum Zone {
    /// Seconds east of UTC.
    Fixed(i32),
    /// A zone with rules.
    Named(Tz),
    /// An abbreviation whose meaning depends on the time, and the zone that uses it.
    Abbreviated(&'static str, Tz),
}

impl Zone {
    /// Seconds east of UTC at an instant in microseconds.
    pub fn offset_at(self, instant_us: i64) -> i32 {
        match self {
            Self::Fixed(seconds) => seconds,
            Self::Named(zone) => zone_offset_s(instant_us, &zone),
            Self::Abbreviated(name, zone) => abbreviated_offset_s(name, instant_us, &zone),
        }
    }

    /// Seconds east of UTC when a clock of the zone shows `local_us`.
    pub fn offset_of_local(self, local_us: i64) -> i32 {
        match self {
            Self::Fixed(seconds) => seconds,
            Self::Named(zone) => local_offset_s(local_us, &zone),
            Self::Abbreviated(name, zone) => {
                let around_us = local_us.saturating_sub(i64::from(local_offset_s(local_us, &zone)) * SECOND_US);
                abbreviated_offset_s(name, around_us, &zone)
            }
        }
    }

    /// The offset, if the zone always has had the same.
    pub fn constant_offset(self) -> Option<i32> {
        match self {
            Self::Fixed(seconds) => Some(seconds),
            Self::Abbreviated(..) => None,
            Self::Named(zone) => {
                let quarters = (-800..400).map(|quarter: i64| zone_offset_s(quarter * 91 * DAY_US, &zone));
                let first = zone_offset_s(-800 * 91 * DAY_US, &zone);
                quarters.into_iter().all(|offset| offset == first).then_some(first)
            }
        }
    }
}

/// The zone of a name in any case, `None` if there is none. Abbreviations are no names here.
pub fn zone_named(name: &str) -> Option<Zone> {
    let known = chrono_tz::TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name));
    match known {
        Some(zone) => zone.name().parse().ok().map(Zone::Named),
        None => posix_zone(name),
    }
}

/// `[<]NAME[>]offset` or an offset alone, with POSIX's sign: positive is west.
fn posix_zone(name: &str) -> Option<Zone> {
    let start = if let Some(quoted) = name.strip_prefix('<') {
        quoted.find('>')? + 2
    } else {
        name.bytes().take_while(u8::is_ascii_alphabetic).count()
    };
    let offset = name.get(start..)?;
    let (sign, digits) = match offset.as_bytes().first()? {
        b'-' => (1, &offset[1..]),
        b'+' => (-1, &offset[1..]),
        _ => (-1, offset),
    };
    let mut parts = digits.split(':').map(|part| {
        let is_short = !part.is_empty() && part.len() <= 3 && part.bytes().all(|c| c.is_ascii_digit());
        is_short.then(|| part.parse::<i32>().ok()).flatten()
    });
    let hours = parts.next()??;
    let minutes = parts.next().map_or(Some(0), |part| part)?;
    let seconds = parts.next().map_or(Some(0), |part| part)?;
    if parts.next().is_some() || hours > 167 || minutes > 59 || seconds > 60 {
        return None;
    }
    Some(Zone::Fixed(sign * (hours * 3600 + minutes * 60 + seconds)))
}

/// The zone that AT TIME ZONE means by a text: an abbreviation before a name.
pub fn zone_meant_by(text: &str) -> Result<Zone, SqlError> {
    let lower = text.to_ascii_lowercase();
    match zone_abbreviated(&lower) {
        Some((zone, _)) => Ok(zone),
        None => zone_named(text).ok_or_else(|| unknown_zone(text)),
    }
}

/// The zone of an abbreviation in lower case, and whether it names summer time.
pub fn zone_abbreviated(lower: &str) -> Option<(Zone, bool)> {
    Some(match abbreviation(lower)? {
        Abbreviation::Fixed(seconds, is_summer) => (Zone::Fixed(seconds), is_summer),
        Abbreviation::Zone(name) => {
            let word = abbreviation_word(lower);
            (Zone::Abbreviated(word, name.parse().ok()?), false)
        }
    })
}

/// The abbreviations whose meaning changed and that the IANA database still has; `""` for those that it dropped.
fn abbreviation_word(lower: &str) -> &'static str {
    if lower == "msk" { "MSK" } else { "" }
}

/// `time zone "x" not recognized`
pub fn unknown_zone(name: &str) -> SqlError {
    SqlError::new(SqlState::InvalidParameterValue, format!("time zone \"{name}\" not recognized"))
}

/// The first microsecond of 2099, the last year of the tables.
const TABLES_END_US: i64 = 47_117 * DAY_US;

/// Seconds that clocks of `zone` are ahead of UTC at an instant, at any time.
pub fn zone_offset_s(instant_us: i64, zone: &Tz) -> i32 {
    let within = instant_within_tables(instant_us, |instant| table_offset_s(instant, zone));
    table_offset_s(within, zone)
}

/// An instant of the tables with the same offset. Before 1800 all zones have their first offset.
fn instant_within_tables(instant_us: i64, offset_at: impl Fn(i64) -> i32) -> i64 {
    if instant_us < TABLES_END_US {
        return instant_us.max(-62_091 * DAY_US);
    }
    // January 15 and July 15 of 2099.
    let has_summer_time = offset_at(TABLES_END_US + 14 * DAY_US) != offset_at(TABLES_END_US + 195 * DAY_US);
    if !has_summer_time {
        return TABLES_END_US;
    }
    let days = instant_us.div_euclid(DAY_US);
    let (year, _, _) = civil_of_days(days);
    let first = days_of_civil(year, 1, 1);
    let same_calendar = (2072..2100)
        .find(|candidate| {
            let candidate_first = days_of_civil(*candidate, 1, 1);
            is_leap_year(*candidate) == is_leap_year(year) && day_of_week(candidate_first) == day_of_week(first)
        })
        .expect("28 years in a row have all fourteen calendars");
    (days_of_civil(same_calendar, 1, 1) + (days - first)) * DAY_US + instant_us.rem_euclid(DAY_US)
}

fn table_offset_s(instant_us: i64, zone: &Tz) -> i32 {
    as_datetime_with_timezone::<TimestampMicrosecondType>(instant_us, *zone)
        .map_or(0, |datetime| (datetime.naive_local() - datetime.naive_utc()).num_seconds() as i32)
}

/// Seconds that clocks of `zone` are ahead of UTC when they show `local_us`. Where clocks are turned forward and never show it,
/// the time before the change goes on; where they are turned back and show it twice, it is the second time
/// (`DetermineTimeZoneOffset` in PostgreSQL's datetime.c).
pub fn local_offset_s(local_us: i64, zone: &Tz) -> i32 {
    let before = zone_offset_s(local_us.saturating_sub(DAY_US), zone);
    let after = zone_offset_s(local_us.saturating_add(DAY_US), zone);
    let second = local_us.saturating_sub(i64::from(after) * SECOND_US);
    if zone_offset_s(second, zone) == after { after } else { before }
}

/// What `zone` meant by an abbreviation at an instant: its last use before, else its first use after, else the zone's offset.
fn abbreviated_offset_s(word: &str, instant_us: i64, zone: &Tz) -> i32 {
    let own = zone_offset_s(instant_us, zone);
    let Some(zone) = named_zone(zone).filter(|_| !word.is_empty()) else {
        return own;
    };
    let uses = |at: i64| names_at(at, zone).filter(|(name, _)| name == word).map(|(_, offset)| offset);
    // Two weeks are shorter than any use. The tables hold changes between 1850 and 2100.
    let (first, last) = (-44_000 * DAY_US, 47_480 * DAY_US);
    let step = 14 * DAY_US;
    let start = instant_us.clamp(first, last);
    let earlier = (0..6600).map(|n| start - n * step).take_while(|at| *at >= first).find_map(uses);
    let later = || (1..6600).map(|n| start + n * step).take_while(|at| *at <= last).find_map(uses);
    earlier.or_else(later).unwrap_or(own)
}

/// The zone of the database behind a zone of Arrow; `None` for a fixed offset.
fn named_zone(zone: &Tz) -> Option<chrono_tz::Tz> {
    // Arrow shows what is inside only when it is debugged: "Tz(Timezone(Europe/Berlin))".
    let shown = format!("{zone:?}");
    let name = shown.strip_prefix("Tz(Timezone(")?.strip_suffix("))")?.to_owned();
    name.parse().ok()
}

/// Abbreviation and offset in use at an instant; an offset stands for an abbreviation that there is not.
fn names_at(instant_us: i64, zone: chrono_tz::Tz) -> Option<(String, i32)> {
    let utc = chrono::DateTime::from_timestamp_micros(instant_us)?.naive_utc();
    let offset = zone.offset_from_utc_datetime(&utc);
    let seconds = chrono::Offset::fix(&offset).local_minus_utc();
    Some((offset.abbreviation().map_or_else(|| offset_name(seconds, ""), str::to_owned), seconds))
}

/// What a zone of the database uses at an instant.
#[derive(Debug, PartialEq, Eq)]
pub struct ZoneUse {
    /// `CET`, or `-03` where there is no word.
    pub abbreviation: String,
    /// Seconds east of UTC.
    pub offset_s: i32,
    /// Whether it is summer time; in Ireland winter time is what differs from the standard.
    pub is_summer: bool,
}

/// The names of all zones.
pub fn zone_names() -> impl Iterator<Item = &'static str> + Send {
    chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name())
}

/// What the zone of a name uses at an instant; `None` if there is no such zone.
pub fn zone_use(name: &str, instant_us: i64) -> Option<ZoneUse> {
    let zone: chrono_tz::Tz = name.parse().ok()?;
    let within = instant_within_tables(instant_us, |at| names_at(at, zone).map_or(0, |(_, offset)| offset));
    let utc = chrono::DateTime::from_timestamp_micros(within)?.naive_utc();
    let is_summer = !zone.offset_from_utc_datetime(&utc).dst_offset().is_zero();
    let (abbreviation, offset_s) = names_at(within, zone)?;
    Some(ZoneUse { abbreviation, offset_s, is_summer })
}

/// What a zone calls its time at an instant: `CET`, `-03`; an offset's name is the offset.
pub fn abbreviation_at(instant_us: i64, zone: &Tz) -> String {
    let within = instant_within_tables(instant_us, |instant| table_offset_s(instant, zone));
    let named = named_zone(zone).and_then(|zone| names_at(within, zone)).map(|(name, _)| name);
    named.unwrap_or_else(|| offset_name(zone_offset_s(instant_us, zone), ":"))
}

/// `+03`, `+0330`; what separates minutes from hours depends on whether a zone of the database or an offset has the name.
fn offset_name(seconds: i32, separator: &str) -> String {
    let (sign, rest) = (if seconds < 0 { '-' } else { '+' }, seconds.abs());
    let minutes = if rest % 3600 == 0 { String::new() } else { format!("{separator}{:02}", rest / 60 % 60) };
    format!("{sign}{:02}{minutes}", rest / 3600)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(name: &str, instant_us: i64) -> i32 {
        zone_meant_by(name).unwrap().offset_at(instant_us)
    }

    #[test]
    fn zones_have_names_abbreviations_and_offsets() {
        for (name, seconds) in [
            ("Europe/Berlin", 3600),
            ("europe/BERLIN", 3600),
            ("CEST", 7200),
            ("pst", -28_800),
            ("UTC+3", -10_800),
            ("+03:30", -12_600),
            ("-5", 18_000),
            ("<FOO>2", -7200),
            ("MSK", 10_800),
            ("z", 0),
        ] {
            assert_eq!(offset(name, 0), seconds, "{name}");
        }
        for name in ["", "Mars/Base", "+", "UTC+", "+1:2:3:4", "+200", "UTC+a"] {
            assert_eq!(zone_meant_by(name).unwrap_err().message(), format!("time zone \"{name}\" not recognized"));
        }
    }

    #[test]
    fn zones_without_words_are_called_by_their_offsets() {
        let used = |name: &str| zone_use(name, 1_700_000_000_000_000).map(|used| (used.abbreviation, used.offset_s));
        for (name, abbreviation, offset_s) in
            [("Asia/Tehran", "+0330", 12_600), ("America/Sao_Paulo", "-03", -10_800), ("Asia/Tokyo", "JST", 32_400)]
        {
            assert_eq!(used(name), Some((abbreviation.to_owned(), offset_s)));
            assert_eq!(abbreviation_at(0, &name.parse().unwrap()).len(), abbreviation.len(), "{name}");
        }
        assert_eq!(abbreviation_at(0, &"+05:30".parse().unwrap()), "+05:30");
    }

    #[test]
    fn rules_go_on_after_the_tables() {
        // 2500-07-01, 2500-01-01, 294000-07-01, 1700-01-01, by PostgreSQL.
        let day = |year, month| days_of_civil(year, month, 1) * DAY_US;
        assert_eq!(offset("Europe/Berlin", day(2500, 7)), 7200);
        assert_eq!(offset("Europe/Berlin", day(2500, 1)), 3600);
        assert_eq!(offset("America/New_York", day(294_000, 7)), -14_400);
        assert_eq!(offset("America/New_York", day(1700, 1)), -17_762);
        assert_eq!(offset("Asia/Tokyo", day(2500, 7)), 32_400);
    }
}
