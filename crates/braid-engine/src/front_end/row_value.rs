//! Values that are computed of a table's rows: GENERATED ALWAYS AS, bound when rows are written, and evaluated row by row.
//!
//! The text of an expression is bound anew by each statement, so that a constant in it must be the same in all sessions, at all times
//! ([`RowValue::check_constants`]). PostgreSQL keeps the constants that it has read once.

use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_catalog::column_types::{declared_type, sql_type_of};
use braid_exec::MemoryBudget;
use braid_plan::values::RowValues;
use braid_sql::binder::RowExpression;
use braid_sql::binder::Statement as BoundStatement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::functions::SessionFacts;
use braid_sql::functions::in_formats::InFormats;
use braid_sql::tables::NoTables;
use braid_sql::{Evaluation, SqlError, Value};
use braid_storage::TableDef;
use sqlparser::ast::Expr;

use super::assigned_expression::{Assigned, mismatch};
use super::other_session::OtherSession;
use super::row_condition::StoredRow;
use super::session_facts::StatementFacts;
use super::snapshot_tables::entry_of;
use crate::EngineError;
use crate::deep_stack::on_deep_stack;
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;

/// The value of a generated column.
pub(crate) struct RowValue {
    context: StatementContext,
    def: Arc<TableDef>,
    /// The place of its column.
    at: usize,
    bound: RowExpression,
    /// Expressions of its text, which bound the depth of evaluation.
    size: usize,
}

/// The values of some generated columns in rows of a table.
pub(crate) struct RowsOfValues {
    /// The values of each column, of the rows before the first that failed.
    pub columns: Vec<Vec<Value>>,
    /// The row whose value could not be computed, and why.
    pub failed: Option<(usize, SqlError)>,
}

impl RowValue {
    /// Binds `syntax`, of which `text` was parsed, for the column at a place.
    ///
    /// # Errors
    /// Those of the expression; 42P17 if it reads a generated column, or is not immutable; 54001 if it is too large.
    pub fn bind(
        context: &StatementContext,
        (def, at): (&Arc<TableDef>, usize),
        text: &str,
        syntax: &Expr,
    ) -> Result<Self, EngineError> {
        let size = StatementSize::of(syntax);
        size.check_for_planning()?;
        let facts = StatementFacts::of(context);
        let bound = bound((context, &InFormats::of_stored_texts(&facts)), (def, at), (text, syntax))?;
        Ok(Self { context: context.clone(), def: def.clone(), at, bound, size: size.expressions })
    }

    /// Checks that no constant in it depends on the session, its formats, or the time.
    ///
    /// # Errors
    /// 0A000
    pub fn check_constants(&self, text: &str, syntax: &Expr) -> Result<(), EngineError> {
        let facts = StatementFacts::of(&self.context);
        let other = OtherSession::than(&facts);
        let elsewhere = bound((&self.context, &other), (&self.def, self.at), (text, syntax));
        match elsewhere.is_ok_and(|elsewhere| elsewhere.expression == self.bound.expression) {
            true => Ok(()),
            false => {
                let name = &self.def.columns[self.at].name;
                Err(EngineError::unsupported(format!(
                    "a constant that depends on the session or the time is not supported in the generation expression of column \
                     \"{name}\""
                )))
            }
        }
    }

    /// The place of its column.
    pub fn place(&self) -> usize {
        self.at
    }

    /// The places of the columns that it reads, ascending.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = usize> {
        self.bound.columns.iter().map(|(at, _)| *at)
    }

    /// The values of some columns for so many rows of their table, row by row. The values are counted under the query's budget while they
    /// are computed.
    ///
    /// # Errors
    /// Out of memory (53200).
    pub fn values_of(
        expressions: &[Self],
        columns: &[ArrayRef],
        (row_count, budget): (usize, &Arc<dyn MemoryBudget>),
    ) -> Result<RowsOfValues, EngineError> {
        let mut values = RowsOfValues { columns: vec![Vec::with_capacity(row_count); expressions.len()], failed: None };
        let Some(first) = expressions.first() else { return Ok(values) };
        let facts = StatementFacts::of(&first.context);
        let (memory, kept) = (RowValues::new(budget), RowValues::new(budget));
        let evaluation = Evaluation::new(&facts, &[]).with_memory(&memory);
        let size = expressions.iter().map(|expression| expression.size).max().unwrap_or_default();
        on_deep_stack(size, || {
            for row in 0..row_count {
                let computed = expressions.iter().map(|own| own.value((columns, row), &evaluation));
                match computed.collect::<Result<Vec<Value>, SqlError>>() {
                    Ok(computed) => {
                        for (column, value) in values.columns.iter_mut().zip(computed) {
                            kept.add(&value)?;
                            column.push(value);
                        }
                    }
                    Err(error) => {
                        values.failed = Some((row, error));
                        return Ok(());
                    }
                }
                memory.clear();
            }
            Ok::<_, SqlError>(())
        })?;
        Ok(values)
    }

    fn value(&self, (columns, row): (&[ArrayRef], usize), evaluation: &Evaluation<'_>) -> Result<Value, SqlError> {
        let stored = StoredRow { bound: &self.bound, def: &self.def, columns, row };
        evaluation.in_row(&stored).value(&self.bound.expression)
    }
}

fn bound(
    (context, facts): (&StatementContext, &dyn SessionFacts),
    (def, at): (&TableDef, usize),
    (text, syntax): (&str, &Expr),
) -> Result<RowExpression, EngineError> {
    let column = &def.columns[at];
    let entry = entry_of(&context.schema_name(def.schema), def);
    let is_generated = |at: &usize| def.columns[*at].generated.is_some();
    let generated: Vec<usize> = (0..def.columns.len()).filter(is_generated).collect();
    let bound = on_deep_stack(StatementSize::of(syntax).expressions, || {
        let mut syntax = syntax.clone();
        rebind_all(&mut syntax);
        let statement = BoundStatement::new(text, facts, &NoTables);
        let target = sql_type_of(column.column_type);
        let bound = statement.binder().generation_expression(&syntax, (&entry, &generated), target)?;
        let declared = declared_type(&context.snapshot(), column);
        bound.map_err(|source| mismatch(declared, (column, source), Assigned::Default))
    });
    Ok(bound?)
}
