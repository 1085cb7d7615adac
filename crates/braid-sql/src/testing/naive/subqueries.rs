//! Queries within expressions.

use std::sync::Arc;

use super::Environment;
use crate::aggregates::Aggregate;
use crate::functions::{Call, UnlimitedMemory};
use crate::pg_catalog::{TypeId, pg_catalog};
use crate::relation::{Subquery, SubqueryKind};
use crate::values::ArrayValue;
use crate::{Evaluation, SqlError, SqlState, SqlType, Value};

impl Environment<'_> {
    /// What an expression takes of a subquery's rows. The evaluation is that of the expression.
    pub(super) fn subquery_value(&self, subquery: &Subquery, evaluation: &Evaluation<'_>) -> Result<Value, SqlError> {
        let rows = self.rows(&subquery.relation)?;
        match &subquery.kind {
            SubqueryKind::Exists => Ok(Value::Bool(!rows.is_empty())),
            SubqueryKind::Scalar => match &rows[..] {
                [] => Ok(Value::Null),
                [row] => Ok(row[&subquery.columns[0]].clone()),
                _ => {
                    let message = "more than one row returned by a subquery used as an expression";
                    Err(SqlError::new(SqlState::CardinalityViolation, message))
                }
            },
            SubqueryKind::Array => {
                let column = subquery.columns[0];
                let values = rows.iter().map(|row| row[&column].clone()).collect();
                self.array(self.world.columns.sql_type(column), values)
            }
            SubqueryKind::Quantified { comparison, is_all } => {
                let mut result = Value::Bool(*is_all);
                for row in &rows {
                    let inner = self.with(row);
                    match evaluation.in_row(&inner).value(comparison)? {
                        Value::Bool(truth) if truth != *is_all => return Ok(Value::Bool(truth)),
                        Value::Null => result = Value::Null,
                        _ => {}
                    }
                }
                Ok(result)
            }
        }
    }

    /// `ARRAY(…)`: of arrays it is what `array_agg` gives.
    fn array(&self, sql_type: SqlType, values: Vec<Value>) -> Result<Value, SqlError> {
        let Some(element) = pg_catalog().element_of_array(sql_type.id) else {
            return Ok(Value::Array(Arc::new(ArrayValue::of(sql_type.id, values))));
        };
        if values.is_empty() {
            return Ok(Value::Array(Arc::new(ArrayValue::of(element, values))));
        }
        let mut named = pg_catalog().functions_named("array_agg");
        let entry = named.find(|entry| entry.arguments == [TypeId::ANYARRAY]).expect("the catalog has it");
        let aggregate = Aggregate::of(entry).expect("Braid computes it");
        let call = Call {
            session: self.world.session,
            argument_types: &[sql_type],
            result_type: sql_type,
            memory: &UnlimitedMemory,
        };
        let mut accumulation = aggregate.start(&call, &[])?;
        for value in values {
            accumulation.add(&[value], &call)?;
        }
        accumulation.finish(&[], &call)
    }
}
