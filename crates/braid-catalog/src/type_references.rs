//! Types of users within stored texts: defaults, generated columns, conditions, indexes, domains and views.
//!
//! A text names a type by its number ([`braid_sql::types::type_numbers`]), so that it means the same whatever becomes of the type's name, of
//! its schema and of the search path, and so that what depends on a type is known. Clients are shown names. Texts of earlier versions
//! have names of types of `public`.

use std::collections::BTreeSet;

use braid_sql::SearchPath;
use braid_sql::functions::ObjectNames;
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::syntax::walk::{Rewrite, Tree, Walk};
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::types::type_names::type_by_name;
use braid_sql::types::type_numbers::{numbered_ident, numbered_name, numbered_type, parts_of_numbered};
use braid_storage::Catalog;
use sqlparser::ast::{
    ArrayElemTypeDef, DataType, Expr, FunctionArguments, ObjectName, Select, SelectItem, TableFactor,
};

use crate::column_types::{own_type_of_oid, type_in};
use crate::spliced_text::{Change, fold, idents, spliced};

/// What stands before the number of a type in a text.
const BEFORE: &str = "pg_catalog.\"";

/// An expression in which types of users are named by their numbers.
pub fn with_type_numbers(expression: &mut Expr, names: &dyn ObjectNames) {
    struct Numbering<'a>(&'a dyn ObjectNames);
    impl Rewrite for Numbering<'_> {
        fn enter_expression(&mut self, expression: &mut Expr) {
            if let Some(name) = type_name_mut(expression)
                && let Some((oid, written)) = own_type(name, self.0)
            {
                *name = numbered_name(oid, &written);
            }
        }
    }
    expression.rewrite(&mut Numbering(names));
}

/// The text of a query in which types of users are named by their numbers; `None` if it does not parse.
pub fn query_with_type_numbers(text: &str, names: &dyn ObjectNames) -> Option<String> {
    struct Numbering<'a> {
        names: &'a dyn ObjectNames,
        changes: Vec<Change>,
    }
    impl WalkTypes for Numbering<'_> {
        fn enter_type_name(&mut self, name: &ObjectName) {
            if let Some((oid, written)) = own_type(name, self.names) {
                self.changes.extend(Change::of(idents(name), numbered_name(oid, &written).to_string()));
            }
        }
    }
    let dialect = SqlDialect::for_text(text);
    let query = parser_of(&dialect, text).and_then(|mut parser| parser.parse_query()).ok()?;
    let mut numbering = Numbering { names, changes: Vec::new() };
    query.walk(&mut TypeWalk(&mut numbering));
    spliced(text, numbering.changes)
}

/// Oid and name of the type of users that a name means; `None` for types of the system, and those that are named by their numbers.
fn own_type(name: &ObjectName, names: &dyn ObjectNames) -> Option<(u32, String)> {
    let parts = idents(name);
    let id = match &parts[..] {
        // Types of the system are found first.
        [only] if only.quote_style.is_none() && type_by_name(&fold(only)).is_some() => None,
        [only] if only.quote_style.is_some() && pg_catalog().type_named(&only.value).is_some() => None,
        [only] => names.type_id(None, &fold(only)),
        [_, _] if numbered_type(name).is_some() => None,
        [schema, last] => names.type_id(Some(&fold(schema)), &fold(last)),
        _ => None,
    }?;
    let element = pg_catalog().element_of_array(id).unwrap_or(id);
    Some((id.oid(), pg_catalog().type_entry(element).name.to_owned()))
}

/// Walks over names of types.
pub(crate) trait WalkTypes {
    /// The name of a type, or of a function that may be one: a cast is also written as a call.
    fn enter_type_name(&mut self, name: &ObjectName);
}

/// A walk over a tree that finds the names of types in it.
pub(crate) struct TypeWalk<'a>(pub &'a mut dyn WalkTypes);

impl TypeWalk<'_> {
    fn enter_type(&mut self, data_type: &DataType) {
        if let Some(name) = name_of_type(data_type) {
            self.0.enter_type_name(name);
        }
    }
}

impl Walk for TypeWalk<'_> {
    fn enter_table_factor(&mut self, factor: &TableFactor) {
        let alias = match factor {
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
            _ => None,
        };
        let definitions = alias.into_iter().flat_map(|alias| &alias.columns);
        definitions.filter_map(|column| column.data_type.as_ref()).for_each(|data_type| self.enter_type(data_type));
    }

    fn enter_expression(&mut self, expression: &Expr) {
        match expression {
            Expr::Cast { data_type, .. } => self.enter_type(data_type),
            Expr::TypedString(typed) => self.enter_type(&typed.data_type),
            Expr::Function(function) if may_be_cast(&function.name, &function.args) => {
                self.0.enter_type_name(&function.name);
            }
            _ => {}
        }
    }
}

fn name_of_type(data_type: &DataType) -> Option<&ObjectName> {
    match data_type {
        DataType::Custom(name, _) => Some(name),
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element)) => {
            name_of_type(element)
        }
        _ => None,
    }
}

/// The name of the type that an expression casts to.
fn type_name_mut(expression: &mut Expr) -> Option<&mut ObjectName> {
    fn of_type(data_type: &mut DataType) -> Option<&mut ObjectName> {
        match data_type {
            DataType::Custom(name, _) => Some(name),
            DataType::Array(ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::AngleBracket(element)) => {
                of_type(element)
            }
            _ => None,
        }
    }
    match expression {
        Expr::Cast { data_type, .. } => of_type(data_type),
        Expr::TypedString(typed) => of_type(&mut typed.data_type),
        Expr::Function(function) if may_be_cast(&function.name, &function.args) => Some(&mut function.name),
        _ => None,
    }
}

/// Whether a call may be a cast: it has one argument, and no function of the system has the name.
fn may_be_cast(name: &ObjectName, arguments: &FunctionArguments) -> bool {
    let FunctionArguments::List(list) = arguments else { return false };
    let is_function = match &idents(name)[..] {
        [only] => pg_catalog().functions_named(&fold(only)).next().is_some(),
        _ => false,
    };
    list.args.len() == 1 && !is_function
}

/// The oids of the types that a stored text names by their numbers.
pub fn type_numbers(text: &str) -> BTreeSet<u32> {
    parts(text).filter_map(|part| if let Part::Type(oid) = part { Some(oid) } else { None }).collect()
}

/// The names that a stored text may name types by: those of earlier versions. None in a text that does not parse.
pub fn written_type_names(text: &str) -> BTreeSet<String> {
    struct Written(BTreeSet<String>);
    impl WalkTypes for Written {
        fn enter_type_name(&mut self, name: &ObjectName) {
            if numbered_type(name).is_none() {
                self.0.extend(idents(name).last().map(fold));
            }
        }
    }
    let mut written = Written(BTreeSet::new());
    let dialect = SqlDialect::for_text(text);
    if let Ok(query) = parser_of(&dialect, text).and_then(|mut parser| parser.parse_query()) {
        query.walk(&mut TypeWalk(&mut written));
    } else if let Ok(expression) = parser_of(&dialect, text).and_then(|mut parser| parser.parse_expr()) {
        expression.walk(&mut TypeWalk(&mut written));
    }
    written.0
}

/// Whether a column of a query in a view's text is called by the name of this type, because it has no other.
pub fn names_column(text: &str, oids: [u32; 2]) -> bool {
    struct Named {
        oids: [u32; 2],
        is_found: bool,
    }
    impl Walk for Named {
        fn enter_select(&mut self, select: &Select) {
            let is_of_type = |name: &ObjectName| numbered_type(name).is_some_and(|(oid, _)| self.oids.contains(&oid));
            let found = select.projection.iter().any(|item| match item {
                SelectItem::UnnamedExpr(expression) => cast_type(expression).is_some_and(is_of_type),
                _ => false,
            });
            self.is_found |= found;
        }
    }
    let mut named = Named { oids, is_found: false };
    let dialect = SqlDialect::for_text(text);
    match parser_of(&dialect, text).and_then(|mut parser| parser.parse_query()) {
        Ok(query) => query.walk(&mut named),
        Err(_) => return true,
    }
    named.is_found
}

/// The type that an expression casts to in the end.
fn cast_type(expression: &Expr) -> Option<&ObjectName> {
    match expression {
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => cast_type(inner),
        Expr::Cast { data_type, .. } => name_of_type(data_type),
        Expr::TypedString(typed) => name_of_type(&typed.data_type),
        Expr::Function(function) => Some(&function.name),
        Expr::CompoundFieldAccess { root, .. } => cast_type(root),
        Expr::Case { else_result: Some(inner), .. } => cast_type(inner),
        _ => None,
    }
}

/// How types of users are shown.
#[derive(Debug)]
pub(crate) struct ShownTypes<'a> {
    pub catalog: &'a Catalog,
    /// The schemas in which types are found without their schema.
    pub path: &'a SearchPath,
}

impl ShownTypes<'_> {
    /// The text with the names of its types in place of their numbers.
    pub fn with_type_names(&self, text: &str) -> String {
        let shown = parts(text).map(|part| match part {
            Part::Text(text) => text.to_owned(),
            Part::Type(oid) => self.name(oid),
        });
        shown.collect()
    }

    /// A type as it is written: with its schema where it is not found without.
    fn name(&self, oid: u32) -> String {
        let Some(id) = own_type_of_oid(self.catalog, oid) else { return oid.to_string() };
        let element = pg_catalog().element_of_array(id).unwrap_or(id);
        let brackets = if element == id { "" } else { "[]" };
        let name = pg_catalog().type_entry(element).name;
        let shown = quote_identifier(name);
        match self.is_found(element, name) {
            true => format!("{shown}{brackets}"),
            false => format!("{}.{shown}{brackets}", quote_identifier(self.schema(element))),
        }
    }

    fn is_found(&self, id: TypeId, name: &str) -> bool {
        let in_schema = |schema: &str| type_in(self.catalog, self.catalog.schema_named(schema)?, name);
        pg_catalog().type_named(name).is_none() && self.path.searched().find_map(in_schema) == Some(id)
    }

    fn schema(&self, id: TypeId) -> &str {
        let schema = self.catalog.schema_of_type(id.oid());
        schema.and_then(|schema| self.catalog.schema_name(schema)).unwrap_or_default()
    }
}

/// A type of users as it is written by who has this search path.
pub fn shown_type(catalog: &Catalog, path: &SearchPath, oid: u32) -> String {
    ShownTypes { catalog, path }.name(oid)
}

/// The name of a type with its schema, as texts for all readers have it.
pub(crate) fn qualified_type(catalog: &Catalog, oid: u32) -> String {
    ShownTypes { catalog, path: &SearchPath::of("") }.name(oid)
}

enum Part<'a> {
    Text(&'a str),
    Type(u32),
}

/// The text in parts: numbers of types, and what is between them. What is within strings is none.
fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let (mut parts, mut done, mut at) = (Vec::new(), 0, 0);
    while let Some(found) = text[at..].find(['\'', 'p']).map(|found| at + found) {
        if text[found..].starts_with('\'') {
            at = text[found + 1..].find('\'').map_or(text.len(), |end| found + 1 + end + 1);
            continue;
        }
        match numbered_at(&text[found..]) {
            Some((oid, length)) => {
                parts.extend([Part::Text(&text[done..found]), Part::Type(oid)]);
                at = found + length;
                done = at;
            }
            None => at = found + 1,
        }
    }
    parts.push(Part::Text(&text[done..]));
    parts.into_iter()
}

/// The type that a text begins with, and the length of its name.
fn numbered_at(text: &str) -> Option<(u32, usize)> {
    let rest = text.strip_prefix(BEFORE)?;
    let (mut end, mut ident) = (0, String::new());
    loop {
        let quote = end + rest[end..].find('"')?;
        ident.push_str(&rest[end..quote]);
        end = quote + 1;
        match rest[end..].starts_with('"') {
            true => {
                ident.push('"');
                end += 1;
            }
            false => break,
        }
    }
    parts_of_numbered(&ident).map(|(oid, _)| (oid, BEFORE.len() + end))
}

/// A type as it stands in a stored text.
pub(crate) fn reference(oid: u32, written: &str) -> String {
    format!("{BEFORE}{}\"", numbered_ident(oid, written).replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_types_are_found_outside_of_strings() {
        let text = format!("a = 'x{0}'::{0} OR f('it''s', {1})", reference(7, "mo\"od"), reference(8, "p"));
        assert_eq!(type_numbers(&text), BTreeSet::from([7, 8]));
        assert!(type_numbers("pg_catalog.\"int4\" 'pg_catalog.\"7 x\"' pg_catalog.\"7 x").is_empty());
    }

    #[test]
    fn names_of_types_are_found_in_expressions_and_queries() {
        let names = |text: &str| written_type_names(text).into_iter().collect::<Vec<_>>();
        assert_eq!(names("mood > 'x'::public.Feeling AND CAST(a AS \"My Type\"[]) IS NULL"), ["My Type", "feeling"]);
        assert_eq!(names("upper(kind('a'))"), ["kind"]);
        assert_eq!(names("SELECT a::mood, x FROM f() AS g(x other)"), ["mood", "other"]);
        assert!(names("'a'::pg_catalog.\"7 mood\" = lower(mood)").is_empty());
    }

    #[test]
    fn a_column_may_have_the_name_of_a_type() {
        let named = |item: &str| names_column(&format!("SELECT * FROM (SELECT {item}) AS s"), [7, 8]);
        for item in ["'a'::{}", "('a'::{}[])", "{} 'a'", "{}('a')", "CASE WHEN true THEN b ELSE 'a'::{} END"] {
            assert!(named(&item.replace("{}", &reference(7, "mood"))), "{item}");
            assert!(!named(&item.replace("{}", &reference(9, "mood"))), "{item}");
        }
        assert!(!named(&format!("'a'::{} AS b", reference(7, "mood"))));
    }
}
