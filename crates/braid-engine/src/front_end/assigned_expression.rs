//! Expressions whose values are stored in a column: in VALUES of an INSERT, and as DEFAULT.
//!
//! They are cast as PostgreSQL casts on assignment, each by itself.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::error::ArrowError;
use braid_exec::MemoryBudget;
use braid_plan::values::RowValues;
use braid_plan::values::counted_values::counted_array_of;
use braid_sql::binder::Statement as BoundStatement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::tables::NoTables;
use braid_sql::types::type_names::format_type;
use braid_sql::{Evaluation, Expression, SqlError, SqlState, SqlType};
use braid_storage::ColumnDef;
use datafusion::sql::sqlparser::ast::Expr;

use super::session_facts::StatementFacts;
use super::{is_left_to_the_other_planner, takes_long};
use crate::EngineError;
use crate::deep_stack::on_deep_stack;
use crate::sent_columns::arrow_columns::column_of;
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use braid_catalog::column_types::sql_type_of;

/// Where an expression stands, for the error of a type that does not fit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Assigned {
    /// In a row of an INSERT.
    Value,
    /// After DEFAULT.
    Default,
}

/// An expression with the cast to its column's type.
pub(crate) struct AssignedExpression {
    context: StatementContext,
    expression: Expression,
    name: String,
    budget: Arc<dyn MemoryBudget>,
}

impl AssignedExpression {
    /// Binds `syntax`, of which `text` was parsed; `None` if it has something that the front end lacks. Long values are counted under
    /// `budget`.
    pub fn bind(
        context: &StatementContext,
        budget: &Arc<dyn MemoryBudget>,
        text: &str,
        syntax: &Expr,
        column: &ColumnDef,
        assigned: Assigned,
    ) -> Result<Option<Self>, EngineError> {
        let size = StatementSize::of(syntax);
        if is_left_to_the_other_planner(context, size) || takes_long(text, size) {
            return Ok(None);
        }
        let facts = StatementFacts::of(context);
        let bound = on_deep_stack(size.expressions, || {
            let mut syntax = syntax.clone();
            rebind_all(&mut syntax);
            let statement = BoundStatement::new(text, &facts, &NoTables);
            let bound = statement.binder().assigned_expression(&syntax, sql_type_of(column.column_type))?;
            bound.map_err(|source| mismatch(column, source, assigned))
        });
        context.database().front_end().note(&bound);
        match bound {
            // Their time is the other planner's to bound.
            Ok(expression) if expression.may_take_long() => Ok(None),
            Ok(expression) => {
                let (context, name, budget) = (context.clone(), column.name.clone(), budget.clone());
                Ok(Some(Self { context, expression, name, budget }))
            }
            Err(error) if error.state() == SqlState::FeatureNotSupported => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Its values for so many rows, computed for each row where they may differ; `None` if a value has no form as a column.
    pub fn values(&self, row_count: usize) -> Result<Option<ArrayRef>, EngineError> {
        let facts = StatementFacts::of(&self.context);
        let memory = RowValues::new(&self.budget);
        let evaluation = Evaluation::new(&facts, &[]).with_memory(&memory);
        let differ = self.expression.is_volatile();
        let one = || -> Result<ArrayRef, SqlError> {
            let value = evaluation.value(&self.expression)?;
            let column = counted_array_of(value.heap_bytes(), &self.budget, || {
                Ok(column_of(&self.name, &value, self.expression.sql_type, &facts)?.1)
            });
            memory.clear();
            column
        };
        let pieces = (0..if differ { row_count } else { 1 }).map(|_| one()).collect::<Result<Vec<_>, _>>();
        let pieces = match pieces {
            Ok(pieces) => pieces,
            Err(error) if error.state() == SqlState::FeatureNotSupported => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let repeated = if differ { 1 } else { row_count };
        let pieces: Vec<&dyn Array> = pieces.iter().flat_map(|piece| std::iter::repeat_n(&**piece, repeated)).collect();
        if pieces.is_empty() {
            return Ok(None);
        }
        let bytes = match &pieces[..] {
            [_] => 0,
            several => several.iter().map(|piece| piece.get_array_memory_size()).sum(),
        };
        let broken = |error: ArrowError| SqlError::new(SqlState::InternalError, error.to_string());
        Ok(Some(counted_array_of(bytes, &self.budget, || concat(&pieces).map_err(broken))?))
    }
}

/// PostgreSQL's error for an expression that no assignment cast fits.
fn mismatch(column: &ColumnDef, source: SqlType, assigned: Assigned) -> SqlError {
    let what = match assigned {
        Assigned::Value => "expression",
        Assigned::Default => "default expression",
    };
    let message = format!(
        "column \"{}\" is of type {} but {what} is of type {}",
        column.name,
        format_type(SqlType::of(sql_type_of(column.column_type).id)),
        format_type(SqlType::of(source.id))
    );
    SqlError::new(SqlState::DatatypeMismatch, message).with_hint("You will need to rewrite or cast the expression.")
}
