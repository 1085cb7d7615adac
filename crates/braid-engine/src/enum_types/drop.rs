//! DROP TYPE and DROP DOMAIN.

use std::sync::Arc;

use braid_base::{SchemaId, TableId};
use braid_sql::functions::strings::quoting::quote_identifier;
use braid_storage::{Catalog, CatalogDomain, CatalogType, ColumnDef, TableDef, ViewDef};
use sqlparser::ast::ObjectName;

use super::mentions::{self, Mentioned};
use super::named_type::NamedType;
use crate::dependents::{Behavior, described};
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

    fn shown(&self, context: &StatementContext, catalog: &Catalog) -> String {
        let named = match self {
            Self::Enum(known) => NamedType::Enum(known.clone()),
            Self::Domain(known) => NamedType::Domain(known.clone()),
        };
        named.shown(context, catalog)
    }

    fn mentioned(&self) -> Mentioned {
        match self {
            Self::Enum(known) => Mentioned::of_enum(known),
            Self::Domain(known) => Mentioned::of_domain(known),
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
                (None, _) if kind == DroppedKind::Domain => {
                    dropped.push(DroppedType::Domain(named.domain(context, view)?))
                }
                (None, _) => dropped.push(droppable((context, view), named)?),
            }
        }
        dropped.sort_by_key(DroppedType::oid);
        dropped.dedup_by_key(|known| known.oid());
        check_unused((context, view), &dropped, behavior)?;
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
fn droppable((context, catalog): (&StatementContext, &Catalog), named: NamedType) -> Result<DroppedType, EngineError> {
    let refused = |message: String| EngineError::new(SqlState::DependentObjectsStillExist, message);
    let shown = named.shown(context, catalog);
    let of_array = |element: String| {
        Err(refused(format!("cannot drop type {shown} because type {element} requires it"))
            .with_hint(format!("You can drop type {element} instead.")))
    };
    match named {
        NamedType::Enum(known) => Ok(DroppedType::Enum(known)),
        NamedType::Domain(known) => Ok(DroppedType::Domain(known)),
        NamedType::Array(known) => of_array(NamedType::Enum(known).shown(context, catalog)),
        NamedType::DomainArray(known) => of_array(NamedType::Domain(known).shown(context, catalog)),
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
fn check_unused(
    (context, catalog): (&StatementContext, &Catalog),
    dropped: &[DroppedType],
    behavior: Behavior,
) -> Result<(), EngineError> {
    let is_dropped = |oid: u32| dropped.iter().any(|known| known.oid() == oid);
    let dependents: Vec<String> = dropped
        .iter()
        .flat_map(|known| dependents((context, catalog), known, &Gone { is_type: &is_dropped, ..Gone::none() }))
        .collect();
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
        [only] => format!("cannot drop type {} because other objects depend on it", only.shown(context, catalog)),
        _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
    };
    Err(EngineError::new(SqlState::DependentObjectsStillExist, message)
        .with_detail(dependents.join("\n"))
        .with_hint("Use DROP ... CASCADE to drop the dependent objects too."))
}

/// Refuses to drop schemas with types that something elsewhere has, which is not dropped with them.
///
/// # Errors
/// 0A000: PostgreSQL drops columns, defaults and constraints then.
pub(crate) fn check_unused_outside(
    (context, catalog): (&StatementContext, &Catalog),
    is_dropped: &dyn Fn(SchemaId) -> bool,
    views: &[Arc<ViewDef>],
) -> Result<(), EngineError> {
    let enums = catalog.enum_types().filter(|known| is_dropped(known.definition.schema));
    let domains = catalog.domains().filter(|known| is_dropped(known.definition.schema));
    let types = enums.cloned().map(DroppedType::Enum).chain(domains.cloned().map(DroppedType::Domain));
    let is_type = |oid: u32| catalog.schema_of_type(oid).is_some_and(is_dropped);
    let gone = Gone { is_type: &is_type, is_schema: is_dropped, is_view: &|id| views.iter().any(|view| view.id == id) };
    let dependents: Vec<String> = types.flat_map(|known| dependents((context, catalog), &known, &gone)).collect();
    match dependents.is_empty() {
        true => Ok(()),
        false => Err(EngineError::unsupported(
            "DROP SCHEMA … CASCADE is not supported while columns, defaults, views or domains of other schemas have its types",
        )
        .with_detail(dependents.join("\n"))),
    }
}

/// What is dropped together with types.
struct Gone<'a> {
    /// Other types, by their oids.
    is_type: &'a dyn Fn(u32) -> bool,
    /// All of a schema.
    is_schema: &'a dyn Fn(SchemaId) -> bool,
    /// Views.
    is_view: &'a dyn Fn(TableId) -> bool,
}

impl Gone<'_> {
    /// Nothing else.
    fn none() -> Self {
        Self { is_type: &|_| false, is_schema: &|_| false, is_view: &|_| false }
    }
}

/// What depends on a type and is not dropped with it, the newest first, as PostgreSQL lists it.
fn dependents((context, catalog): (&StatementContext, &Catalog), known: &DroppedType, gone: &Gone<'_>) -> Vec<String> {
    let (shown, mentioned) = (known.shown(context, catalog), known.mentioned());
    let is_in = |text: &str| mentioned.is_in(text);
    let columns: Vec<(&TableDef, &ColumnDef)> = match known {
        // A column of a domain depends on the domain, and that on the type.
        DroppedType::Enum(known) => {
            catalog.columns_of_type(known.id).filter(|(_, column)| column.domain.is_none()).collect()
        }
        DroppedType::Domain(known) => {
            catalog.columns_of_domain(known.definition.oid).map(|(def, column)| (&**def, column)).collect()
        }
    };
    let table_name = |table: &TableDef| described(context, catalog, table.id);
    let domain_name = |other: &CatalogDomain| NamedType::Domain(other.clone()).shown(context, catalog);
    let of_column = |(table, column): &(&TableDef, &ColumnDef)| {
        format!("column {} of {} depends on type {shown}", quote_identifier(&column.name), table_name(table))
    };
    let stays = |table: &TableDef| !(gone.is_schema)(table.schema);
    let is_other = |(table, column): &(&TableDef, &ColumnDef)| {
        stays(table) && !columns.iter().any(|(other, of_type)| other.id == table.id && of_type.name == column.name)
    };
    let defaults = mentions::in_defaults(catalog, &is_in).filter(is_other);
    let defaults = defaults.map(|(table, column)| {
        let column = quote_identifier(&column.name);
        format!("default value for column {column} of {} depends on type {shown}", table_name(table))
    });
    let checks = mentions::in_rows(catalog, &is_in).filter(|found| stays(found.table)).map(|found| match found.kind {
        "index" => format!("index {} depends on type {shown}", found.name),
        kind => format!("{kind} {} on {} depends on type {shown}", found.name, table_name(found.table)),
    });
    let views = mentions::views(catalog, mentioned.oids)
        .filter(|view| !(gone.is_view)(view.id) && !(gone.is_schema)(view.schema));
    let views: Vec<String> =
        views.map(|view| format!("{} depends on type {shown}", described(context, catalog, view.id))).collect();
    let domains = catalog
        .domains()
        .filter(|other| other.definition.base_oid == known.oid() || mentions::in_domain(&other.definition, &is_in));
    let domains = domains.filter(|other| other.definition.oid != known.oid() && !(gone.is_type)(other.definition.oid));
    let domains: Vec<String> =
        domains.map(|other| format!("type {} depends on type {shown}", domain_name(other))).collect();
    let columns = columns.iter().rev().filter(|(table, _)| stays(table)).map(of_column);
    views.into_iter().rev().chain(checks).chain(defaults).chain(columns).chain(domains.into_iter().rev()).collect()
}
