//! Generated columns: their values, computed of each row before it is stored.
//!
//! They are computed of the values that the row is stored with, after defaults and the conversions of an assignment, and before NOT NULL,
//! CHECK and keys are looked at. Whatever an INSERT or UPDATE gives for them (only DEFAULT is not refused) is passed over.

use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_plan::values::counted_values::counted_array_of;
use braid_storage::{GenerationDef, TableDef};
use sqlparser::ast::Expr;
use sqlparser::parser::Parser;

use crate::EngineError;
use crate::front_end::{RejectedRow, RowValue, RowsOfValues};
use crate::statement::SqlDialect;
use crate::statement_context::StatementContext;
use crate::stored_row::stored_array;

/// Generated columns of a table, bound for a statement.
#[derive(Default)]
pub(crate) struct GeneratedColumns {
    context: Option<StatementContext>,
    expressions: Vec<RowValue>,
}

/// The values of generated columns in some rows.
pub(super) struct ComputedValues {
    /// The place of each column, and its values in the rows before one that failed.
    pub columns: Vec<(usize, ArrayRef)>,
    /// The first row whose values could not be computed.
    pub failed: Option<RejectedRow>,
}

impl GeneratedColumns {
    /// All of a table.
    ///
    /// # Errors
    /// When an expression cannot be bound any more.
    pub fn of(context: &StatementContext, def: &Arc<TableDef>) -> Result<Self, EngineError> {
        Self::at(context, def, |_| true)
    }

    /// Those of a table at some places.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn at(
        context: &StatementContext,
        def: &Arc<TableDef>,
        is_meant: impl Fn(usize) -> bool,
    ) -> Result<Self, EngineError> {
        let generated = def.columns.iter().enumerate().filter(|(at, _)| is_meant(*at));
        let generated = generated.filter_map(|(at, column)| Some((at, column.generated.as_ref()?)));
        let expressions: Result<Vec<RowValue>, EngineError> =
            generated.map(|(at, generated)| bound_generation(context, (def, at), generated)).collect();
        Ok(Self { context: Some(context.clone()), expressions: expressions? })
    }

    /// Their values in so many rows of the table.
    ///
    /// # Errors
    /// Out of memory (53200).
    pub(super) fn compute(
        &self,
        def: &TableDef,
        columns: &[ArrayRef],
        row_count: usize,
    ) -> Result<ComputedValues, EngineError> {
        let none = ComputedValues { columns: Vec::new(), failed: None };
        let Some(context) = self.context.as_ref().filter(|_| !self.expressions.is_empty()) else { return Ok(none) };
        let budget = context.value_budget();
        let RowsOfValues { columns: values, failed } =
            RowValue::values_of(&self.expressions, columns, (row_count, &budget))?;
        let failed = failed.map(|(row, error)| RejectedRow { row, error: error.into() });
        let arrays = self.expressions.iter().zip(values).map(|(expression, values)| {
            let (at, bytes) = (expression.place(), values.iter().map(|value| value.heap_bytes()).sum());
            let array = counted_array_of(bytes, &budget, || stored_array(&values, def.columns[at].column_type))?;
            Ok((at, array))
        });
        Ok(ComputedValues { columns: arrays.collect::<Result<_, EngineError>>()?, failed })
    }
}

/// How the column at a place is generated, bound.
///
/// # Errors
/// Those of its expression.
pub(crate) fn bound_generation(
    context: &StatementContext,
    (def, at): (&Arc<TableDef>, usize),
    generated: &GenerationDef,
) -> Result<RowValue, EngineError> {
    RowValue::bind(context, (def, at), &generated.expression, &generation_syntax(generated)?)
}

/// The syntax of an expression by which a column is generated.
///
/// # Errors
/// When it does not parse.
pub(crate) fn generation_syntax(generated: &GenerationDef) -> Result<Expr, EngineError> {
    let text = &generated.expression;
    let parsed = Parser::new(&SqlDialect::for_text(text)).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|error| EngineError::internal(format!("the generation expression {text} does not parse: {error}")))
}
