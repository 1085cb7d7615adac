//! What the values of one column of the sample are, and the type that this makes, with the reason.
//!
//! A column gets the first type that all its values are values of, and `text` if there is none. An empty field in quotes counts as a
//! null, as programs that quote every field write nulls so; in a column of texts it is an empty text nevertheless. Pure.

use super::value_kind::{KINDS, Kind, lost_of_number};

/// Characters of a value in a reason.
const SHOWN_CHARACTERS_MAX: usize = 40;

/// The values of a column so far.
#[derive(Default)]
pub(super) struct ColumnProfile {
    value_count: u64,
    null_count: u64,
    kinds: [KindProfile; KINDS.len()],
}

#[derive(Default)]
struct KindProfile {
    value_count: u64,
    /// The first value that is none, and its place.
    first_other: Option<(String, String)>,
}

/// The type of a column, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Inferred {
    /// `None` for text.
    pub kind: Option<Kind>,
    pub why: String,
}

impl ColumnProfile {
    /// Adds a value, `None` for a null. `place` says where it is.
    pub fn add(&mut self, text: Option<&str>, place: impl Fn() -> String) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            self.null_count += 1;
            return;
        };
        self.value_count += 1;
        for (kind, profile) in KINDS.iter().zip(&mut self.kinds) {
            if kind.holds(text) {
                profile.value_count += 1;
            } else if profile.first_other.is_none() {
                profile.first_other = Some((text.to_owned(), place()));
            }
        }
    }

    /// Adds the values of another file.
    pub fn add_all(&mut self, other: &Self) {
        self.value_count += other.value_count;
        self.null_count += other.null_count;
        for (profile, other) in self.kinds.iter_mut().zip(&other.kinds) {
            profile.value_count += other.value_count;
            if profile.first_other.is_none() {
                profile.first_other.clone_from(&other.first_other);
            }
        }
    }

    /// Whether it has a type other than text.
    pub fn is_typed(&self) -> bool {
        self.inferred().kind.is_some()
    }

    /// The type that the values so far make.
    pub fn inferred(&self) -> Inferred {
        let nulls = match self.null_count {
            0 => String::new(),
            1 => ", 1 null".to_owned(),
            count => format!(", {count} nulls"),
        };
        if self.value_count == 0 {
            return Inferred { kind: None, why: format!("no value to tell a type from{nulls}") };
        }
        let mut kinds = KINDS.iter().zip(&self.kinds);
        if let Some((kind, _)) = kinds.find(|(_, profile)| profile.value_count == self.value_count) {
            let why = match self.value_count {
                1 => format!("the only value fits{nulls}"),
                count => format!("all {count} values fit{nulls}"),
            };
            return Inferred { kind: Some(*kind), why };
        }
        Inferred { kind: None, why: format!("{}{nulls}", self.why_text()) }
    }

    /// The type that most values have, and the first value that has it not.
    fn why_text(&self) -> String {
        // Of two with the same number, the first is preferred.
        let nearest = KINDS.iter().zip(&self.kinds).rev().max_by_key(|(_, profile)| profile.value_count);
        let Some((kind, profile)) = nearest else { return "texts".to_owned() };
        match &profile.first_other {
            Some((text, place)) if profile.value_count > 0 || lost_of_number(text).is_some() => {
                let (text, lost) = (shortened(text), lost_of_number(text));
                let share = format!("{} of {} values fit {}", profile.value_count, self.value_count, kind.sql());
                match lost {
                    Some(lost) => format!("a number would lose {lost} of \"{text}\" ({place})"),
                    None => format!("{share}, \"{text}\" ({place}) does not"),
                }
            }
            _ => "no other type fits".to_owned(),
        }
    }
}

/// A value, shortened for a message.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inferred(values: &[&str]) -> (Option<&'static str>, String) {
        let mut profile = ColumnProfile::default();
        for (at, value) in values.iter().enumerate() {
            profile.add(Some(*value), || format!("line {}", at + 1));
        }
        let Inferred { kind, why } = profile.inferred();
        (kind.map(Kind::sql), why)
    }

    #[test]
    fn the_values_of_files_add_up() {
        let mut whole = ColumnProfile::default();
        for (file, values) in [("a", ["1", "2"]), ("b", ["x", ""])] {
            let mut profile = ColumnProfile::default();
            values.into_iter().for_each(|value| profile.add(Some(value), || format!("{file}, line 1")));
            whole.add_all(&profile);
        }
        let why = "2 of 3 values fit bigint, \"x\" (b, line 1) does not, 1 null".to_owned();
        assert_eq!(whole.inferred(), Inferred { kind: None, why });
    }

    #[test]
    fn a_column_has_the_first_type_that_all_values_fit() {
        for (values, kind, why) in [
            (&["1", "2", ""][..], Some("bigint"), "all 2 values fit, 1 null"),
            (&["1"], Some("bigint"), "the only value fits"),
            (&["1", "2.50"], Some("numeric"), "all 2 values fit"),
            (&["1", "2.5", "1e5"], Some("double precision"), "all 3 values fit"),
            (&["2024-01-01"], Some("date"), "the only value fits"),
            (&["2024-01-01", "2024-01-01 10:00"], Some("timestamp"), "all 2 values fit"),
            (&["true", "False"], Some("boolean"), "all 2 values fit"),
            (&["01234", "5"], None, "a number would lose a leading zero of \"01234\" (line 1)"),
            (&["01234", "00001"], None, "a number would lose a leading zero of \"01234\" (line 1)"),
            (&["1", "n/a", "3"], None, "2 of 3 values fit bigint, \"n/a\" (line 2) does not"),
            (&["2024-01-01", "10:00:00"], None, "1 of 2 values fit date, \"10:00:00\" (line 2) does not"),
            (&["Kiel", "Bonn"], None, "no other type fits"),
            (&["", ""], None, "no value to tell a type from, 2 nulls"),
        ] {
            assert_eq!(inferred(values), (kind, why.to_owned()), "{values:?}");
        }
    }
}
