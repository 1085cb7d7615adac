//! UPDATE.

use braid_sql::SqlType;
use sqlparser::ast::{Update, UpdateTableFromKind, With};

use super::changed_rows::{Change, Changed, ChangedRows, Part, Target};
use super::changes::Changes;
use super::new_values::NewValues;
use crate::bound_parameters::BoundParameters;
use crate::front_end::{self, DescribedPart, PartQuery, StatementTables};
use crate::interrupt::Interrupt;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, Statement};

/// `[WITH …] UPDATE t SET … [FROM …] [WHERE …]`
pub(crate) async fn update(
    context: &StatementContext,
    statement: &Statement,
    (with, update): (Option<&With>, &Update),
    parameters: &BoundParameters,
    interrupt: &Interrupt,
) -> Result<Outcome, EngineError> {
    let target = target(context, update)?;
    let changed = rows(&target, with, update)?.change(context, statement, parameters).await?;
    Ok(changed.outcome(context, interrupt, "UPDATE"))
}

/// Adds an UPDATE to the changes of its statement; `None` as in [`ChangedRows::find`].
pub(super) async fn find(
    part: Part<'_>,
    (with, update): (Option<&With>, &Update),
    changes: &mut Changes,
) -> Result<Option<Changed>, EngineError> {
    let target = target(part.context, update)?;
    rows(&target, with, update)?.find(part, changes).await
}

/// What is known of it as a part of a statement.
pub(super) async fn describe(
    (context, statement): (&StatementContext, &Statement),
    (with, update): (Option<&With>, &Update),
    tables: &StatementTables,
    declared: &[Option<SqlType>],
) -> Result<DescribedPart, EngineError> {
    let target = target(context, update)?;
    let stored_in = rows(&target, with, update)?.stored_in()?;
    front_end::describe_part(context, statement, PartQuery::Stored(&stored_in), tables, declared).await
}

/// The types of an UPDATE's parameters, and the columns of RETURNING.
pub(crate) async fn prepare_update(
    context: &StatementContext,
    statement: &Statement,
    (with, update): (Option<&With>, &Update),
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    let target = target(context, update)?;
    let stored_in = rows(&target, with, update)?.stored_in()?;
    front_end::describe_stored(context, statement, &stored_in, declared).await
}

fn rows<'a>(target: &'a Target, with: Option<&'a With>, update: &'a Update) -> Result<ChangedRows<'a>, EngineError> {
    let mut others = match &update.from {
        Some(UpdateTableFromKind::AfterSet(tables)) => tables.clone(),
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return Err(EngineError::unsupported("FROM before SET is not supported"));
        }
        None => Vec::new(),
    };
    let NewValues { values, sources } = NewValues::of(target, &update.assignments)?;
    others.extend(sources);
    let change = Change::Replace(values);
    let (condition, returning) = (update.selection.clone(), update.returning.as_deref());
    Ok(ChangedRows { target, with, others, condition, change, returning })
}

/// Refuses clauses that are not supported.
fn target(context: &StatementContext, update: &Update) -> Result<Target, EngineError> {
    let refused = [
        (update.output.is_some(), "UPDATE … OUTPUT"),
        (!update.order_by.is_empty() || update.limit.is_some(), "UPDATE … LIMIT"),
        (update.or.is_some(), "UPDATE OR …"),
    ];
    match refused.iter().find(|(given, _)| *given) {
        Some((_, what)) => Err(EngineError::unsupported(format!("{what} is not supported"))),
        None => Target::of(context, &update.table),
    }
}
