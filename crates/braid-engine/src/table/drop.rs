//! DROP TABLE.

use std::collections::BTreeSet;

use sqlparser::ast::ObjectName;

use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table};
use crate::{EngineError, Outcome};

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

/// `DROP TABLE [IF EXISTS] a, b`. Without IF EXISTS, all tables must exist before any is dropped.
pub(crate) async fn drop_tables(
    context: &StatementContext,
    names: &[ObjectName],
    missing: Missing,
) -> Result<Outcome, EngineError> {
    let snapshot = context.snapshot();
    let mut tables = BTreeSet::new();
    for name in names {
        match (named_table(context, &snapshot, name)?, missing) {
            (Named::Nothing(..), Missing::Skipped) => {}
            (named, _) => drop(tables.insert(named.into_dropped()?)),
        }
    }
    context.change(|writes, view| tables.iter().try_for_each(|table| writes.drop_table(view, table))).await?;
    Ok(Outcome::done("DROP TABLE"))
}
