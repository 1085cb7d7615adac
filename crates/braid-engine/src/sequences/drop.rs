//! DROP SEQUENCE.

use std::collections::BTreeMap;

use braid_base::TableId;
use braid_catalog::object_ids::table_object_id;
use braid_catalog::sequence_references::references;
use braid_storage::{Catalog, CatalogSequence, SequenceUse};
use sqlparser::ast::ObjectName;

use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table_names::{Missing, Named, named_table};
use crate::{EngineError, Outcome, SqlState};

/// `DROP SEQUENCE [IF EXISTS] a, b`. Without IF EXISTS, all must exist before any is dropped.
///
/// # Errors
/// For sequences that do not exist, and those that defaults name (2BP01; with CASCADE 0A000).
pub(crate) async fn drop_sequences(
    context: &StatementContext,
    names: &[ObjectName],
    missing: Missing,
    cascades: bool,
) -> Result<Outcome, EngineError> {
    let snapshot = context.snapshot();
    let mut dropped = BTreeMap::new();
    for name in names {
        match (named_table(context, &snapshot, name)?, missing) {
            (named @ (Named::Nothing(..) | Named::NoSchema(..)), Missing::Skipped) => {
                if let Err(missing) = named.into_dropped_sequence() {
                    context.raise(Notice::skipping(SqlState::SuccessfulCompletion, missing.message()));
                }
            }
            (named, _) => {
                let known = named.into_dropped_sequence()?;
                dropped.insert(known.definition.id, known);
            }
        }
    }
    if !dropped.is_empty() {
        let dropped: Vec<CatalogSequence> = dropped.into_values().collect();
        check_unused(&snapshot, &dropped, cascades)?;
        let change = context.change(|writes, view| {
            writes.change_sequences(view, |changes| {
                dropped.iter().for_each(|known| changes.remove(known.definition.id));
                Ok::<_, EngineError>(())
            })
        });
        change.await?;
    }
    Ok(Outcome::done("DROP SEQUENCE"))
}

/// Refuses to drop sequences that columns need.
fn check_unused(catalog: &Catalog, dropped: &[CatalogSequence], cascades: bool) -> Result<(), EngineError> {
    let refused = |message: String| EngineError::new(SqlState::DependentObjectsStillExist, message);
    for known in dropped {
        let owner = known.definition.owner.filter(|owner| owner.usage != SequenceUse::Owned);
        let column = owner.and_then(|owner| {
            let def = &catalog.by_id(owner.table)?.def;
            Some(format!("column {} of table {}", def.column_by_id(owner.column)?.name, def.name))
        });
        if let Some(column) = column {
            let name = &known.definition.name;
            return Err(refused(format!("cannot drop sequence {name} because {column} requires it"))
                .with_hint(format!("You can drop {column} instead.")));
        }
    }
    let dependents: Vec<String> =
        dropped.iter().flat_map(|known| dependents(catalog, known)).map(|dependent| dependent.text).collect();
    if dependents.is_empty() {
        return Ok(());
    }
    if cascades {
        let message = "DROP SEQUENCE … CASCADE of sequences in defaults is not supported";
        return Err(EngineError::unsupported(message).with_detail(dependents.join("\n")));
    }
    let message = match dropped {
        [known] => {
            let name = &known.definition.name;
            format!("cannot drop sequence {name} because other objects depend on it")
        }
        _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
    };
    Err(refused(message)
        .with_detail(dependents.join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

/// A default that names a sequence.
pub(crate) struct Dependent {
    /// Its table.
    pub table: TableId,
    /// The name of its column.
    pub column: String,
    /// What depends, in a sentence.
    pub text: String,
}

/// The defaults that name a sequence.
pub(crate) fn dependents<'a>(catalog: &'a Catalog, known: &'a CatalogSequence) -> impl Iterator<Item = Dependent> + 'a {
    let id = table_object_id(known.definition.id);
    let columns = catalog.tables().flat_map(|version| version.def.columns.iter().map(move |column| (version, column)));
    let names = move |default: &String| references(default).any(|named| named == id);
    columns.filter(move |(_, column)| column.default.as_ref().is_some_and(names)).map(move |(version, column)| {
        let (column, table, sequence) = (&column.name, &version.def.name, &known.definition.name);
        let text = format!("default value for column {column} of table {table} depends on sequence {sequence}");
        Dependent { table: version.def.id, column: column.clone(), text }
    })
}
