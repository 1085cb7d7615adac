//! ALTER TABLE: columns are added, dropped, renamed, and get other types, defaults and NOT NULL; so are keys and check constraints; tables are
//! renamed.
//!
//! The actions of a statement make one new definition, in PostgreSQL's passes: what drops comes first, then changes of types, then
//! new columns, then constraints, NOT NULL, defaults, and last what identity columns change. Rows are rewritten only where their values change; all else changes the definition alone
//! ([`braid_storage::WriteSet::alter_table`]).
//!
//! | module | contents |
//! |---|---|
//! | [`passes`] | the actions in PostgreSQL's order |
//! | [`altered_table`] | the new definition, and how the values of its columns are made |
//! | [`column_actions`] | ADD, DROP, ALTER and RENAME of columns |
//! | [`constraint_actions`] | ADD, DROP, RENAME and VALIDATE of constraints |
//! | [`foreign_keys`] | FOREIGN KEY of a table that is there |
//! | [`check_literals`] | the types of strings in check constraints |
//! | [`column_types`] | ALTER COLUMN … TYPE |
//! | [`generated_columns`] | DROP EXPRESSION, and what becomes of generated columns |
//! | [`own_sequences`] | identity columns, and new columns with sequences |
//! | [`view_columns`] | columns that views and generated columns read |
//! | [`rewriting`] | the rows with their new values |

mod altered_table;
mod check_literals;
mod column_actions;
mod column_types;
mod constraint_actions;
mod foreign_keys;
mod generated_columns;
mod own_sequences;
mod passes;
mod rewriting;
mod view_columns;

use std::sync::Arc;

use braid_storage::{Catalog, TableDef, WriteSet};
use sqlparser::ast::{AlterTable, AlterTableOperation, DropBehavior, ObjectName, RenameTableNameKind, TableConstraint};

use super::definition::written_check;
use super::foreign_keys::{WrittenForeignKey, drop_references};
use super::keys::{PlainKeys, WrittenKey};
use crate::dependents::Behavior;
use crate::names::fold;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, SqlState, Statement};
use altered_table::AlteredTable;
pub(crate) use column_actions::definition_with_renamed_column;
use foreign_keys::{check_references, lock_references};
use own_sequences::alter_sequences;
use passes::in_passes;
use rewriting::altered_rows;
pub(crate) use rewriting::first_in_columns;

/// ALTER TABLE of a table as the states of the database have it.
///
/// # Errors
/// For what its actions are refused for, and what writing and commits fail with. Nothing is changed then.
pub(crate) async fn alter_table(
    context: &StatementContext,
    statement: &Statement,
    alter: &AlterTable,
    (states, def): ((Arc<Catalog>, Arc<Catalog>), Arc<TableDef>),
) -> Result<Outcome, EngineError> {
    let unknown = || EngineError::internal("a table that was found is gone");
    let mut altered = AlteredTable::of(&states.1, states.1.by_id(def.id).ok_or_else(unknown)?);
    for action in in_passes(&alter.operations)? {
        apply(context, &mut altered, action)?;
    }
    if altered.is_changed() {
        context.define_table(&states.1, altered.definition())?;
        let rows = altered_rows(context, statement, &mut altered).await?;
        let views = std::mem::take(&mut altered.dropped_views);
        let (unchecked, rechecked) = (std::mem::take(&mut altered.unchecked), std::mem::take(&mut altered.rechecked));
        let released = std::mem::take(&mut altered.dropped_references);
        lock_references(context, &rechecked).await?;
        let sequences = std::mem::take(&mut altered.sequences);
        let change = |writes: &mut WriteSet, seen: &Arc<Catalog>| {
            writes.drop_views(seen, &views)?;
            alter_sequences(writes, seen, &sequences)
        };
        context.alter_table(&states, (altered.into_definition(), rows), change).await?;
        drop(states);
        drop_references(context, &released).await?;
        check_references(context, (def.id, &unchecked), &rechecked).await?;
        context.keep_changes().await?;
    } else if !altered.sequences.is_empty() {
        context.change_seen(&states.1, |writes, seen| alter_sequences(writes, seen, &altered.sequences)).await?;
    }
    Ok(Outcome::done("ALTER TABLE"))
}

fn apply(
    context: &StatementContext,
    altered: &mut AlteredTable,
    action: &AlterTableOperation,
) -> Result<(), EngineError> {
    use AlterTableOperation as Action;
    match action {
        Action::AddColumn { column_def, if_not_exists, column_position: None, .. } => {
            altered.add_column(context, column_def, *if_not_exists)
        }
        Action::DropColumn { column_names, if_exists, drop_behavior, .. } => {
            let behavior = Behavior::of(*drop_behavior == Some(DropBehavior::Cascade));
            column_names.iter().try_for_each(|name| altered.drop_column(context, &fold(name), *if_exists, behavior))
        }
        Action::RenameColumn { old_column_name, new_column_name } => {
            altered.rename_column(&fold(old_column_name), &fold(new_column_name))
        }
        Action::AddConstraint { constraint: TableConstraint::Check(check), not_valid } => {
            altered.add_check(context, &written_check(check, check.name.as_ref())?, !not_valid)
        }
        Action::AddConstraint { constraint: TableConstraint::PrimaryKey(key), not_valid: false } => {
            altered.add_key(context, &WrittenKey::primary(key, PlainKeys::of(&context.settings()))?)
        }
        Action::AddConstraint { constraint: TableConstraint::Unique(key), not_valid: false } => {
            altered.add_key(context, &WrittenKey::unique(key, PlainKeys::of(&context.settings()))?)
        }
        Action::AddConstraint { constraint: TableConstraint::ForeignKey(key), not_valid } => {
            altered.add_foreign_key(context, &WrittenForeignKey::of(key)?, !not_valid)
        }
        Action::DropConstraint { name, if_exists, drop_behavior } => {
            let behavior = Behavior::of(*drop_behavior == Some(DropBehavior::Cascade));
            altered.drop_constraint(context, &fold(name), *if_exists, behavior)
        }
        Action::RenameConstraint { old_name, new_name } => {
            altered.rename_constraint(context, &fold(old_name), &fold(new_name))
        }
        Action::ValidateConstraint { name } => altered.validate_constraint(&fold(name)),
        Action::RenameTable { table_name: RenameTableNameKind::To(name) } => altered.rename(new_name(name)?),
        Action::AlterColumn { column_name, op } => altered.alter_column(context, &fold(column_name), op),
        // No table has policies for its rows.
        Action::DisableRowLevelSecurity | Action::NoForceRowLevelSecurity => Ok(()),
        other => Err(EngineError::unsupported(format!("ALTER TABLE … {} is not supported", words_of(other)))),
    }
}

/// The first words of an action, for its refusal.
fn words_of(action: &AlterTableOperation) -> String {
    let text = action.to_string();
    text.split_whitespace()
        .take_while(|word| word.chars().all(|c| c.is_ascii_uppercase()))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The name that a table is to get, which has no schema.
fn new_name(name: &ObjectName) -> Result<String, EngineError> {
    match &name.0[..] {
        [part] if let Some(ident) = part.as_ident() => Ok(fold(ident)),
        _ => Err(EngineError::new(SqlState::SyntaxError, "syntax error at or near \".\"")),
    }
}
