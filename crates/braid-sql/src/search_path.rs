//! The schemas that names without a schema are looked up in: PostgreSQL's `search_path`.
//!
//! `pg_catalog` comes first unless the setting lists it. `"$user"` means a schema called like the user; there is none. Schemas that do not
//! exist are passed over.

use crate::value_text::is_space;

/// The schema of PostgreSQL's own objects.
pub const SYSTEM_SCHEMA: &str = "pg_catalog";

/// All schemas: those of tables, of the system, of the SQL standard's views, and of what PostgreSQL keeps beside tables.
const SCHEMAS: &[&str] = &["public", SYSTEM_SCHEMA, "information_schema", "pg_toast"];

/// Whether there is a schema of this name.
pub fn is_schema(name: &str) -> bool {
    SCHEMAS.contains(&name)
}

/// Longest name in bytes; longer ones are cut.
const NAME_BYTES_MAX: usize = 63;

/// The schemas of a `search_path` that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    listed: Vec<&'static str>,
}

impl Default for SearchPath {
    /// `"$user", public`.
    fn default() -> Self {
        Self { listed: vec!["public"] }
    }
}

impl SearchPath {
    /// The path of a setting's value. What is no list of names has no schemas.
    pub fn of(setting: &str) -> Self {
        let mut listed = Vec::new();
        for name in names_of_list(setting).unwrap_or_default() {
            let schema = SCHEMAS.iter().find(|schema| **schema == name);
            listed.extend(schema.filter(|schema| !listed.contains(*schema)));
        }
        Self { listed }
    }

    /// The schemas that the setting lists, in its order.
    pub fn listed(&self) -> &[&'static str] {
        &self.listed
    }

    /// The schemas in the order in which they are searched.
    pub fn searched(&self) -> impl Iterator<Item = &'static str> {
        let implicit = (!self.listed.contains(&SYSTEM_SCHEMA)).then_some(SYSTEM_SCHEMA);
        implicit.into_iter().chain(self.listed.iter().copied())
    }

    /// The schema that a name without one gets when an object is created; `None` if there is none to create in.
    pub fn creation_schema(&self) -> Option<&'static str> {
        self.listed.first().copied()
    }
}

/// The names of a list that commas separate, folded unless quoted; `None` if it is no such list.
pub fn names_of_list(text: &str) -> Option<Vec<String>> {
    let mut rest = text.trim_start_matches(is_space);
    let mut names = Vec::new();
    if rest.is_empty() {
        return Some(names);
    }
    loop {
        let (name, after) = first_name(rest)?;
        names.push(name);
        rest = after.trim_start_matches(is_space);
        if rest.is_empty() {
            return Some(names);
        }
        rest = rest.strip_prefix(',')?.trim_start_matches(is_space);
    }
}

/// The name that a list begins with, and what follows.
fn first_name(list: &str) -> Option<(String, &str)> {
    let (mut name, rest) = match list.strip_prefix('"') {
        Some(quoted) => quoted_name(quoted)?,
        None => {
            let end = list.find(|c| c == ',' || is_space(c)).unwrap_or(list.len());
            (list[..end].to_lowercase(), &list[end..])
        }
    };
    if name.is_empty() && !list.starts_with('"') {
        return None;
    }
    let end = (0..=NAME_BYTES_MAX).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name.truncate(end.min(name.len()));
    Some((name, rest))
}

/// A name up to its closing quote, of which two are one, and what follows.
pub(crate) fn quoted_name(text: &str) -> Option<(String, &str)> {
    let (mut name, mut rest) = (String::new(), text);
    loop {
        let (before, after) = rest.split_once('"')?;
        name.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                name.push('"');
                rest = more;
            }
            None => return Some((name, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(setting: &str) -> String {
        SearchPath::of(setting).searched().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_system_comes_first_unless_it_is_listed() {
        for (setting, expected) in [
            ("\"$user\", public", "pg_catalog public"),
            ("public,pg_catalog", "public pg_catalog"),
            ("", "pg_catalog"),
            ("\"\"", "pg_catalog"),
            ("nowhere, Public , PUBLIC", "pg_catalog public"),
            ("\"Public\"", "pg_catalog"),
            ("information_schema, public", "pg_catalog information_schema public"),
        ] {
            assert_eq!(searched(setting), expected, "{setting}");
        }
        assert_eq!(SearchPath::default(), SearchPath::of("\"$user\", public"));
    }

    #[test]
    fn tables_are_created_in_the_first_schema_that_exists() {
        for (setting, expected) in
            [("a, public", Some("public")), ("pg_catalog, public", Some("pg_catalog")), ("\"$user\"", None)]
        {
            assert_eq!(SearchPath::of(setting).creation_schema(), expected, "{setting}");
        }
    }

    #[test]
    fn lists_are_names_between_commas() {
        let names = |list: &str| names_of_list(list).map(|names| names.join("|"));
        for (list, expected) in [
            ("a, \"B c\",\"d\"\"e\"", Some("a|B c|d\"e")),
            (" A ,b ", Some("a|b")),
            ("1", Some("1")),
            ("a b", None),
            ("a,", None),
            (",a", None),
            ("\"a", None),
        ] {
            assert_eq!(names(list).as_deref(), expected, "{list}");
        }
        assert_eq!(names(&"ä".repeat(40)), Some("ä".repeat(31)));
    }
}
