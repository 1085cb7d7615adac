//! Expressions: kernels where there are some, else functions that are computed row by row.

use arrow::datatypes::DataType;
use braid_exec::Expression as Lowered;
use braid_sql::expression::{Expression, FunctionCall, Node, Quantified};
use braid_sql::pg_catalog::{TypeId, pg_catalog};
use braid_sql::relation::{ColumnId, Subquery, SubqueryKind};
use braid_sql::{SqlError, Value};
use braid_storage::Scalar;

use super::operators::{direct_arithmetic, direct_comparison, is_widening};
use super::query::Lowering;
use super::row_function::{Result as RowResult, RowFunction};
use crate::values::Form;
use crate::values::arrays::scalar_of;
use crate::values::comparison_key::has_key;

impl Lowering<'_> {
    /// An expression over the columns of an input, which are at these positions.
    pub(super) fn expression(&self, expression: &Expression, input: &[ColumnId]) -> Result<Lowered, SqlError> {
        match self.kernel(expression, input)? {
            Some(lowered) => Ok(lowered),
            None => self.row_function(expression, input, RowResult::Value),
        }
    }

    /// The expression, or bytes that are equal and ordered as its values are.
    pub(super) fn comparable(&self, expression: &Expression, input: &[ColumnId]) -> Result<Lowered, SqlError> {
        let id = expression.sql_type.id;
        if Form::is_compared_directly(id) {
            return self.expression(expression, input);
        }
        if !has_key(id) {
            let name = braid_sql::types::type_names::format_type(expression.sql_type);
            return Err(SqlError::unsupported(format!("comparisons of type {name} by operators are not supported")));
        }
        self.row_function(expression, input, RowResult::Key)
    }

    /// The expression, if a kernel computes it.
    fn kernel(&self, expression: &Expression, input: &[ColumnId]) -> Result<Option<Lowered>, SqlError> {
        let lower = |operand: &Expression| self.expression(operand, input);
        let all = |operands: &[Expression]| operands.iter().map(lower).collect::<Result<Vec<_>, _>>();
        Ok(Some(match &expression.node {
            Node::Constant(value) => Lowered::Constant(scalar_of(value, Form::of(expression.sql_type.id))?),
            Node::Column(column, _) => Lowered::Column(position(*column, input)?),
            Node::Subquery(subquery) => match self.scalar_subquery(subquery)? {
                Some(value) => value,
                None => return Err(unsupported_subquery()),
            },
            Node::And(operands) => Lowered::And(all(operands)?),
            Node::Or(operands) => Lowered::Or(all(operands)?),
            Node::Not(operand) => Lowered::Not(Box::new(lower(operand)?)),
            Node::IsNull(operand) => Lowered::IsNull(Box::new(lower(operand)?)),
            Node::Is(truth, operand) if !operand.is_volatile() => is_truth(*truth, lower(operand)?),
            Node::Relabel(operand) if Form::of(operand.sql_type.id) == Form::of(expression.sql_type.id) => {
                lower(operand)?
            }
            Node::Call(call) => return self.kernel_of_call(call, input),
            Node::Case { branches, otherwise } => {
                let branches = branches
                    .iter()
                    .map(|(condition, result)| Ok((lower(condition)?, lower(result)?)))
                    .collect::<Result<Vec<_>, SqlError>>()?;
                Lowered::Case { branches, otherwise: Some(Box::new(lower(otherwise)?)) }
            }
            Node::Coalesce(values) => {
                let Some((last, others)) = values.split_last() else { return Ok(None) };
                // Each value is computed twice.
                let is_cheap = |value: &Expression| matches!(value.node, Node::Column(..) | Node::Constant(_));
                if !others.iter().all(is_cheap) {
                    return Ok(None);
                }
                let branches = others
                    .iter()
                    .map(|value| Ok((Lowered::Not(Box::new(Lowered::IsNull(Box::new(lower(value)?)))), lower(value)?)))
                    .collect::<Result<Vec<_>, SqlError>>()?;
                Lowered::Case { branches, otherwise: Some(Box::new(lower(last)?)) }
            }
            Node::Quantified(quantified) => return self.membership(quantified, input),
            _ => return Ok(None),
        }))
    }

    fn kernel_of_call(&self, call: &FunctionCall, input: &[ColumnId]) -> Result<Option<Lowered>, SqlError> {
        let entry = pg_catalog().function(call.function.id);
        let symbol = entry.symbol.unwrap_or_default();
        let lower = |at: usize| self.expression(&call.arguments[at], input).map(Box::new);
        if let Some(comparison) = direct_comparison(call.function.id) {
            return Ok(Some(Lowered::Compare { comparison, left: lower(0)?, right: lower(1)? }));
        }
        if let Some((operation, range)) = direct_arithmetic(symbol) {
            return Ok(Some(Lowered::Arithmetic { operation, left: lower(0)?, right: lower(1)?, range }));
        }
        match (symbol, &call.arguments[..]) {
            (symbol, [operand]) if is_widening(symbol) => Ok(Some(self.expression(operand, input)?)),
            ("textlike" | "textnlike", [_, pattern]) => {
                let Node::Constant(Value::Text(text)) = &pattern.node else { return Ok(None) };
                // A pattern that ends in its escape character is an error for some rows.
                if text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1 {
                    return Ok(None);
                }
                let pattern = Box::new(Lowered::Constant(Some(Scalar::Bytes(text.as_bytes().to_vec()))));
                let like = Lowered::Like { value: lower(0)?, pattern };
                Ok(Some(if symbol == "textnlike" { Lowered::Not(Box::new(like)) } else { like }))
            }
            _ => Ok(None),
        }
    }

    /// `x = ANY (constants)`, without nulls among them.
    fn membership(&self, quantified: &Quantified, input: &[ColumnId]) -> Result<Option<Lowered>, SqlError> {
        use braid_exec::expression::Comparison;
        let comparison = direct_comparison(quantified.compare.id);
        let is_not = match (comparison, quantified.is_all) {
            (Some(Comparison::Equal), false) => false,
            (Some(Comparison::NotEqual), true) => true,
            _ => return Ok(None),
        };
        let values: Vec<&Value> = match &quantified.array.node {
            Node::Constant(Value::Array(array)) => array.values.iter().collect(),
            Node::Array(_, elements) => {
                let constants = elements.iter().map(|element| match &element.node {
                    Node::Constant(value) => Some(value),
                    _ => None,
                });
                match constants.collect::<Option<Vec<_>>>() {
                    Some(constants) => constants,
                    None => return Ok(None),
                }
            }
            _ => return Ok(None),
        };
        if values.is_empty() || values.iter().any(|value| value.is_null() || matches!(value, Value::Array(_))) {
            return Ok(None);
        }
        let form = Form::of(quantified.operand.sql_type.id);
        let list =
            values.into_iter().map(|value| scalar_of(value, form)).collect::<Result<Option<Vec<Scalar>>, _>>()?;
        let Some(list) = list else { return Ok(None) };
        let value = Box::new(self.expression(&quantified.operand, input)?);
        let is_in = Lowered::In { value, list };
        Ok(Some(if is_not { Lowered::Not(Box::new(is_in)) } else { is_in }))
    }

    /// The expression row by row. Scalar subqueries are arguments of it.
    fn row_function(
        &self,
        expression: &Expression,
        input: &[ColumnId],
        result: RowResult,
    ) -> Result<Lowered, SqlError> {
        let mut expression = expression.clone();
        let mut subqueries = Vec::new();
        self.subqueries_as_columns(&mut expression, &mut subqueries)?;
        let mut columns = Vec::new();
        let mut arguments: Vec<(Lowered, DataType)> = Vec::new();
        for column in expression.free_columns() {
            let of_subquery = subqueries.iter().find(|(own, _, _)| *own == column);
            let (argument, id) = match of_subquery {
                Some((_, id, value)) => (value.clone(), *id),
                None => (Lowered::Column(position(column, input)?), self.columns.sql_type(column).id),
            };
            columns.push((column, id));
            arguments.push((argument, Form::of(id).data_type()));
        }
        let function = RowFunction::new(expression, columns, result, self.session.clone());
        Ok(Lowered::Foreign { function: std::sync::Arc::new(function), arguments })
    }

    /// Puts a column in place of each scalar subquery.
    fn subqueries_as_columns(
        &self,
        expression: &mut Expression,
        subqueries: &mut Vec<(ColumnId, TypeId, Lowered)>,
    ) -> Result<(), SqlError> {
        if let Node::Subquery(subquery) = &expression.node {
            let value = self.scalar_subquery(subquery)?.ok_or_else(unsupported_subquery)?;
            let [column] = subquery.columns[..] else { return Err(unsupported_subquery()) };
            subqueries.push((column, expression.sql_type.id, value));
            expression.node = Node::Column(column, braid_sql::expression::Origin::default());
            return Ok(());
        }
        for operand in expression.operands_mut() {
            self.subqueries_as_columns(operand, subqueries)?;
        }
        Ok(())
    }

    /// The value of a subquery that reads no column around it, computed before the query; `None` for other subqueries.
    fn scalar_subquery(&self, subquery: &Subquery) -> Result<Option<Lowered>, SqlError> {
        if subquery.kind != SubqueryKind::Scalar || !subquery.relation.free_columns().is_empty() {
            return Ok(None);
        }
        let number = self.add_scalar(&subquery.relation, &subquery.columns)?;
        Ok(Some(Lowered::SubqueryValue(number)))
    }
}

/// `IS TRUE`, `IS FALSE`: false for null.
fn is_truth(truth: bool, operand: Lowered) -> Lowered {
    let is_known = Lowered::Not(Box::new(Lowered::IsNull(Box::new(operand.clone()))));
    Lowered::And(vec![is_known, if truth { operand } else { Lowered::Not(Box::new(operand)) }])
}

/// Where a column of the input is.
pub(super) fn position(column: ColumnId, input: &[ColumnId]) -> Result<usize, SqlError> {
    let at = input.iter().position(|own| *own == column);
    at.ok_or_else(|| SqlError::unsupported("a column of a query around this one is not supported here"))
}

fn unsupported_subquery() -> SqlError {
    SqlError::unsupported("this subquery is not supported")
}
