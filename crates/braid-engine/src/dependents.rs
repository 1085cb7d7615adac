//! What depends on tables and views: DROP … RESTRICT and CASCADE, in PostgreSQL's order and words.

use std::sync::Arc;

use braid_base::{ColumnId, SchemaId, TableId};
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_storage::{Catalog, ViewDef};

use crate::notices::Notice;
pub(crate) use crate::statement::Behavior;
use crate::statement_context::StatementContext;
use crate::{EngineError, SqlState};

/// A view, and the table or view that it is dropped with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Dependent {
    view: TableId,
    on: TableId,
}

/// What is dropped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dropped<'a> {
    /// Tables and views.
    Relations(&'a [TableId]),
    /// What is in schemas, and how messages have it.
    Contents(&'a [TableId], &'a [String]),
    /// A column of a table, and the generated columns that read it, in the order of the table; with their names.
    Columns(TableId, &'a [(ColumnId, &'a str)]),
    /// The primary key of a table by its name, and the views that need it.
    Key(TableId, &'a str, &'a [TableId]),
}

/// The views that are dropped together with something, but for those that are `gone`. With CASCADE the client is told of them, and of
/// columns.
///
/// # Errors
/// With RESTRICT, if there are some (2BP01).
pub(crate) fn drop_with(
    context: &StatementContext,
    catalog: &Catalog,
    dropped: Dropped<'_>,
    gone: &[Arc<ViewDef>],
    behavior: Behavior,
) -> Result<Vec<Arc<ViewDef>>, EngineError> {
    let mut dependents = dependents_of(catalog, dropped);
    dependents.retain(|dependent| gone.iter().all(|view| view.id != dependent.view));
    let generated = match dropped {
        Dropped::Columns(_, [_, generated @ ..]) => generated,
        _ => &[],
    };
    let contents = match dropped {
        Dropped::Contents(_, contents) => contents,
        _ => &[],
    };
    if dependents.is_empty() && generated.is_empty() && contents.is_empty() {
        return Ok(Vec::new());
    }
    let describe = |id: TableId| described(context, catalog, id);
    if behavior == Behavior::Restrict {
        let of = |Dependent { view, on }: &Dependent| match dropped {
            Dropped::Columns(table, columns) if *on == table => {
                let column = read_column(catalog, *view, table, columns);
                format!("{} depends on {}", describe(*view), described_column(column, &describe(table)))
            }
            Dropped::Key(table, key, _) if *on == table => {
                format!("{} depends on {}", describe(*view), described_key(key, &describe(table)))
            }
            _ => format!("{} depends on {}", describe(*view), describe(*on)),
        };
        let of_column = |(_, name): &(ColumnId, &str)| match dropped {
            Dropped::Columns(table, [(_, read), ..]) => {
                let table = describe(table);
                format!("{} depends on {}", described_column(name, &table), described_column(read, &table))
            }
            _ => String::new(),
        };
        let details: Vec<String> = generated.iter().map(of_column).chain(dependents.iter().map(of)).collect();
        let message = format!("cannot drop {}", refused(dropped, &describe));
        return Err(EngineError::new(SqlState::DependentObjectsStillExist, message)
            .with_detail(details.join("\n"))
            .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    let columns = generated.iter().map(|(_, name)| match dropped {
        Dropped::Columns(table, _) => described_column(name, &describe(table)),
        Dropped::Relations(_) | Dropped::Contents(..) | Dropped::Key(..) => String::new(),
    });
    let all =
        contents.iter().cloned().chain(columns).chain(dependents.iter().map(|dependent| describe(dependent.view)));
    let cascades: Vec<String> = all.map(|dependent| format!("drop cascades to {dependent}")).collect();
    let message = match &cascades[..] {
        [only] => only.clone(),
        several => format!("drop cascades to {} other objects", several.len()),
    };
    let notice = Notice::harmless(SqlState::SuccessfulCompletion, message);
    context.raise(if cascades.len() > 1 { notice.with_detail(cascades.join("\n")) } else { notice });
    Ok(dependents.iter().filter_map(|dependent| catalog.view_by_id(dependent.view).cloned()).collect())
}

/// What cannot be dropped, and why.
fn refused(dropped: Dropped<'_>, describe: &dyn Fn(TableId) -> String) -> String {
    let only = match dropped {
        Dropped::Relations([only]) => describe(*only),
        Dropped::Columns(table, [(_, column), ..]) => described_column(column, &describe(table)),
        Dropped::Key(table, key, _) => described_key(key, &describe(table)),
        Dropped::Relations(_) | Dropped::Contents(..) | Dropped::Columns(..) => {
            return "desired object(s) because other objects depend on them".to_owned();
        }
    };
    format!("{only} because other objects depend on it")
}

/// All views that depend on what is dropped, directly or not, but for views that are dropped themselves: as PostgreSQL lists them.
fn dependents_of(catalog: &Catalog, dropped: Dropped<'_>) -> Vec<Dependent> {
    let mut found: Vec<(TableId, Option<TableId>)> = Vec::new();
    let dropped = match dropped {
        Dropped::Relations(dropped) | Dropped::Contents(dropped, _) => {
            dropped.iter().for_each(|id| find(catalog, *id, None, dropped, &mut found));
            dropped
        }
        Dropped::Columns(table, columns) => {
            // Those of generated columns come first in the end.
            for (column, _) in columns {
                let views = catalog.views_of(table).filter(|view| view.reads_column(table, *column));
                newest_first(views).into_iter().for_each(|view| find(catalog, view, Some(table), &[], &mut found));
            }
            &[]
        }
        Dropped::Key(table, _, views) => {
            let views = views.iter().filter_map(|view| catalog.view_by_id(*view));
            newest_first(views).into_iter().for_each(|view| find(catalog, view, Some(table), &[], &mut found));
            &[]
        }
    };
    let all = found.into_iter().rev();
    all.filter_map(|(view, on)| on.filter(|_| !dropped.contains(&view)).map(|on| Dependent { view, on })).collect()
}

/// Adds what depends on a relation, the newest first, and then the relation.
fn find(
    catalog: &Catalog,
    id: TableId,
    on: Option<TableId>,
    dropped: &[TableId],
    found: &mut Vec<(TableId, Option<TableId>)>,
) {
    if found.iter().any(|(known, _)| *known == id) || on.is_some() && dropped.contains(&id) {
        return;
    }
    newest_first(catalog.views_of(id)).into_iter().for_each(|view| find(catalog, view, Some(id), dropped, found));
    found.push((id, on));
}

fn newest_first<'c>(views: impl Iterator<Item = &'c Arc<ViewDef>>) -> Vec<TableId> {
    let mut views: Vec<TableId> = views.map(|view| view.id).collect();
    views.sort_unstable_by(|a, b| b.cmp(a));
    views
}

/// The name of the column of a table that a view reads, out of those that are dropped.
fn read_column<'a>(catalog: &Catalog, view: TableId, table: TableId, dropped: &'a [(ColumnId, &'a str)]) -> &'a str {
    let view = catalog.view_by_id(view);
    let is_read = |column: ColumnId| view.is_some_and(|view| view.reads_column(table, column));
    let mut dropped = dropped.iter();
    dropped.find(|(column, _)| is_read(*column)).map_or("", |(_, name)| name)
}

/// A column of a table that is already described, as messages have it.
fn described_column(column: &str, table: &str) -> String {
    format!("column {} of {table}", quote_identifier(column))
}

/// A key of a table that is already described, as messages have it.
fn described_key(key: &str, table: &str) -> String {
    format!("constraint {} on {table}", quote_identifier(key))
}

/// A table or view as messages have it.
pub(crate) fn described(context: &StatementContext, catalog: &Catalog, id: TableId) -> String {
    let (kind, schema, name) = match (catalog.view_by_id(id), catalog.by_id(id)) {
        (Some(view), _) if view.is_materialized() => ("materialized view", view.schema, view.name.as_str()),
        (Some(view), _) => ("view", view.schema, view.name.as_str()),
        (None, Some(table)) => ("table", table.def.schema, table.def.name.as_str()),
        (None, None) => ("table", SchemaId::PUBLIC, ""),
    };
    let path = context.search_path_in(catalog);
    let is_here = |searched: &&str| catalog.schema_named(searched).is_some_and(|id| catalog.has_relation(id, name));
    let found = path.searched().find(is_here).and_then(|found| catalog.schema_named(found));
    let (quoted, written) = (quote_identifier(name), catalog.schema_name(schema).unwrap_or_default());
    match found == Some(schema) {
        true => format!("{kind} {quoted}"),
        false => format!("{kind} {}.{quoted}", quote_identifier(written)),
    }
}
