//! The new values of rows: SET.
//!
//! `SET (a, b) = (SELECT …)` becomes a further item of FROM, which the binder knows by its name ([`VALUE_SOURCE`]): the query is evaluated
//! once for each row.

use braid_sql::syntax::{ROW, WHOLE_ROW};
use braid_sql::tables::VALUE_SOURCE;
use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr, Ident, ObjectName, Query, TableAlias, TableAliasColumnDef, TableFactor,
    TableWithJoins,
};

use super::changed_rows::Target;
use super::values::{is_default, spell_out_default};
use crate::names::fold;
use crate::{EngineError, SqlState};

/// The new values of all columns of a table.
pub(super) struct NewValues {
    /// For each column that of its assignment, or its own.
    pub values: Vec<Expr>,
    /// The queries that give several values.
    pub sources: Vec<TableWithJoins>,
}

impl NewValues {
    /// Those of the assignments of SET.
    ///
    /// # Errors
    /// For a column that is none, is assigned twice, or whose values are always generated, and a number of values that does not fit.
    pub fn of(target: &Target, assignments: &[Assignment]) -> Result<Self, EngineError> {
        let mut sources = Vec::new();
        let mut values: Vec<Option<Expr>> = vec![None; target.def.columns.len()];
        for assignment in assignments {
            for (name, mut value) in assigned(&assignment.target, &assignment.value, &mut sources)? {
                let at = position(target, name)?;
                if !is_default(&value) {
                    target.identities.check_updated(&target.def, at)?;
                }
                spell_out_default(&mut value, &target.def.columns[at], &target.defaults)?;
                if values[at].replace(value).is_some() {
                    let message = format!("multiple assignments to same column \"{}\"", target.def.columns[at].name);
                    return Err(EngineError::new(SqlState::SyntaxError, message));
                }
            }
        }
        let values = values.into_iter().enumerate();
        let values = values.map(|(at, value)| value.unwrap_or_else(|| target.column(at))).collect();
        Ok(Self { values, sources })
    }
}

/// The columns of an assignment with their values.
fn assigned<'a>(
    target: &'a AssignmentTarget,
    value: &Expr,
    sources: &mut Vec<TableWithJoins>,
) -> Result<Vec<(&'a ObjectName, Expr)>, EngineError> {
    let names = match target {
        AssignmentTarget::ColumnName(name) => return Ok(vec![(name, value.clone())]),
        AssignmentTarget::Tuple(names) => names,
    };
    match value {
        Expr::Tuple(values) => paired(names, values),
        Expr::Prefixed { prefix, value } if prefix.value == ROW => match &**value {
            Expr::Tuple(values) => paired(names, values),
            value => paired(names, std::slice::from_ref(value)),
        },
        Expr::Nested(value) if names.len() == 1 => Ok(vec![(&names[0], (**value).clone())]),
        Expr::Subquery(query) => {
            let (source, columns) = value_source(query, sources.len(), names.len());
            sources.push(source);
            Ok(names.iter().zip(columns).collect())
        }
        _ => {
            let message = "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
            Err(EngineError::unsupported(message))
        }
    }
}

fn paired<'a>(names: &'a [ObjectName], values: &[Expr]) -> Result<Vec<(&'a ObjectName, Expr)>, EngineError> {
    let is_star = |value: &Expr| match value {
        Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|last| last.value == WHOLE_ROW),
        _ => false,
    };
    match names.len() == values.len() {
        _ if values.iter().any(is_star) => {
            Err(EngineError::unsupported("ROW(t.*) as values of columns is not supported"))
        }
        true => Ok(names.iter().zip(values.iter().cloned()).collect()),
        false => Err(EngineError::new(SqlState::SyntaxError, "number of columns does not match number of values")),
    }
}

/// A query as an item of FROM, and its columns.
fn value_source(query: &Query, number: usize, width: usize) -> (TableWithJoins, Vec<Expr>) {
    let quoted = |name: String| Ident::with_quote('"', name);
    let name = quoted(format!("{VALUE_SOURCE}{number}"));
    let names: Vec<Ident> = (0..width).map(|at| quoted(format!("{VALUE_SOURCE}{at}"))).collect();
    let columns = names.iter().map(|own| Expr::CompoundIdentifier(vec![name.clone(), own.clone()])).collect();
    let column = |name| TableAliasColumnDef { name, data_type: None };
    let alias = TableAlias { explicit: true, name, columns: names.into_iter().map(column).collect(), at: None };
    let subquery = Box::new(query.clone());
    let relation = TableFactor::Derived { lateral: true, subquery, alias: Some(alias), sample: None };
    (TableWithJoins { relation, joins: Vec::new() }, columns)
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
