//! Conditions of a table's rows: CHECK, bound when rows are written, and evaluated row by row.

use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_exec::MemoryBudget;
use braid_plan::values::RowValues;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::binder::{Binder, RowExpression, Statement as BoundStatement, VaryingKind, VaryingLiteral};
use braid_sql::evaluation::Row;
use braid_sql::functions::SessionFacts;
use braid_sql::functions::in_formats::InFormats;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{ColumnId, Subquery};
use braid_sql::tables::{NoTables, TableEntry};
use braid_sql::{Evaluation, SqlError, Value};
use braid_storage::TableDef;
use sqlparser::ast::Expr;
use sqlparser::tokenizer::Location;

use super::session_facts::StatementFacts;
use super::snapshot_tables::entry_of;
use super::stored_formats::check_reads_alike;
use crate::EngineError;
use crate::deep_stack::on_deep_stack;
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use crate::stored_row::stored_value;

/// A row that cannot be stored.
pub(crate) struct RejectedRow {
    /// Its place in the batch.
    pub row: usize,
    /// Why.
    pub error: EngineError,
}

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
        let facts = StatementFacts::of(context);
        let stored = InFormats::of_stored_texts(&facts);
        Self::bind_by(context, (def, &stored), (text, syntax), |binder, syntax, table| {
            binder.check_condition(syntax, table)
        })
    }

    /// Checks that a CHECK means the same in the session's formats and in those in which it is kept.
    ///
    /// # Errors
    /// Those of the expression, and 0A000.
    pub fn check_reads_alike(
        context: &StatementContext,
        def: &Arc<TableDef>,
        text: &str,
        syntax: &Expr,
    ) -> Result<(), EngineError> {
        check_reads_alike(context, "a check constraint", |session| {
            let bound = Self::bind_by(context, (def, session), (text, syntax), |binder, syntax, table| {
                binder.check_condition(syntax, table)
            });
            Ok(bound?.bound.expression)
        })
    }

    /// The condition of a COPY FROM, of whose `text` it was parsed.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn of_copy(
        context: &StatementContext,
        def: &Arc<TableDef>,
        text: &str,
        syntax: &Expr,
    ) -> Result<Self, EngineError> {
        let is_generated = |at: &usize| def.columns[*at].generated.is_some();
        let generated: Vec<usize> = (0..def.columns.len()).filter(is_generated).collect();
        let facts = StatementFacts::of(context);
        Self::bind_by(context, (def, &facts), (text, syntax), |binder, syntax, table| {
            binder.copy_condition(syntax, (table, &generated))
        })
    }

    /// The types that a CHECK reads strings in these places as.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn string_types(
        context: &StatementContext,
        def: &Arc<TableDef>,
        (text, syntax): (&str, &Expr),
        strings: &[Location],
    ) -> Result<Vec<(Location, TypeId)>, EngineError> {
        let varying = |(number, location): (usize, &Location)| VaryingLiteral {
            location: *location,
            kind: VaryingKind::Text,
            number,
        };
        let varying: Vec<VaryingLiteral> = strings.iter().enumerate().map(varying).collect();
        let (facts, schema) = (StatementFacts::of(context), context.schema_name(def.schema));
        let facts = InFormats::of_stored_texts(&facts);
        let found = on_deep_stack(StatementSize::of(syntax).expressions, || {
            let mut syntax = syntax.clone();
            rebind_all(&mut syntax);
            let statement = BoundStatement::new(text, &facts, &NoTables).with_varying(&varying);
            let bound = statement.binder().check_condition(&syntax, &entry_of(&schema, def))?;
            Ok::<_, SqlError>(statement.types_of_strings(&bound.expression))
        });
        Ok(found?)
    }

    fn bind_by(
        context: &StatementContext,
        (def, facts): (&Arc<TableDef>, &dyn SessionFacts),
        (text, syntax): (&str, &Expr),
        bind: impl Fn(Binder<'_>, &Expr, &TableEntry) -> Result<RowExpression, SqlError> + Send,
    ) -> Result<Self, EngineError> {
        let size = StatementSize::of(syntax);
        size.check_for_planning()?;
        let schema = context.schema_name(def.schema);
        let bound = on_deep_stack(size.expressions, || {
            let mut syntax = syntax.clone();
            rebind_all(&mut syntax);
            bind(BoundStatement::new(text, facts, &NoTables).binder(), &syntax, &entry_of(&schema, def))
        })?;
        let (context, def, budget) = (context.clone(), def.clone(), context.value_budget());
        Ok(Self { context, def, bound, budget, size: size.expressions })
    }

    /// The places of the columns that it reads, ascending.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = usize> {
        self.bound.columns.iter().map(|(at, _)| *at)
    }

    /// The rows of so many for which it is true, up to one for which it fails, with its error.
    pub fn holding(&self, columns: &[ArrayRef], row_count: usize) -> (Vec<usize>, Option<RejectedRow>) {
        let facts = StatementFacts::of(&self.context);
        let memory = RowValues::new(&self.budget);
        let evaluation = Evaluation::new(&facts, &[]).with_memory(&memory);
        on_deep_stack(self.size, || {
            let mut holding = Vec::new();
            for row in 0..row_count {
                let stored = StoredRow { bound: &self.bound, def: &self.def, columns, row };
                let value = evaluation.in_row(&stored).value(&self.bound.expression);
                memory.clear();
                match value {
                    Ok(Value::Bool(true)) => holding.push(row),
                    Ok(_) => {}
                    Err(error) => return (holding, Some(RejectedRow { row, error: error.into() })),
                }
            }
            (holding, None)
        })
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
