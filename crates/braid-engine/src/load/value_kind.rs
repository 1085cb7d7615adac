//! The types that a text of a file may be a value of, without a loss: what is written comes back.
//!
//! A type whose values come back otherwise does not count: `01234` and `+5` are no numbers, as their zero and their sign would be
//! lost; a number with more digits than a `double precision` keeps is none; a time with more than six digits of a second is no
//! timestamp; `01/02/2024` is no date, as its order is not known. Decimals become `numeric`, which keeps all digits, but no sign of zero.
//!
//! Pure. What the types' own input accepts besides (`yes`, `1e3` as numeric, dates in words) is not guessed; `--types` asks for it.

/// The types, in the order in which they are preferred.
pub(super) const KINDS: [Kind; 8] = [
    Kind::Boolean,
    Kind::BigInt,
    Kind::Numeric,
    Kind::Double,
    Kind::Date,
    Kind::Timestamp,
    Kind::TimestampTz,
    Kind::Time,
];

/// Significant decimal digits that every `double precision` keeps.
const DOUBLE_DIGITS: usize = 15;

/// A type that a column may get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Boolean,
    BigInt,
    Numeric,
    Double,
    Date,
    Timestamp,
    TimestampTz,
    Time,
}

impl Kind {
    /// Its name in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Boolean => "boolean",
            Self::BigInt => "bigint",
            Self::Numeric => "numeric",
            Self::Double => "double precision",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::TimestampTz => "timestamptz",
            Self::Time => "time",
        }
    }

    /// [`Self::holds`] as a function of a text alone.
    pub fn check(self) -> fn(&str) -> bool {
        match self {
            Self::Boolean => |text| Self::Boolean.holds(text),
            Self::BigInt => |text| Self::BigInt.holds(text),
            Self::Numeric => |text| Self::Numeric.holds(text),
            Self::Double => |text| Self::Double.holds(text),
            Self::Date => |text| Self::Date.holds(text),
            Self::Timestamp => |text| Self::Timestamp.holds(text),
            Self::TimestampTz => |text| Self::TimestampTz.holds(text),
            Self::Time => |text| Self::Time.holds(text),
        }
    }

    /// Whether a text is a value of it, blanks around it left out.
    pub fn holds(self, text: &str) -> bool {
        let text = text.trim_matches(' ');
        match self {
            Self::Boolean => text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false"),
            Self::BigInt => Number::of(text).is_some_and(|number| number.is_integer()) && text.parse::<i64>().is_ok(),
            Self::Numeric => Number::of(text).is_some_and(|number| !number.has_exponent),
            Self::Double => {
                // A number that is smaller than the normal ones keeps fewer digits, or none.
                let is_kept = |float: f64, is_zero: bool| float.is_normal() || is_zero;
                let keeps = |number: Number| {
                    let float = text.parse::<f64>();
                    number.digits <= DOUBLE_DIGITS && float.is_ok_and(|float| is_kept(float, number.is_zero))
                };
                matches!(text, "NaN" | "Infinity" | "-Infinity" | "inf" | "-inf") || Number::of(text).is_some_and(keeps)
            }
            Self::Date => is_date(text),
            Self::Timestamp => is_date(text) || timestamp(text) == Some(Zone::Absent),
            Self::TimestampTz => timestamp(text) == Some(Zone::Given),
            Self::Time => is_time(text, Seconds::Required),
        }
    }
}

/// Whether a text is a value of any of the types.
pub(super) fn is_value(text: &str) -> bool {
    KINDS.iter().any(|kind| kind.holds(text))
}

/// Why a text is no number, if it looks like one.
pub(super) fn lost_of_number(text: &str) -> Option<&'static str> {
    let digits = text.trim_matches(' ');
    let unsigned = digits.strip_prefix(['-', '+']).unwrap_or(digits);
    let all_digits = !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match all_digits {
        true if unsigned.len() > 1 && unsigned.starts_with('0') && !unsigned.starts_with("0.") => {
            Some("a leading zero")
        }
        true if digits.starts_with('+') => Some("a plus sign"),
        _ => None,
    }
}

/// A number as it is written.
struct Number {
    /// Significant digits.
    digits: usize,
    has_point: bool,
    has_exponent: bool,
    is_zero: bool,
}

impl Number {
    /// `[-] digits [. digits] [e [+|-] digits]`, without leading zeros.
    fn of(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (unsigned, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let exponent_digits = exponent.map(|exponent| exponent.strip_prefix(['-', '+']).unwrap_or(exponent));
        let is_whole = is_digits(whole) && (whole == "0" || !whole.starts_with('0'));
        let is_zero = !mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        let is_minus_zero = is_zero && text.starts_with('-');
        if !is_whole || is_minus_zero || !fraction.is_none_or(is_digits) || !exponent_digits.is_none_or(is_digits) {
            return None;
        }
        let significant = whole.trim_start_matches('0').len() + fraction.map_or(0, str::len);
        Some(Self { digits: significant, has_point: fraction.is_some(), has_exponent: exponent.is_some(), is_zero })
    }

    fn is_integer(&self) -> bool {
        !self.has_point && !self.has_exponent
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A number of exactly this many digits.
fn number(text: Option<&str>, length: usize) -> Option<u32> {
    text.filter(|text| text.len() == length && is_digits(text))?.parse().ok()
}

/// `YYYY-MM-DD`, a day of the calendar.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (year, month, day) = (number(parts.next(), 4), number(parts.next(), 2), number(parts.next(), 2));
    let (Some(year @ 1..), Some(month), Some(day @ 1..)) = (year, month, day) else { return false };
    let is_leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap_year => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    day <= days
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seconds {
    Required,
    Optional,
}

/// `HH:MM[:SS[.ffffff]]`
fn is_time(text: &str, seconds: Seconds) -> bool {
    let mut parts = text.splitn(3, ':');
    let (hour, minute, rest) = (number(parts.next(), 2), number(parts.next(), 2), parts.next());
    let (second, fraction) = match rest.map(|rest| rest.split_once('.').map_or((rest, None), |(s, f)| (s, Some(f)))) {
        Some((second, fraction)) => (number(Some(second), 2), fraction),
        None => (Some(0).filter(|_| seconds == Seconds::Optional), None),
    };
    let is_fraction = fraction.is_none_or(|digits| is_digits(digits) && digits.len() <= 6);
    hour.is_some_and(|hour| hour < 24)
        && minute.is_some_and(|minute| minute < 60)
        && second.is_some_and(|second| second < 60)
        && is_fraction
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    Absent,
    Given,
}

/// `YYYY-MM-DD[ |T]HH:MM[:SS[.ffffff]][[ ]Z|±HH[[:]MM]]`
fn timestamp(text: &str) -> Option<Zone> {
    let (date, rest) = text.split_at_checked(10)?;
    let clock = rest.strip_prefix([' ', 'T'])?;
    if !is_date(date) {
        return None;
    }
    if is_time(clock, Seconds::Optional) {
        return Some(Zone::Absent);
    }
    let sign = clock.find(['Z', '+', '-'])?;
    let (clock, zone) = clock.split_at(sign);
    let is_zone = zone == "Z" || is_offset(&zone[1..]);
    (is_zone && is_time(clock.trim_end_matches(' '), Seconds::Optional)).then_some(Zone::Given)
}

/// `HH`, `HHMM` or `HH:MM`
fn is_offset(text: &str) -> bool {
    let (hours, minutes) = match (text.split_once(':'), text.len()) {
        (Some((hours, minutes)), _) => (hours, minutes),
        (None, 4) => text.split_at_checked(2).unwrap_or((text, "")),
        (None, _) => (text, "00"),
    };
    number(Some(hours), 2).is_some_and(|hours| hours < 16)
        && number(Some(minutes), 2).is_some_and(|minutes| minutes < 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_value_of_the_types_that_keep_it() {
        use Kind::*;
        let cases: [(&str, &[Kind]); 41] = [
            ("0", &[BigInt, Numeric, Double]),
            ("-12", &[BigInt, Numeric, Double]),
            (" 12 ", &[BigInt, Numeric, Double]),
            ("9223372036854775807", &[BigInt, Numeric]),
            ("9223372036854775808", &[Numeric]),
            ("01234", &[]),
            ("00", &[]),
            ("+5", &[]),
            ("-0", &[]),
            ("1.50", &[Numeric, Double]),
            ("0.5", &[Numeric, Double]),
            (".5", &[]),
            ("5.", &[]),
            ("00.5", &[]),
            ("1.2345678901234567", &[Numeric]),
            ("1e5", &[Double]),
            ("-2.5E-3", &[Double]),
            ("1e400", &[]),
            ("1e-400", &[]),
            ("1.23456789e-320", &[]),
            ("0e5", &[Double]),
            ("-0.00", &[]),
            ("0.00", &[Numeric, Double]),
            ("NaN", &[Double]),
            ("true", &[Boolean]),
            ("FALSE", &[Boolean]),
            ("t", &[]),
            ("yes", &[]),
            ("2024-02-29", &[Date, Timestamp]),
            ("2023-02-29", &[]),
            ("01/02/2024", &[]),
            ("2024-01-01 10:00", &[Timestamp]),
            ("2024-01-01T10:00:00.123456", &[Timestamp]),
            ("2024-01-01 10:00:00.1234567", &[]),
            ("2024-01-01 25:00:00", &[]),
            ("2024-01-01T10:00:00Z", &[TimestampTz]),
            ("2024-01-01 10:00:00.5+02", &[TimestampTz]),
            ("2024-01-01 10:00:00 -05:30", &[TimestampTz]),
            ("10:30:00", &[Time]),
            ("10:30", &[]),
            ("1,5", &[]),
        ];
        for (text, expected) in cases {
            let found: Vec<Kind> = KINDS.into_iter().filter(|kind| kind.holds(text)).collect();
            assert_eq!(found, expected, "{text}");
        }
        for text in ["", "é", "2024-01-0é", "2024-01-01é10:00", "2024-01-01 10:00+é", "-", "e5", "1e", "1-1", ":"] {
            assert!(!is_value(text), "{text}");
        }
        for (text, lost) in [("01234", Some("a leading zero")), ("+49", Some("a plus sign")), ("x", None), ("12", None)]
        {
            assert_eq!(lost_of_number(text), lost, "{text}");
        }
    }
}
