//! UPDATE.

use sqlparser::ast::{AssignmentTarget, Expr, Ident, ObjectName, Update, UpdateTableFromKind, With};

use super::changed_rows::{ChangedRows, Target};
use super::identities::Identities;
use super::values::{is_default, spell_out_default};
use crate::bound_parameters::BoundParameters;
use crate::front_end;
use crate::names::fold;
use crate::statement_context::StatementContext;
use crate::{EngineError, Outcome, ParameterType, Prepared, SqlState, Statement};

/// `[WITH …] UPDATE t SET … [FROM …] [WHERE …]`
pub(crate) async fn update(
    context: &StatementContext,
    statement: &Statement,
    (with, update): (Option<&With>, &Update),
    parameters: &BoundParameters,
) -> Result<Outcome, EngineError> {
    let target = target(context, update)?;
    let count = rows(&target, with, update)?.change(context, statement, parameters).await?;
    Ok(Outcome::done(format!("UPDATE {count}")))
}

/// The types of an UPDATE's parameters.
pub(crate) async fn prepare_update(
    context: &StatementContext,
    statement: &Statement,
    (with, update): (Option<&With>, &Update),
    declared: &[Option<ParameterType>],
) -> Result<Prepared, EngineError> {
    let target = target(context, update)?;
    let stored_in = rows(&target, with, update)?.stored_in()?;
    let parameter_types = front_end::insert_parameters(context, statement, &stored_in, declared).await?;
    Ok(Prepared { parameter_types, schema: None })
}

fn rows<'a>(target: &'a Target, with: Option<&With>, update: &Update) -> Result<ChangedRows<'a>, EngineError> {
    let others = match &update.from {
        Some(UpdateTableFromKind::AfterSet(tables)) => tables.clone(),
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return Err(EngineError::unsupported("FROM before SET is not supported"));
        }
        None => Vec::new(),
    };
    let values = new_values(target, update)?;
    Ok(ChangedRows { target, with: with.cloned(), others, condition: update.selection.clone(), values })
}

/// The new value of each column: that of its assignment, or its own.
fn new_values(target: &Target, update: &Update) -> Result<Vec<Expr>, EngineError> {
    let mut values: Vec<Option<Expr>> = vec![None; target.def.columns.len()];
    for assignment in &update.assignments {
        for (name, value) in assigned(&assignment.target, &assignment.value)? {
            let at = position(target, name)?;
            let mut value = value.clone();
            spell_out_default(&mut value, &target.def.columns[at])?;
            if values[at].replace(value).is_some() {
                let message = format!("multiple assignments to same column \"{}\"", target.def.columns[at].name);
                return Err(EngineError::new(SqlState::SyntaxError, message));
            }
        }
    }
    Ok(values.into_iter().enumerate().map(|(at, value)| value.unwrap_or_else(|| target.column(at))).collect())
}

/// The columns of an assignment with their values.
fn assigned<'a>(target: &'a AssignmentTarget, value: &'a Expr) -> Result<Vec<(&'a ObjectName, &'a Expr)>, EngineError> {
    match (target, value) {
        (AssignmentTarget::ColumnName(name), value) => Ok(vec![(name, value)]),
        (AssignmentTarget::Tuple(names), Expr::Tuple(values)) if names.len() == values.len() => {
            Ok(names.iter().zip(values).collect())
        }
        (AssignmentTarget::Tuple(names), Expr::Nested(value)) if names.len() == 1 => Ok(vec![(&names[0], value)]),
        (AssignmentTarget::Tuple(_), Expr::Tuple(_)) => {
            Err(EngineError::new(SqlState::SyntaxError, "number of columns does not match number of values"))
        }
        (AssignmentTarget::Tuple(_), _) => {
            Err(EngineError::unsupported("an assignment of a row or a subquery to several columns is not supported"))
        }
    }
}

fn position(target: &Target, name: &ObjectName) -> Result<usize, EngineError> {
    let parts: Vec<&Ident> = name.0.iter().filter_map(|part| part.as_ident()).collect();
    let [ident] = parts[..] else {
        return Err(EngineError::unsupported(format!("an assignment to {name} is not supported")));
    };
    let column = fold(ident);
    target.def.columns.iter().position(|known| known.name == column).ok_or_else(|| {
        let message = format!("column \"{column}\" of relation \"{}\" does not exist", target.def.name);
        EngineError::new(SqlState::UndefinedColumn, message)
    })
}

/// Refuses values for columns whose values are always generated.
fn check_identities(context: &StatementContext, target: &Target, update: &Update) -> Result<(), EngineError> {
    let identities = Identities::of(&context.snapshot(), &target.def);
    for assignment in &update.assignments {
        for (name, _) in assigned(&assignment.target, &assignment.value)?.iter().filter(|(_, value)| !is_default(value))
        {
            identities.check_updated(&target.def, position(target, name)?)?;
        }
    }
    Ok(())
}

/// Refuses clauses that are not supported.
fn target(context: &StatementContext, update: &Update) -> Result<Target, EngineError> {
    let refused = [
        (update.returning.is_some() || update.output.is_some(), "UPDATE … RETURNING"),
        (!update.order_by.is_empty() || update.limit.is_some(), "UPDATE … LIMIT"),
        (update.or.is_some(), "UPDATE OR …"),
    ];
    match refused.iter().find(|(given, _)| *given) {
        Some((_, what)) => Err(EngineError::unsupported(format!("{what} is not supported"))),
        None => {
            let target = Target::of(context, &update.table)?;
            check_identities(context, &target, update)?;
            Ok(target)
        }
    }
}
