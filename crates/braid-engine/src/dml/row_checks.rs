//! What rows must satisfy before they are stored: NOT NULL and CHECK.
//!
//! As in PostgreSQL the first row that violates something fails the statement, with what it violates first: NOT NULL before CHECK, and
//! check constraints by their names. The error shows the row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch};
use braid_storage::{CheckDef, TableDef};
use sqlparser::ast::Expr;
use sqlparser::parser::Parser;

use crate::error_mapping::null_violation;
use crate::front_end::{RowCondition, StatementFacts};
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
}

/// A row that cannot be stored.
pub(crate) struct RejectedRow {
    /// Its place in the batch.
    pub row: usize,
    /// Why.
    pub error: EngineError,
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
        Ok(Self { context: context.clone(), def: def.clone(), checks })
    }

    /// The first of so many rows of the table that violates something.
    ///
    /// # Errors
    /// Those of the conditions.
    pub fn rejected(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<RejectedRow>, EngineError> {
        let null = self.first_null(columns);
        let before = null.as_ref().map_or(row_count, |rejected| rejected.row);
        Ok(self.first_violation(columns, before)?.or(null))
    }

    fn first_null(&self, columns: &[ArrayRef]) -> Option<RejectedRow> {
        let not_null = self.def.columns.iter().zip(columns).filter(|(column, _)| !column.nullable);
        let nulls = not_null.filter_map(|(column, array)| {
            let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0)?;
            (0..array.len()).find(|row| nulls.is_null(*row)).map(|row| (row, column))
        });
        // Of several columns of one row it is the first.
        let (row, column) = nulls.min_by_key(|(row, _)| *row)?;
        let schema = self.context.schema_name(self.def.schema);
        let error = null_violation(&self.def.name, &column.name)
            .about_column(&schema, &self.def.name, &column.name)
            .with_detail(self.detail(columns, row));
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
                .about_constraint(&self.context.schema_name(self.def.schema), table, name);
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

/// A check constraint, bound.
///
/// # Errors
/// Those of its condition.
pub(crate) fn bound_check(
    context: &StatementContext,
    def: &Arc<TableDef>,
    check: &CheckDef,
) -> Result<RowCondition, EngineError> {
    RowCondition::bind(context, def, &check.condition, &check_syntax(check)?)
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
