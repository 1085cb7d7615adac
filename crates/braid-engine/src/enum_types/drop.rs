//! DROP TYPE.

use braid_storage::{Catalog, CatalogType, ColumnDef, TableDef};
use sqlparser::ast::ObjectName;

use super::change::change_types;
use super::mentions;
use super::named_type::NamedType;
use crate::dependents::Behavior;
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table::Missing;
use crate::{EngineError, Outcome, SqlState};

/// `DROP TYPE [IF EXISTS] a, b`, in one commit.
///
/// # Errors
/// For types that do not exist, or that columns have (2BP01; with CASCADE 0A000).
pub(crate) async fn drop_types(
    context: &StatementContext,
    names: &[ObjectName],
    missing: Missing,
    behavior: Behavior,
) -> Result<Outcome, EngineError> {
    let dropped = change_types(context, |changes| {
        let catalog = changes.catalog().clone();
        let mut dropped: Vec<CatalogType> = Vec::new();
        for name in names {
            let named = NamedType::find(context, &catalog, name)?;
            match (named.missing(), missing) {
                (Some(error), Missing::Skipped) => {
                    context.raise(Notice::skipping(SqlState::SuccessfulCompletion, error.message()));
                }
                (Some(error), Missing::Refused) => return Err(error),
                (None, _) => dropped.push(droppable(&catalog, named)?),
            }
        }
        dropped.dedup_by_key(|known| known.id);
        check_unused(&catalog, &dropped, behavior)?;
        dropped.iter().for_each(|known| changes.remove(known.definition.oid));
        Ok(())
    });
    dropped.await?;
    Ok(Outcome::done("DROP TYPE"))
}

/// The type, if it is an enumerated type.
fn droppable(catalog: &Catalog, named: NamedType) -> Result<CatalogType, EngineError> {
    let refused = |message: String| EngineError::new(SqlState::DependentObjectsStillExist, message);
    let shown = named.shown();
    match named {
        NamedType::Enum(known) => Ok(known),
        NamedType::Array(known) => {
            let element = NamedType::Enum(known).shown();
            Err(refused(format!("cannot drop type {shown} because type {element} requires it"))
                .with_hint(format!("You can drop type {element} instead.")))
        }
        NamedType::Row(name) => {
            let kind = match catalog.view(&name) {
                Some(view) if view.is_materialized() => "materialized view",
                Some(_) => "view",
                None => "table",
            };
            Err(refused(format!("cannot drop type {name} because {kind} {name} requires it"))
                .with_hint(format!("You can drop {kind} {name} instead.")))
        }
        NamedType::System(_) | NamedType::Nothing(..) => {
            Err(refused(format!("cannot drop type {shown} because it is required by the database system")))
        }
    }
}

/// Refuses types that columns or defaults have.
fn check_unused(catalog: &Catalog, dropped: &[CatalogType], behavior: Behavior) -> Result<(), EngineError> {
    let dependents: Vec<String> = dropped.iter().flat_map(|known| dependents(catalog, known)).collect();
    if dependents.is_empty() {
        return Ok(());
    }
    if behavior == Behavior::Cascade {
        return Err(EngineError::unsupported(
            "DROP TYPE … CASCADE is not supported while columns, defaults or views have the type",
        )
        .with_detail(dependents.join("\n")));
    }
    let message = match dropped {
        [only] => {
            let shown = NamedType::Enum(only.clone()).shown();
            format!("cannot drop type {shown} because other objects depend on it")
        }
        _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
    };
    Err(EngineError::new(SqlState::DependentObjectsStillExist, message)
        .with_detail(dependents.join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

/// What depends on a type, the newest first, as PostgreSQL lists it.
fn dependents(catalog: &Catalog, known: &CatalogType) -> Vec<String> {
    let shown = NamedType::Enum(known.clone()).shown();
    let columns: Vec<(&TableDef, &ColumnDef)> = catalog.columns_of_type(known.id).collect();
    let of_column = |(table, column): &(&TableDef, &ColumnDef)| {
        format!("column {} of table {} depends on type {shown}", column.name, table.name)
    };
    let is_other = |(table, column): &(&TableDef, &ColumnDef)| {
        !columns.iter().any(|(other, of_type)| other.id == table.id && of_type.name == column.name)
    };
    let defaults = mentions::of_name(catalog, &known.definition.name).filter(is_other);
    let defaults = defaults.map(|(table, column)| {
        format!("default value for column {} of table {} depends on type {shown}", column.name, table.name)
    });
    let check = mentions::in_rows(catalog, &known.definition.name).map(|found| match found.kind {
        "index" => format!("index {} depends on type {shown}", found.name),
        kind => format!("{kind} {} on table {} depends on type {shown}", found.name, found.table.name),
    });
    let views = mentions::views(catalog, known).map(|view| format!("view {} depends on type {shown}", view.name));
    let views: Vec<String> = views.collect();
    views.into_iter().rev().chain(check).chain(defaults).chain(columns.iter().rev().map(of_column)).collect()
}
