//! Days of the Gregorian calendar over the whole range of PostgreSQL's dates, and the ranges of dates and timestamps.
//!
//! The calendar is carried on before its introduction. Year 0 is 1 BC. Days count from 1970-01-01.
//! The algorithms are Howard Hinnant's, "chrono-Compatible Low-Level Date Algorithms".

/// Microseconds of a second.
pub const SECOND_US: i64 = 1_000_000;
/// Microseconds of a minute.
pub const MINUTE_US: i64 = 60 * SECOND_US;
/// Microseconds of an hour.
pub const HOUR_US: i64 = 60 * MINUTE_US;
/// Microseconds of a day.
pub const DAY_US: i64 = 24 * HOUR_US;

/// The Julian day number of 1970-01-01.
pub const EPOCH_JULIAN_DAY: i64 = 2_440_588;
/// Microseconds from 1970-01-01 to 2000-01-01, from which PostgreSQL counts, and from which it rounds.
pub const Y2K_US: i64 = 10_957 * DAY_US;
/// The first day, 4714-11-24 BC: Julian day 0. It is the first of timestamps, too.
pub const DAYS_MIN: i64 = -EPOCH_JULIAN_DAY;
/// The last day of dates, 5874897-12-31: Julian day 2147483493.
pub const DAYS_MAX: i64 = 2_147_483_493 - EPOCH_JULIAN_DAY;
/// The first timestamp.
pub const TIMESTAMP_MIN_US: i64 = DAYS_MIN * DAY_US;
/// The last timestamp, in the year 294247: the next number of 64 bits is infinity. PostgreSQL, which counts from 2000, goes on to
/// 294276.
pub const TIMESTAMP_MAX_US: i64 = i64::MAX - 1;

/// Day of a year, month and day; the month is 1 to 12, the day may be any, and counts from the first of the month.
pub fn days_of_civil(year: i64, month: i64, day: i64) -> i64 {
    let march_year = year - i64::from(month <= 2);
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    // 719 468 days lie between 0000-03-01 and 1970-01-01.
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a day.
pub fn civil_of_days(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let day_of_era = z.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Whether a year has a 29th of February.
pub fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// How many days a month has; the month is 1 to 12.
pub fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Day of the week: Sunday is 0.
pub fn day_of_week(days: i64) -> i64 {
    (days + 4).rem_euclid(7)
}

/// Day of the week as ISO 8601 counts: Monday is 1, Sunday is 7.
pub fn iso_day_of_week(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// Monday of the first week of a year: the week of January 4 (ISO 8601).
pub fn first_iso_week(year: i64) -> i64 {
    let fourth = days_of_civil(year, 1, 4);
    fourth - (iso_day_of_week(fourth) - 1)
}

/// Year and number of the week of a day, as ISO 8601 counts them.
pub fn iso_year_and_week(days: i64) -> (i64, i64) {
    let (year, _, _) = civil_of_days(days);
    let iso_year = if days < first_iso_week(year) {
        year - 1
    } else if days >= first_iso_week(year + 1) {
        year + 1
    } else {
        year
    };
    (iso_year, (days - first_iso_week(iso_year)) / 7 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_civil_dates_agree() {
        for days in (DAYS_MIN..DAYS_MAX).step_by(99_991) {
            let (year, month, day) = civil_of_days(days);
            assert_eq!(days_of_civil(year, month, day), days);
            assert!(day >= 1 && day <= days_of_month(year, month));
        }
        assert_eq!(civil_of_days(DAYS_MIN), (-4713, 11, 24));
        assert_eq!(civil_of_days(DAYS_MAX), (5_874_897, 12, 31));
        assert_eq!(civil_of_days(Y2K_US / DAY_US), (2000, 1, 1));
    }

    #[test]
    fn weeks_are_those_of_iso_8601() {
        for (civil, week) in [
            ((2021, 1, 3), (2020, 53)),
            ((2020, 12, 31), (2020, 53)),
            ((2019, 12, 30), (2020, 1)),
            ((2024, 7, 1), (2024, 27)),
        ] {
            assert_eq!(iso_year_and_week(days_of_civil(civil.0, civil.1, civil.2)), week);
        }
        assert_eq!((day_of_week(0), iso_day_of_week(3)), (4, 7));
    }
}
