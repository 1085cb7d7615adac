//! CREATE VIEW.

use std::sync::Arc;

use braid_base::SchemaId;
use braid_storage::{Catalog, StoreError, ViewChanges, ViewDef};

use super::definition::{definition, name_of};
use super::replacement::check_replacement;
use crate::access::AccessCheck;
use crate::front_end::ViewQuery;
use crate::statement::{CreateForm, CreateView};
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState, Statement};

/// `CREATE [OR REPLACE] [TEMPORARY] VIEW name (columns) AS query`
///
/// # Errors
/// Those of the query; for a name that is taken, and for a replacement with other columns.
pub(super) async fn create_view(
    context: &StatementContext,
    statement: &Statement,
    create: &CreateView,
) -> Result<Outcome, EngineError> {
    if let Some(what) = create.unsupported {
        return Err(EngineError::unsupported(format!("{what} is not supported")));
    }
    let query = ViewQuery::of(context, statement).await?;
    if let Some(access) = AccessCheck::now(context) {
        query.type_oids.iter().try_for_each(|oid| access.check_type(*oid))?;
    }
    let name = name_of(context, create, &query).await?;
    let view = definition(context, statement, create, name, query)?;
    let may_replace = create.form == CreateForm::OrReplace;
    context.change(|writes, seen| writes.change_views(seen, |changes| put(seen, view, may_replace, changes))).await?;
    Ok(Outcome::done("CREATE VIEW"))
}

/// Adds a view, or puts it in the place of the one of its name.
fn put(
    catalog: &Arc<Catalog>,
    view: ViewDef,
    may_replace: bool,
    changes: &mut ViewChanges<'_>,
) -> Result<(), EngineError> {
    match replaced(catalog, (view.schema, &view.name), may_replace)? {
        None => {
            changes.add(view)?;
        }
        Some(known) => {
            let view = ViewDef { id: known.id, ..view };
            check_replacement(catalog, known, &view)?;
            changes.put(view);
        }
    }
    Ok(())
}

/// The view that a new one takes the place of; `None` if its name is free.
fn replaced<'c>(
    catalog: &'c Catalog,
    (schema, name): (SchemaId, &str),
    may_replace: bool,
) -> Result<Option<&'c Arc<ViewDef>>, EngineError> {
    let known = catalog.view_in(schema, name);
    match known.filter(|view| !view.is_materialized()) {
        Some(view) if may_replace => Ok(Some(view)),
        None if may_replace && catalog.has_relation(schema, name) => {
            Err(EngineError::new(SqlState::WrongObjectType, format!("\"{name}\" is not a view")))
        }
        _ if catalog.has_relation(schema, name) => Err(StoreError::TableExists { table: name.to_owned() }.into()),
        _ => Ok(None),
    }
}
