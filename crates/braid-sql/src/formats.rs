//! How a session reads and writes values as text: its settings `DateStyle`, `IntervalStyle`, `bytea_output` and `extra_float_digits`.
//!
//! Input functions ask for the order of day, month and year, and for the style of intervals, whose standard one gives all fields the sign of
//! the first. Output functions ask for all of it. JSON and the binary format are the same in all sessions. Texts that are stored (defaults,
//! conditions, views) are read in the default formats, whoever reads them.

use crate::pg_catalog::{TypeId, pg_catalog};

/// The form of dates in the output of `DateStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DateStyle {
    /// `2024-02-29 13:14:15+01`
    #[default]
    Iso,
    /// `02/29/2024 13:14:15 CET`
    Sql,
    /// `Thu Feb 29 13:14:15 2024 CET`; a date alone is `02-29-2024`.
    Postgres,
    /// `29.02.2024 13:14:15 CET`
    German,
}

/// The order of numbers in the dates of `DateStyle`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DateOrder {
    /// Month, day, year.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
}

/// `IntervalStyle`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum IntervalStyle {
    /// `1 year 2 mons -3 days +04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons -3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 -3 +4:05:06`
    SqlStandard,
    /// `P1Y2M-3DT4H5M6S`
    Iso8601,
}

/// `bytea_output`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ByteaOutput {
    /// `\x00ff`
    #[default]
    Hex,
    /// `\000\377`
    Escape,
}

/// `extra_float_digits`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FloatDigits {
    /// The shortest text that lies nearest to the float: for 1 and above.
    #[default]
    Shortest,
    /// So many digits more than the float's type guarantees, 0 or less.
    Rounded(i8),
}

/// The formats of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Formats {
    /// The form of dates.
    pub date_style: DateStyle,
    /// The order of the numbers of dates.
    pub date_order: DateOrder,
    /// The form of intervals.
    pub interval_style: IntervalStyle,
    /// The form of bytes.
    pub bytea: ByteaOutput,
    /// The digits of floats.
    pub floats: FloatDigits,
}

impl Formats {
    /// Those of the settings' values as SHOW prints them; `None` for a value means the default.
    pub fn of_settings(
        date_style: Option<&str>,
        interval_style: Option<&str>,
        bytea_output: Option<&str>,
        extra_float_digits: Option<&str>,
    ) -> Self {
        let (style, order) = date_style.and_then(|value| value.split_once(", ")).unwrap_or(("ISO", "MDY"));
        let digits = extra_float_digits.and_then(|digits| digits.parse().ok()).unwrap_or(1);
        Self {
            date_style: match style {
                "SQL" => DateStyle::Sql,
                "Postgres" => DateStyle::Postgres,
                "German" => DateStyle::German,
                _ => DateStyle::Iso,
            },
            date_order: match order {
                "DMY" => DateOrder::Dmy,
                "YMD" => DateOrder::Ymd,
                _ => DateOrder::Mdy,
            },
            interval_style: match interval_style {
                Some("postgres_verbose") => IntervalStyle::PostgresVerbose,
                Some("sql_standard") => IntervalStyle::SqlStandard,
                Some("iso_8601") => IntervalStyle::Iso8601,
                _ => IntervalStyle::Postgres,
            },
            bytea: if bytea_output == Some("escape") { ByteaOutput::Escape } else { ByteaOutput::Hex },
            floats: if digits > 0 { FloatDigits::Shortest } else { FloatDigits::Rounded(digits) },
        }
    }

    /// Whether texts may be read as other values than in the default formats.
    pub fn read_otherwise(&self) -> bool {
        self.date_order != DateOrder::default() || self.interval_style == IntervalStyle::SqlStandard
    }

    /// Whether values of a type may have another text than in the default formats.
    pub fn change_texts_of(&self, id: TypeId) -> bool {
        self.texts_differ(&Self::default(), id)
    }

    /// Whether values of a type may have another text than in other formats.
    pub fn texts_differ(&self, other: &Self, id: TypeId) -> bool {
        if self == other {
            return false;
        }
        match pg_catalog().element_of_array(id).unwrap_or(id) {
            TypeId::DATE | TypeId::TIMESTAMP | TypeId::TIMESTAMPTZ => self.date_texts() != other.date_texts(),
            TypeId::INTERVAL => self.interval_style != other.interval_style,
            TypeId::BYTEA => self.bytea != other.bytea,
            TypeId::FLOAT4 | TypeId::FLOAT8 => self.floats != other.floats,
            // It has fields of any types.
            TypeId::RECORD => true,
            _ => false,
        }
    }

    /// What texts of dates depend on: in some styles also whether the day is first.
    fn date_texts(&self) -> (DateStyle, bool) {
        let has_order = matches!(self.date_style, DateStyle::Sql | DateStyle::Postgres);
        (self.date_style, has_order && self.date_order == DateOrder::Dmy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_come_from_settings() {
        assert_eq!(Formats::of_settings(None, None, None, None), Formats::default());
        assert_eq!(
            Formats::of_settings(Some("ISO, MDY"), Some("postgres"), Some("hex"), Some("3")),
            Formats::default()
        );
        let other = Formats::of_settings(Some("German, DMY"), Some("iso_8601"), Some("escape"), Some("-2"));
        assert_eq!((other.date_style, other.date_order), (DateStyle::German, DateOrder::Dmy));
        assert_eq!((other.interval_style, other.bytea), (IntervalStyle::Iso8601, ByteaOutput::Escape));
        assert_eq!(other.floats, FloatDigits::Rounded(-2));
    }

    #[test]
    fn formats_change_texts_of_their_types() {
        let german = Formats { date_style: DateStyle::German, ..Formats::default() };
        for (id, changes) in [
            (TypeId::DATE, true),
            (TypeId::TIMESTAMPTZ, true),
            (TypeId::RECORD, true),
            (TypeId::RECORD_ARRAY, true),
            (TypeId::INTERVAL, false),
            (TypeId::TIMETZ, false),
            (TypeId::TEXT, false),
        ] {
            assert_eq!(german.change_texts_of(id), changes, "{id:?}");
        }
        assert!(!Formats::default().change_texts_of(TypeId::RECORD));
        let day_first = Formats { date_order: DateOrder::Dmy, ..german };
        assert!(!day_first.texts_differ(&german, TypeId::DATE));
        let sql = |date_order| Formats { date_style: DateStyle::Sql, date_order, ..Formats::default() };
        assert!(sql(DateOrder::Dmy).texts_differ(&sql(DateOrder::Mdy), TypeId::DATE));
        assert!(!sql(DateOrder::Ymd).texts_differ(&sql(DateOrder::Mdy), TypeId::DATE));
    }
}
