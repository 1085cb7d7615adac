//! Relations in another place: ALTER … SET SCHEMA, and other names of materialized views and of their columns.
//!
//! Keys and the sequences of columns move with their table.

use std::sync::Arc;

use braid_base::SchemaId;
use braid_sql::search_path::is_built_in;
use braid_storage::{AlteredRows, Catalog, SequenceDef, StoreError, TableDef, ViewDef, WriteSet};
use sqlparser::ast::{DataType, Ident};

use crate::enum_types::{DroppedKind, move_type};
use crate::names::fold;
use crate::notices::Notice;
use crate::statement::{CommentObject, CommentedRelation, ObjectStatement};
use crate::statement_context::StatementContext;
use crate::table::definition_with_renamed_column;
use crate::table_names::{Named, named_table, no_permission, no_schema};
use crate::{EngineError, Outcome, SqlState};

/// Moves a relation or a type to another schema.
///
/// # Errors
/// For what does not exist or is of another kind, a schema that there is not, and names that are taken in it.
pub(crate) async fn set_schema(
    context: &StatementContext,
    statement: &ObjectStatement,
    schema: &Ident,
) -> Result<Outcome, EngineError> {
    let (kind, name) = match &statement.object {
        CommentObject::Relation(kind, name) => (*kind, name),
        CommentObject::Type(DataType::Custom(name, _)) | CommentObject::Domain(DataType::Custom(name, _)) => {
            let is_domain = matches!(statement.object, CommentObject::Domain(_));
            let kind = if is_domain { DroppedKind::Domain } else { DroppedKind::Type };
            let to = fold(schema);
            move_type(context, (name, kind), |view, from| target(context, view, from, &to)).await?;
            return Ok(Outcome::done(statement.tag()));
        }
        _ => return Err(EngineError::unsupported(format!("{} … SET SCHEMA is not supported", statement.tag()))),
    };
    context.settle_writes().await?;
    let states = context.states();
    let named = match (named_table(context, &states.1, name)?, statement.if_exists) {
        (Named::Nothing(_, missing) | Named::NoSchema(_, missing), true) => {
            let what = format!("relation \"{missing}\" does not exist");
            context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &what));
            return Ok(Outcome::done(statement.tag()));
        }
        (named, _) => of_kind(context, named, kind)?,
    };
    let from = match &named {
        Moved::Table(def) => def.schema,
        Moved::View(view) => view.schema,
        Moved::Sequence(def) => def.schema,
    };
    let to = target(context, &states.1, from, &fold(schema))?;
    if to != from {
        match named {
            Moved::Table(def) => place_table(context, states, TableDef { schema: to, ..(*def).clone() }).await?,
            Moved::Sequence(def) => {
                check_free(&states.1, to, [def.name.as_str()])?;
                let def = SequenceDef { schema: to, ..(*def).clone() };
                let change = |writes: &mut WriteSet, seen: &Arc<Catalog>| {
                    writes.change_sequences(seen, |changes| changes.redefine(def))
                };
                context.change_seen(&states.1, change).await?;
            }
            Moved::View(view) if view.is_materialized() => {
                let known = states.1.by_id(view.id).map(|table| TableDef { schema: to, ..(*table.def).clone() });
                let def = known.ok_or_else(|| EngineError::internal("a materialized view without a table"))?;
                place_table(context, states, def).await?;
            }
            Moved::View(view) => {
                check_free(&states.1, to, [view.name.as_str()])?;
                let change = |writes: &mut WriteSet, seen: &Arc<Catalog>| {
                    writes.change_views(seen, |changes| changes.move_to(&view, to))
                };
                context.change_seen(&states.1, change).await?;
            }
        }
    }
    Ok(Outcome::done(statement.tag()))
}

/// Gives a materialized view another name.
///
/// # Errors
/// For a name that is taken.
pub(crate) async fn rename_materialized(
    context: &StatementContext,
    view: &ViewDef,
    name: String,
) -> Result<(), EngineError> {
    context.settle_writes().await?;
    let states = context.states();
    if states.1.has_relation(view.schema, &name) {
        return Err(StoreError::TableExists { table: name }.into());
    }
    let known = states.1.by_id(view.id).map(|table| TableDef { name, ..(*table.def).clone() });
    let def = known.ok_or_else(|| EngineError::internal("a materialized view without a table"))?;
    place_table(context, states, def).await
}

/// Gives a column of a materialized view another name; `view` has it already.
///
/// # Errors
/// What commits fail with.
pub(crate) async fn rename_materialized_column(
    context: &StatementContext,
    view: ViewDef,
    (from, to): (&str, &str),
) -> Result<(), EngineError> {
    context.settle_writes().await?;
    let states = context.states();
    let known = states.1.by_id(view.id).map(|table| table.def.clone());
    let known = known.ok_or_else(|| EngineError::internal("a materialized view without a table"))?;
    let def = definition_with_renamed_column(&known, from, to)?;
    let change = |writes: &mut WriteSet, seen: &Arc<Catalog>| {
        writes.change_views(seen, |changes| {
            changes.put(view);
            Ok::<_, StoreError>(())
        })
    };
    context.alter_table(&states, (def, AlteredRows::Kept), change).await?;
    drop(states);
    context.keep_changes().await
}

/// What can be in another schema.
enum Moved {
    Table(Arc<TableDef>),
    View(Arc<ViewDef>),
    Sequence(Arc<SequenceDef>),
}

/// The relation that a name means, if the statement is about its kind. ALTER TABLE is about all.
fn of_kind(context: &StatementContext, named: Named, kind: CommentedRelation) -> Result<Moved, EngineError> {
    use CommentedRelation as Kind;
    let wrong = |name: &str, shown: &str| {
        Err(EngineError::new(SqlState::WrongObjectType, format!("\"{name}\" is not {shown}")))
    };
    let shown = match kind {
        Kind::View => "a view",
        Kind::MaterializedView => "a materialized view",
        Kind::Sequence => "a sequence",
        _ => "a table",
    };
    match (named, kind) {
        (Named::Index(index), Kind::Index | Kind::Table) => {
            Err(EngineError::new(SqlState::WrongObjectType, format!("cannot change schema of index \"{index}\""))
                .with_hint("Change the schema of the table instead."))
        }
        (Named::Table(def), Kind::Table) => Ok(Moved::Table(def)),
        (Named::View(view), Kind::Table) => Ok(Moved::View(view)),
        (Named::View(view), Kind::View) if !view.is_materialized() => Ok(Moved::View(view)),
        (Named::View(view), Kind::MaterializedView) if view.is_materialized() => Ok(Moved::View(view)),
        (Named::Sequence(known), Kind::Table | Kind::Sequence) => match known.definition.owner {
            Some(owner) => {
                let table = context.snapshot().by_id(owner.table).map(|table| table.def.name.clone());
                let detail = format!(
                    "Sequence \"{}\" is linked to table \"{}\".",
                    known.definition.name,
                    table.unwrap_or_default()
                );
                Err(EngineError::unsupported("cannot move an owned sequence into another schema").with_detail(detail))
            }
            None => Ok(Moved::Sequence(known.definition)),
        },
        (Named::Table(def), _) => wrong(&def.name, shown),
        (Named::View(view), _) => wrong(&view.name, shown),
        (Named::Sequence(known), _) => wrong(&known.definition.name, shown),
        (Named::Index(name), _) => wrong(&name, shown),
        (Named::System(name, _), _) => Err(no_permission(&name)),
        (missing @ (Named::Nothing(..) | Named::NoSchema(..)), _) => missing.into_altered().map(Moved::Table),
    }
}

/// The schema that a relation is moved to.
fn target(
    context: &StatementContext,
    snapshot: &Catalog,
    from: SchemaId,
    written: &str,
) -> Result<SchemaId, EngineError> {
    let to = match context.schema_of_users(snapshot, written)? {
        Some(to) => to,
        None if is_built_in(written) => {
            return Err(EngineError::unsupported(format!("moving relations to schema {written} is not supported")));
        }
        None => return Err(no_schema(written)),
    };
    match to != from && (snapshot.is_temporary(from) || snapshot.is_temporary(to)) {
        true => Err(EngineError::unsupported("cannot move objects into or out of temporary schemas")),
        false => Ok(to),
    }
}

/// Refuses names that are taken in a schema.
fn check_free<'a>(
    catalog: &Catalog,
    schema: SchemaId,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<(), EngineError> {
    match names.into_iter().find(|name| catalog.has_relation(schema, name)) {
        Some(name) => {
            let shown = catalog.schema_name(schema).unwrap_or_default();
            let message = format!("relation \"{name}\" already exists in schema \"{shown}\"");
            Err(EngineError::new(SqlState::DuplicateTable, message))
        }
        None => Ok(()),
    }
}

/// Gives a table this definition, which has another schema or name than before, and the view that it may be; the sequences of its columns
/// follow it to its schema.
async fn place_table(
    context: &StatementContext,
    states: (Arc<Catalog>, Arc<Catalog>),
    def: TableDef,
) -> Result<(), EngineError> {
    let seen = &states.1;
    let (id, schema, name) = (def.id, def.schema, def.name.clone());
    let sequences = seen.sequences().map(|known| known.definition.clone());
    let is_own =
        |known: &Arc<SequenceDef>| known.owner.is_some_and(|owner| owner.table == id) && known.schema != schema;
    let sequences: Vec<Arc<SequenceDef>> = sequences.filter(is_own).collect();
    if seen.by_id(id).is_some_and(|known| known.def.schema != schema) {
        let keys = def.keys.iter().map(|key| key.name.as_str());
        check_free(seen, schema, [name.as_str()].into_iter().chain(keys))?;
        check_free(seen, schema, sequences.iter().map(|known| known.name.as_str()))?;
    }
    let change = |writes: &mut WriteSet, seen: &Arc<Catalog>| {
        if let Some(view) = seen.view_by_id(id) {
            let view = ViewDef { schema, name, ..(**view).clone() };
            writes.change_views(seen, |changes| {
                changes.put(view);
                Ok::<_, StoreError>(())
            })?;
        }
        if sequences.is_empty() {
            return Ok(());
        }
        writes.change_sequences(seen, |changes| {
            sequences.iter().try_for_each(|known| changes.redefine(SequenceDef { schema, ..(**known).clone() }))
        })
    };
    context.alter_table(&states, (def, AlteredRows::Kept), change).await?;
    drop(states);
    context.keep_changes().await
}
