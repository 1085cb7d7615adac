//! Dates, times and timestamps: the proleptic Gregorian calendar and PostgreSQL's ISO text form.
//!
//! Day numbers count from 1970-01-01 (as Arrow's do), microseconds likewise; the wire's binary forms count from
//! 2000-01-01. Years before 1 print as `0044-03-15 BC`.
//! Calendar arithmetic after Howard Hinnant, "chrono-compatible low-level date algorithms".

use braid_engine::{TimeZone, zone_offset_s};

use super::decimal_digits::{append_padded, append_two, append_u64};

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's binary dates start.
pub(crate) const POSTGRES_EPOCH_DAYS: i32 = 10_957;

/// Microseconds from 1970-01-01 to 2000-01-01.
pub(crate) const POSTGRES_EPOCH_US: i64 = POSTGRES_EPOCH_DAYS as i64 * DAY_US;

/// Microseconds in a day.
pub(crate) const DAY_US: i64 = 86_400_000_000;

/// Year (astronomical: 0 is 1 BC), month and day of a day number.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    // The year starts in March, so that the leap day comes last; an era has 400 years or 146 097 days.
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month as u32, day as u32)
}

/// The text of an infinite date or timestamp; `None` for a finite one.
pub(crate) fn infinity(value: i64, minus_infinity: i64, infinity: i64) -> Option<&'static [u8]> {
    if value == infinity {
        Some(b"infinity")
    } else if value == minus_infinity {
        Some(b"-infinity")
    } else {
        None
    }
}

/// Appends a date.
pub(crate) fn append_date(out: &mut Vec<u8>, days: i32) {
    if let Some(text) = infinity(days.into(), i32::MIN.into(), i32::MAX.into()) {
        return out.extend_from_slice(text);
    }
    append_date_part(out, i64::from(days), |_| {});
}

/// Appends a timestamp.
pub(crate) fn append_timestamp(out: &mut Vec<u8>, micros: i64) {
    if let Some(text) = infinity(micros, i64::MIN, i64::MAX) {
        return out.extend_from_slice(text);
    }
    append_date_and_time(out, micros, |_| {});
}

/// Appends an instant as a clock in `zone` shows it, with the zone's offset then; without a zone, as UTC.
pub(crate) fn append_timestamptz(out: &mut Vec<u8>, micros: i64, zone: Option<&TimeZone>) {
    if let Some(text) = infinity(micros, i64::MIN, i64::MAX) {
        return out.extend_from_slice(text);
    }
    let offset = zone.map_or(0, |zone| i64::from(zone_offset_s(micros, zone)));
    append_date_and_time(out, micros + offset * 1_000_000, |out| append_offset(out, offset));
}

fn append_date_and_time(out: &mut Vec<u8>, micros: i64, append_rest: impl FnOnce(&mut Vec<u8>)) {
    append_date_part(out, micros.div_euclid(DAY_US), |out| {
        out.push(b' ');
        append_time(out, micros.rem_euclid(DAY_US));
        append_rest(out);
    });
}

/// `+HH`, `-HH:MM` or `+HH:MM:SS`, as short as it may be.
fn append_offset(out: &mut Vec<u8>, offset_seconds: i64) {
    let east = offset_seconds.unsigned_abs() as u32;
    out.push(if offset_seconds < 0 { b'-' } else { b'+' });
    append_two(out, east / 3600);
    let (minutes, seconds) = (east / 60 % 60, east % 60);
    if minutes != 0 || seconds != 0 {
        out.push(b':');
        append_two(out, minutes);
    }
    if seconds != 0 {
        out.push(b':');
        append_two(out, seconds);
    }
}

/// Appends the date, what follows it, and `BC` where the year is below 1.
fn append_date_part(out: &mut Vec<u8>, days: i64, append_rest: impl FnOnce(&mut Vec<u8>)) {
    let (year, month, day) = civil_from_days(days);
    let printed = if year > 0 { year } else { 1 - year } as u64;
    if printed < 10_000 {
        append_two(out, (printed / 100) as u32);
        append_two(out, (printed % 100) as u32);
    } else {
        append_u64(out, printed);
    }
    out.push(b'-');
    append_two(out, month);
    out.push(b'-');
    append_two(out, day);
    append_rest(out);
    if year <= 0 {
        out.extend_from_slice(b" BC");
    }
}

/// Appends a time of day given in microseconds; 86 400 000 000 prints as 24:00:00.
pub(crate) fn append_time(out: &mut Vec<u8>, micros: i64) {
    let seconds = micros / 1_000_000;
    append_two(out, (seconds / 3600) as u32);
    out.push(b':');
    append_two(out, (seconds / 60 % 60) as u32);
    out.push(b':');
    append_two(out, (seconds % 60) as u32);
    append_fraction(out, (micros % 1_000_000) as u64);
}

/// Appends `.ffffff` without trailing zeros; nothing for zero.
pub(crate) fn append_fraction(out: &mut Vec<u8>, micros: u64) {
    if micros != 0 {
        out.push(b'.');
        append_padded(out, micros, 6);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timestamp(micros: i64, utc: bool) -> String {
        let mut out = Vec::new();
        if utc {
            append_timestamptz(&mut out, micros, None);
        } else {
            append_timestamp(&mut out, micros);
        }
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_day_of_five_millennia_is_the_day_after_the_one_before() {
        let (mut year, mut month, mut day) = (-500, 1, 1);
        // 500 years before year 0 that begins 719528 days before 1970.
        let first = -719_528 - 182_621;
        for number in first..first + 1_826_213 {
            assert_eq!(civil_from_days(number), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month as usize - 1];
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn timestamps_print_as_postgresql_prints_them() {
        for (micros, utc, expected) in [
            (0, false, "1970-01-01 00:00:00"),
            (0, true, "1970-01-01 00:00:00+00"),
            (-1, false, "1969-12-31 23:59:59.999999"),
            (1_500_000, false, "1970-01-01 00:00:01.5"),
            (POSTGRES_EPOCH_US, false, "2000-01-01 00:00:00"),
            (253_402_300_800_000_000, false, "10000-01-01 00:00:00"),
            (-62_135_596_800_000_001, false, "0001-12-31 23:59:59.999999 BC"),
        ] {
            assert_eq!(timestamp(micros, utc), expected);
        }
    }
}
