//! Queries whose rows are stored in a table: the casts of an assignment on top, as PostgreSQL's INSERT adds them.
//!
//! A literal of a select list is read by the input function of its column. In plain VALUES so is each literal of each row, whatever
//! stands in the other rows.

use sqlparser::ast::{Ident, Query as Syntax, Values};

use super::Target;
use super::subqueries::column_expression;
use crate::binder::Binder;
use crate::binder::clause::Clause;
use crate::binder::places::Place;
use crate::binder::query::scope::Scope;
use crate::expression::Expression;
use crate::pg_catalog::CastContext;
use crate::relation::{Query, Relation};
use crate::syntax::plain_values;
use crate::types::type_names::format_type;
use crate::{SqlError, SqlState, SqlType};

/// A column that values are stored in.
#[derive(Clone, Debug)]
pub struct AssignedColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub sql_type: SqlType,
    /// The name in the statement's list of columns, if it has one.
    pub listed: Option<Ident>,
}

impl Binder<'_> {
    /// A query whose columns are cast to those of a table. Without a list of columns it may have fewer.
    ///
    /// # Errors
    /// A type that no assignment cast fits (42804), and a number of columns that does not (42601).
    pub fn assigned_query(&self, syntax: &Syntax, columns: &[AssignedColumn]) -> Result<Query, SqlError> {
        self.statement.row_names.note(syntax);
        let query = match plain_values(syntax) {
            Some(values) => self.assigned_values(values, columns)?,
            None => {
                let pending = self.pending_query(syntax, Scope::within(self))?;
                let extra = pending.targets.get(columns.len()).map(|extra| extra.place);
                self.check_width(extra, pending.targets.len(), columns)?;
                let targets = pending.targets.into_iter().zip(columns).map(|(target, column)| {
                    let expression = self.assigned(target.expression, target.place, column)?;
                    Ok(Target { expression, name: column.name.clone(), place: target.place })
                });
                self.computed_columns(pending.relation, targets.collect::<Result<Vec<_>, SqlError>>()?)
            }
        };
        self.statement.note_unknown_in(&query.relation);
        Ok(query)
    }

    /// Rows whose members are each cast by themselves.
    fn assigned_values(&self, values: &Values, columns: &[AssignedColumn]) -> Result<Query, SqlError> {
        let scope = Scope::within(self);
        let binder = self.in_scope(&scope, Clause::Values);
        let width = values.rows.first().map_or(0, |row| row.content.len());
        let mut rows = Vec::with_capacity(values.rows.len());
        for row in values.rows.iter().map(|row| &row.content) {
            if row.len() != width {
                let error = SqlError::new(SqlState::SyntaxError, "VALUES lists must all be the same length");
                return Err(self.places.mark(error, row.first().map_or(Place::Nowhere, Place::Start)));
            }
            self.check_width(row.get(columns.len()).map(Place::Start), width, columns)?;
            let members = row
                .iter()
                .zip(columns)
                .map(|(member, column)| binder.assigned(binder.expression(member)?, Place::Start(member), column));
            rows.push(members.collect::<Result<Vec<Expression>, SqlError>>()?);
        }
        Ok(match <[Vec<Expression>; 1]>::try_from(rows) {
            Ok([row]) => self.one_row(row, columns),
            Err(rows) => self.many_rows(rows, &columns[..width]),
        })
    }

    fn one_row(&self, row: Vec<Expression>, columns: &[AssignedColumn]) -> Query {
        let targets = row.into_iter().zip(columns).map(|(expression, column)| Target {
            name: column.name.clone(),
            expression,
            place: Place::Nowhere,
        });
        self.computed_columns(Relation::OneRow, targets.collect())
    }

    fn many_rows(&self, rows: Vec<Vec<Expression>>, columns: &[AssignedColumn]) -> Query {
        let (mut made, mut targets) = (Vec::new(), Vec::new());
        for AssignedColumn { name, sql_type, .. } in columns {
            let column = self.new_column(name, *sql_type);
            made.push(column);
            let expression = column_expression(column, *sql_type);
            targets.push(Target { name: name.clone(), expression, place: Place::Nowhere });
        }
        self.computed_columns(Relation::Values { columns: made, rows }, targets)
    }

    /// A value as it is stored in a column.
    fn assigned(&self, value: Expression, place: Place<'_>, column: &AssignedColumn) -> Result<Expression, SqlError> {
        let coerced = self.coerced(value, place, column.sql_type, CastContext::Assignment)?;
        coerced.map_err(|refused| {
            let message = format!(
                "column \"{}\" is of type {} but expression is of type {}",
                column.name,
                format_type(SqlType::of(column.sql_type.id)),
                format_type(SqlType::of(refused.sql_type.id))
            );
            let error = SqlError::new(SqlState::DatatypeMismatch, message);
            self.places.mark(error.with_hint("You will need to rewrite or cast the expression."), place)
        })
    }

    /// `extra` is the place of the first value that has no column.
    fn check_width(&self, extra: Option<Place<'_>>, width: usize, columns: &[AssignedColumn]) -> Result<(), SqlError> {
        let syntax_error = |message| SqlError::new(SqlState::SyntaxError, message);
        if let Some(place) = extra {
            let error = syntax_error("INSERT has more expressions than target columns");
            return Err(self.places.mark(error, place));
        }
        match columns.get(width).and_then(|column| column.listed.as_ref()) {
            Some(name) => {
                let error = syntax_error("INSERT has more target columns than expressions");
                Err(self.places.mark(error, Place::At(name.span.start)))
            }
            None => Ok(()),
        }
    }
}
