//! The stored files: rows of PostgreSQL's catalogs in the text format of COPY, under a header with the names of the columns.
//!
//! The files are part of the program, and read anew by each query, a few hundred kilobytes at most: kept as values they would take
//! several times as much memory. What is wrong in them is a bug, and panics in the tests.

use std::borrow::Cow;

/// The rows of a catalog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredRows {
    text: &'static str,
}

macro_rules! stored {
    ($($name:literal),* $(,)?) => {
        /// The stored rows of a relation of `pg_catalog`; `None` if it has none.
        pub(crate) fn stored_rows(name: &str) -> Option<StoredRows> {
            match name {
                $($name => Some(StoredRows { text: include_str!(concat!("../postgres/", $name, ".tsv")) }),)*
                _ => None,
            }
        }
    };
}

stored![
    "pg_aggregate",
    "pg_am",
    "pg_amop",
    "pg_amproc",
    "pg_attribute",
    "pg_auth_members",
    "pg_authid",
    "pg_cast",
    "pg_class",
    "pg_collation",
    "pg_constraint",
    "pg_conversion",
    "pg_description",
    "pg_index",
    "pg_language",
    "pg_namespace",
    "pg_opclass",
    "pg_operator",
    "pg_opfamily",
    "pg_proc",
    "pg_range",
    "pg_rewrite",
    "pg_tablespace",
    "pg_ts_config",
    "pg_ts_config_map",
    "pg_ts_dict",
    "pg_ts_parser",
    "pg_ts_template",
    "pg_type",
];

impl StoredRows {
    /// The rows of a file that exists.
    ///
    /// # Panics
    /// If there is no such file.
    pub fn of(name: &str) -> Self {
        stored_rows(name).unwrap_or_else(|| panic!("there is no stored catalog {name}"))
    }

    /// The names of the columns.
    pub fn header(self) -> Vec<&'static str> {
        self.text.lines().next().unwrap_or_default().split('\t').collect()
    }

    /// The position of a column.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn position(self, name: &str) -> usize {
        let position = self.header().iter().position(|column| *column == name);
        position.unwrap_or_else(|| panic!("there is no column {name}"))
    }

    /// The fields of all rows, as they are written.
    pub fn rows(self) -> impl Iterator<Item = Vec<&'static str>> {
        let width = self.header().len();
        self.text.lines().skip(1).map(move |line| {
            let fields: Vec<&str> = line.split('\t').collect();
            assert_eq!(fields.len(), width, "the fields of {line:?}");
            fields
        })
    }

    /// The fields of these columns in all rows.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn columns<const N: usize>(self, names: [&str; N]) -> impl Iterator<Item = [&'static str; N]> {
        let places = names.map(|name| self.position(name));
        self.rows().map(move |fields| places.map(|at| fields[at]))
    }
}

/// A field's text with its escapes resolved; `None` for null.
pub(crate) fn text_of(field: &'static str) -> Option<Cow<'static, str>> {
    if field == "\\N" {
        return None;
    }
    if !field.contains('\\') {
        return Some(Cow::Borrowed(field));
    }
    let (mut text, mut characters) = (String::with_capacity(field.len()), field.chars());
    while let Some(character) = characters.next() {
        text.push(match (character, character == '\\') {
            (_, false) => character,
            (_, true) => match characters.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('f') => '\u{c}',
                Some('v') => '\u{b}',
                Some(other) => other,
                None => panic!("{field:?} ends in a backslash"),
            },
        });
    }
    Some(Cow::Owned(text))
}

/// A number in a file.
pub(crate) fn number<N: std::str::FromStr>(field: &str) -> N {
    field.parse().unwrap_or_else(|_| panic!("{field:?} is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_copys_escapes() {
        assert_eq!(text_of("\\N"), None);
        assert_eq!(text_of("plain").as_deref(), Some("plain"));
        assert_eq!(text_of("a\\tb\\\\N\\n").as_deref(), Some("a\tb\\N\n"));
    }
}
