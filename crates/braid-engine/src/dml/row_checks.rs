//! What rows must satisfy before they are stored: the constraints of domains, NOT NULL and CHECK.
//!
//! As in PostgreSQL the first row that violates something fails the statement, with what it violates first: domains before NOT NULL,
//! NOT NULL before CHECK, and check constraints by their names. The error shows the row, but for domains.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use braid_storage::{CheckDef, TableDef};
use sqlparser::ast::Expr;
use sqlparser::parser::Parser;

use super::domain_checks::DomainChecks;
use crate::error_mapping::null_violation;
use crate::front_end::{RejectedRow, RowCondition, StatementFacts};
use crate::statement::SqlDialect;
use crate::statement_context::StatementContext;
use crate::stored_row::shown_row;
use crate::{EngineError, SqlState};

/// The constraints of a table, bound for a statement.
pub(crate) struct RowChecks {
    context: StatementContext,
    def: Arc<TableDef>,
    /// By name.
    checks: Vec<(String, RowCondition)>,
    /// Of the columns of domains, by their places.
    domains: Vec<(usize, DomainChecks)>,
}

impl RowChecks {
    /// The constraints of a table.
    ///
    /// # Errors
    /// When a condition cannot be bound any more.
    pub fn of(context: &StatementContext, def: &Arc<TableDef>) -> Result<Self, EngineError> {
        let bound = def.checks.iter().map(|check| Ok((check.name.clone(), bound_check(context, def, check)?)));
        let mut checks = bound.collect::<Result<Vec<_>, EngineError>>()?;
        checks.sort_by(|(a, _), (b, _)| a.cmp(b));
        let domains = domains_of(context, def)?;
        Ok(Self { context: context.clone(), def: def.clone(), checks, domains })
    }

    /// The first of so many rows of the table that violates something.
    ///
    /// # Errors
    /// Those of the conditions.
    pub fn rejected(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<RejectedRow>, EngineError> {
        let null = self.first_null(columns);
        let before = null.as_ref().map_or(row_count, |rejected| rejected.row);
        let own = self.first_violation(columns, before)?.or(null);
        // Values are cast to their domains before the row is looked at.
        let up_to = own.as_ref().map_or(row_count, |rejected| rejected.row + 1);
        Ok(self.first_of_domains(columns, up_to)?.or(own))
    }

    /// The first of so many rows with a value that its domain forbids, in the columns that are not generated.
    ///
    /// # Errors
    /// Those of the conditions.
    pub fn first_of_given_domains(
        &self,
        columns: &[ArrayRef],
        row_count: usize,
    ) -> Result<Option<RejectedRow>, EngineError> {
        let is_given = |at: usize| self.def.columns[at].generated.is_none();
        self.first_of(columns, row_count, is_given)
    }

    fn first_of_domains(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<RejectedRow>, EngineError> {
        self.first_of(columns, row_count, |_| true)
    }

    /// The first row with a value that its domain forbids, in some columns.
    fn first_of(
        &self,
        columns: &[ArrayRef],
        row_count: usize,
        is_meant: impl Fn(usize) -> bool,
    ) -> Result<Option<RejectedRow>, EngineError> {
        let mut first: Option<RejectedRow> = None;
        for (at, checks) in self.domains.iter().filter(|(at, _)| is_meant(*at)) {
            let rows = first.as_ref().map_or(row_count, |rejected| rejected.row);
            let found = checks.first_violation(&columns[*at], rows)?;
            let found = found.map(|(row, violation)| RejectedRow { row, error: checks.error(violation) });
            first = found.or(first);
        }
        Ok(first)
    }

    fn first_null(&self, columns: &[ArrayRef]) -> Option<RejectedRow> {
        let not_null = self.def.columns.iter().zip(columns).filter(|(column, _)| !column.nullable);
        let nulls = not_null.filter_map(|(column, array)| {
            let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0)?;
            (0..array.len()).find(|row| nulls.is_null(*row)).map(|row| (row, column))
        });
        // Of several columns of one row it is the first.
        let (row, column) = nulls.min_by_key(|(row, _)| *row)?;
        let error = null_violation(self.def.schema, &self.def.name, &column.name);
        let error = error.with_detail(self.detail(columns, row));
        Some(RejectedRow { row, error })
    }

    fn first_violation(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<RejectedRow>, EngineError> {
        let mut first: Option<(usize, &str)> = None;
        for (name, condition) in &self.checks {
            // An earlier row than that of the constraint before.
            let rows = first.map_or(row_count, |(row, _)| row);
            first = condition.first_violation(columns, rows)?.map(|row| (row, name.as_str())).or(first);
        }
        Ok(first.map(|(row, name)| {
            let table = &self.def.name;
            let message = format!("new row for relation \"{table}\" violates check constraint \"{name}\"");
            let error = EngineError::new(SqlState::CheckViolation, message)
                .with_detail(self.detail(columns, row))
                .about_constraint(self.def.schema, table, name);
            RejectedRow { row, error }
        }))
    }

    /// The name of a constraint among `names` that a row violates.
    ///
    /// # Errors
    /// Those of the conditions.
    pub fn violated(&self, names: &[String], batch: &RecordBatch) -> Result<Option<&str>, EngineError> {
        for (name, condition) in self.checks.iter().filter(|(name, _)| names.contains(name)) {
            if condition.first_violation(batch.columns(), batch.num_rows())?.is_some() {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    fn detail(&self, columns: &[ArrayRef], row: usize) -> String {
        format!("Failing row contains {}.", shown_row(&self.def, columns, row, &StatementFacts::of(&self.context)))
    }
}

/// The constraints of the domains of a table's columns, by their places.
fn domains_of(context: &StatementContext, def: &TableDef) -> Result<Vec<(usize, DomainChecks)>, EngineError> {
    if def.columns.iter().all(|column| column.domain.is_none()) {
        return Ok(Vec::new());
    }
    let snapshot = context.snapshot();
    let of_domain = def.columns.iter().enumerate().filter_map(|(at, column)| Some((at, column.domain?)));
    let known = of_domain.filter_map(|(at, domain)| Some((at, snapshot.domain(domain.oid)?)));
    let checks = known.map(|(at, known)| Ok((at, DomainChecks::of(context, known)?)));
    let checks = checks.collect::<Result<Vec<_>, EngineError>>()?;
    Ok(checks.into_iter().filter(|(_, checks)| !checks.is_empty()).collect())
}

/// A check constraint, bound.
///
/// # Errors
/// Those of its condition.
pub(crate) fn bound_check(
    context: &StatementContext,
    def: &Arc<TableDef>,
    check: &CheckDef,
) -> Result<RowCondition, EngineError> {
    let bound = RowCondition::bind(context, def, &check.condition, &check_syntax(check)?);
    // The text is not the client's.
    bound.map_err(EngineError::without_position)
}

/// Checks that a new constraint means the same in the session's formats and in those in which it is kept.
///
/// # Errors
/// Those of the condition, and 0A000.
pub(crate) fn check_reads_alike(
    context: &StatementContext,
    def: &Arc<TableDef>,
    check: &CheckDef,
) -> Result<(), EngineError> {
    let checked = RowCondition::check_reads_alike(context, def, &check.condition, &check_syntax(check)?);
    checked.map_err(EngineError::without_position)
}

/// The syntax of a constraint's condition.
///
/// # Errors
/// When it does not parse.
pub(crate) fn check_syntax(check: &CheckDef) -> Result<Expr, EngineError> {
    let text = &check.condition;
    let parsed = Parser::new(&SqlDialect::for_text(text)).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|error| {
        EngineError::internal(format!("the condition of constraint \"{}\" does not parse: {error}", check.name))
    })
}
