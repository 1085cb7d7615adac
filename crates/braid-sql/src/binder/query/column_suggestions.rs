//! Which column a name may have meant that is none: the hint of its error, by PostgreSQL's rules (`searchRangeTableForCol`).
//!
//! Columns of all relations of FROM are compared, also of those that cannot be named here. The distance of a column is the edit distance of
//! its name, and for `relation.column` that of the relation's name besides. At most [`DISTANCE_MAX`] is near, and at most half of the bytes
//! of the name. One nearest column is told, or two; more are no help.

use super::scope::ScopeRelation;
use crate::binder::Binder;
use crate::{SqlError, SqlState};

/// The largest distance of a column that is told.
const DISTANCE_MAX: usize = 3;

/// The nearest columns so far.
#[derive(Debug)]
struct Nearest<'s> {
    distance: usize,
    first: Option<(&'s str, &'s str)>,
    second: Option<(&'s str, &'s str)>,
}

impl<'s> Nearest<'s> {
    fn consider(&mut self, found: (&'s str, &'s str), name: &str, of_relation: usize) {
        let of_column = edit_distance(found.1, name);
        if of_column > name.len() / 2 {
            return;
        }
        let distance = of_column + of_relation;
        if distance < self.distance {
            *self = Self { distance, first: Some(found), second: None };
        } else if distance == self.distance {
            if self.second.is_some() {
                // A third one: only nearer ones count from here on.
                *self = Self { distance: distance.saturating_sub(1), first: None, second: None };
            } else if self.first.is_some() {
                self.second = Some(found);
            } else if self.distance <= DISTANCE_MAX {
                self.first = Some(found);
            }
        }
    }

    fn hint(&self) -> Option<String> {
        let (of, column) = self.first?;
        Some(match self.second {
            None => format!("Perhaps you meant to reference the column \"{of}.{column}\"."),
            Some((other_of, other)) => format!(
                "Perhaps you meant to reference the column \"{of}.{column}\" or the column \"{other_of}.{other}\"."
            ),
        })
    }
}

impl Binder<'_> {
    /// The error for a name that is no column.
    pub(super) fn no_column(&self, relation: Option<&str>, name: &str) -> SqlError {
        let message = match relation {
            Some(relation) => format!("column {relation}.{name} does not exist"),
            None => format!("column \"{name}\" does not exist"),
        };
        let error = SqlError::new(SqlState::UndefinedColumn, message);
        match self.column_hint(relation, name) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    fn column_hint(&self, relation: Option<&str>, name: &str) -> Option<String> {
        let mut nearest = Nearest { distance: DISTANCE_MAX + 1, first: None, second: None };
        let relations = self.scopes().flat_map(|scope| &scope.relations).filter(|known| !known.is_named_join);
        let named = relations.filter_map(|known| Some((known, written_name(known)?)));
        for (known, known_name) in named {
            let of_relation = relation.map_or(0, |relation| edit_distance(relation, known_name));
            for column in known.columns.iter().filter(|column| !column.is_hidden()) {
                if column.name == name && of_relation == 0 {
                    return Some(format!(
                        "There is a column named \"{name}\" in table \"{known_name}\", but it cannot be referenced from this part of the query."
                    ));
                }
                if of_relation <= nearest.distance {
                    nearest.consider((known_name, &column.name), name, of_relation);
                }
            }
        }
        nearest.hint()
    }
}

/// The name of a relation that a text can name.
fn written_name(relation: &ScopeRelation) -> Option<&str> {
    relation.name.as_deref().filter(|name| !name.starts_with('\0') && !relation.is_of_identities())
}

/// How many characters are put in, taken out or exchanged to make one text of the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, c) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (column, other) in b.iter().enumerate() {
            let exchanged = diagonal + usize::from(c != *other);
            diagonal = row[column + 1];
            row[column + 1] = exchanged.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        for (a, b, distance) in
            [("", "", 0), ("abc", "", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("ä", "a", 1), ("id", "di", 2)]
        {
            assert_eq!((edit_distance(a, b), edit_distance(b, a)), (distance, distance), "{a} {b}");
        }
    }

    #[test]
    fn two_columns_are_told_and_three_are_none() {
        let hint = |columns: &[&'static str], name: &str| {
            let mut nearest = Nearest { distance: DISTANCE_MAX + 1, first: None, second: None };
            columns.iter().for_each(|column| nearest.consider(("t", column), name, 0));
            nearest.hint()
        };
        let one = "Perhaps you meant to reference the column \"t.amount\".";
        assert_eq!(hint(&["amount", "other"], "amonut").as_deref(), Some(one));
        let two = "Perhaps you meant to reference the column \"t.col1\" or the column \"t.col2\".";
        assert_eq!(hint(&["col1", "col2"], "col3").as_deref(), Some(two));
        assert_eq!(hint(&["col1", "col2", "col4"], "col3"), None);
        assert_eq!(hint(&["x"], "y"), None);
    }
}
