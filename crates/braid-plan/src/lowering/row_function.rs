//! Expressions that are computed row by row on values, where no kernel computes them.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use braid_exec::FixedBudget;
use braid_exec::expression::{ForeignExpression, Resources};
use braid_sql::evaluation::Row;
use braid_sql::pg_catalog::TypeId;
use braid_sql::relation::{ColumnId, Subquery};
use braid_sql::{Evaluation, Expression, SqlError, Value};

use super::Session;
use crate::values::arrays::value_at;
use crate::values::comparison_key::comparison_key;
use crate::values::counted_values::CountedArray;
use crate::values::{Form, RowValues};

/// An expression over the columns of some arguments.
pub(super) struct RowFunction {
    expression: Expression,
    /// The columns that it reads, one for each argument.
    columns: Vec<(ColumnId, TypeId)>,
    result: Result,
    session: Arc<dyn Session>,
}

/// What is returned of the expression's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Result {
    /// The value.
    Value,
    /// Its comparison key.
    Key,
}

impl RowFunction {
    pub fn new(
        expression: Expression,
        columns: Vec<(ColumnId, TypeId)>,
        result: Result,
        session: Arc<dyn Session>,
    ) -> Self {
        Self { expression, columns, result, session }
    }

    fn compute(
        &self,
        arguments: &[ArrayRef],
        row_count: usize,
        resources: Resources<'_>,
    ) -> std::result::Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let form = match self.result {
            Result::Value => Form::of(self.expression.sql_type.id),
            Result::Key => Form::Bytes,
        };
        let (mut results, memory) = (CountedArray::new(form, resources), RowValues::new(resources.budget));
        let mut values = vec![Value::Null; self.columns.len()];
        for at in 0..row_count {
            for ((value, array), (_, id)) in values.iter_mut().zip(arguments).zip(&self.columns) {
                *value = value_at(array, at, *id)?;
                memory.add(value)?;
            }
            let row = ArgumentRow { columns: &self.columns, values: &values };
            let evaluation = Evaluation::new(&*self.session, &[]).in_row(&row).with_memory(&memory);
            let value = evaluation.value(&self.expression)?;
            match self.result {
                Result::Value => results.add(&value)?,
                Result::Key if value.is_null() => results.add(&Value::Null)?,
                Result::Key => results.add(&Value::Bytea(comparison_key(&value)?.into()))?,
            }
            memory.clear();
        }
        results.finish()
    }
}

impl ForeignExpression for RowFunction {
    fn evaluate(
        &self,
        arguments: &[ArrayRef],
        row_count: usize,
    ) -> std::result::Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        self.compute(arguments, row_count, Resources { budget: &FixedBudget::unlimited(), is_divisible: false })
    }

    fn evaluate_within(
        &self,
        arguments: &[ArrayRef],
        row_count: usize,
        resources: Resources<'_>,
    ) -> std::result::Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        self.compute(arguments, row_count, resources)
    }
}

impl fmt::Debug for RowFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowFunction").field("expression", &self.expression).finish_non_exhaustive()
    }
}

impl fmt::Display for RowFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.result {
            Result::Value => f.write_str("row by row"),
            Result::Key => f.write_str("comparison key"),
        }
    }
}

/// The values of the arguments in one row.
#[derive(Debug)]
struct ArgumentRow<'a> {
    columns: &'a [(ColumnId, TypeId)],
    values: &'a [Value],
}

impl Row for ArgumentRow<'_> {
    fn column(&self, column: ColumnId) -> std::result::Result<Value, SqlError> {
        let at = self.columns.iter().position(|(own, _)| *own == column);
        let at = at.ok_or_else(|| SqlError::unsupported("a column of another query is not supported here"))?;
        Ok(self.values[at].clone())
    }

    fn subquery(&self, _: &Subquery, _: &Evaluation<'_>) -> std::result::Result<Value, SqlError> {
        Err(SqlError::unsupported("a subquery is not supported here"))
    }
}
