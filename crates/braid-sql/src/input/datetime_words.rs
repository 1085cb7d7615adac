//! The words of dates, times and intervals, and how texts of them are cut into fields.
//!
//! A text is cut before anything in it is understood: `2024-Jan-05 04:05 PST` has a date, a time and a word. The rules are those
//! that PostgreSQL's documentation describes in "Date/Time Input Interpretation" (appendix B.1).

use super::time_zones::Zone;

/// What a field looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Digits, perhaps with a decimal point.
    Number,
    /// Letters.
    Word,
    /// Digits or letters with hyphens, slashes or dots; names of time zones, too.
    Date,
    /// Digits with colons.
    Time,
    /// A sign and digits.
    Signed,
    /// A sign and letters.
    SignedWord,
}

/// A part of the text in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// What it looks like.
    pub kind: FieldKind,
    /// Its characters.
    pub text: String,
}

/// Why a text does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is no date, time or interval.
    Format,
    /// A field has an impossible value.
    OutOfRange,
    /// Day or month has an impossible value: perhaps they stand in another order.
    DateOutOfRange,
    /// An offset from UTC is too large.
    ZoneOutOfRange,
    /// There is no time zone of this name.
    UnknownZone(String),
}

/// No more fields than these are read.
const FIELDS_MAX: usize = 25;
/// Bytes of the longest text that PostgreSQL reads, with what it adds to cut it.
const TEXT_BYTES_MAX: usize = 128;

/// Cuts a text.
pub fn cut(text: &str) -> Result<Vec<Field>, Unreadable> {
    let bytes = text.as_bytes();
    let mut fields: Vec<Field> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let first = bytes[at];
        if is_space(first) {
            at += 1;
            continue;
        }
        let (kind, end) = match first {
            b'0'..=b'9' => number_end(bytes, at),
            b'.' => (FieldKind::Number, skip(bytes, at + 1, |c| c.is_ascii_digit())),
            b'+' | b'-' => {
                let start = skip(bytes, at + 1, is_space);
                let (kind, end) = match bytes.get(start) {
                    Some(b'0'..=b'9') => {
                        let belongs = |c: u8| c.is_ascii_digit() || matches!(c, b':' | b'.' | b'-');
                        (FieldKind::Signed, skip(bytes, start, belongs))
                    }
                    Some(c) if c.is_ascii_alphabetic() => {
                        (FieldKind::SignedWord, skip(bytes, start, |c| c.is_ascii_alphabetic()))
                    }
                    _ => return Err(Unreadable::Format),
                };
                push(&mut fields, kind, format!("{}{}", char::from(first), lower(&bytes[start..end])))?;
                at = end;
                continue;
            }
            c if c.is_ascii_alphabetic() => word_end(bytes, at),
            c if c.is_ascii_punctuation() => {
                at += 1;
                continue;
            }
            _ => return Err(Unreadable::Format),
        };
        push(&mut fields, kind, lower(&bytes[at..end]))?;
        at = end;
    }
    // PostgreSQL copies the fields into a buffer with a zero after each.
    let copied: usize = fields.iter().map(|field| field.text.len() + 1).sum();
    if copied > TEXT_BYTES_MAX + FIELDS_MAX { Err(Unreadable::Format) } else { Ok(fields) }
}

fn push(fields: &mut Vec<Field>, kind: FieldKind, text: String) -> Result<(), Unreadable> {
    if fields.len() >= FIELDS_MAX {
        return Err(Unreadable::Format);
    }
    fields.push(Field { kind, text });
    Ok(())
}

fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn lower(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).to_ascii_lowercase()
}

fn skip(bytes: &[u8], from: usize, belongs: impl Fn(u8) -> bool) -> usize {
    from + bytes[from..].iter().take_while(|c| belongs(**c)).count()
}

/// The end of what begins with a digit.
fn number_end(bytes: &[u8], at: usize) -> (FieldKind, usize) {
    let digit = |c: u8| c.is_ascii_digit();
    let end = skip(bytes, at, digit);
    match bytes.get(end) {
        Some(b':') => (FieldKind::Time, skip(bytes, end, |c| digit(c) || c == b':' || c == b'.')),
        Some(separator @ (b'-' | b'/' | b'.')) => {
            if !bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
                return (FieldKind::Date, skip(bytes, end + 1, |c| c.is_ascii_alphanumeric() || c == *separator));
            }
            let second_end = skip(bytes, end + 1, digit);
            if bytes.get(second_end) == Some(separator) {
                return (FieldKind::Date, skip(bytes, second_end, |c| digit(c) || c == *separator));
            }
            (if *separator == b'.' { FieldKind::Number } else { FieldKind::Date }, second_end)
        }
        _ => (FieldKind::Number, end),
    }
}

/// The end of what begins with a letter. A date may begin with a month, and names of time zones have more than letters.
fn word_end(bytes: &[u8], at: usize) -> (FieldKind, usize) {
    let end = skip(bytes, at, |c| c.is_ascii_alphabetic());
    let is_date = match bytes.get(end) {
        Some(b'-' | b'/' | b'.') => true,
        Some(b'+' | b'0'..=b'9') => word(&lower(&bytes[at..end])).is_none(),
        _ => false,
    };
    if !is_date {
        return (FieldKind::Word, end);
    }
    let belongs = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'/' | b'_' | b'.' | b':');
    (FieldKind::Date, skip(bytes, end, belongs))
}

/// What a word in a date or time means.
#[derive(Clone, Copy, Debug)]
pub enum Word {
    /// It means nothing: `at`, `on`.
    Ignored,
    /// 1 to 12.
    Month(i32),
    /// A day of the week, which is not looked at.
    DayOfWeek,
    /// `AM`
    Am,
    /// `PM`
    Pm,
    /// `AD` (false) or `BC` (true).
    Era(bool),
    /// `now`
    Now,
    /// `yesterday`, `today`, `tomorrow`: days from today.
    Today(i64),
    /// `allballs`: midnight UTC.
    Midnight,
    /// `epoch`
    Epoch,
    /// `infinity` (true) and `-infinity` (false).
    Infinity(bool),
    /// `J`: the next number is a Julian day.
    Julian,
    /// `T`: a time follows.
    IsoTime,
    /// Units that a date cannot have.
    Unit,
    /// `DST`: an hour more than the zone before it.
    SummerTime,
    /// The abbreviation of a zone; true if of its summer time.
    Zone(Zone, bool),
}

/// The meaning of a word other than the abbreviation of a time zone.
pub fn word(text: &str) -> Option<Word> {
    Some(match text {
        "-infinity" => Word::Infinity(false),
        "infinity" => Word::Infinity(true),
        "ad" => Word::Era(false),
        "bc" => Word::Era(true),
        "allballs" => Word::Midnight,
        "am" => Word::Am,
        "pm" => Word::Pm,
        "at" | "on" => Word::Ignored,
        "d" | "dow" | "doy" | "h" | "isodow" | "isoyear" | "m" | "mm" | "s" | "y" => Word::Unit,
        "dst" => Word::SummerTime,
        "epoch" => Word::Epoch,
        "j" | "jd" | "julian" => Word::Julian,
        "now" => Word::Now,
        "yesterday" => Word::Today(-1),
        "today" => Word::Today(0),
        "tomorrow" => Word::Today(1),
        "t" => Word::IsoTime,
        "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds" | "wednesday" | "thu"
        | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat" | "saturday" => Word::DayOfWeek,
        other => Word::Month(month(other)?),
    })
}

/// The number of a month by its English name, or its abbreviation.
fn month(text: &str) -> Option<i32> {
    const NAMES: [&[&str]; 12] = [
        &["jan", "january"],
        &["feb", "february"],
        &["mar", "march"],
        &["apr", "april"],
        &["may"],
        &["jun", "june"],
        &["jul", "july"],
        &["aug", "august"],
        &["sep", "sept", "september"],
        &["oct", "october"],
        &["nov", "november"],
        &["dec", "december"],
    ];
    NAMES.iter().position(|names| names.contains(&text)).map(|at| at as i32 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_before_they_are_understood() {
        let kinds = |text: &str| -> Vec<(FieldKind, String)> {
            cut(text).unwrap().into_iter().map(|field| (field.kind, field.text)).collect()
        };
        let field = |kind, text: &str| (kind, text.to_owned());
        assert_eq!(
            kinds("2024-Jan-05 04:05:06.5 PST"),
            [
                field(FieldKind::Date, "2024-jan-05"),
                field(FieldKind::Time, "04:05:06.5"),
                field(FieldKind::Word, "pst")
            ]
        );
        assert_eq!(kinds("@ 1.5 -2"), [field(FieldKind::Number, "1.5"), field(FieldKind::Signed, "-2")]);
        assert_eq!(kinds("J2451187"), [field(FieldKind::Word, "j"), field(FieldKind::Number, "2451187")]);
        assert_eq!(kinds("- infinity"), [field(FieldKind::SignedWord, "-infinity")]);
        assert_eq!(kinds("America/New_York"), [field(FieldKind::Date, "america/new_york")]);
        assert_eq!(kinds("Etc/GMT+3"), [field(FieldKind::Date, "etc/gmt+3")]);
        assert_eq!(cut("+."), Err(Unreadable::Format));
        assert_eq!(cut("ä"), Err(Unreadable::Format));
    }
}
