//! DROP SCHEMA.

use std::sync::Arc;

use braid_base::{SchemaId, TableId};
use braid_catalog::type_references::shown_type;
use braid_sql::functions::strings::quoting::quote_identifier;
use braid_sql::search_path::is_built_in;
use braid_storage::{Catalog, WriteSet};
use sqlparser::ast::ObjectName;

use super::schema_name;
use crate::dependents::{Behavior, Dropped, drop_with};
use crate::enum_types::check_unused_outside;
use crate::notices::Notice;
use crate::sequences::dependents;
use crate::statement_context::StatementContext;
use crate::table::foreign_keys::drop_references;
use crate::table::references_to;
use crate::table_names::{Missing, no_schema};
use crate::{EngineError, Outcome, SqlState};

/// `DROP SCHEMA [IF EXISTS] a, b [CASCADE]`, in one commit.
///
/// # Errors
/// For schemas that do not exist or are always there, and those with something in them (2BP01), unless it says CASCADE.
pub(crate) async fn drop_schemas(
    context: &StatementContext,
    names: &[ObjectName],
    missing: Missing,
    behavior: Behavior,
) -> Result<Outcome, EngineError> {
    let snapshot = context.snapshot();
    let mut dropped = Vec::new();
    for name in names {
        let name = schema_name(name)?;
        match (context.schema_of_users(&snapshot, &name)?, missing) {
            (Some(id), _) if !snapshot.is_temporary(id) => dropped.push((id, name)),
            (None, Missing::Skipped) if !is_built_in(&name) => {
                let what = format!("schema \"{name}\" does not exist");
                context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &what));
            }
            (None, Missing::Refused) if !is_built_in(&name) => return Err(no_schema(&name)),
            _ => return Err(always_there(&name)),
        }
    }
    dropped.sort();
    dropped.dedup();
    let contents = contents(context, &snapshot, &dropped);
    let (views, references) = match behavior {
        Behavior::Restrict => {
            check_empty(&dropped, &contents)?;
            (Vec::new(), Vec::new())
        }
        Behavior::Cascade => {
            check_unused(&snapshot, &dropped)?;
            let goes = |schema: SchemaId| dropped.iter().any(|(id, _)| *id == schema);
            let tables = snapshot.tables().filter(|table| goes(table.def.schema)).map(|table| table.def.id);
            let tables: Vec<TableId> = tables.collect();
            let references = references_to(context, &snapshot, &tables, behavior)?;
            let views = snapshot.views().by_id().values().filter(|view| goes(view.schema)).map(|view| view.id);
            let mut relations: Vec<TableId> = tables.into_iter().chain(views).collect();
            relations.sort_unstable();
            relations.dedup();
            let contents: Vec<String> = contents.into_iter().map(|(object, _)| object).collect();
            let gone = Dropped::Contents(&relations, &contents);
            let views = drop_with(context, &snapshot, gone, &[], behavior)?;
            check_unused_outside((context, &snapshot), &goes, &views)?;
            (views, references)
        }
    };
    drop(snapshot);
    drop_references(context, &references).await?;
    let change = |writes: &mut WriteSet, view: &Arc<Catalog>| {
        writes.drop_views(view, &views)?;
        dropped.iter().try_for_each(|(id, _)| writes.drop_schema(view, *id))
    };
    context.change(change).await?;
    Ok(Outcome::done("DROP SCHEMA"))
}

fn always_there(name: &str) -> EngineError {
    match name {
        "pg_catalog" | "information_schema" | "pg_toast" => {
            let message = format!("cannot drop schema {name} because it is required by the database system");
            EngineError::new(SqlState::DependentObjectsStillExist, message)
        }
        _ => EngineError::unsupported(format!("dropping schema {name} is not supported")),
    }
}

/// What is in schemas, in a sentence each, the oldest first: without sequences that go with their columns.
fn contents(context: &StatementContext, snapshot: &Catalog, dropped: &[(SchemaId, String)]) -> Vec<(String, String)> {
    let path = context.search_path_in(snapshot);
    let tables = snapshot.tables().filter(|table| snapshot.view_by_id(table.def.id).is_none());
    let tables = tables.map(|table| (table.def.id, "table", table.def.schema, &table.def.name));
    let views = snapshot.views().by_id().values().map(|view| {
        let kind = if view.is_materialized() { "materialized view" } else { "view" };
        (view.id, kind, view.schema, &view.name)
    });
    let sequences = snapshot.sequences().map(|known| &known.definition).filter(|def| def.owner.is_none());
    let sequences = sequences.map(|def| (def.id, "sequence", def.schema, &def.name));
    let mut all: Vec<(TableId, &str, SchemaId, &String)> = tables.chain(views).chain(sequences).collect();
    all.sort_by_key(|(id, ..)| *id);
    let described = |(_, kind, schema, name): (TableId, &str, SchemaId, &String)| {
        let (_, shown) = dropped.iter().find(|(id, _)| *id == schema)?;
        let is_here =
            |searched: &str| snapshot.schema_named(searched).is_some_and(|id| snapshot.has_relation(id, name));
        let is_visible = path.searched().find(|searched| is_here(searched)) == Some(shown);
        let name = quote_identifier(name);
        let object = match is_visible {
            true => format!("{kind} {name}"),
            false => format!("{kind} {}.{name}", quote_identifier(shown)),
        };
        Some((object, shown.clone()))
    };
    let types = types_of(context, snapshot, dropped);
    types.into_iter().chain(all.into_iter().filter_map(described)).collect()
}

/// The types that are in schemas, as [`contents`].
fn types_of(context: &StatementContext, snapshot: &Catalog, dropped: &[(SchemaId, String)]) -> Vec<(String, String)> {
    let path = context.search_path_in(snapshot);
    let enums = snapshot.enum_types().map(|known| known.definition.oid);
    let mut all: Vec<u32> = enums.chain(snapshot.domains().map(|known| known.definition.oid)).collect();
    all.sort_unstable();
    let described = |oid: u32| {
        let schema = snapshot.schema_of_type(oid)?;
        let (_, shown) = dropped.iter().find(|(id, _)| *id == schema)?;
        Some((format!("type {}", shown_type(snapshot, &path, oid)), shown.clone()))
    };
    all.into_iter().filter_map(described).collect()
}

/// Refuses schemas with something in them.
fn check_empty(dropped: &[(SchemaId, String)], contents: &[(String, String)]) -> Result<(), EngineError> {
    if contents.is_empty() {
        return Ok(());
    }
    let message = match dropped {
        [(_, name)] => format!("cannot drop schema {name} because other objects depend on it"),
        _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
    };
    let depends = |(object, schema): &(String, String)| format!("{object} depends on schema {schema}");
    Err(EngineError::new(SqlState::DependentObjectsStillExist, message)
        .with_detail(contents.iter().map(depends).collect::<Vec<_>>().join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

/// Refuses to drop sequences that are in defaults of tables elsewhere: PostgreSQL drops these defaults.
fn check_unused(snapshot: &Catalog, dropped: &[(SchemaId, String)]) -> Result<(), EngineError> {
    let goes = |schema: SchemaId| dropped.iter().any(|(id, _)| *id == schema);
    let sequences = snapshot.sequences().filter(|known| goes(known.definition.schema));
    let others = sequences
        .flat_map(|known| dependents(snapshot, known))
        .filter(|dependent| snapshot.by_id(dependent.table).is_some_and(|table| !goes(table.def.schema)));
    let others: Vec<String> = others.map(|dependent| dependent.text).collect();
    match others.is_empty() {
        true => Ok(()),
        false => Err(EngineError::unsupported(
            "DROP SCHEMA … CASCADE of sequences in defaults of tables in other schemas is not supported",
        )
        .with_detail(others.join("\n"))),
    }
}
