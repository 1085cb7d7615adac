//! The schemas that names without a schema are looked up in: PostgreSQL's `search_path`.
//!
//! The session's temporary schema comes first, then `pg_catalog`, unless the setting lists them: `pg_temp` stands for the temporary one.
//! `"$user"` means a schema called like the user. Schemas that do not exist are passed over.

use crate::value_text::is_space;

/// The schema of PostgreSQL's own objects.
pub const SYSTEM_SCHEMA: &str = "pg_catalog";

/// The schemas that each database always has: those of the system, of the SQL standard's views, and of what PostgreSQL keeps beside tables.
const SCHEMAS: &[&str] = &[SYSTEM_SCHEMA, "information_schema", "pg_toast"];

/// The schema that each database has for tables from the beginning.
pub const PUBLIC_SCHEMA: &str = "public";

/// What stands for the session's temporary schema.
pub const TEMPORARY_SCHEMA: &str = "pg_temp";

/// Whether each database always has a schema of this name.
pub fn is_built_in(name: &str) -> bool {
    SCHEMAS.contains(&name)
}

/// Whether a temporary schema has a name like this. Schemas of users have none that begins with `pg_`.
pub fn is_temporary_name(name: &str) -> bool {
    name.starts_with("pg_temp_")
}

/// Longest name in bytes; longer ones are cut.
const NAME_BYTES_MAX: usize = 63;

/// The schemas of a `search_path` that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    listed: Vec<String>,
    /// The session's temporary schema, if it exists and is not listed.
    temporary: Option<String>,
    /// Whether what is created without a schema is temporary: the first schema is `pg_temp`, which may be yet to come.
    creates_temporary: bool,
}

/// The schemas of a database as a session sees them.
pub struct SessionSchemas<'a> {
    /// Whose name `"$user"` stands for.
    pub user: &'a str,
    /// The session's temporary schema, if it exists.
    pub temporary: Option<&'a str>,
    /// Whether a schema that is not temporary exists besides those that each database always has.
    pub exists: &'a dyn Fn(&str) -> bool,
}

/// Where what has no schema is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreationSchema<'a> {
    /// In the schema of this name.
    Named(&'a str),
    /// In the session's temporary schema.
    Temporary,
    /// Nowhere.
    None,
}

impl Default for SearchPath {
    /// `"$user", public`.
    fn default() -> Self {
        Self { listed: vec![PUBLIC_SCHEMA.to_owned()], temporary: None, creates_temporary: false }
    }
}

impl SearchPath {
    /// The path of a setting's value in a database with schema `public` and none of its own. What is no list of names has no schemas.
    pub fn of(setting: &str) -> Self {
        Self::of_session(setting, &SessionSchemas { user: "", temporary: None, exists: &|name| name == PUBLIC_SCHEMA })
    }

    /// The path of a setting's value in a session.
    pub fn of_session(setting: &str, schemas: &SessionSchemas<'_>) -> Self {
        let (mut listed, mut creates_temporary) = (Vec::<String>::new(), false);
        for name in names_of_list(setting).unwrap_or_default() {
            let found = match name.as_str() {
                TEMPORARY_SCHEMA => {
                    creates_temporary |= listed.is_empty();
                    schemas.temporary.map(str::to_owned)
                }
                "$user" => Some(schemas.user.to_owned()).filter(|user| (schemas.exists)(user)),
                name => (is_built_in(name) || schemas.temporary == Some(name) || (schemas.exists)(name))
                    .then(|| name.to_owned()),
            };
            listed.extend(found.filter(|schema| !listed.contains(schema)));
        }
        let temporary = schemas.temporary.filter(|own| listed.iter().all(|schema| schema != own));
        Self { listed, temporary: temporary.map(str::to_owned), creates_temporary }
    }

    /// The same without the schemas that a session may not use.
    #[must_use]
    pub fn of_usable(mut self, is_usable: impl Fn(&str) -> bool) -> Self {
        self.listed.retain(|schema| is_usable(schema));
        self
    }

    /// The schemas that the setting lists, in its order.
    pub fn listed(&self) -> &[String] {
        &self.listed
    }

    /// The schemas in the order in which they are searched.
    pub fn searched(&self) -> impl Iterator<Item = &str> {
        let implicit = self.listed.iter().all(|listed| listed != SYSTEM_SCHEMA).then_some(SYSTEM_SCHEMA);
        self.temporary.as_deref().into_iter().chain(implicit).chain(self.listed.iter().map(String::as_str))
    }

    /// The session's temporary schema, if it exists and is in the path.
    pub fn temporary_schema(&self) -> Option<&str> {
        let listed = || self.listed.iter().find(|schema| is_temporary_name(schema)).map(String::as_str);
        self.temporary.as_deref().or_else(listed)
    }

    /// The schema that a name without one gets when an object is created.
    pub fn creation_schema(&self) -> CreationSchema<'_> {
        match self.listed.first() {
            _ if self.creates_temporary => CreationSchema::Temporary,
            Some(first) => CreationSchema::Named(first),
            None => CreationSchema::None,
        }
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
        for (setting, expected) in [
            ("a, public", CreationSchema::Named("public")),
            ("pg_catalog, public", CreationSchema::Named("pg_catalog")),
            ("\"$user\"", CreationSchema::None),
            ("pg_temp, public", CreationSchema::Temporary),
            ("a, pg_temp", CreationSchema::Temporary),
            ("public, pg_temp", CreationSchema::Named("public")),
        ] {
            assert_eq!(SearchPath::of(setting).creation_schema(), expected, "{setting}");
        }
    }

    #[test]
    fn a_session_has_schemas_of_its_own() {
        let exists = |name: &str| ["s", "alice", "public"].contains(&name);
        for (temporary, setting, expected) in [
            (None, "\"$user\", public", "pg_catalog alice public"),
            (Some("pg_temp_7"), "\"$user\", public", "pg_temp_7 pg_catalog alice public"),
            (Some("pg_temp_7"), "s, pg_temp, t, s", "pg_catalog s pg_temp_7"),
            (Some("pg_temp_7"), "pg_temp_7, pg_catalog, pg_temp", "pg_temp_7 pg_catalog"),
            (None, "pg_temp, pg_temp_7", "pg_catalog"),
            (None, "nowhere, information_schema", "pg_catalog information_schema"),
        ] {
            let schemas = SessionSchemas { user: "alice", temporary, exists: &exists };
            let path = SearchPath::of_session(setting, &schemas);
            assert_eq!(path.searched().collect::<Vec<_>>().join(" "), expected, "{setting}");
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
