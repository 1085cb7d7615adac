//! Dates and timestamps as text in the styles of `DateStyle` (`EncodeDateOnly`, `EncodeDateTime` in PostgreSQL's datetime.c).
//!
//! In all styles but ISO a timestamp with time zone has the abbreviation that its zone uses then.

use super::datetime_text::{date_text, infinity_text, time_text, timestamp_text, timestamptz_text};
use crate::formats::{DateOrder, DateStyle, Formats};
use crate::input::time_zones::{TimeZone, abbreviation_at, zone_offset_s};
use crate::values::calendar::{DAY_US, SECOND_US, civil_of_days, day_of_week};

/// Characters of an abbreviation that are shown (MAXTZLEN).
const ABBREVIATION_MAX: usize = 10;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A date.
pub fn styled_date(days: i32, formats: &Formats) -> String {
    if formats.date_style == DateStyle::Iso || [i32::MIN, i32::MAX].contains(&days) {
        return date_text(days);
    }
    let date = Date::of(days.into());
    date.with_separators(formats) + date.era
}

/// A timestamp without time zone.
pub fn styled_timestamp(us: i64, formats: &Formats) -> String {
    if formats.date_style == DateStyle::Iso {
        return timestamp_text(us);
    }
    infinity_text(us).unwrap_or_else(|| styled_local(us.into(), "", formats))
}

/// A timestamp with time zone, as clocks of the zone show it.
pub fn styled_timestamptz(us: i64, zone: &TimeZone, formats: &Formats) -> String {
    if let Some(infinity) = infinity_text(us) {
        return infinity;
    }
    let offset_s = zone_offset_s(us, zone);
    if formats.date_style == DateStyle::Iso {
        return timestamptz_text(us, offset_s);
    }
    let abbreviation: String = abbreviation_at(us, zone).chars().take(ABBREVIATION_MAX).collect();
    let local_us = i128::from(us) + i128::from(offset_s) * i128::from(SECOND_US);
    styled_local(local_us, &format!(" {abbreviation}"), formats)
}

fn styled_local(local_us: i128, zone: &str, formats: &Formats) -> String {
    let day_us = i128::from(DAY_US);
    let days = local_us.div_euclid(day_us) as i64;
    let (date, time) = (Date::of(days), time_text(local_us.rem_euclid(day_us) as i64));
    let era = date.era;
    if formats.date_style != DateStyle::Postgres {
        return format!("{} {time}{zone}{era}", date.with_separators(formats));
    }
    let (day, month) = (date.day, MONTHS[date.month as usize - 1]);
    let day_and_month = match formats.date_order {
        DateOrder::Dmy => format!("{day:02} {month}"),
        DateOrder::Mdy | DateOrder::Ymd => format!("{month} {day:02}"),
    };
    format!("{} {day_and_month} {time} {:04}{zone}{era}", DAYS[day_of_week(days) as usize], date.year)
}

/// A day of the calendar.
struct Date {
    year: i64,
    month: i64,
    day: i64,
    era: &'static str,
}

impl Date {
    fn of(days: i64) -> Self {
        let (year, month, day) = civil_of_days(days);
        // There is no year 0: it is 1 BC.
        let (year, era) = if year > 0 { (year, "") } else { (1 - year, " BC") };
        Self { year, month, day, era }
    }

    /// In all styles but ISO. The year is last, also where dates are read with the year first.
    fn with_separators(&self, formats: &Formats) -> String {
        let Self { year, month, day, .. } = self;
        let has_day_first = formats.date_order == DateOrder::Dmy;
        let (first, second) = if has_day_first { (day, month) } else { (month, day) };
        match formats.date_style {
            DateStyle::German => format!("{day:02}.{month:02}.{year:04}"),
            DateStyle::Sql => format!("{first:02}/{second:02}/{year:04}"),
            DateStyle::Postgres | DateStyle::Iso => format!("{first:02}-{second:02}-{year:04}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(date_style: DateStyle, date_order: DateOrder) -> Formats {
        Formats { date_style, date_order, ..Formats::default() }
    }

    /// Every expected text is PostgreSQL 15's.
    #[test]
    fn values_look_as_in_postgresql() {
        use DateOrder::{Dmy, Mdy, Ymd};
        use DateStyle::{German, Iso, Postgres, Sql};
        let berlin: TimeZone = "Europe/Berlin".parse().unwrap();
        // 2024-02-29 12:14:15.5 UTC
        let us = 1_709_208_855_500_000;
        for (style, order, date, timestamp, zoned) in [
            (Iso, Dmy, "2024-02-29", "2024-02-29 12:14:15.5", "2024-02-29 13:14:15.5+01"),
            (Sql, Mdy, "02/29/2024", "02/29/2024 12:14:15.5", "02/29/2024 13:14:15.5 CET"),
            (Sql, Dmy, "29/02/2024", "29/02/2024 12:14:15.5", "29/02/2024 13:14:15.5 CET"),
            (Sql, Ymd, "02/29/2024", "02/29/2024 12:14:15.5", "02/29/2024 13:14:15.5 CET"),
            (Postgres, Mdy, "02-29-2024", "Thu Feb 29 12:14:15.5 2024", "Thu Feb 29 13:14:15.5 2024 CET"),
            (Postgres, Dmy, "29-02-2024", "Thu 29 Feb 12:14:15.5 2024", "Thu 29 Feb 13:14:15.5 2024 CET"),
            (German, Mdy, "29.02.2024", "29.02.2024 12:14:15.5", "29.02.2024 13:14:15.5 CET"),
        ] {
            let formats = formats(style, order);
            let texts = (
                styled_date(19_782, &formats),
                styled_timestamp(us, &formats),
                styled_timestamptz(us, &berlin, &formats),
            );
            assert_eq!(texts, (date.to_owned(), timestamp.to_owned(), zoned.to_owned()), "{formats:?}");
        }
    }

    #[test]
    fn eras_infinities_and_offsets_look_as_in_postgresql() {
        let sql = formats(DateStyle::Sql, DateOrder::Mdy);
        assert_eq!(styled_date(i32::MAX, &sql), "infinity");
        assert_eq!(styled_timestamp(i64::MIN, &sql), "-infinity");
        assert_eq!(styled_date(-2_440_588, &sql), "11/24/4714 BC");
        let tehran: TimeZone = "Asia/Tehran".parse().unwrap();
        assert_eq!(styled_timestamptz(1_700_000_000_000_000, &tehran, &sql), "11/15/2023 01:43:20 +0330");
        let postgres = formats(DateStyle::Postgres, DateOrder::Mdy);
        assert_eq!(styled_timestamp(-62_135_596_800_000_001, &postgres), "Sun Dec 31 23:59:59.999999 0001 BC");
    }
}
