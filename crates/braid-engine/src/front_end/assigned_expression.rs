//! Expressions whose values are stored in a column: in VALUES of an INSERT, and as DEFAULT.
//!
//! They are cast as PostgreSQL casts on assignment, each by itself.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_empty_array};
use arrow::compute::concat;
use arrow::error::ArrowError;
use braid_exec::MemoryBudget;
use braid_plan::values::RowValues;
use braid_plan::values::counted_values::counted_array_of;
use braid_sql::binder::Statement as BoundStatement;
use braid_sql::binder::precedence::rebind_all;
use braid_sql::functions::SessionFacts;
use braid_sql::functions::in_formats::InFormats;
use braid_sql::tables::NoTables;
use braid_sql::types::type_names::format_type;
use braid_sql::{Evaluation, Expression, SqlError, SqlState, SqlType, Value};
use braid_storage::{ColumnDef, ColumnType};
use sqlparser::ast::Expr;

use super::session_facts::StatementFacts;
use super::stored_formats::check_reads_alike;
use crate::EngineError;
use crate::bound_parameters::BoundParameters;
use crate::deep_stack::on_deep_stack;
use crate::sent_columns::arrow_columns::assigned_column;
use crate::sent_columns::encoded_array;
use crate::statement_context::StatementContext;
use crate::statement_limits::StatementSize;
use braid_catalog::column_types::{declared_type, sql_type_of};

/// Where an expression stands, for the error of a type that does not fit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Assigned {
    /// In a row of an INSERT.
    Value,
    /// After DEFAULT, and of a generated column.
    Default,
}

/// An expression with the cast to its column's type.
pub(crate) struct AssignedExpression {
    context: StatementContext,
    expression: Expression,
    parameters: Vec<Value>,
    column_type: ColumnType,
    budget: Arc<dyn MemoryBudget>,
}

impl AssignedExpression {
    /// Binds `syntax`, of which `text` was parsed. Long values are counted under `budget`.
    ///
    /// # Errors
    /// Those of the expression; 54001 if it is too large for a column's value.
    pub fn bind(
        context: &StatementContext,
        budget: &Arc<dyn MemoryBudget>,
        text: &str,
        syntax: &Expr,
        parameters: &BoundParameters,
        column: &ColumnDef,
        assigned: Assigned,
    ) -> Result<Self, EngineError> {
        let facts = StatementFacts::of(context);
        let stored = InFormats::of_stored_texts(&facts);
        let session: &dyn SessionFacts = match assigned {
            Assigned::Value => &facts,
            Assigned::Default => &stored,
        };
        let expression = bound((context, session), (text, syntax), parameters, (column, assigned))?;
        let (context, budget, parameters) = (context.clone(), budget.clone(), parameters.values().to_vec());
        Ok(Self { context, expression, parameters, column_type: column.column_type, budget })
    }

    /// Checks that the default of a column means the same in the session's formats and in those in which it is kept.
    ///
    /// # Errors
    /// Those of the expression, and 0A000.
    pub fn check_reads_alike(
        context: &StatementContext,
        (text, syntax): (&str, &Expr),
        column: &ColumnDef,
    ) -> Result<(), EngineError> {
        check_reads_alike(context, &format!("the default of column \"{}\"", column.name), |session| {
            bound((context, session), (text, syntax), &BoundParameters::none(), (column, Assigned::Default))
        })
    }

    /// Whether computing it may take longer than a session's thread may be held.
    pub fn may_take_long(&self) -> bool {
        self.expression.may_take_long()
    }

    /// Whether its values may differ from row to row.
    pub fn is_volatile(&self) -> bool {
        self.expression.is_volatile()
    }

    /// Whether it is the same in all sessions, at all times.
    pub fn is_immutable(&self) -> bool {
        self.expression.is_immutable()
    }

    /// Its values for so many rows, computed for each row where they may differ.
    pub fn values(&self, row_count: usize) -> Result<ArrayRef, EngineError> {
        let facts = StatementFacts::of(&self.context);
        let memory = RowValues::new(&self.budget);
        let evaluation = Evaluation::new(&facts, &self.parameters).with_memory(&memory);
        let differ = self.is_volatile();
        let one = || -> Result<ArrayRef, SqlError> {
            let value = evaluation.value(&self.expression)?;
            let column = assigned_array(value, (self.expression.sql_type, self.column_type), (&facts, &self.budget));
            memory.clear();
            column
        };
        if row_count == 0 && differ {
            return Ok(new_empty_array(&self.column_type.arrow()));
        }
        if row_count == 0 {
            return Ok(one()?.slice(0, 0));
        }
        let pieces: Vec<ArrayRef> =
            (0..if differ { row_count } else { 1 }).map(|_| one()).collect::<Result<_, SqlError>>()?;
        let repeated = if differ { 1 } else { row_count };
        let pieces: Vec<&dyn Array> = pieces.iter().flat_map(|piece| std::iter::repeat_n(&**piece, repeated)).collect();
        let bytes = match &pieces[..] {
            [_] => 0,
            several => several.iter().map(|piece| piece.get_array_memory_size()).sum(),
        };
        let broken = |error: ArrowError| SqlError::new(SqlState::InternalError, error.to_string());
        Ok(counted_array_of(bytes, &self.budget, || concat(&pieces).map_err(broken))?)
    }
}

/// An expression with the cast to its column's type, bound in a session.
fn bound(
    (context, session): (&StatementContext, &dyn SessionFacts),
    (text, syntax): (&str, &Expr),
    parameters: &BoundParameters,
    (column, assigned): (&ColumnDef, Assigned),
) -> Result<Expression, EngineError> {
    let size = StatementSize::of(syntax);
    size.check_for_planning()?;
    let types: Vec<Option<SqlType>> = parameters.types().iter().copied().map(Some).collect();
    let bound = on_deep_stack(size.expressions, || {
        let mut syntax = syntax.clone();
        rebind_all(&mut syntax);
        let mut statement = BoundStatement::new(text, session, &NoTables);
        if !types.is_empty() {
            statement = statement.with_parameters(&types);
        }
        let (binder, target) = (statement.binder(), sql_type_of(column.column_type));
        let bound = match assigned {
            Assigned::Value => binder.assigned_expression(&syntax, target),
            Assigned::Default => binder.default_expression(&syntax, target),
        }?;
        bound.map_err(|source| mismatch(declared_type(&context.snapshot(), column), (column, source), assigned))
    });
    Ok(bound?)
}

/// A value of a type as an array that is assigned to a column, counted under a budget.
pub(super) fn assigned_array(
    value: Value,
    (sql_type, column_type): (SqlType, ColumnType),
    (session, budget): (&dyn SessionFacts, &Arc<dyn MemoryBudget>),
) -> Result<ArrayRef, SqlError> {
    counted_array_of(value.heap_bytes(), budget, || match column_type {
        ColumnType::Encoded { .. } => encoded_array([value]),
        _ => assigned_column(&value, sql_type, session),
    })
}

/// PostgreSQL's error for an expression that no assignment cast fits.
pub(super) fn mismatch(declared: SqlType, (column, source): (&ColumnDef, SqlType), assigned: Assigned) -> SqlError {
    let what = match assigned {
        Assigned::Value => "expression",
        Assigned::Default => "default expression",
    };
    let message = format!(
        "column \"{}\" is of type {} but {what} is of type {}",
        column.name,
        format_type(SqlType::of(declared.id)),
        format_type(SqlType::of(source.id))
    );
    SqlError::new(SqlState::DatatypeMismatch, message).with_hint("You will need to rewrite or cast the expression.")
}
