//! Time zones by name, abbreviation and offset, and their offsets at any time that a timestamp can hold.
//!
//! Names are those of the IANA database and compare without case, or zones of POSIX (`posix_zones`), whose offsets have another sign: `UTC+3`
//! and `+3` lie west of Greenwich.
//!
//! The database's tables end in 2099. A zone that has summer time then keeps its rules: a later year is looked up as the year of
//! the table's last 28 that has the same calendar, as PostgreSQL finds it in the year's 400-year cycle.

use std::str::FromStr;

use chrono::{Offset as _, TimeZone as _};
use chrono_tz::{OffsetComponents as _, OffsetName as _, Tz};

use super::posix_zones::PosixZone;
use super::time_zone_abbreviations::{Abbreviation, abbreviation};
use crate::values::calendar::{DAY_US, SECOND_US, civil_of_days, day_of_week, days_of_civil, is_leap_year};
use crate::{SqlError, SqlState};

/// A time zone of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeZone {
    /// One of the IANA database.
    Database(Tz),
    /// One that its name defines.
    Posix(PosixZone),
}

impl TimeZone {
    /// The zone called UTC.
    pub const UTC: Self = Self::Database(Tz::UTC);

    /// The zone of a setting's text, and the name that the setting has then. A number is hours east of UTC.
    pub fn of_setting(text: &str) -> Option<(Self, String)> {
        let number = text.trim_start();
        let is_number = number.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.'));
        if let (true, Ok(hours)) = (is_number, number.parse::<f64>()) {
            return Self::at_offset((hours * 3600.0) as i64);
        }
        match database_zone(text) {
            Some(zone) => Some((Self::Database(zone), zone.name().to_owned())),
            None => PosixZone::of(text).map(|zone| (Self::Posix(zone), text.to_ascii_uppercase())),
        }
    }

    /// The name of a zone of the database; of another one, that of the offset that it had in 1970.
    pub fn name(self) -> String {
        match self {
            Self::Database(zone) => zone.name().to_owned(),
            Self::Posix(zone) => PosixZone::at_offset(zone.offset_at(0).0).map_or_else(String::new, |(_, name)| name),
        }
    }

    /// The zone so many seconds east of UTC, and its name.
    pub fn at_offset(east_s: i64) -> Option<(Self, String)> {
        let (zone, name) = PosixZone::at_offset(i32::try_from(east_s).ok()?)?;
        Some((Self::Posix(zone), name))
    }
}

impl FromStr for TimeZone {
    type Err = SqlError;

    fn from_str(name: &str) -> Result<Self, SqlError> {
        let posix = || PosixZone::of(name).map(Self::Posix);
        database_zone(name).map(Self::Database).or_else(posix).ok_or_else(|| unknown_zone(name))
    }
}

fn database_zone(name: &str) -> Option<Tz> {
    name.parse()
        .ok()
        .or_else(|| chrono_tz::TZ_VARIANTS.iter().find(|zone| zone.name().eq_ignore_ascii_case(name)).copied())
}

/// A time zone of a value or a setting.
#[derive(Clone, Copy, Debug)]
pub enum Zone {
    /// Seconds east of UTC.
    Fixed(i32),
    /// A zone with rules.
    Named(TimeZone),
    /// An abbreviation whose meaning depends on the time, and the zone that uses it.
    Abbreviated(&'static str, TimeZone),
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
    name.parse().ok().map(|zone: TimeZone| match zone {
        TimeZone::Posix(posix) => posix.constant_offset().map_or(Zone::Named(zone), Zone::Fixed),
        TimeZone::Database(_) => Zone::Named(zone),
    })
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
pub fn zone_offset_s(instant_us: i64, zone: &TimeZone) -> i32 {
    match zone {
        TimeZone::Database(zone) => {
            let within = instant_within_tables(instant_us, |instant| table_offset_s(instant, *zone));
            table_offset_s(within, *zone)
        }
        TimeZone::Posix(zone) => zone.offset_at(instant_us).0,
    }
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

fn table_offset_s(instant_us: i64, zone: Tz) -> i32 {
    chrono::DateTime::from_timestamp_micros(instant_us)
        .map_or(0, |instant| zone.offset_from_utc_datetime(&instant.naive_utc()).fix().local_minus_utc())
}

/// Seconds that clocks of `zone` are ahead of UTC when they show `local_us`. Where clocks are turned forward and never show it,
/// the time before the change goes on; where they are turned back and show it twice, it is the second time
/// (`DetermineTimeZoneOffset` in PostgreSQL's datetime.c).
pub fn local_offset_s(local_us: i64, zone: &TimeZone) -> i32 {
    let before = zone_offset_s(local_us.saturating_sub(DAY_US), zone);
    let after = zone_offset_s(local_us.saturating_add(DAY_US), zone);
    let second = local_us.saturating_sub(i64::from(after) * SECOND_US);
    if zone_offset_s(second, zone) == after { after } else { before }
}

/// What `zone` meant by an abbreviation at an instant: its last use before, else its first use after, else the zone's offset.
fn abbreviated_offset_s(word: &str, instant_us: i64, zone: &TimeZone) -> i32 {
    let own = zone_offset_s(instant_us, zone);
    let TimeZone::Database(zone) = zone else { return own };
    if word.is_empty() {
        return own;
    }
    let uses = |at: i64| names_at(at, *zone).filter(|(name, _)| name == word).map(|(_, offset)| offset);
    // Two weeks are shorter than any use. The tables hold changes between 1850 and 2100.
    let (first, last) = (-44_000 * DAY_US, 47_480 * DAY_US);
    let step = 14 * DAY_US;
    let start = instant_us.clamp(first, last);
    let earlier = (0..6600).map(|n| start - n * step).take_while(|at| *at >= first).find_map(uses);
    let later = || (1..6600).map(|n| start + n * step).take_while(|at| *at <= last).find_map(uses);
    earlier.or_else(later).unwrap_or(own)
}

/// Abbreviation and offset in use at an instant; an offset stands for an abbreviation that there is not.
fn names_at(instant_us: i64, zone: Tz) -> Option<(String, i32)> {
    let utc = chrono::DateTime::from_timestamp_micros(instant_us)?.naive_utc();
    let offset = zone.offset_from_utc_datetime(&utc);
    let seconds = offset.fix().local_minus_utc();
    Some((offset.abbreviation().map_or_else(|| offset_name(seconds), str::to_owned), seconds))
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
    let zone: Tz = name.parse().ok()?;
    let within = instant_within_tables(instant_us, |at| names_at(at, zone).map_or(0, |(_, offset)| offset));
    let utc = chrono::DateTime::from_timestamp_micros(within)?.naive_utc();
    let is_summer = !zone.offset_from_utc_datetime(&utc).dst_offset().is_zero();
    let (abbreviation, offset_s) = names_at(within, zone)?;
    Some(ZoneUse { abbreviation, offset_s, is_summer })
}

/// What a zone calls its time at an instant: `CET`, `-03`.
pub fn abbreviation_at(instant_us: i64, zone: &TimeZone) -> String {
    match zone {
        TimeZone::Database(zone) => {
            let within = instant_within_tables(instant_us, |instant| table_offset_s(instant, *zone));
            names_at(within, *zone).map_or_else(String::new, |(name, _)| name)
        }
        TimeZone::Posix(zone) => zone.abbreviation_at(instant_us),
    }
}

/// `+03`, `+0330`
fn offset_name(seconds: i32) -> String {
    let (sign, rest) = (if seconds < 0 { '-' } else { '+' }, seconds.abs());
    let minutes = if rest % 3600 == 0 { String::new() } else { format!("{:02}", rest / 60 % 60) };
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
        for name in ["", "Mars/Base", "+", "UTC+", "+1:2:3:4", "+200", "UTC+a", "FOO1BAR"] {
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
        assert_eq!(abbreviation_at(0, &"<+05:30>-05:30".parse().unwrap()), "+05:30");
    }

    #[test]
    fn settings_have_postgresqls_names() {
        let name = |text: &str| TimeZone::of_setting(text).map(|(_, name)| name);
        for (text, expected) in [
            ("europe/berlin", "Europe/Berlin"),
            ("gmt", "GMT"),
            ("foo-2", "FOO-2"),
            ("+05:30", "+05:30"),
            ("-3", "<-03>+03"),
            ("  3", "<+03>-03"),
            ("5.5", "<+05:30>-05:30"),
            ("0", "<+00>-00"),
            ("5.0002778", "<+05:00:01>-05:00:01"),
        ] {
            assert_eq!(name(text).as_deref(), Some(expected), "{text}");
            assert_eq!(name(expected).as_deref(), Some(expected));
        }
        for text in ["z", "local", "168", "", "1e10", "inf"] {
            assert_eq!(name(text), None, "{text}");
        }
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
