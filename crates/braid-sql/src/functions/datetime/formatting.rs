//! `to_char` of timestamps and intervals.
//!
//! The templates are those of PostgreSQL's documentation, section 9.8; [`template`](super::template) cuts a format into them.
//! Names of months and days are English ones, also with `TM`. Timestamps that are infinite and empty formats give null.

use std::fmt::Write;

use super::limits::{is_finite, local_us};
use super::template::{Key, Node, parse};
use crate::functions::templates::{Piece, ordinal_suffix};
use crate::functions::{Call, Implementations};
use crate::input::time_zones::{abbreviation_at, zone_offset_s};
use crate::values::Interval;
use crate::values::calendar::{
    DAY_US, EPOCH_JULIAN_DAY, HOUR_US, MINUTE_US, SECOND_US, civil_of_days, day_of_week, days_of_civil, first_iso_week,
    iso_year_and_week,
};
use crate::{SqlError, SqlState, Value};

/// The table of this family.
pub const FUNCTIONS: Implementations = &[
    ("timestamp_to_char", |arguments, _| {
        let us = arguments[0].as_timestamp();
        if is_finite(us) { formatted(&Fields::of_local(us.into()), arguments[1].as_text()) } else { Ok(Value::Null) }
    }),
    ("timestamptz_to_char", timestamptz_to_char),
    ("interval_to_char", |arguments, _| {
        formatted(&Fields::of_interval(arguments[0].as_interval()), arguments[1].as_text())
    }),
];

/// English names of the months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// English names of the days of the week.
pub const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
/// Roman numbers of the months.
pub const ROMAN_MONTHS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// A result longer than this is refused, as a text of PostgreSQL is.
const TEXT_BYTES_MAX: usize = 1 << 30;
/// No template writes more bytes.
const NODE_BYTES_MAX: usize = 64;

fn timestamptz_to_char(arguments: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
    let us = arguments[0].as_timestamptz();
    if !is_finite(us) {
        return Ok(Value::Null);
    }
    let zone = call.session.zone();
    let mut fields = Fields::of_local(local_us(us, call));
    fields.offset_s = zone_offset_s(us, &zone);
    fields.zone_name = abbreviation_at(us, &zone);
    formatted(&fields, arguments[1].as_text())
}

/// What templates show.
struct Fields {
    is_interval: bool,
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    day_of_week: i64,
    hour: i64,
    minute: i64,
    second: i64,
    fraction_us: i64,
    /// Days since 1970-01-01; for an interval, those of the day whose fields are its own.
    days: i64,
    offset_s: i32,
    /// Nothing without a zone.
    zone_name: String,
}

impl Fields {
    fn of_local(local_us: i128) -> Self {
        let day_us = i128::from(DAY_US);
        let (days, us) = (local_us.div_euclid(day_us) as i64, local_us.rem_euclid(day_us) as i64);
        let (year, month, day) = civil_of_days(days);
        Self {
            is_interval: false,
            year,
            month,
            day,
            day_of_year: days - days_of_civil(year, 1, 1) + 1,
            day_of_week: day_of_week(days),
            hour: us / HOUR_US,
            minute: us / MINUTE_US % 60,
            second: us / SECOND_US % 60,
            fraction_us: us % SECOND_US,
            days,
            offset_s: 0,
            zone_name: String::new(),
        }
    }

    fn of_interval(interval: Interval) -> Self {
        let Interval { months, days, us } = interval;
        let (year, month, day) = (i64::from(months / 12), i64::from(months % 12), i64::from(days));
        Self {
            is_interval: true,
            year,
            month,
            day,
            day_of_year: (year * 12 + month) * 30 + day,
            day_of_week: 0,
            hour: us / HOUR_US,
            minute: us / MINUTE_US % 60,
            second: us / SECOND_US % 60,
            fraction_us: us % SECOND_US,
            days: julian_day(year, month, day) - EPOCH_JULIAN_DAY,
            offset_s: 0,
            zone_name: String::new(),
        }
    }

    /// The year without a year 0; intervals have one.
    fn shown_year(&self, year: i64) -> i64 {
        if self.is_interval || year > 0 { year } else { 1 - year }
    }

    fn is_afternoon(&self) -> bool {
        self.hour % 24 >= 12
    }

    fn century(&self) -> i64 {
        match self.year {
            year if self.is_interval => year / 100,
            year if year > 0 => (year - 1) / 100 + 1,
            year => year / 100 - 1,
        }
    }

    /// The number of a template, with its width if there is no `FM`; a minus sign has a place of its own.
    fn number(&self, key: Key) -> Option<(i64, usize)> {
        use Key::{
            Cc, D, Dd, Ddd, Ff, Hh12, Hh24, I, Id, Iddd, Iw, Iy, Iyy, Iyyy, J, Mi, Mm, Q, Ss, Ssss, W, Ww, Y, Yy, Yyy,
            Yyyy,
        };
        let signed = |value: i64, width: usize| (value, width + usize::from(value < 0));
        let year = self.shown_year(self.year);
        let iso_year = self.shown_year(iso_year_and_week(self.days).0);
        let yearly = |value: i64, of: i64, width: usize| (value, width + usize::from(of < 0));
        Some(match key {
            Hh12 => {
                let hour = if self.hour % 12 == 0 { 12 } else { self.hour % 12 };
                (hour, 2 + usize::from(self.hour < 0))
            }
            Hh24 => signed(self.hour, 2),
            Mi => signed(self.minute, 2),
            Ss => signed(self.second, 2),
            Ff(digits) => (self.fraction_us / 10_i64.pow(6 - u32::from(digits)), digits.into()),
            Ssss => (self.hour * 3600 + self.minute * 60 + self.second, 0),
            Mm => signed(self.month, 2),
            Ddd => (self.day_of_year, 3),
            Iddd => (self.days - first_iso_week(iso_year_and_week(self.days).0) + 1, 3),
            Dd => (self.day, 2),
            D => (self.day_of_week + 1, 0),
            Id => (if self.day_of_week == 0 { 7 } else { self.day_of_week }, 0),
            Ww => ((self.day_of_year - 1) / 7 + 1, 2),
            Iw => (iso_year_and_week(self.days).1, 2),
            Q if self.month == 0 => return None,
            Q => ((self.month - 1) / 3 + 1, 0),
            Cc => signed(self.century(), 2),
            Yyyy => yearly(year, year, 4),
            Iyyy => yearly(iso_year, iso_year, 4),
            Yyy => yearly(year % 1000, year, 3),
            Iyy => yearly(iso_year % 1000, iso_year, 3),
            Yy => yearly(year % 100, year, 2),
            Iy => yearly(iso_year % 100, iso_year, 2),
            Y => (year % 10, 1),
            I => (iso_year % 10, 1),
            W => ((self.day - 1) / 7 + 1, 0),
            J => (self.days + EPOCH_JULIAN_DAY, 0),
            _ => return None,
        })
    }

    /// The word of a template, and its width if there is no `FM`. An empty word is not padded.
    fn word(&self, key: Key) -> (String, usize) {
        let month_at = (self.month != 0).then(|| (self.month - 1).rem_euclid(12) as usize);
        let day = DAYS[self.day_of_week as usize];
        match key {
            Key::Am { dotted } => (half(["AM", "PM"], ["A.M.", "P.M."], self.is_afternoon(), dotted), 0),
            Key::Ad { dotted } => (half(["AD", "BC"], ["A.D.", "B.C."], self.year <= 0, dotted), 0),
            Key::Month => month_at.map_or((String::new(), 0), |at| (MONTHS[at].to_owned(), 9)),
            Key::Mon => month_at.map_or((String::new(), 0), |at| (MONTHS[at][..3].to_owned(), 0)),
            Key::Day => (day.to_owned(), 9),
            Key::Dy => (day[..3].to_owned(), 0),
            Key::Rm if self.month == 0 && self.year == 0 => (String::new(), 0),
            Key::Rm if self.month == 0 => (ROMAN_MONTHS[if self.year >= 0 { 11 } else { 0 }].to_owned(), 4),
            // Months before none count from the end.
            Key::Rm if self.month < 0 => (ROMAN_MONTHS[(12 + self.month) as usize].to_owned(), 4),
            Key::Rm => (ROMAN_MONTHS[self.month as usize - 1].to_owned(), 4),
            Key::Tz => (self.zone_name.clone(), 0),
            _ => (String::new(), 0),
        }
    }
}

fn half(plain: [&str; 2], dotted: [&str; 2], is_second: bool, has_dots: bool) -> String {
    (if has_dots { dotted } else { plain })[usize::from(is_second)].to_owned()
}

/// The Julian day of any year, month and day: months need not exist, as those of intervals. The division truncates, as that of C.
fn julian_day(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year + 4800, month + 1) } else { (year + 4799, month + 13) };
    let century = year / 100;
    year * 365 - 32_167 + year / 4 - century + century / 4 + 7834 * month / 256 + day
}

fn formatted(fields: &Fields, format: &str) -> Result<Value, SqlError> {
    if format.is_empty() {
        return Ok(Value::Null);
    }
    let mut out = String::new();
    for item in parse(format) {
        if out.len() > TEXT_BYTES_MAX - NODE_BYTES_MAX {
            return Err(SqlError::new(SqlState::ProgramLimitExceeded, "requested length too large"));
        }
        match item {
            Piece::Text(character) | Piece::Quoted(character) => out.push(character),
            Piece::Template(node) => write_node(fields, node, &mut out)?,
        }
    }
    Ok(Value::text(out))
}

fn write_node(fields: &Fields, node: Node, out: &mut String) -> Result<(), SqlError> {
    if fields.is_interval && node.key.needs_calendar() {
        let message = "invalid format specification for an interval value";
        return Err(SqlError::new(SqlState::InvalidDatetime, message)
            .with_hint("Intervals are not tied to specific calendar dates."));
    }
    if fields.is_interval && node.key.counts_iso_weeks() {
        return Err(SqlError::unsupported("to_char of an interval does not support ISO weeks and their years"));
    }
    let start = out.len();
    match node.key {
        Key::Fx => return Ok(()),
        Key::YCommaYyy => {
            let year = fields.shown_year(fields.year);
            write!(out, "{},{:03}", year / 1000, year % 1000).expect("a String takes everything");
        }
        Key::Tzh => write_offset(fields.offset_s, 2, false, out),
        Key::Of => write_offset(fields.offset_s, if node.is_filled { 2 } else { 0 }, true, out),
        Key::Tzm => {
            write!(out, "{:02}", fields.offset_s.abs() / 60 % 60).expect("a String takes everything");
        }
        key => match fields.number(key) {
            Some((value, width)) => {
                let width = if node.is_filled || matches!(key, Key::Ff(_)) { width } else { 0 };
                write!(out, "{value:0width$}").expect("a String takes everything");
            }
            None => {
                let (word, width) = fields.word(key);
                let width = if node.is_filled && !node.is_translated { width } else { 0 };
                write!(out, "{:width$}", node.letters.apply(&word)).expect("a String takes everything");
                return Ok(());
            }
        },
    }
    if let Some(is_upper) = node.ordinal.filter(|_| node.key.has_ordinal()) {
        let suffix = ordinal_suffix(&out[start..]);
        out.push_str(&if is_upper { suffix.to_ascii_uppercase() } else { suffix.to_owned() });
    }
    Ok(())
}

/// The sign and hours of an offset from UTC, and minutes if there are any.
fn write_offset(offset_s: i32, width: usize, has_minutes: bool, out: &mut String) {
    let east = offset_s.abs();
    let sign = if offset_s < 0 { '-' } else { '+' };
    write!(out, "{sign}{:0width$}", east / 3600).expect("a String takes everything");
    if has_minutes && east % 3600 != 0 {
        write!(out, ":{:02}", east / 60 % 60).expect("a String takes everything");
    }
}
