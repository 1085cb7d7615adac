//! ALTER SEQUENCE.

use braid_catalog::privileges::ObjectAccess;
use braid_storage::{AccessObject, Catalog, CatalogSequence, SequenceDef, SequenceOwner, SequenceUse};
use sqlparser::ast::ObjectName;

use super::create::{check_same_owner, owner, taken_name};
use super::options::{OptionsOf, SequenceOptions};
use crate::front_end::StatementFacts;
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::SequenceChange;
use crate::statement_context::StatementContext;
use crate::table_names::{Missing, Named, named_table};
use crate::{EngineError, Outcome, SqlState};

/// Changes a sequence.
///
/// # Errors
/// For a relation that is no sequence, options that do not fit together, and names that are taken.
pub(crate) async fn alter_sequence(
    context: &StatementContext,
    name: &ObjectName,
    missing: Missing,
    change: &SequenceChange,
) -> Result<Outcome, EngineError> {
    let snapshot = context.snapshot();
    let known = match (named_table(context, &snapshot, name)?, missing) {
        (named @ (Named::Nothing(..) | Named::NoSchema(..)), Missing::Skipped) => {
            if let Err(missing) = named.into_sequence() {
                context.raise(Notice::skipping(SqlState::SuccessfulCompletion, missing.message()));
            }
            return Ok(Outcome::done("ALTER SEQUENCE"));
        }
        (named, _) => named.into_sequence()?,
    };
    match change {
        SequenceChange::Options(written) => {
            let options = SequenceOptions::of(written, OptionsOf::Sequence, &StatementFacts::of(context))?;
            apply(context, &known, &options).await?;
        }
        SequenceChange::Rename(new_name) => rename(context, &known, fold(new_name)).await?,
    }
    Ok(Outcome::done("ALTER SEQUENCE"))
}

async fn apply(
    context: &StatementContext,
    known: &CatalogSequence,
    options: &SequenceOptions<'_>,
) -> Result<(), EngineError> {
    let change = context.change(|writes, view| {
        writes.change_sequences(view, |changes| {
            let last_value = known.counter.shown().state.last_value;
            let (mut def, restart) = options.redefine(&known.definition, last_value)?;
            def.owner = next_owner(context, view, &def, options)?;
            match restart {
                Some(state) => changes.restart(def, state)?,
                None => changes.redefine(def)?,
            }
            Ok::<_, EngineError>(())
        })
    });
    change.await
}

fn next_owner(
    context: &StatementContext,
    view: &Catalog,
    def: &SequenceDef,
    options: &SequenceOptions<'_>,
) -> Result<Option<SequenceOwner>, EngineError> {
    let Some(written) = options.owner else { return Ok(def.owner) };
    if let Some(known) = def.owner.filter(|known| known.usage != SequenceUse::Owned) {
        let table = view.by_id(known.table).map(|version| version.def.name.clone()).unwrap_or_default();
        return Err(EngineError::unsupported("cannot change ownership of identity sequence")
            .with_detail(format!("Sequence \"{}\" is linked to table \"{table}\".", def.name)));
    }
    let next = written.map(|column| owner(context, view, (def.schema, column))).transpose()?;
    if let Some(next) = next {
        let owner_of = |id| ObjectAccess::of(view).owner(AccessObject::Relation(id));
        check_same_owner(owner_of(def.id), owner_of(next.table))?;
    }
    Ok(next)
}

/// ALTER TABLE … RENAME TO of a sequence.
///
/// # Errors
/// For a name that is taken.
pub(crate) async fn rename_as_table(
    context: &StatementContext,
    known: &CatalogSequence,
    name: String,
) -> Result<Outcome, EngineError> {
    rename(context, known, name).await?;
    Ok(Outcome::done("ALTER TABLE"))
}

async fn rename(context: &StatementContext, known: &CatalogSequence, name: String) -> Result<(), EngineError> {
    let change = context.change(|writes, view| {
        taken_name(view, known.definition.schema, &name)?;
        let def = SequenceDef { name: name.clone(), ..(*known.definition).clone() };
        Ok::<_, EngineError>(writes.change_sequences(view, |changes| changes.redefine(def))?)
    });
    change.await
}
