//! TRUNCATE.

use std::collections::BTreeSet;

use braid_base::TableId;
use braid_storage::{Catalog, Reference, SequenceState, StoreError, WriteSet};
use sqlparser::ast::{CascadeOption, Truncate, TruncateIdentityOption};

use crate::notices::Notice;
use crate::session_locks::LockMode;
use crate::statement_context::StatementContext;
use crate::table_names::named_table;
use crate::{EngineError, Outcome, SqlState};

/// `TRUNCATE [TABLE] a, b`: removes all rows. Tables that refer to one of them are emptied as well, with CASCADE, or are named besides.
///
/// # Errors
/// For tables that do not exist or are referred to by others, and clauses that are not PostgreSQL's.
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
    let references = referring(context, &snapshot, &mut tables, truncate.cascade == Some(CascadeOption::Cascade))?;
    context.define_relations(tables.iter().copied(), LockMode::AccessExclusive)?;
    let mut writes = context.take_writes();
    // Others may add foreign keys while it waits.
    tables.iter().for_each(|table| writes.note_known_references(&snapshot, *table));
    drop(snapshot);
    writes.lock_references(&references).await?;
    context.put_writes(writes);
    let restarts = matches!(truncate.identity, Some(TruncateIdentityOption::Restart));
    let change = context.change(|writes, view| {
        tables.iter().try_for_each(|table| writes.truncate_table(view, *table))?;
        if restarts { restart_sequences(writes, view, &tables) } else { Ok(()) }
    });
    change.await?;
    Ok(Outcome::done("TRUNCATE TABLE"))
}

/// The foreign keys that refer to tables which are emptied. With CASCADE the tables that have them are added.
///
/// # Errors
/// Without it, for a table that is not emptied (0A000).
fn referring(
    context: &StatementContext,
    catalog: &Catalog,
    tables: &mut BTreeSet<TableId>,
    cascades: bool,
) -> Result<Vec<Reference>, EngineError> {
    let mut open: Vec<TableId> = tables.iter().copied().collect();
    let mut all = Vec::new();
    while !open.is_empty() {
        let references: Vec<Reference> = open.drain(..).flat_map(|table| catalog.references_to(table)).collect();
        for reference in &references {
            let (other, id) = (&reference.table.name, reference.table.id);
            if tables.contains(&id) {
                continue;
            }
            if !cascades {
                let referenced =
                    catalog.by_id(reference.key.referenced).map_or("", |version| version.def.name.as_str());
                let message = "cannot truncate a table referenced in a foreign key constraint";
                return Err(EngineError::new(SqlState::FeatureNotSupported, message)
                    .with_detail(format!("Table \"{other}\" references \"{referenced}\"."))
                    .with_hint(format!("Truncate table \"{other}\" at the same time, or use TRUNCATE ... CASCADE.")));
            }
            let message = format!("truncate cascades to table \"{other}\"");
            context.raise(Notice::harmless(SqlState::SuccessfulCompletion, message));
            tables.insert(id);
            open.push(id);
        }
        all.extend(references);
    }
    Ok(all)
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
