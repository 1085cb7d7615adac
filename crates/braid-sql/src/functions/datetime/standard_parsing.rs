//! Dates and times by a format as the SQL standard has it: the format tells the type, and the text has what the format has.

use std::sync::LazyLock;

use super::limits::{checked_timestamp, overflow};
use super::parsed_fields::ParsedFields;
use super::parsing::{Moment, time_us};
use super::scanner::invalid;
use super::template::{Key, Node, parse};
use super::timestamps::scaled;
use crate::functions::templates::Piece;
use crate::values::calendar::{DAY_US, DAYS_MAX, DAYS_MIN, SECOND_US};
use crate::values::json_datetime::JsonDatetime;
use crate::{SqlError, SqlState};

/// Characters that stand between fields.
const SEPARATORS: &str = "-./,':; ";

/// A format that was read.
#[derive(Debug)]
pub struct StandardFormat {
    pieces: Vec<Piece<Node>>,
    is_dated: bool,
    is_timed: bool,
    is_zoned: bool,
}

/// The formats of ISO 8601, in the order in which they are tried.
static ISO_FORMATS: LazyLock<Vec<StandardFormat>> = LazyLock::new(|| {
    let dated = ["", "yyyy-mm-dd ", "yyyy-mm-dd\"T\""];
    let timed = dated.into_iter().flat_map(|date| {
        [
            "HH24:MI:SS.USTZH:TZM",
            "HH24:MI:SS.USTZH",
            "HH24:MI:SSTZH:TZM",
            "HH24:MI:SSTZH",
            "HH24:MI:SS.US",
            "HH24:MI:SS",
        ]
        .map(|time| format!("{date}{time}"))
    });
    let formats = ["yyyy-mm-dd".to_owned()].into_iter().chain(timed);
    formats.map(|format| StandardFormat::read(&format).expect("the formats have separators of the standard")).collect()
});

/// A text in one of the formats of ISO 8601.
pub fn iso_datetime(text: &str) -> Result<JsonDatetime, SqlError> {
    ISO_FORMATS.iter().find_map(|format| format.datetime(text).ok()).ok_or_else(|| {
        let message = format!("datetime format is not recognized: \"{text}\"");
        let hint = "Use a datetime template argument to specify the input data format.";
        SqlError::new(SqlState::InvalidSqlJsonDatetime, message).with_hint(hint)
    })
}

impl StandardFormat {
    /// Reads a format.
    pub fn read(format: &str) -> Result<Self, SqlError> {
        let pieces = parse(format);
        let other = pieces.iter().find_map(|piece| match piece {
            Piece::Text(character) if !SEPARATORS.contains(*character) => Some(*character),
            _ => None,
        });
        if let Some(character) = other {
            return Err(invalid(format!("invalid datetime format separator: \"{character}\"")));
        }
        let has = |is_such: fn(Key) -> bool| {
            pieces.iter().any(|piece| matches!(piece, Piece::Template(node) if is_such(node.key)))
        };
        Ok(Self { is_dated: has(is_dated), is_timed: has(is_timed), is_zoned: has(is_zoned), pieces })
    }

    /// A text of this format.
    pub fn datetime(&self, text: &str) -> Result<JsonDatetime, SqlError> {
        // Nothing is read by an empty format.
        let fields = match self.pieces.is_empty() {
            true => ParsedFields::default(),
            false => ParsedFields::read_standard(text, &self.pieces)?,
        };
        let Moment { clock, offset_s, second_digits } = Moment::of_fields(&fields, text)?;
        let rounded = |us: i64| if second_digits > 0 { scaled(us, second_digits) } else { Ok(us) };
        let offset_s = match (self.is_zoned, offset_s) {
            (false, _) => None,
            (true, Some(offset_s)) => Some(offset_s),
            (true, None) => {
                let name = if self.is_dated { "timestamptz" } else { "timetz" };
                return Err(invalid(format!("missing time zone in input string for type {name}")));
            }
        };
        let (days, time_us) = (clock.days(), time_us(&clock));
        let local_us = i128::from(days) * i128::from(DAY_US) + i128::from(time_us);
        match (self.is_dated, self.is_timed, offset_s) {
            (true, true, None) => Ok(JsonDatetime::Timestamp(rounded(checked_timestamp(local_us)?)?)),
            (true, true, Some(offset_s)) => {
                let us = checked_timestamp(local_us - i128::from(offset_s) * i128::from(SECOND_US))
                    .map_err(|_| overflow("timestamptz out of range"))?;
                Ok(JsonDatetime::TimestampTz(rounded(us)?, offset_s))
            }
            (true, false, Some(_)) => Err(invalid("datetime format is zoned but not timed")),
            (true, false, None) => match (DAYS_MIN..=DAYS_MAX).contains(&days) {
                true => Ok(JsonDatetime::Date(days as i32)),
                false => Err(overflow(&format!("date out of range: \"{text}\""))),
            },
            (false, true, None) => Ok(JsonDatetime::Time(rounded(time_us)?)),
            (false, true, Some(offset_s)) => Ok(JsonDatetime::TimeTz(rounded(time_us)?, -offset_s)),
            (false, false, _) => Err(invalid("datetime format is not dated and not timed")),
        }
    }
}

fn is_zoned(key: Key) -> bool {
    matches!(key, Key::Tz | Key::Tzh | Key::Tzm | Key::Of)
}

fn is_timed(key: Key) -> bool {
    use Key::{Am, Ff, Hh12, Hh24, Mi, Ss, Ssss};
    matches!(key, Am { .. } | Ff(_) | Hh12 | Hh24 | Mi | Ss | Ssss)
}

fn is_dated(key: Key) -> bool {
    !is_zoned(key) && !is_timed(key) && key != Key::Fx
}
