//! VACUUM, ANALYZE, CHECKPOINT, REINDEX, CLUSTER and LOCK TABLE.
//!
//! VACUUM compacts: it writes chunks again of which a part is deleted, and with FULL all that have deleted rows. Braid keeps statistics
//! with every write and has no index that could differ from its rows, so that ANALYZE, REINDEX and CLUSTER check their names and have
//! nothing to do. LOCK TABLE is [`table_locks`]'.

use std::collections::HashSet;

use braid_base::TableId;
use braid_storage::AccessObject;
use sqlparser::ast::{Ident, ObjectName};

use crate::access::AccessCheck;
use crate::clock::read_clock_us;
use crate::names::fold;
use crate::notices::Notice;
use crate::session_locks::{LockMode, LockTarget, Request};
use crate::statement::{LockPatience, MaintenanceStatement, ReindexSubject, Target};
use crate::statement_context::StatementContext;
use crate::table::named_index;
use crate::table_names::{Named, SystemKind, named_table, no_schema};
use crate::transaction::needs_block;
use crate::{EngineError, Outcome, SqlState, Statement, TransactionStatus, table_locks};

/// The part of a chunk's rows that is deleted when VACUUM writes it again: what is written is then at most 20 times what is won.
const VACUUM_SHARE: f64 = 0.05;

/// What is done to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Vacuum,
    VacuumAndAnalyze,
    Analyze,
}

impl Work {
    fn verb(self) -> &'static str {
        match self {
            Work::Vacuum | Work::VacuumAndAnalyze => "vacuum",
            Work::Analyze => "analyze",
        }
    }
}

/// Runs a statement about how the database is kept.
///
/// # Errors
/// For what does not exist, VACUUM in a transaction (25001), LOCK TABLE outside of one (25P01), and what locks and the store
/// fail with.
pub(crate) async fn execute(
    context: &StatementContext,
    statement: &Statement,
    maintenance: &MaintenanceStatement,
) -> Result<Outcome, EngineError> {
    let is_in_block = context.transaction_status() != TransactionStatus::Idle || statement.is_among_others();
    match maintenance {
        MaintenanceStatement::Vacuum { analyzes, is_full, patience, unknown, targets } => {
            let work = if *analyzes { Work::VacuumAndAnalyze } else { Work::Vacuum };
            let share = if *is_full { 0.0 } else { VACUUM_SHARE };
            check_options("VACUUM", unknown.as_deref())?;
            if work == Work::Vacuum && targets.iter().any(|target| !target.columns.is_empty()) {
                let message = "ANALYZE option must be specified when a column list is provided";
                return Err(EngineError::unsupported(message));
            }
            if is_in_block {
                let message = "VACUUM cannot run inside a transaction block";
                return Err(EngineError::new(SqlState::ActiveTransaction, message));
            }
            let mode = if *is_full { LockMode::AccessExclusive } else { LockMode::ShareUpdateExclusive };
            for table in check_targets(context, work, targets)? {
                // Each table is kept from others only while it is worked on.
                context.locks().end_transaction();
                if !lock(context, table, (work, mode, *patience)).await? {
                    continue;
                }
                context.database().store().compact(table, share).await?;
                if !is_full || *analyzes {
                    note_upkeep(context, table, (!is_full, *analyzes));
                }
            }
            Ok(Outcome::done("VACUUM"))
        }
        MaintenanceStatement::Analyze { patience, unknown, targets } => {
            check_options("ANALYZE", unknown.as_deref())?;
            for table in check_targets(context, Work::Analyze, targets)? {
                if !is_in_block {
                    context.locks().end_transaction();
                }
                if lock(context, table, (Work::Analyze, LockMode::ShareUpdateExclusive, *patience)).await? {
                    note_upkeep(context, table, (false, true));
                }
            }
            Ok(Outcome::done("ANALYZE"))
        }
        MaintenanceStatement::Checkpoint => {
            context.database().store().checkpoint().await?;
            Ok(Outcome::done("CHECKPOINT"))
        }
        MaintenanceStatement::Reindex { subject, is_concurrent, unknown } => {
            check_options("REINDEX", unknown.as_deref())?;
            check_reindexed(context, subject, *is_concurrent, is_in_block)?;
            Ok(Outcome::done("REINDEX"))
        }
        MaintenanceStatement::Cluster { table: None, unknown: None } if is_in_block => {
            let message = "CLUSTER cannot run inside a transaction block";
            Err(EngineError::new(SqlState::ActiveTransaction, message))
        }
        MaintenanceStatement::Cluster { table, unknown } => {
            check_options("CLUSTER", unknown.as_deref())?;
            if let Some((name, index)) = table {
                check_clustered(context, name, index.as_ref())?;
            }
            Ok(Outcome::done("CLUSTER"))
        }
        MaintenanceStatement::Lock { .. } if !is_in_block => Err(needs_block("LOCK TABLE")),
        MaintenanceStatement::Lock { names, mode, patience } => {
            table_locks::lock(context, names, *mode, *patience).await?;
            Ok(Outcome::done("LOCK TABLE"))
        }
    }
}

/// Locks a table, in the mode of the work. False, with a warning, if others exclude that and the statement does not wait.
async fn lock(
    context: &StatementContext,
    table: TableId,
    (work, mode, patience): (Work, LockMode, LockPatience),
) -> Result<bool, EngineError> {
    let request = Request { target: LockTarget::Relation(table), mode };
    match patience {
        LockPatience::Waits => context.acquire(request).await.map(|()| true),
        LockPatience::NoWait if context.locks().try_acquire(request)? => Ok(true),
        LockPatience::NoWait => {
            let snapshot = context.snapshot();
            let name = snapshot.by_id(table).map_or("", |version| &version.def.name);
            let message = format!("skipping {} of \"{name}\" --- lock not available", work.verb());
            context.raise(Notice::warning(SqlState::LockNotAvailable, message));
            Ok(false)
        }
    }
}

/// Notes that a table was vacuumed or analyzed. PostgreSQL does not count VACUUM FULL.
fn note_upkeep(context: &StatementContext, table: TableId, (is_vacuumed, is_analyzed): (bool, bool)) {
    let now_us = read_clock_us();
    context.database().upkeep_traces().note(&context.snapshot(), table, |upkeep| {
        if is_vacuumed {
            upkeep.vacuum_count += 1;
            upkeep.last_vacuum_us = Some(now_us);
        }
        if is_analyzed {
            upkeep.analyze_count += 1;
            upkeep.last_analyze_us = Some(now_us);
        }
    });
}

/// Indexes follow from their rows at every moment: what REINDEX is of must exist.
fn check_reindexed(
    context: &StatementContext,
    subject: &ReindexSubject,
    is_concurrent: bool,
    is_in_block: bool,
) -> Result<(), EngineError> {
    let (statement, is_of_many) = match subject {
        ReindexSubject::Schema(_) => ("REINDEX SCHEMA", true),
        ReindexSubject::Database(statement, _) => (*statement, true),
        ReindexSubject::Index(_) | ReindexSubject::Table(_) => ("REINDEX CONCURRENTLY", false),
    };
    if is_in_block && (is_concurrent || is_of_many) {
        let statement = if is_concurrent { "REINDEX CONCURRENTLY" } else { statement };
        let message = format!("{statement} cannot run inside a transaction block");
        return Err(EngineError::new(SqlState::ActiveTransaction, message));
    }
    let snapshot = context.snapshot();
    match subject {
        ReindexSubject::Index(name) => {
            let found = named_index(context, &snapshot, name).map(drop);
            found.map_err(|error| match error.state() {
                SqlState::UndefinedObject => {
                    EngineError::new(SqlState::UndefinedTable, format!("relation \"{name}\" does not exist"))
                }
                state => EngineError::new(state, error.message().to_owned()),
            })
        }
        ReindexSubject::Table(name) => check_has_rows(named_table(context, &snapshot, name)?),
        ReindexSubject::Schema(name) if !context.is_schema(&snapshot, &fold(name)) => Err(no_schema(&fold(name))),
        ReindexSubject::Database(_, name) if fold(name) != context.database_name() => {
            Err(EngineError::unsupported("can only reindex the currently open database"))
        }
        ReindexSubject::Schema(_) | ReindexSubject::Database(..) => Ok(()),
    }
}

/// Rows have no order of their own, and chunks their zone maps: what CLUSTER names must exist.
fn check_clustered(context: &StatementContext, name: &ObjectName, index: Option<&Ident>) -> Result<(), EngineError> {
    let snapshot = context.snapshot();
    let named = named_table(context, &snapshot, name)?;
    let (relation, keys) = match &named {
        Named::Table(def) => (def.name.clone(), def.keys.clone()),
        Named::View(view) if view.is_materialized() => {
            let keys = snapshot.by_id(view.id).map(|version| version.def.keys.clone());
            (view.name.clone(), keys.unwrap_or_default())
        }
        _ => return check_has_rows(named),
    };
    let Some(index) = index.map(fold) else {
        let message = format!("there is no previously clustered index for table \"{relation}\"");
        return Err(EngineError::new(SqlState::UndefinedObject, message));
    };
    match keys.iter().any(|key| key.name == index) {
        true => Ok(()),
        false => {
            let message = format!("index \"{index}\" for table \"{relation}\" does not exist");
            Err(EngineError::new(SqlState::UndefinedObject, message))
        }
    }
}

/// Checks that a relation is a table or materialized view.
fn check_has_rows(named: Named) -> Result<(), EngineError> {
    let name = match named {
        Named::Table(_) | Named::System(_, SystemKind::Table) => return Ok(()),
        Named::View(view) if view.is_materialized() => return Ok(()),
        Named::View(view) => view.name.clone(),
        Named::Sequence(known) => known.definition.name.clone(),
        Named::System(name, SystemKind::View) | Named::Index(name) => name,
        missing @ (Named::Nothing(..) | Named::NoSchema(..)) => return missing.into_copied().map(drop),
    };
    Err(no_table(&name))
}

fn no_table(name: &str) -> EngineError {
    EngineError::new(SqlState::WrongObjectType, format!("\"{name}\" is not a table or materialized view"))
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

/// Checks that all tables exist, then each of them; returns those that the work is done to. Without targets these are all that the role owns.
fn check_targets(context: &StatementContext, work: Work, targets: &[Target]) -> Result<Vec<TableId>, EngineError> {
    let snapshot = context.snapshot();
    if targets.is_empty() {
        let access = AccessCheck::now(context);
        let is_owned = |table: &TableId| {
            let owned = [AccessObject::Relation(*table), AccessObject::Database];
            access.as_ref().is_none_or(|access| owned.into_iter().any(|owned| access.check_owner(owned).is_ok()))
        };
        return Ok(snapshot.tables().map(|version| version.def.id).filter(is_owned).collect());
    }
    let mut found = Vec::with_capacity(targets.len());
    for target in targets {
        match named_table(context, &snapshot, &target.name)? {
            missing @ (Named::Nothing(..) | Named::NoSchema(..)) => drop(missing.into_copied()?),
            named => found.push((named, &target.columns)),
        }
    }
    let worked_on = found.into_iter().map(|(named, columns)| check_target(context, work, &named, columns));
    Ok(worked_on.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// The table, if the work is done to it.
fn check_target(
    context: &StatementContext,
    work: Work,
    named: &Named,
    columns: &[Ident],
) -> Result<Option<TableId>, EngineError> {
    let skip = |name: &str, why: &str| {
        context.raise(Notice::warning(SqlState::Warning, format!("skipping \"{name}\" --- {why}")));
    };
    if let Some((object, name)) = relation_of(named)
        && let Some(access) = AccessCheck::now(context)
        && [object, AccessObject::Database].into_iter().all(|owned| access.check_owner(owned).is_err())
    {
        skip(name, &format!("only table or database owner can {} it", work.verb()));
        return Ok(None);
    }
    let skipped = match named {
        Named::Table(def) => {
            check_columns(&def.name, columns, |name| def.column(name).is_some())?;
            return Ok(Some(def.id));
        }
        Named::View(view) if view.is_materialized() => {
            check_columns(&view.name, columns, |name| view.columns.iter().any(|column| column.name == name))?;
            return Ok(Some(view.id));
        }
        Named::View(view) => &view.name,
        Named::Sequence(known) => &known.definition.name,
        Named::System(name, SystemKind::View) | Named::Index(name) => name,
        Named::System(_, SystemKind::Table) | Named::Nothing(..) | Named::NoSchema(..) => return Ok(None),
    };
    skip(skipped, &format!("cannot {} non-tables or special system tables", work.verb()));
    Ok(None)
}

/// A relation of users, and its name.
fn relation_of(named: &Named) -> Option<(AccessObject, &str)> {
    match named {
        Named::Table(def) => Some((AccessObject::Relation(def.id), &def.name)),
        Named::View(view) => Some((AccessObject::Relation(view.id), &view.name)),
        Named::Sequence(known) => Some((AccessObject::Relation(known.definition.id), &known.definition.name)),
        Named::Index(_) | Named::System(..) | Named::Nothing(..) | Named::NoSchema(..) => None,
    }
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
