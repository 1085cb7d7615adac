//! VACUUM, ANALYZE, CHECKPOINT and LOCK TABLE.
//!
//! Braid keeps statistics with every write, and drops chunks without rows by itself, so that VACUUM and ANALYZE check their names and have
//! nothing to do. There are no locks of tables: LOCK TABLE is refused in modes that would keep others from reading or changing rows,
//! and in SHARE UPDATE EXCLUSIVE, which two transactions never hold at once. The others keep only from locking and altering tables. What alters a table waits for nobody here, and readers of its earlier state go on.

use std::collections::HashSet;

use sqlparser::ast::Ident;

use crate::names::fold;
use crate::notices::Notice;
use crate::statement::{LockMode, MaintenanceStatement, Target};
use crate::statement_context::StatementContext;
use crate::table_names::{Named, SystemKind, named_table};
use crate::transaction::needs_block;
use crate::{EngineError, Outcome, SqlState, Statement, TransactionStatus};

/// What is done to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Vacuum,
    VacuumAndAnalyze,
    Analyze,
}

/// Runs a statement about how the database is kept.
///
/// # Errors
/// For what does not exist, VACUUM in a transaction (25001), LOCK TABLE outside of one (25P01) and in one (0A000), and what the store
/// fails with.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    maintenance: &MaintenanceStatement,
) -> Result<Outcome, EngineError> {
    let is_in_block = context.transaction_status() != TransactionStatus::Idle || statement.is_among_others();
    match maintenance {
        MaintenanceStatement::Vacuum { analyzes, unknown, targets } => {
            let work = if *analyzes { Work::VacuumAndAnalyze } else { Work::Vacuum };
            check_options("VACUUM", unknown.as_deref())?;
            if work == Work::Vacuum && targets.iter().any(|target| !target.columns.is_empty()) {
                let message = "ANALYZE option must be specified when a column list is provided";
                return Err(EngineError::unsupported(message));
            }
            if is_in_block {
                let message = "VACUUM cannot run inside a transaction block";
                return Err(EngineError::new(SqlState::ActiveTransaction, message));
            }
            check_targets(context, work, targets)?;
            Ok(Outcome::done("VACUUM"))
        }
        MaintenanceStatement::Analyze { unknown, targets } => {
            check_options("ANALYZE", unknown.as_deref())?;
            check_targets(context, Work::Analyze, targets)?;
            Ok(Outcome::done("ANALYZE"))
        }
        MaintenanceStatement::Checkpoint => {
            context.database().store().checkpoint().await?;
            Ok(Outcome::done("CHECKPOINT"))
        }
        MaintenanceStatement::Lock { .. } if !is_in_block => Err(needs_block("LOCK TABLE")),
        MaintenanceStatement::Lock { names, mode } => {
            let snapshot = context.snapshot();
            for name in names {
                check_lockable(named_table(context, &snapshot, name)?)?;
            }
            match mode {
                LockMode::OfRows => Ok(Outcome::done("LOCK TABLE")),
                LockMode::OfTable => Err(EngineError::unsupported("LOCK TABLE in this mode is not supported")),
            }
        }
    }
}

fn check_options(statement: &str, unknown: Option<&str>) -> Result<(), EngineError> {
    match unknown {
        None => Ok(()),
        Some(option) => {
            let message = format!("unrecognized {statement} option \"{option}\"");
            Err(EngineError::new(SqlState::SyntaxError, message))
        }
    }
}

/// Checks that all tables exist, then each of them.
fn check_targets(context: &StatementContext, work: Work, targets: &[Target]) -> Result<(), EngineError> {
    let snapshot = context.snapshot();
    let mut found = Vec::with_capacity(targets.len());
    for target in targets {
        match named_table(context, &snapshot, &target.name)? {
            missing @ (Named::Nothing(..) | Named::NoSchema(..)) => drop(missing.into_copied()?),
            named => found.push((named, &target.columns)),
        }
    }
    found.into_iter().try_for_each(|(named, columns)| check_target(context, work, &named, columns))
}

fn check_target(context: &StatementContext, work: Work, named: &Named, columns: &[Ident]) -> Result<(), EngineError> {
    let skipped = match named {
        Named::Table(def) => return check_columns(&def.name, columns, |name| def.column(name).is_some()),
        Named::View(view) if view.is_materialized() => {
            return check_columns(&view.name, columns, |name| view.columns.iter().any(|column| column.name == name));
        }
        Named::View(view) => &view.name,
        Named::Sequence(known) => &known.definition.name,
        Named::System(name, SystemKind::View) => name,
        Named::System(_, SystemKind::Table) | Named::Nothing(..) | Named::NoSchema(..) => return Ok(()),
    };
    skip(context, work, skipped);
    Ok(())
}

fn skip(context: &StatementContext, work: Work, name: &str) {
    let verb = if work == Work::Analyze { "analyze" } else { "vacuum" };
    let message = format!("skipping \"{name}\" --- cannot {verb} non-tables or special system tables");
    context.raise(Notice::warning(SqlState::Warning, message));
}

fn check_columns(table: &str, columns: &[Ident], has: impl Fn(&str) -> bool) -> Result<(), EngineError> {
    let mut names = HashSet::new();
    for name in columns.iter().map(fold) {
        if !has(&name) {
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            return Err(EngineError::new(SqlState::UndefinedColumn, message));
        }
        if names.contains(&name) {
            let message = format!("column \"{name}\" of relation \"{table}\" appears more than once");
            return Err(EngineError::new(SqlState::DuplicateColumn, message));
        }
        names.insert(name);
    }
    Ok(())
}

fn check_lockable(named: Named) -> Result<(), EngineError> {
    let (name, kind) = match named {
        Named::Sequence(known) => (known.definition.name.clone(), "sequences"),
        Named::View(view) if view.is_materialized() => (view.name.clone(), "materialized views"),
        missing @ Named::Nothing(..) => return missing.into_copied().map(drop),
        _ => return Ok(()),
    };
    Err(EngineError::new(SqlState::WrongObjectType, format!("cannot lock relation \"{name}\""))
        .with_detail(format!("This operation is not supported for {kind}.")))
}
