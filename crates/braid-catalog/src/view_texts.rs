//! The texts of users' views under the names that relations and columns have now.
//!
//! A view keeps its query as it was written, and the catalog knows what its names meant. What is shown here is a query of the same meaning
//! for a reader who knows only the present names, whatever their search path: names of relations have their schema, a relation with another
//! name gets the written one as an alias, and one whose columns are others than they were is a subquery with the former ones. The rest of
//! the text is as it was written, with its blanks and comments.

use braid_base::{SchemaId, TableId};
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_sql::search_path::{PUBLIC_SCHEMA, SYSTEM_SCHEMA};
use braid_sql::syntax::walk::{Tree, Walk};
use braid_sql::syntax::{SqlDialect, parser_of};
use braid_sql::types::type_numbers::numbered_type;
use braid_storage::{Catalog, SourceColumn, SourceRelation, ViewDef, ViewSource};
use sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
};

use crate::column_types::type_in;
use crate::spliced_text::{Change, fold, idents, spliced};
use crate::type_references::{TypeWalk, WalkTypes, qualified_type};

/// The query of a view, without a semicolon.
pub fn view_text(catalog: &Catalog, view: &ViewDef) -> String {
    let text = with_present_names(catalog, view).unwrap_or_else(|| view.text.to_string());
    if view.columns.iter().all(|column| column.name == column.query_name) {
        return text;
    }
    let names: Vec<String> = view.columns.iter().map(|column| quote_identifier(&column.name)).collect();
    format!("SELECT * FROM (\n{text}\n) AS {}({})", quote_identifier(&view.name), names.join(", "))
}

/// The text with other names in the places of those that are written; `None` if it does not parse.
fn with_present_names(catalog: &Catalog, view: &ViewDef) -> Option<String> {
    let dialect = SqlDialect::for_text(&view.text);
    let query = parser_of(&dialect, &view.text).and_then(|mut parser| parser.parse_query()).ok()?;
    let mut names = Names { catalog, view, scopes: Vec::new(), changes: Vec::new() };
    query.walk(&mut names);
    spliced(&view.text, names.changes)
}

/// Looks for names that are to be replaced.
struct Names<'a> {
    catalog: &'a Catalog,
    view: &'a ViewDef,
    /// The queries around, each with the names of its WITH.
    scopes: Vec<WithNames>,
    changes: Vec<Change>,
}

/// The names of a WITH, as far as they can be referred to.
struct WithNames {
    /// The queries of WITH, by their addresses, with their names.
    tables: Vec<(*const Query, String)>,
    is_recursive: bool,
    visible: usize,
}

impl Names<'_> {
    fn is_common_table(&self, name: &str) -> bool {
        self.scopes.iter().any(|with| with.tables[..with.visible].iter().any(|(_, table)| table == name))
    }

    /// What a name of a relation means.
    fn source(&self, name: &ObjectName) -> Option<&ViewSource> {
        let parts: Vec<String> = idents(name).iter().map(fold).collect();
        let (schema, last) = match &parts[..] {
            [last] => (None, last),
            [.., schema, last] => (Some(schema.as_str()), last),
            [] => return None,
        };
        if schema.is_none() && self.is_common_table(last) {
            return None;
        }
        self.view.sources.iter().find(|source| source.schema.as_deref() == schema && source.name == *last)
    }

    fn change(&mut self, written: Vec<Ident>, replacement: String) {
        self.changes.extend(Change::of(written, replacement));
    }

    /// Takes the schema from `public.t.a` where `public.t` is under an alias or a subquery.
    fn unqualify(&mut self, names: &[Ident]) {
        let [schema, relation, _, ..] = names else { return };
        let (schema_name, relation_name) = (fold(schema), fold(relation));
        let source = self.view.sources.iter().find(|source| {
            source.name == relation_name && source.schema.as_ref().is_none_or(|own| *own == schema_name)
        });
        if source.is_some_and(|source| self.is_renamed(source)) {
            self.change(vec![schema.clone(), relation.clone()], quote_identifier(&relation_name));
        }
    }

    /// Whether a name does not stand for the relation of that name with all its columns.
    fn is_renamed(&self, source: &ViewSource) -> bool {
        let SourceRelation::Stored { id, columns } = &source.relation else { return false };
        let relation = Present::of(self.catalog, *id);
        relation.is_some_and(|relation| relation.name != source.name || !relation.has_columns(columns))
    }

    /// The relation that a name means, as FROM has it; `written` without an alias.
    fn relation(&self, source: &ViewSource, has_alias: bool) -> Option<String> {
        let (id, columns) = match &source.relation {
            SourceRelation::System { schema } if schema == SYSTEM_SCHEMA => return None,
            SourceRelation::System { schema } => {
                return Some(format!("{}.{}", quote_identifier(schema), quote_identifier(&source.name)));
            }
            SourceRelation::Stored { id, columns } => (*id, columns),
        };
        let relation = Present::of(self.catalog, id)?;
        let name = format!("{}.{}", quote_identifier(&relation.schema), quote_identifier(&relation.name));
        let shown = match relation.has_columns(columns) {
            true => name,
            false => {
                let columns: Vec<String> = columns.iter().map(|column| relation.column_as(column)).collect();
                format!("(SELECT {} FROM {name})", columns.join(", "))
            }
        };
        Some(match !has_alias && self.is_renamed(source) {
            true => format!("{shown} AS {}", quote_identifier(&source.name)),
            false => shown,
        })
    }
}

impl Walk for Names<'_> {
    fn enter_query(&mut self, query: &Query) {
        let address: *const Query = query;
        if let Some(around) = self.scopes.last_mut()
            && let Some(at) = around.tables.iter().position(|(table, _)| *table == address)
            && !around.is_recursive
        {
            around.visible = at;
        }
        let (mut tables, mut is_recursive) = (Vec::new(), false);
        if let Some(with) = &query.with {
            is_recursive = with.recursive;
            tables.extend(with.cte_tables.iter().map(|cte| (&raw const *cte.query, fold(&cte.alias.name))));
        }
        let visible = if is_recursive { tables.len() } else { 0 };
        self.scopes.push(WithNames { tables, is_recursive, visible });
    }

    fn leave_query(&mut self, query: &Query) {
        self.scopes.pop();
        let address: *const Query = query;
        if let Some(around) = self.scopes.last_mut()
            && let Some(at) = around.tables.iter().position(|(table, _)| *table == address)
            && !around.is_recursive
        {
            around.visible = at + 1;
        }
    }

    fn enter_select(&mut self, select: &Select) {
        for item in &select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item {
                let mut names = idents(name);
                // The star.
                names.push(Ident::new("*"));
                self.unqualify(&names);
            }
        }
    }

    fn enter_table_factor(&mut self, factor: &TableFactor) {
        TypeWalk(self).enter_table_factor(factor);
        let TableFactor::Table { name, alias, args: None, .. } = factor else { return };
        let relation = self.source(name).and_then(|source| self.relation(source, alias.is_some()));
        if let Some(relation) = relation {
            self.change(idents(name), relation);
        }
    }

    fn enter_expression(&mut self, expression: &Expr) {
        TypeWalk(self).enter_expression(expression);
        if let Expr::CompoundIdentifier(names) = expression {
            self.unqualify(names);
        }
    }
}

impl WalkTypes for Names<'_> {
    /// Gives types of users their present names and their schemas. Texts of earlier versions have them by name.
    fn enter_type_name(&mut self, name: &ObjectName) {
        let written = idents(name);
        if let Some((oid, _)) = numbered_type(name) {
            self.change(written, qualified_type(self.catalog, oid));
            return;
        }
        let folded = written.iter().map(fold).collect::<Vec<_>>();
        if let [only] = &folded[..]
            && let Some(known) = type_in(self.catalog, SchemaId::PUBLIC, only)
        {
            self.change(written, qualified_type(self.catalog, known.oid()));
        }
    }
}

/// A table or view as it is now.
struct Present {
    schema: String,
    name: String,
    /// The numbers and names of its columns.
    columns: Vec<(u16, String)>,
}

impl Present {
    fn of(catalog: &Catalog, id: TableId) -> Option<Self> {
        if let Some(table) = catalog.by_id(id) {
            let columns = table.def.columns.iter().map(|column| (column.id.0, column.name.clone()));
            let schema = catalog.schema_name(table.def.schema).unwrap_or(PUBLIC_SCHEMA).to_owned();
            return Some(Self { schema, name: table.def.name.clone(), columns: columns.collect() });
        }
        let view = catalog.view_by_id(id)?;
        let columns = (0u16..).zip(&view.columns).map(|(at, column)| (at, column.name.clone()));
        Some(Self {
            schema: catalog.schema_name(view.schema).unwrap_or_default().to_owned(),
            name: view.name.clone(),
            columns: columns.collect(),
        })
    }

    /// Whether these are all its columns.
    fn has_columns(&self, written: &[SourceColumn]) -> bool {
        self.columns.iter().map(|(id, name)| (*id, name)).eq(written.iter().map(|column| (column.id.0, &column.name)))
    }

    /// A column under its written name.
    fn column_as(&self, written: &SourceColumn) -> String {
        let written_name = quote_identifier(&written.name);
        match self.columns.iter().find(|(id, _)| *id == written.id.0) {
            Some((_, name)) if *name == written.name => written_name,
            Some((_, name)) => format!("{} AS {written_name}", quote_identifier(name)),
            // It was dropped, and nothing reads it.
            None => format!("NULL::text AS {written_name}"),
        }
    }
}
