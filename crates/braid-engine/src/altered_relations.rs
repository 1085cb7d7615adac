//! ALTER TABLE of any relation. PostgreSQL renames views with it, too, and refuses the actions that only tables have.

use braid_sql::syntax::column_change;
use sqlparser::ast::{AlterColumnOperation, AlterTable, AlterTableOperation, ObjectName, RenameTableNameKind};

use crate::names::fold;
use crate::notices::Notice;
use crate::statement_context::StatementContext;
use crate::table_names::{Named, named_table};
use crate::{EngineError, Outcome, SqlState, Statement, sequences, table, views};

/// `ALTER TABLE [IF EXISTS] [ONLY] t …`
///
/// # Errors
/// For a relation that does not exist or is none of users', for what its actions are refused for, and what writing and commits fail with.
/// Nothing is changed then.
pub(crate) async fn alter_relation(
    context: &StatementContext,
    statement: &Statement,
    alter: &AlterTable,
) -> Result<Outcome, EngineError> {
    if alter.location.is_some() || alter.on_cluster.is_some() || alter.table_type.is_some() {
        return Err(EngineError::unsupported("this form of ALTER TABLE is not supported"));
    }
    context.settle_writes().await?;
    let states = context.states();
    let named = named_table(context, &states.1, &alter.name)?;
    if let Some(outcome) = alter_other(context, (&named, &alter.name), &alter.operations).await? {
        return Ok(outcome);
    }
    let def = match named {
        Named::Nothing(_, table) | Named::NoSchema(_, table) if alter.if_exists => {
            let what = format!("relation \"{table}\" does not exist");
            context.raise(Notice::skipping(SqlState::SuccessfulCompletion, &what));
            return Ok(Outcome::done("ALTER TABLE"));
        }
        named => named.into_altered()?,
    };
    table::alter_table(context, statement, alter, (states, def)).await
}

/// ALTER INDEX … RENAME TO, of any relation.
///
/// # Errors
/// As [`alter_relation`].
pub(crate) async fn rename_index(
    context: &StatementContext,
    statement: &Statement,
    rename: &AlterTable,
) -> Result<Outcome, EngineError> {
    alter_relation(context, statement, rename).await?;
    Ok(Outcome::done("ALTER INDEX"))
}

/// Alters a view, a sequence or an index; `None` if the name means something else.
///
/// # Errors
/// For actions that only tables have (42809), and others than renaming (0A000).
async fn alter_other(
    context: &StatementContext,
    (named, written): (&Named, &ObjectName),
    actions: &[AlterTableOperation],
) -> Result<Option<Outcome>, EngineError> {
    let (name, kind) = match named {
        Named::View(view) if view.is_materialized() => (&view.name, "materialized views"),
        Named::View(view) => (&view.name, "views"),
        Named::Sequence(known) => (&known.definition.name, "sequences"),
        Named::Index(name) => (name, "indexes"),
        _ => return Ok(None),
    };
    if let Some(action) = actions.iter().find_map(action_of_tables) {
        let message = format!("ALTER action {action} cannot be performed on relation \"{name}\"");
        return Err(EngineError::new(SqlState::WrongObjectType, message)
            .with_detail(format!("This operation is not supported for {kind}.")));
    }
    match named {
        Named::View(view) => views::alter_as_table(context, view, actions).await.map(Some),
        _ => {
            let Some(new_name) = renamed_to(actions) else {
                return Err(EngineError::unsupported(format!("this form of ALTER TABLE of {kind} is not supported")));
            };
            match named {
                Named::Sequence(known) => sequences::rename_as_table(context, known, new_name).await.map(Some),
                _ => table::rename_index(context, written, &new_name).await.map(Some),
            }
        }
    }
}

/// The new name of a relation that is renamed, and nothing else.
fn renamed_to(actions: &[AlterTableOperation]) -> Option<String> {
    match actions {
        [AlterTableOperation::RenameTable { table_name: RenameTableNameKind::To(name) }] => match &name.0[..] {
            [only] => only.as_ident().map(fold),
            _ => None,
        },
        _ => None,
    }
}

/// PostgreSQL's words for an action that only tables have.
fn action_of_tables(action: &AlterTableOperation) -> Option<&'static str> {
    use AlterColumnOperation as Change;
    use AlterTableOperation as Action;
    match action {
        Action::AddColumn { .. } => Some("ADD COLUMN"),
        Action::DropColumn { .. } => Some("DROP COLUMN"),
        Action::AddConstraint { .. } => Some("ADD CONSTRAINT"),
        Action::DropConstraint { .. } => Some("DROP CONSTRAINT"),
        Action::ValidateConstraint { .. } => Some("VALIDATE CONSTRAINT"),
        Action::AlterColumn { op, .. } => match op {
            Change::SetNotNull => Some("ALTER COLUMN ... SET NOT NULL"),
            Change::DropNotNull => Some("ALTER COLUMN ... DROP NOT NULL"),
            Change::SetDataType { .. } => Some("ALTER COLUMN ... SET DATA TYPE"),
            Change::AddGenerated { .. } => Some("ALTER COLUMN ... ADD IDENTITY"),
            Change::SetDefault { value } => column_change(value).and_then(words_of_change),
            Change::DropDefault => None,
        },
        _ => None,
    }
}

/// The same of a change of a generated or identity column. Views may have the latter in PostgreSQL's grammar of ALTER TABLE.
fn words_of_change(change: &str) -> Option<&'static str> {
    let change = change.to_ascii_lowercase();
    let words: Vec<&str> = change.split_whitespace().take(2).collect();
    (words == ["drop", "expression"]).then_some("ALTER COLUMN ... DROP EXPRESSION")
}
