//! SET CONSTRAINTS, and ALTER TABLE … ALTER CONSTRAINT: when foreign keys are compared.

use std::sync::Arc;

use braid_base::TableId;
use braid_storage::{AlteredRows, Catalog, CheckTime, Deferral, ForeignKeyDef, TableDef};
use sqlparser::ast::{ConstraintCharacteristics, Ident, ObjectName};

use super::foreign_keys::{constraint_names, deferral_of};
use crate::names::{fold, table_parts};
use crate::notices::Notice;
use crate::statement::ConstraintStatement;
use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table, no_schema};
use crate::{EngineError, Outcome, SqlState, TransactionStatus};

/// Runs a statement about when constraints are compared.
///
/// # Errors
/// For constraints that there are not or that are always compared at once, and for rows that violate one now.
pub(crate) async fn change_constraint_times(
    context: &StatementContext,
    statement: &ConstraintStatement,
) -> Result<Outcome, EngineError> {
    match statement {
        ConstraintStatement::Set { names, time } => set_constraints(context, names, *time).await,
        ConstraintStatement::Alter { table, if_exists, name, characteristics } => {
            alter_constraint(context, (table, *if_exists), name, characteristics.as_ref()).await
        }
    }
}

async fn set_constraints(
    context: &StatementContext,
    names: &[ObjectName],
    time: CheckTime,
) -> Result<Outcome, EngineError> {
    let done = Ok(Outcome::done("SET CONSTRAINTS"));
    if context.transaction_status() == TransactionStatus::Idle && !context.is_in_transaction() {
        let message = "SET CONSTRAINTS can only be used in transaction blocks";
        context.raise(Notice::warning(SqlState::NoActiveTransaction, message));
    }
    let snapshot = context.snapshot();
    let mut meant: Vec<TableId> = Vec::new();
    for name in names {
        meant.extend(deferrable_named(context, &snapshot, name, time)?);
    }
    drop(snapshot);
    if !context.is_in_transaction() {
        return done;
    }
    let snapshot = context.fixed_snapshot();
    let mut writes = context.take_writes();
    writes.set_check_time((!names.is_empty()).then_some(&meant), time);
    if time == CheckTime::Immediate {
        writes.check_deferred(false, snapshot.as_ref()).await?;
    }
    context.put_writes(writes);
    done
}

/// The deferrable foreign keys with a name: those of the first schema of the search path that has some.
fn deferrable_named(
    context: &StatementContext,
    catalog: &Catalog,
    name: &ObjectName,
    time: CheckTime,
) -> Result<Vec<TableId>, EngineError> {
    let (schema, name) = table_parts(name, context.database_name())?;
    let searched: Vec<String> = match schema {
        Some(schema) if context.schema_of_users(catalog, &schema)?.is_none() => return Err(no_schema(&schema)),
        Some(schema) => vec![schema],
        None => context.search_path_in(catalog).searched().map(str::to_owned).collect(),
    };
    for schema in searched {
        let Some(schema) = context.schema_of_users(catalog, &schema)? else { continue };
        let tables: Vec<&Arc<TableDef>> =
            catalog.tables().map(|table| &table.def).filter(|def| def.schema == schema).collect();
        let keys: Vec<&Arc<ForeignKeyDef>> = tables.iter().filter_map(|def| def.foreign_key(&name)).collect();
        let has_others = tables.iter().any(|def| def.foreign_key(&name).is_none() && has_constraint(def, &name));
        let is_fixed = has_others || keys.iter().any(|key| key.deferral == Deferral::NotDeferrable);
        if time == CheckTime::Deferred && is_fixed {
            let message = format!("constraint \"{name}\" is not deferrable");
            return Err(EngineError::new(SqlState::WrongObjectType, message));
        }
        if has_others || !keys.is_empty() {
            return Ok(keys.into_iter().map(|key| key.id).collect());
        }
    }
    Err(EngineError::new(SqlState::UndefinedObject, format!("constraint \"{name}\" does not exist")))
}

fn has_constraint(def: &TableDef, name: &str) -> bool {
    constraint_names(def).any(|known| known == name)
}

async fn alter_constraint(
    context: &StatementContext,
    (table, if_exists): (&ObjectName, bool),
    name: &Ident,
    characteristics: Option<&ConstraintCharacteristics>,
) -> Result<Outcome, EngineError> {
    context.settle_writes().await?;
    let states = context.states();
    let name = fold(name);
    let def = match named_table(context, &states.1, table)? {
        Named::Nothing(_, table) | Named::NoSchema(_, table) if if_exists => {
            let what = format!("relation \"{table}\" does not exist");
            context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &what));
            return Ok(Outcome::done("ALTER TABLE"));
        }
        named => named.into_altered()?,
    };
    let mut altered = TableDef::clone(&def);
    let Some(key) = altered.foreign_keys.iter_mut().find(|key| key.name == name) else {
        let table = &def.name;
        return Err(match has_constraint(&def, &name) {
            true => {
                let message = format!("constraint \"{name}\" of relation \"{table}\" is not a foreign key constraint");
                EngineError::new(SqlState::WrongObjectType, message)
            }
            false => {
                let message = format!("constraint \"{name}\" of relation \"{table}\" does not exist");
                EngineError::new(SqlState::UndefinedObject, message)
            }
        });
    };
    *key = Arc::new(ForeignKeyDef { deferral: deferral_of(characteristics)?, ..ForeignKeyDef::clone(key) });
    context.alter_table(&states, (altered, AlteredRows::Kept), |_, _| Ok(())).await?;
    drop(states);
    context.keep_changes().await?;
    Ok(Outcome::done("ALTER TABLE"))
}
