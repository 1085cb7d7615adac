//! CREATE MATERIALIZED VIEW and REFRESH MATERIALIZED VIEW.
//!
//! A materialized view is a table and a view with one id. REFRESH puts the rows of the query in the place of the table's, in one commit.
//! Of two that are under way at a time the second waits, so that no older rows take the place of newer ones.

use std::sync::Arc;

use braid_base::TableId;
use braid_sql::pg_catalog::key_words::quote_identifier;
use braid_storage::{
    Catalog, ColumnDef, Constraints, NewTable, StoreError, TableAppender, TableDef, ViewDef, ViewKind, WriteSet,
};

use super::definition::definition;
use super::drop::{Wanted, found};
use crate::bound_parameters::BoundParameters;
use crate::dml::assignment::Assignment;
use crate::front_end::{self, StoredIn, StoredRows, TableOfQuery, ViewQuery};
use crate::notices::Notice;
use crate::session_locks::LockMode;
use crate::statement::{CreateView, RefreshView};
use crate::statement_context::StatementContext;
use crate::storage_parameters::check_parameters;
use crate::table_names::{Persistence, new_name};
use crate::{EngineError, Outcome, SqlState, Statement};

/// `CREATE MATERIALIZED VIEW [IF NOT EXISTS] name (columns) AS query [WITH [NO] DATA]`
///
/// # Errors
/// Those of the query; for a name that is taken, and for columns of types that no table stores (0A000).
pub(super) async fn create(
    context: &StatementContext,
    statement: &Statement,
    create: &CreateView,
    if_not_exists: bool,
) -> Result<Outcome, EngineError> {
    if let Some(what) = create.unsupported {
        return Err(EngineError::unsupported(format!("{what} is not supported")));
    }
    if !create.options.is_empty() {
        check_parameters(&create.options)?;
    }
    let named = new_name(context, &create.name, Persistence::Lasting).await?;
    let schema = named.schema;
    if context.snapshot().has_relation(schema, &named.name) {
        let exists = EngineError::from(StoreError::TableExists { table: named.name });
        if !if_not_exists {
            return Err(exists);
        }
        context.raise(Notice::skipping(SqlState::DuplicateTable, exists.message()));
        return Ok(Outcome::done("CREATE MATERIALIZED VIEW"));
    }
    let query = ViewQuery::of(context, statement).await?;
    if query.reads_temporary {
        return Err(EngineError::unsupported("materialized views must not use temporary tables or views"));
    }
    if context.snapshot().is_temporary(schema) {
        let message = "cannot create materialized view in a temporary schema";
        return Err(EngineError::unsupported(message));
    }
    let view = definition(context, statement, create, named, query)?;
    if !create.with_data {
        let table = table_of(&view, front_end::table_columns(context, statement, &BoundParameters::none()).await?);
        let change = |writes: &mut WriteSet, seen: &Arc<Catalog>| {
            let id = writes.create_constrained_table(seen, (schema, table), Constraints::default())?.id;
            put(writes, seen, &view, id, false)
        };
        context.change(change).await?;
        return Ok(Outcome::done("CREATE MATERIALIZED VIEW"));
    }
    let TableOfQuery { columns, rows } = front_end::start_table(context, statement, &BoundParameters::none()).await?;
    let appender = filled(context, context.create_and_append(schema, table_of(&view, columns))?, rows).await?;
    let id = appender.def().id;
    let change = |writes: &mut WriteSet, seen: &Arc<Catalog>| Ok(put(writes, seen, &view, id, true)?);
    let row_count = context.change_and_add(appender, change).await?;
    Ok(Outcome::done(format!("SELECT {row_count}")))
}

/// `REFRESH MATERIALIZED VIEW name [WITH [NO] DATA]`
///
/// # Errors
/// Those of the query; for what is no materialized view.
pub(super) async fn refresh(
    context: &StatementContext,
    statement: &Statement,
    refresh: &RefreshView,
) -> Result<Outcome, EngineError> {
    if refresh.is_concurrent && !refresh.with_data {
        let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
        return Err(EngineError::new(SqlState::SyntaxError, message));
    }
    let (wanted, snapshot) = (Wanted::Materialized, context.snapshot());
    let found = found(context, &snapshot, &refresh.name, wanted).map_err(|error| match error.state() {
        SqlState::WrongObjectType => EngineError::unsupported(error.message()),
        _ => error,
    });
    // PostgreSQL speaks of relations here.
    let missing =
        |(state, missing): (_, String)| EngineError::new(state, missing.replacen("materialized view", "relation", 1));
    let view = found?.map_err(missing)?;
    let table = snapshot.by_id(view.id).ok_or_else(|| EngineError::internal("a materialized view without a table"))?;
    if refresh.is_concurrent {
        check_concurrent(context, &view, &table.def)?;
    }
    let mode = if refresh.is_concurrent { LockMode::Exclusive } else { LockMode::AccessExclusive };
    context.define_relations([view.id], mode)?;
    let mut appender = context.append(&table.def);
    if refresh.with_data {
        let stored_in = StoredIn::new(&table.def.columns, Vec::new()).with_rows(front_end::query_of_view(&view)?.1);
        let rows = front_end::start_insert(context, statement, &stored_in, &BoundParameters::none()).await?;
        appender = filled(context, appender, rows).await?;
    }
    let change = |writes: &mut WriteSet, seen: &Arc<Catalog>| {
        writes.truncate_table(seen, view.id)?;
        Ok(put(writes, seen, &view, view.id, refresh.with_data)?)
    };
    context.change_and_add(appender, change).await?;
    Ok(Outcome::done("REFRESH MATERIALIZED VIEW"))
}

/// Checks that a view can be refreshed beside its readers, by a key of its rows, as PostgreSQL does it.
fn check_concurrent(context: &StatementContext, view: &ViewDef, table: &TableDef) -> Result<(), EngineError> {
    if view.kind == (ViewKind::Materialized { is_populated: false }) {
        return Err(EngineError::unsupported(
            "CONCURRENTLY cannot be used when the materialized view is not populated",
        ));
    }
    let has_key = table.unique_keys().any(|key| key.computed().is_none());
    match has_key {
        true => Ok(()),
        false => {
            let (schema, name) = (context.schema_name(view.schema), quote_identifier(&view.name));
            let message =
                format!("cannot refresh materialized view \"{}.{name}\" concurrently", quote_identifier(&schema));
            Err(EngineError::new(SqlState::ObjectNotInPrerequisiteState, message).with_hint(
                "Create a unique index with no WHERE clause on one or more columns of the materialized view.",
            ))
        }
    }
}

/// The table of a materialized view, of the columns of its query.
fn table_of(view: &ViewDef, columns: Vec<ColumnDef>) -> NewTable {
    let named = columns.into_iter().zip(&view.columns);
    let columns = named.map(|(column, named)| ColumnDef { name: named.name.clone(), ..column }).collect();
    NewTable { name: view.name.clone(), columns, primary_key: Vec::new() }
}

/// Adds all rows of a query.
async fn filled(
    context: &StatementContext,
    mut appender: TableAppender,
    mut rows: StoredRows,
) -> Result<TableAppender, EngineError> {
    let assignment = Assignment::new(appender.def(), context.reading());
    while let Some(batch) = rows.next().await {
        appender.append(assignment.convert_all(&batch?)?).await?;
    }
    Ok(appender)
}

/// Notes that the view has this table, and whether it is filled.
fn put(
    writes: &mut WriteSet,
    seen: &Arc<Catalog>,
    view: &ViewDef,
    id: TableId,
    is_populated: bool,
) -> Result<(), StoreError> {
    writes.change_views(seen, |changes| {
        changes.put(ViewDef { id, kind: ViewKind::Materialized { is_populated }, ..view.clone() });
        Ok(())
    })
}
