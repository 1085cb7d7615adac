//! A column of a table that files are loaded into, with the reason for its type.

use super::value_kind::Kind;

/// A column that is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedColumn {
    /// Its name in the table.
    pub name: String,
    /// Its type in SQL.
    pub sql_type: String,
    /// Why it has the type.
    pub why: String,
    pub(super) is_nullable: bool,
    /// Whether the empty text is a value of it.
    pub(super) is_text: bool,
    /// The kind of values for which the type was chosen, if these were a part of the file, and what to do about another one.
    pub(super) expected: Option<(Kind, String)>,
}
