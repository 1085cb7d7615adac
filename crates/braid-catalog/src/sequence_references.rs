//! Sequences within the defaults of columns.
//!
//! A default is SQL text. As PostgreSQL keeps the number of a sequence that a default names, so does the text: `nextval('16390'::regclass)`.
//! The default therefore means the same sequence under another name and another search path, and what depends on a sequence is known.
//! Clients are shown names.

use braid_sql::SearchPath;
use braid_sql::functions::strings::quoting::quote_identifier;
use braid_storage::Catalog;

use crate::object_ids::table_of_object_id;
use crate::relations::relation;

/// What stands before and behind the number of a relation.
const BEFORE: &str = "('";
const BEHIND: &str = "'::REGCLASS";

/// The text that names a sequence by its number.
pub fn reference(id: u32) -> String {
    format!("'{id}'::REGCLASS")
}

/// The relations that a default names by their numbers.
pub fn references(default: &str) -> impl Iterator<Item = u32> {
    parts(default).filter_map(|part| if let Part::Relation(id) = part { Some(id) } else { None })
}

/// The text with the names of its sequences in place of their numbers: with their schemas where the names alone do not mean them.
pub(crate) fn with_sequence_names(default: &str, catalog: &Catalog, path: &SearchPath) -> String {
    let named = |id: u32| {
        let sequence = table_of_object_id(id).and_then(|id| catalog.sequence_by_id(id))?;
        let (schema, name) = (sequence.definition.schema, &sequence.definition.name);
        // The relations of the system are in none of the catalog's schemas.
        let holds = |searched: &str| match catalog.schema_named(searched) {
            Some(known) => catalog.has_relation(known, name).then_some(Some(known)),
            None => relation(searched, name).map(|_| None),
        };
        let is_found = path.searched().find_map(holds) == Some(Some(schema));
        let shown = match catalog.schema_name(schema).filter(|_| !is_found) {
            Some(schema) => format!("{}.{}", quote_identifier(schema), quote_identifier(name)),
            None => quote_identifier(name),
        };
        Some(shown.replace('\'', "''"))
    };
    let shown = parts(default).map(|part| match part {
        Part::Text(text) => text.to_owned(),
        Part::Relation(id) => format!("{BEFORE}{}'::regclass", named(id).unwrap_or_else(|| id.to_string())),
    });
    shown.collect()
}

enum Part<'a> {
    Text(&'a str),
    Relation(u32),
}

fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, id, behind)) = first_reference(rest) {
        parts.extend([Part::Text(before), Part::Relation(id)]);
        rest = behind;
    }
    parts.push(Part::Text(rest));
    parts.into_iter()
}

/// The first number of a relation in a text, what comes before it, and what comes behind it.
fn first_reference(text: &str) -> Option<(&str, u32, &str)> {
    for (at, _) in text.match_indices(BEFORE) {
        let number = &text[at + BEFORE.len()..];
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        if let (Ok(id), Some(behind)) = (number[..digits].parse(), number[digits..].strip_prefix(BEHIND)) {
            return Some((&text[..at], id, behind));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_relations_are_found() {
        let text = format!("nextval({}) + f('7') + currval({})", reference(16_390), reference(16_391));
        assert_eq!(references(&text).collect::<Vec<_>>(), [16_390, 16_391]);
        assert_eq!(references("nextval('s'::TEXT)").count(), 0);
    }
}
