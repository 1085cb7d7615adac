//! DROP VIEW and DROP MATERIALIZED VIEW.

use std::sync::Arc;

use braid_base::TableId;
use braid_storage::{Catalog, ViewDef};
use sqlparser::ast::{ObjectName, ObjectType};

use crate::dependents::{Behavior, Dropped, drop_with};
use crate::named_views::drop_hint;
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table_names::{DROP_INDEX, Missing, Named, SystemKind, named_table, no_permission};
use crate::{EngineError, Outcome, SqlState};

/// Which views a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Views without rows of their own.
    Plain,
    /// Materialized views.
    Materialized,
}

impl Wanted {
    /// Of a DROP.
    pub fn of(dropped: &ObjectType) -> Self {
        if *dropped == ObjectType::MaterializedView { Self::Materialized } else { Self::Plain }
    }

    /// As messages have it.
    pub(super) fn shown(self) -> &'static str {
        match self {
            Self::Plain => "view",
            Self::Materialized => "materialized view",
        }
    }

    fn fits(self, view: &ViewDef) -> bool {
        view.is_materialized() == (self == Self::Materialized)
    }
}

/// `DROP VIEW [IF EXISTS] a, b [CASCADE]`, in one commit.
///
/// # Errors
/// For views that do not exist, and with RESTRICT for those that others read (2BP01).
pub(crate) async fn drop_views(
    context: &StatementContext,
    names: &[ObjectName],
    wanted: Wanted,
    missing: Missing,
    behavior: Behavior,
) -> Result<Outcome, EngineError> {
    let snapshot = context.snapshot();
    let mut dropped: Vec<Arc<ViewDef>> = Vec::new();
    for name in names {
        match (found(context, &snapshot, name, wanted)?, missing) {
            (Ok(view), _) if dropped.iter().any(|known| known.id == view.id) => {}
            (Ok(view), _) => dropped.push(view),
            (Err((_, missing)), Missing::Skipped) => {
                context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &missing));
            }
            (Err((state, missing)), Missing::Refused) => return Err(EngineError::new(state, missing)),
        }
    }
    let ids: Vec<TableId> = dropped.iter().map(|view| view.id).collect();
    dropped.extend(drop_with(context, &snapshot, Dropped::Relations(&ids), &[], behavior)?);
    context.change(|writes, seen| writes.drop_views(seen, &dropped)).await?;
    Ok(Outcome::done(match wanted {
        Wanted::Plain => "DROP VIEW",
        Wanted::Materialized => "DROP MATERIALIZED VIEW",
    }))
}

/// The view of a name, or what it does not mean.
///
/// # Errors
/// If it means something else.
pub(super) fn found(
    context: &StatementContext,
    snapshot: &Catalog,
    name: &ObjectName,
    wanted: Wanted,
) -> Result<Result<Arc<ViewDef>, (SqlState, String)>, EngineError> {
    let shown = wanted.shown();
    let no_view = |name: &str, hint: &'static str| {
        let error = EngineError::new(SqlState::WrongObjectType, format!("\"{name}\" is not a {shown}"));
        Err(error.with_hint(hint))
    };
    match named_table(context, snapshot, name)? {
        Named::View(view) if wanted.fits(&view) => Ok(Ok(view)),
        Named::View(view) => no_view(&view.name, drop_hint(&view)),
        Named::Table(def) => no_view(&def.name, "Use DROP TABLE to remove a table."),
        Named::Sequence(known) => no_view(&known.definition.name, "Use DROP SEQUENCE to remove a sequence."),
        Named::Index(name) => no_view(&name, DROP_INDEX),
        Named::System(name, SystemKind::View) if wanted == Wanted::Plain => Err(no_permission(&name)),
        Named::System(name, SystemKind::View) => no_view(&name, "Use DROP VIEW to remove a view."),
        Named::System(name, SystemKind::Table) => no_view(&name, "Use DROP TABLE to remove a table."),
        Named::NoSchema(schema, _) => {
            Ok(Err((SqlState::InvalidSchemaName, format!("schema \"{schema}\" does not exist"))))
        }
        Named::Nothing(_, name) => Ok(Err((SqlState::UndefinedTable, format!("{shown} \"{name}\" does not exist")))),
    }
}
