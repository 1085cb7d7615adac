//! Defaults, check constraints and views that mention a type or a label.
//!
//! These are SQL text, and say which type or label they mean by name. Texts that only look like it count, too, so that nothing is
//! missed that would mean something else after a change.

use std::sync::Arc;

use braid_base::EnumTypeRef;
use braid_storage::{Catalog, CatalogType, CheckDef, ColumnDef, ColumnType, TableDef, ViewDef};

/// The columns with a default, with their tables.
fn defaults(catalog: &Catalog) -> impl Iterator<Item = (&TableDef, &ColumnDef, &str)> {
    catalog.tables().flat_map(|version| {
        let def = &*version.def;
        def.columns.iter().filter_map(move |column| Some((def, column, column.default.as_deref()?)))
    })
}

/// A check constraint that has this name outside of strings, with its table.
pub(super) fn in_check<'a>(catalog: &'a Catalog, name: &str) -> Option<(&'a TableDef, &'a CheckDef)> {
    checks(catalog).find(|(_, check)| words(&check.condition).iter().any(|word| word == name))
}

/// A check constraint of a table with this type that may have this label, or that names the type.
pub(super) fn label_in_check<'a>(
    catalog: &'a Catalog,
    known: &CatalogType,
    label: &str,
) -> Option<(&'a TableDef, &'a CheckDef)> {
    let (written, of_type) = (label.replace('\'', "''"), ColumnType::Enum(EnumTypeRef::Open(known.id)));
    let may_mean_type = |def: &TableDef, text: &str| {
        let has_type = def.columns.iter().any(|column| column.column_type == of_type);
        has_type || words(text).contains(&known.definition.name)
    };
    checks(catalog).find(|(def, check)| check.condition.contains(&written) && may_mean_type(def, &check.condition))
}

fn checks(catalog: &Catalog) -> impl Iterator<Item = (&TableDef, &CheckDef)> {
    catalog.tables().flat_map(|version| version.def.checks.iter().map(|check| (&*version.def, check)))
}

/// The columns whose default has this name outside of strings.
pub(super) fn of_name<'a>(catalog: &'a Catalog, name: &str) -> impl Iterator<Item = (&'a TableDef, &'a ColumnDef)> {
    let mentions = |text: &str| words(text).iter().any(|word| word == name);
    let found: Vec<_> = defaults(catalog).filter(|(_, _, text)| mentions(text)).collect();
    found.into_iter().map(|(def, column, _)| (def, column))
}

/// A column whose default has this label of a type within it: the column is of the type, or its default names the type.
pub(super) fn of_label<'a>(
    catalog: &'a Catalog,
    known: &CatalogType,
    label: &str,
) -> Option<(&'a TableDef, &'a ColumnDef)> {
    let written = label.replace('\'', "''");
    let names = [&known.definition.name, &known.definition.array_name];
    let of_type = ColumnType::Enum(EnumTypeRef::Open(known.id));
    let may_mean_type = |column: &ColumnDef, text: &str| {
        column.column_type == of_type || words(text).iter().any(|word| names.contains(&word))
    };
    let mut found = defaults(catalog).filter(|(_, column, text)| may_mean_type(column, text));
    found.find(|(_, _, text)| text.contains(&written)).map(|(def, column, _)| (def, column))
}

/// The views whose text or columns have a type.
pub(super) fn views<'a>(catalog: &'a Catalog, known: &CatalogType) -> impl Iterator<Item = &'a Arc<ViewDef>> {
    let oids = [known.definition.oid, known.definition.array_oid];
    let views = catalog.views().by_id().values();
    views.filter(move |view| view.type_oids.iter().any(|oid| oids.contains(oid)))
}

/// A view whose text has a type, and may have this label of it.
pub(super) fn view_of_label<'a>(catalog: &'a Catalog, known: &CatalogType, label: &str) -> Option<&'a Arc<ViewDef>> {
    let written = label.replace('\'', "''");
    // A text may compare columns of the type with labels without having its name.
    let of_columns = |view: &ViewDef| {
        view.stored_sources().filter_map(|(id, _)| catalog.by_id(id)).any(|table| {
            let of_type = ColumnType::Enum(EnumTypeRef::Open(known.id));
            table.def.columns.iter().any(|column| column.column_type == of_type)
        })
    };
    let may_mean_type = |view: &&Arc<ViewDef>| {
        of_columns(view)
            || view.type_oids.contains(&known.definition.oid)
            || view.sources.iter().any(|source| {
                catalog.view(&source.name).is_some_and(|inner| inner.type_oids.contains(&known.definition.oid))
            })
    };
    catalog.views().by_id().values().filter(may_mean_type).find(|view| view.text.contains(&written))
}

/// The names in a text outside of strings, folded unless they are quoted.
fn words(text: &str) -> Vec<String> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |end| end + 2),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (word, after) = rest.split_at(length);
        match first {
            '"' => words.push(word.trim_matches('"').to_owned()),
            c if is_word(c) => words.push(word.to_lowercase()),
            _ => {}
        }
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_strings_are_not_names() {
        assert_eq!(words("'mood'::Mood"), ["mood"]);
        assert_eq!(words("upper('it''s mood')"), ["upper"]);
        assert_eq!(words("\"My Mood\"('x')"), ["My Mood"]);
        assert!(words("'mood").is_empty());
    }
}
