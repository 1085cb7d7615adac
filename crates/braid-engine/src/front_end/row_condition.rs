//! Conditions of a table's rows: CHECK, bound when rows are written, and evaluated row by row.

use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_exec::MemoryBudget;
use braid_plan::values::RowValues;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::binder::{RowExpression, Statement as BoundStatement};
use braid_sql::evaluation::Row;
use braid_sql::relation::{ColumnId, Subquery};
use braid_sql::tables::NoTables;
use braid_sql::{Evaluation, SqlError, Value};
use braid_storage::TableDef;
use sqlparser::ast::Expr;

use super::session_facts::StatementFacts;
use super::snapshot_tables::entry_of;
use crate::EngineError;
use crate::deep_stack::on_deep_stack;
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use crate::stored_row::stored_value;

/// A condition of a table's rows.
pub(crate) struct RowCondition {
    context: StatementContext,
    def: Arc<TableDef>,
    bound: RowExpression,
    budget: Arc<dyn MemoryBudget>,
    /// Expressions of its text, which bound the depth of evaluation.
    size: usize,
}

impl RowCondition {
    /// Binds `syntax`, of which `text` was parsed.
    ///
    /// # Errors
    /// Those of the expression; 54001 if it is too large.
    pub fn bind(
        context: &StatementContext,
        def: &Arc<TableDef>,
        text: &str,
        syntax: &Expr,
    ) -> Result<Self, EngineError> {
        let size = StatementSize::of(syntax);
        size.check_for_planning()?;
        let (facts, schema) = (StatementFacts::of(context), context.schema_name(def.schema));
        let bound = on_deep_stack(size.expressions, || {
            let mut syntax = syntax.clone();
            rebind_all(&mut syntax);
            BoundStatement::new(text, &facts, &NoTables).binder().check_condition(&syntax, &entry_of(&schema, def))
        })?;
        let (context, def, budget) = (context.clone(), def.clone(), context.value_budget());
        Ok(Self { context, def, bound, budget, size: size.expressions })
    }

    /// The places of the columns that it reads, ascending.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = usize> {
        self.bound.columns.iter().map(|(at, _)| *at)
    }

    /// The first of so many rows for which it is false: null is no violation.
    ///
    /// # Errors
    /// Those of the evaluation.
    pub fn first_violation(&self, columns: &[ArrayRef], row_count: usize) -> Result<Option<usize>, EngineError> {
        let facts = StatementFacts::of(&self.context);
        let memory = RowValues::new(&self.budget);
        let evaluation = Evaluation::new(&facts, &[]).with_memory(&memory);
        let found = on_deep_stack(self.size, || {
            for row in 0..row_count {
                let stored = StoredRow { bound: &self.bound, def: &self.def, columns, row };
                let value = evaluation.in_row(&stored).value(&self.bound.expression)?;
                memory.clear();
                if value == Value::Bool(false) {
                    return Ok(Some(row));
                }
            }
            Ok::<_, SqlError>(None)
        });
        Ok(found?)
    }
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct StoredRow<'a> {
    /// What is evaluated over it.
    pub bound: &'a RowExpression,
    pub def: &'a TableDef,
    /// The columns of the table.
    pub columns: &'a [ArrayRef],
    /// Its place in them.
    pub row: usize,
}

impl std::fmt::Debug for StoredRow<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredRow").field("row", &self.row).finish_non_exhaustive()
    }
}

impl Row for StoredRow<'_> {
    fn column(&self, column: ColumnId) -> Result<Value, SqlError> {
        let place = self.bound.columns.iter().find(|(_, own)| *own == column);
        let (at, _) = place.ok_or_else(|| SqlError::unsupported("a column of another table is not supported here"))?;
        stored_value(self.columns[*at].as_ref(), self.row, self.def.columns[*at].column_type)
    }

    fn subquery(&self, _: &Subquery, _: &Evaluation<'_>) -> Result<Value, SqlError> {
        Err(SqlError::unsupported("subqueries over a stored row are not supported"))
    }
}
