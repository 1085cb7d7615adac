//! `DateStyle`: a style and an order of day, month and year, in any order (`check_DateStyle` in PostgreSQL's variable.c).
//!
//! A value may leave one of them out, which stays what it is.

use braid_sql::search_path::names_of_list;

use crate::{EngineError, SqlState};

/// The value as SHOW prints it: `ISO, MDY`. `now` is the value that the setting has, `default` the one that RESET restores.
///
/// # Errors
/// For other words, and for two styles or orders.
pub(super) fn canonical(value: &str, now: &str, default: &str) -> Result<String, EngineError> {
    let invalid = |detail: String| {
        let message = format!("invalid value for parameter \"DateStyle\": \"{value}\"");
        EngineError::new(SqlState::InvalidParameterValue, message).with_detail(detail)
    };
    let words = names_of_list(value).ok_or_else(|| invalid("List syntax is invalid.".to_owned()))?;
    let (mut style, mut order) = (Part::of(style_of(now)), Part::of(order_of(now)));
    let mut is_consistent = true;
    for word in words {
        match Word::of(&word).ok_or_else(|| invalid(format!("Unrecognized key word: \"{word}\".")))? {
            Word::Style(written) => {
                is_consistent &= style.write(written);
                // German dates have the day first, unless the value says otherwise.
                if written == "German" {
                    order.suggest("DMY");
                }
            }
            Word::Order(written) => is_consistent &= order.write(written),
            Word::Default => {
                style.suggest(style_of(default));
                order.suggest(order_of(default));
            }
        }
    }
    match is_consistent {
        true => Ok(format!("{}, {}", style.value, order.value)),
        false => Err(invalid("Conflicting \"datestyle\" specifications.".to_owned())),
    }
}

enum Word {
    Style(&'static str),
    Order(&'static str),
    Default,
}

impl Word {
    fn of(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        Some(match word.as_str() {
            "iso" => Self::Style("ISO"),
            "sql" => Self::Style("SQL"),
            "german" => Self::Style("German"),
            word if word.starts_with("postgres") => Self::Style("Postgres"),
            "ymd" => Self::Order("YMD"),
            "dmy" => Self::Order("DMY"),
            word if word.starts_with("euro") => Self::Order("DMY"),
            "mdy" | "us" => Self::Order("MDY"),
            word if word.starts_with("noneuro") => Self::Order("MDY"),
            "default" => Self::Default,
            _ => return None,
        })
    }
}

/// A part of the value.
struct Part<'a> {
    value: &'a str,
    is_written: bool,
}

impl<'a> Part<'a> {
    fn of(value: &'a str) -> Self {
        Self { value, is_written: false }
    }

    /// Whether it is the first word for the part, or the same again.
    fn write(&mut self, value: &'static str) -> bool {
        let is_first = !std::mem::replace(&mut self.is_written, true);
        let is_consistent = is_first || self.value == value;
        self.value = value;
        is_consistent
    }

    /// What it is as long as no word says it.
    fn suggest(&mut self, value: &'a str) {
        if !self.is_written {
            self.value = value;
        }
    }
}

fn style_of(canonical: &str) -> &str {
    canonical.split_once(", ").map_or("ISO", |(style, _)| style)
}

fn order_of(canonical: &str) -> &str {
    canonical.split_once(", ").map_or("MDY", |(_, order)| order)
}

#[cfg(test)]
mod tests {
    use super::canonical;

    /// Every expected value is PostgreSQL 15's.
    #[test]
    fn values_are_completed() {
        for (value, now, expected) in [
            ("sql", "ISO, MDY", "SQL, MDY"),
            ("dmy", "SQL, MDY", "SQL, DMY"),
            ("german", "ISO, MDY", "German, DMY"),
            ("german, mdy", "ISO, YMD", "German, MDY"),
            ("ymd, german", "ISO, MDY", "German, YMD"),
            ("Postgresql, European", "ISO, MDY", "Postgres, DMY"),
            ("noneuropean", "ISO, DMY", "ISO, MDY"),
            ("us, iso, us", "German, DMY", "ISO, MDY"),
            ("default", "German, YMD", "ISO, DMY"),
            ("default, sql", "German, YMD", "SQL, DMY"),
            ("", "German, YMD", "German, YMD"),
            ("\"dmy\"", "ISO, MDY", "ISO, DMY"),
        ] {
            assert_eq!(canonical(value, now, "ISO, DMY").unwrap(), expected, "{value}");
        }
    }

    #[test]
    fn what_is_no_value_is_refused() {
        for (value, detail) in [
            ("french", "Unrecognized key word: \"french\"."),
            ("iso mdy", "List syntax is invalid."),
            ("iso, sql", "Conflicting \"datestyle\" specifications."),
            ("dmy, mdy", "Conflicting \"datestyle\" specifications."),
        ] {
            let error = canonical(value, "ISO, MDY", "ISO, MDY").unwrap_err();
            assert_eq!((error.sqlstate(), error.detail().as_deref()), ("22023", Some(detail)), "{value}");
        }
    }
}
