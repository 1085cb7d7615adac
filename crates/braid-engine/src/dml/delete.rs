//! DELETE.

use braid_sql::SqlType;
use sqlparser::ast::{Delete, FromTable, With};

use super::changed_rows::{Change, Changed, ChangedRows, Part, Target};
use super::changes::Changes;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{self, DescribedPart, PartQuery, StatementTables};
use crate::interrupt::Interrupt;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement};

/// `[WITH …] DELETE FROM t [USING …] [WHERE …]`
pub(crate) async fn delete(
    context: &StatementContext,
    statement: &Statement,
    (with, delete): (Option<&With>, &Delete),
    parameters: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let target = target(context, delete)?;
    let changed = rows(&target, with, delete).change(context, statement, parameters).await?;
    Ok(changed.outcome(context, interrupt, "DELETE"))
}

/// Adds a DELETE to the changes of its statement; `None` as in [`ChangedRows::find`].
pub(super) async fn find(
    part: Part<'_>,
    (with, delete): (Option<&With>, &Delete),
    changes: &mut Changes,
) -> Result<Option<Changed>, EngineError> {
    let target = target(part.context, delete)?;
    rows(&target, with, delete).find(part, changes).await
}

/// What is known of it as a part of a statement.
pub(super) async fn describe(
    (context, statement): (&StatementContext, &Statement),
    (with, delete): (Option<&With>, &Delete),
    tables: &StatementTables,
    declared: &[Option<SqlType>],
) -> Result<DescribedPart, EngineError> {
    let target = target(context, delete)?;
    let stored_in = rows(&target, with, delete).stored_in()?;
    front_end::describe_part(context, statement, PartQuery::Stored(&stored_in), tables, declared).await
}

/// The types of a DELETE's parameters, and the columns of RETURNING.
pub(crate) async fn prepare_delete(
    context: &StatementContext,
    statement: &Statement,
    (with, delete): (Option<&With>, &Delete),
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    let target = target(context, delete)?;
    let stored_in = rows(&target, with, delete).stored_in()?;
    front_end::describe_stored(context, statement, &stored_in, declared).await
}

fn rows<'a>(target: &'a Target, with: Option<&'a With>, delete: &'a Delete) -> ChangedRows<'a> {
    let others = delete.using.clone().unwrap_or_default();
    let (condition, returning) = (delete.selection.clone(), delete.returning.as_deref());
    ChangedRows { target, with, others, condition, change: Change::Remove, returning }
}

/// Refuses clauses that are not supported.
fn target(context: &StatementContext, delete: &Delete) -> Result<Target, EngineError> {
    let refused = [
        (delete.output.is_some(), "DELETE … OUTPUT"),
        (!delete.order_by.is_empty() || delete.limit.is_some(), "DELETE … LIMIT"),
        (!delete.tables.is_empty(), "DELETE from several tables"),
    ];
    if let Some((_, what)) = refused.iter().find(|(given, _)| *given) {
        return Err(EngineError::unsupported(format!("{what} is not supported")));
    }
    match &delete.from {
        FromTable::WithFromKeyword(tables) if tables.len() == 1 => Target::of(context, &tables[0]),
        _ => Err(EngineError::unsupported("DELETE from several tables is not supported")),
    }
}
