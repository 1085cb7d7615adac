//! DROP TABLE.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_base::TableId;
use braid_storage::{Catalog, Reference, TableDef, WriteSet};
use sqlparser::ast::ObjectName;

use super::foreign_keys::{drop_references, released};
use crate::dependents::{Behavior, Dropped, described, drop_with};
use crate::notices::Notice;
use crate::sequences::dependents;
use crate::statement_context::StatementContext;
use crate::table_names::{Missing, Named, named_table};
use crate::{EngineError, Outcome, SqlState};

/// `DROP TABLE [IF EXISTS] a, b [CASCADE]`. Without IF EXISTS, all tables must exist before any is dropped.
pub(crate) async fn drop_tables(
    context: &StatementContext,
    names: &[ObjectName],
    missing: Missing,
    behavior: Behavior,
) -> Result<Outcome, EngineError> {
    let snapshot = context.snapshot();
    let mut tables = BTreeMap::new();
    for name in names {
        match (named_table(context, &snapshot, name)?, missing) {
            (named @ (Named::Nothing(..) | Named::NoSchema(..)), Missing::Skipped) => {
                if let Err(missing) = named.into_dropped() {
                    context.raise(Notice::skipping(SqlState::SuccessfulCompletion, missing.message()));
                }
            }
            (named, _) => {
                let def = named.into_dropped()?;
                tables.insert(def.id, def);
            }
        }
    }
    check_sequences(&snapshot, &tables, behavior)?;
    let ids: Vec<TableId> = tables.keys().copied().collect();
    let references = references_to(context, &snapshot, &ids, behavior)?;
    let dependents = drop_with(context, &snapshot, Dropped::Relations(&ids), &[], behavior)?;
    drop(snapshot);
    drop_references(context, &references).await?;
    let change = |writes: &mut WriteSet, view: &Arc<Catalog>| {
        writes.drop_views(view, &dependents)?;
        ids.iter().try_for_each(|table| writes.drop_table(view, *table))
    };
    context.change(change).await?;
    Ok(Outcome::done("DROP TABLE"))
}

/// The foreign keys of other tables that refer to tables which are dropped.
///
/// # Errors
/// With RESTRICT, if there are some (2BP01).
pub(crate) fn references_to(
    context: &StatementContext,
    catalog: &Catalog,
    dropped: &[TableId],
    behavior: Behavior,
) -> Result<Vec<Reference>, EngineError> {
    let mut all = Vec::new();
    for table in dropped {
        let references = catalog.references_to(*table).into_iter().filter(|other| !dropped.contains(&other.table.id));
        let table = described(context, catalog, *table);
        all.extend(released(context, catalog, references.collect(), (&table, &table), behavior)?);
    }
    Ok(all)
}

/// Refuses to drop tables whose sequences are in defaults of others.
fn check_sequences(
    catalog: &Catalog,
    tables: &BTreeMap<TableId, Arc<TableDef>>,
    behavior: Behavior,
) -> Result<(), EngineError> {
    for known in catalog.sequences() {
        let owner = known.definition.owner.and_then(|owner| tables.get(&owner.table));
        let Some(table) = owner.map(|owner| &owner.name) else { continue };
        let others = dependents(catalog, known).filter(|other| !tables.contains_key(&other.table));
        let others: Vec<String> = others.map(|other| other.text).collect();
        if !others.is_empty() && behavior == Behavior::Cascade {
            let message = "DROP TABLE … CASCADE of tables whose sequences are in defaults of others is not supported";
            return Err(EngineError::unsupported(message).with_detail(others.join("\n")));
        }
        if !others.is_empty() {
            let message = format!("cannot drop table {table} because other objects depend on it");
            return Err(EngineError::new(SqlState::DependentObjectsStillExist, message)
                .with_detail(others.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
    }
    Ok(())
}
