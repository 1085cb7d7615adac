//! TRUNCATE.

use std::collections::BTreeSet;

use braid_base::TableId;
use braid_storage::{Catalog, SequenceState, StoreError, WriteSet};
use sqlparser::ast::{Truncate, TruncateIdentityOption};

use crate::statement_context::StatementContext;
use crate::table_names::named_table;
use crate::{EngineError, Outcome};

/// `TRUNCATE [TABLE] a, b`: removes all rows. Those that others commit before the transaction does are removed as well: it is as if it
/// had waited for them. No table is referred to by others, so that CASCADE changes nothing.
///
/// # Errors
/// For tables that do not exist, and clauses that are not PostgreSQL's.
pub(crate) async fn truncate(context: &StatementContext, truncate: &Truncate) -> Result<Outcome, EngineError> {
    let Truncate { table_names, partitions, if_exists, on_cluster, .. } = truncate;
    if partitions.is_some() || *if_exists || on_cluster.is_some() {
        return Err(EngineError::unsupported("this form of TRUNCATE is not supported"));
    }
    let snapshot = context.snapshot();
    let mut tables = BTreeSet::new();
    for target in table_names {
        tables.insert(named_table(context, &snapshot, &target.name)?.into_truncated()?);
    }
    let restarts = matches!(truncate.identity, Some(TruncateIdentityOption::Restart));
    let change = context.change(|writes, view| {
        tables.iter().try_for_each(|table| writes.truncate_table(view, *table))?;
        if restarts { restart_sequences(writes, view, &tables) } else { Ok(()) }
    });
    change.await?;
    Ok(Outcome::done("TRUNCATE TABLE"))
}

/// RESTART IDENTITY: the sequences of the tables' columns begin anew, when the transaction commits.
fn restart_sequences(writes: &mut WriteSet, view: &Catalog, tables: &BTreeSet<TableId>) -> Result<(), StoreError> {
    let of_tables =
        view.sequences().filter(|known| known.definition.owner.is_some_and(|owner| tables.contains(&owner.table)));
    let restarted: Vec<_> = of_tables.map(|known| (*known.definition).clone()).collect();
    if restarted.is_empty() {
        return Ok(());
    }
    writes.change_sequences(view, |changes| {
        restarted.into_iter().try_for_each(|def| {
            let state = SequenceState { last_value: def.start, is_called: false };
            changes.restart(def, state)
        })
    })
}
