//! DROP TABLE.

use std::collections::BTreeSet;
use std::sync::Arc;

use braid_base::TableId;
use braid_sql::search_path::is_schema;
use braid_storage::{Catalog, WriteSet};
use sqlparser::ast::ObjectName;

use crate::dependents::{Behavior, drop_views_of, drop_with};
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table};
use crate::{EngineError, Outcome, SqlState};

/// What becomes of a table that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// It is an error.
    Refused,
    /// IF EXISTS: it is passed over.
    Skipped,
}

impl Missing {
    /// From whether the statement says IF EXISTS.
    pub fn of(if_exists: bool) -> Self {
        if if_exists { Self::Skipped } else { Self::Refused }
    }
}

/// `DROP TABLE [IF EXISTS] a, b [CASCADE]`. Without IF EXISTS, all tables must exist before any is dropped.
pub(crate) async fn drop_tables(
    context: &StatementContext,
    names: &[ObjectName],
    missing: Missing,
    behavior: Behavior,
) -> Result<Outcome, EngineError> {
    let snapshot = context.snapshot();
    let mut tables = BTreeSet::new();
    for name in names {
        match (named_table(context, &snapshot, name)?, missing) {
            (Named::Nothing(schema, table), Missing::Skipped) => context.raise(skipped(schema, &table)),
            (named, _) => drop(tables.insert(named.into_dropped()?)),
        }
    }
    let ids: Vec<TableId> = tables.iter().filter_map(|name| Some(snapshot.table(name)?.def.id)).collect();
    let dependents = drop_with(context, &snapshot, &ids, behavior)?;
    let change = |writes: &mut WriteSet, view: &Arc<Catalog>| {
        drop_views_of(writes, view, &dependents)?;
        tables.iter().try_for_each(|table| writes.drop_table(view, table))
    };
    context.change(change).await?;
    Ok(Outcome::done("DROP TABLE"))
}

/// That a table, or its schema, does not exist.
fn skipped(schema: Option<String>, table: &str) -> Notice {
    let what = match schema.filter(|schema| !is_schema(schema)) {
        Some(schema) => format!("schema \"{schema}\" does not exist"),
        None => format!("table \"{table}\" does not exist"),
    };
    Notice::skipping(SqlState::SuccessfulCompletion, &what)
}
