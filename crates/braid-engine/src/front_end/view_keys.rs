//! Whether the query of a view needs the primary key of a table: where it groups by the key it may show other columns of the table.
//!
//! That is found out when the key is to go, by binding the query as if the table had none. So nothing about keys is stored with a view, and
//! a view that groups by all that it shows does not hold the key.

use braid_base::TableId;
use braid_sql::binder::Statement as BoundStatement;
use braid_sql::{SqlError, SqlState};
use braid_storage::{Catalog, ViewDef};

use super::session_facts::StatementFacts;
use super::snapshot_tables::SnapshotTables;
use super::view_sizes::ViewsSize;
use super::view_tables::query_of_view;
use crate::EngineError;
use crate::deep_stack::on_deep_stack;
use crate::statement_context::StatementContext;

/// Whether the query of a view cannot be bound without the primary key of a table.
///
/// # Errors
/// For views that are too large to bind.
pub(crate) fn needs_primary_key(
    context: &StatementContext,
    catalog: &Catalog,
    view: &ViewDef,
    table: TableId,
) -> Result<bool, EngineError> {
    let (text, query) = query_of_view(view)?;
    let size = ViewsSize::of(catalog, [&query])?;
    let bound = on_deep_stack(size.expressions, || {
        let (facts, tables) = (StatementFacts::of(context), SnapshotTables::of(context).without_key_of(table));
        let binding = BoundStatement::new(&text, &facts, &tables);
        binding.binder().whole_query(&query).map(drop)
    });
    match bound {
        Ok(()) => Ok(false),
        Err(error) if is_ungrouped(&error) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

fn is_ungrouped(error: &SqlError) -> bool {
    error.state() == SqlState::GroupingError
}
