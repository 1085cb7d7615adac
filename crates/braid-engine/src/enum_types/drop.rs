//! DROP TYPE and DROP DOMAIN.

use braid_storage::{Catalog, CatalogDomain, CatalogType, ColumnDef, TableDef};
use sqlparser::ast::ObjectName;

use super::mentions;
use super::named_type::NamedType;
use crate::dependents::Behavior;
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table::Missing;
use crate::{EngineError, Outcome, SqlState};

/// What the statement calls what it drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DroppedKind {
    /// DROP TYPE, which also drops domains.
    Type,
    /// DROP DOMAIN.
    Domain,
}

/// A type that is dropped.
enum DroppedType {
    Enum(CatalogType),
    Domain(CatalogDomain),
}

impl DroppedType {
    fn oid(&self) -> u32 {
        match self {
            Self::Enum(known) => known.definition.oid,
            Self::Domain(known) => known.definition.oid,
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Enum(known) => NamedType::Enum(known.clone()).shown(),
            Self::Domain(known) => NamedType::Domain(known.clone()).shown(),
        }
    }
}

/// `DROP TYPE [IF EXISTS] a, b` and `DROP DOMAIN`, in one commit.
///
/// # Errors
/// For types that do not exist or are no domains, and those that columns have (2BP01; with CASCADE 0A000).
pub(crate) async fn drop_types(
    context: &StatementContext,
    (names, kind): (&[ObjectName], DroppedKind),
    missing: Missing,
    behavior: Behavior,
) -> Result<Outcome, EngineError> {
    let dropped = context.change(|writes, view| {
        let mut dropped: Vec<DroppedType> = Vec::new();
        for name in names {
            let named = NamedType::find(context, view, name)?;
            match (named.missing(), missing) {
                (Some(error), Missing::Skipped) => {
                    context.raise(Notice::skipping(SqlState::SuccessfulCompletion, error.message()));
                }
                (Some(error), Missing::Refused) => return Err(error),
                (None, _) if kind == DroppedKind::Domain => dropped.push(DroppedType::Domain(named.domain()?)),
                (None, _) => dropped.push(droppable(view, named)?),
            }
        }
        dropped.sort_by_key(DroppedType::oid);
        dropped.dedup_by_key(|known| known.oid());
        check_unused(view, &dropped, behavior)?;
        writes.change_types(view, |changes| {
            for known in &dropped {
                if let DroppedType::Enum(known) = known {
                    changes.remove(known.definition.oid);
                }
            }
            Ok::<_, EngineError>(())
        })?;
        for known in &dropped {
            if let DroppedType::Domain(known) = known {
                writes.remove_domain(view, known.definition.oid);
            }
        }
        Ok::<_, EngineError>(())
    });
    dropped.await?;
    Ok(Outcome::done(if kind == DroppedKind::Domain { "DROP DOMAIN" } else { "DROP TYPE" }))
}

/// The type, if it is one of users.
fn droppable(catalog: &Catalog, named: NamedType) -> Result<DroppedType, EngineError> {
    let refused = |message: String| EngineError::new(SqlState::DependentObjectsStillExist, message);
    let shown = named.shown();
    let of_array = |element: String| {
        Err(refused(format!("cannot drop type {shown} because type {element} requires it"))
            .with_hint(format!("You can drop type {element} instead.")))
    };
    match named {
        NamedType::Enum(known) => Ok(DroppedType::Enum(known)),
        NamedType::Domain(known) => Ok(DroppedType::Domain(known)),
        NamedType::Array(known) => of_array(NamedType::Enum(known).shown()),
        NamedType::DomainArray(known) => of_array(NamedType::Domain(known).shown()),
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

/// Refuses types that columns, defaults, views or domains have.
fn check_unused(catalog: &Catalog, dropped: &[DroppedType], behavior: Behavior) -> Result<(), EngineError> {
    let is_dropped = |oid: u32| dropped.iter().any(|known| known.oid() == oid);
    let dependents: Vec<String> = dropped.iter().flat_map(|known| dependents(catalog, known, &is_dropped)).collect();
    if dependents.is_empty() {
        return Ok(());
    }
    if behavior == Behavior::Cascade {
        return Err(EngineError::unsupported(
            "DROP TYPE … CASCADE is not supported while columns, defaults, views or domains have the type",
        )
        .with_detail(dependents.join("\n")));
    }
    let message = match dropped {
        [only] => format!("cannot drop type {} because other objects depend on it", only.shown()),
        _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
    };
    Err(EngineError::new(SqlState::DependentObjectsStillExist, message)
        .with_detail(dependents.join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

/// What depends on a type and is not dropped with it, the newest first, as PostgreSQL lists it.
fn dependents(catalog: &Catalog, known: &DroppedType, is_dropped: &dyn Fn(u32) -> bool) -> Vec<String> {
    let shown = known.shown();
    let (name, array_oid) = match known {
        DroppedType::Enum(known) => (known.definition.name.clone(), known.definition.array_oid),
        DroppedType::Domain(known) => (known.definition.name.clone(), known.definition.array_oid),
    };
    let columns: Vec<(&TableDef, &ColumnDef)> = match known {
        // A column of a domain depends on the domain, and that on the type.
        DroppedType::Enum(known) => {
            catalog.columns_of_type(known.id).filter(|(_, column)| column.domain.is_none()).collect()
        }
        DroppedType::Domain(known) => {
            catalog.columns_of_domain(known.definition.oid).map(|(def, column)| (&**def, column)).collect()
        }
    };
    let of_column = |(table, column): &(&TableDef, &ColumnDef)| {
        format!("column {} of table {} depends on type {shown}", column.name, table.name)
    };
    let is_other = |(table, column): &(&TableDef, &ColumnDef)| {
        !columns.iter().any(|(other, of_type)| other.id == table.id && of_type.name == column.name)
    };
    let defaults = mentions::of_name(catalog, &name).filter(is_other);
    let defaults = defaults.map(|(table, column)| {
        format!("default value for column {} of table {} depends on type {shown}", column.name, table.name)
    });
    let check = mentions::in_rows(catalog, &name).map(|found| match found.kind {
        "index" => format!("index {} depends on type {shown}", found.name),
        kind => format!("{kind} {} on table {} depends on type {shown}", found.name, found.table.name),
    });
    let views = mentions::views(catalog, [known.oid(), array_oid]);
    let views: Vec<String> = views.map(|view| format!("view {} depends on type {shown}", view.name)).collect();
    let domains = catalog.domains().filter(|other| {
        other.definition.base_oid == known.oid() || mentions::domain_mentions(&other.definition, &name)
    });
    let domains = domains.filter(|other| other.definition.oid != known.oid() && !is_dropped(other.definition.oid));
    let domains: Vec<String> =
        domains.map(|other| format!("type {} depends on type {shown}", other.definition.name)).collect();
    let columns = columns.iter().rev().map(of_column);
    views.into_iter().rev().chain(check).chain(defaults).chain(columns).chain(domains.into_iter().rev()).collect()
}
