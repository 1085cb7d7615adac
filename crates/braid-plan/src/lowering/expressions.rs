//! Expressions: kernels where there are some, else functions that are computed row by row.

use arrow::datatypes::DataType;
use braid_exec::Expression as Lowered;
use braid_exec::expression::Comparison;
use braid_sql::expression::{Expression, FunctionCall, Node, Quantified};
use braid_sql::pg_catalog::{FunctionId, TypeId, pg_catalog};
use braid_sql::relation::{ColumnId, Subquery, SubqueryKind};
use braid_sql::{SqlError, Value};
use braid_storage::Scalar;

use super::forms::in_form;
use super::numerics::inlined;
use super::operators::{comparison_of, direct_arithmetic, direct_comparison, is_widening, numeric_comparison};
use super::parameters::{Reading, read};
use super::query::Lowering;
use super::row_function::{Result as RowResult, RowFunction};
use crate::values::Form;
use crate::values::arrays::scalar_of;
use crate::values::comparison_key::has_key;

impl Lowering<'_> {
    /// An expression over the columns of an input, which are at these positions. Its values are in the [form of its type](Form::of).
    pub(super) fn expression(&self, expression: &Expression, input: &[ColumnId]) -> Result<Lowered, SqlError> {
        let is_constant = matches!(expression.node, Node::Constant(_));
        if !is_constant && let Some(without_rows) = self.without_rows(expression, Reading::Value)? {
            return Ok(without_rows);
        }
        if let (false, Some(fixed)) = (is_constant, self.fixed(expression, input)?) {
            return Ok(fixed.encoded());
        }
        match self.kernel(expression, input)? {
            Some(lowered) => Ok(lowered),
            None => self.row_function(expression, input, RowResult::Value),
        }
    }

    /// An expression that makes a column, with the form that the column has from now on.
    pub(super) fn made(
        &self,
        column: ColumnId,
        expression: &Expression,
        input: &[ColumnId],
    ) -> Result<Lowered, SqlError> {
        if let Some(fixed) = self.fixed(expression, input)?
            && let Some(form) = fixed.form()
        {
            self.note_form(column, form);
            return Ok(fixed.value);
        }
        if let Some((value, form)) = self.unpadded(expression, input)? {
            self.note_form(column, form);
            return Ok(value);
        }
        self.note_form(column, Form::of(expression.sql_type.id));
        self.expression(expression, input)
    }

    /// The expression, or integers or bytes that are equal and ordered as its values are. Integers are only comparable with those of the
    /// same expression.
    pub(super) fn comparable(&self, expression: &Expression, input: &[ColumnId]) -> Result<Lowered, SqlError> {
        match self.fixed(expression, input)? {
            Some(fixed) => Ok(fixed.value),
            None => self.comparison_key(expression, input),
        }
    }

    /// The expression, or bytes that are equal and ordered as its values are.
    pub(super) fn comparison_key(&self, expression: &Expression, input: &[ColumnId]) -> Result<Lowered, SqlError> {
        let id = expression.sql_type.id;
        if Form::is_compared_directly(id) {
            return self.expression(expression, input);
        }
        if let Some((value, _)) = self.unpadded(expression, input)? {
            return Ok(value);
        }
        if !has_key(id) || !expression.sql_type.has_known_fields() {
            let name = braid_sql::types::type_names::format_type(expression.sql_type);
            return Err(SqlError::unsupported(format!("comparisons of type {name} by operators are not supported")));
        }
        if let Some(without_rows) = self.without_rows(expression, Reading::Key)? {
            return Ok(without_rows);
        }
        self.row_function(expression, input, RowResult::Key)
    }

    /// The expression, if a kernel computes it.
    fn kernel(&self, expression: &Expression, input: &[ColumnId]) -> Result<Option<Lowered>, SqlError> {
        let lower = |operand: &Expression| self.expression(operand, input);
        let all = |operands: &[Expression]| operands.iter().map(lower).collect::<Result<Vec<_>, _>>();
        Ok(Some(match &expression.node {
            Node::Constant(value) => Lowered::Constant(scalar_of(value, Form::of(expression.sql_type.id))?),
            Node::Column(column, _) => {
                let value = Lowered::Column(position(*column, input)?);
                in_form(value, self.form(*column), Form::of(expression.sql_type.id))
            }
            Node::Subquery(subquery) => match self.scalar_subquery(subquery)? {
                Some((value, form)) => in_form(value, form, Form::of(expression.sql_type.id)),
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
            Node::Domain(cast) if cast.constraints.is_empty() => lower(&cast.operand)?,
            Node::Call(call) => match self.field_of_date(expression, call, input)? {
                Some(field) => field,
                None => return self.kernel_of_call(call, input),
            },
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
            Node::Let { operand, body } => match inlined(operand, body) {
                Some(body) => self.expression(&body, input)?,
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    fn kernel_of_call(&self, call: &FunctionCall, input: &[ColumnId]) -> Result<Option<Lowered>, SqlError> {
        let entry = pg_catalog().function(call.function.id);
        let symbol = entry.symbol.unwrap_or_default();
        let lower = |at: usize| self.expression(&call.arguments[at], input).map(Box::new);
        if let (Some((comparison, ..)), [left, right]) = (comparison_of(call.function.id), &call.arguments[..])
            && let Some(compared) = self.comparison(comparison, call.function.id, left, right, input)?
        {
            return Ok(Some(compared));
        }
        if let Some(of_days) = self.comparison_of_days(call, input)? {
            return Ok(Some(of_days));
        }
        if let Some((operation, range)) = direct_arithmetic(symbol) {
            return Ok(Some(Lowered::Arithmetic { operation, left: lower(0)?, right: lower(1)?, range }));
        }
        match (symbol, &call.arguments[..]) {
            (symbol, [operand]) if is_widening(symbol) => Ok(Some(self.expression(operand, input)?)),
            // To text.
            ("rtrim1", [operand]) => Ok(self.unpadded(operand, input)?.map(|(value, _)| value)),
            ("textlike" | "textnlike", [_, pattern]) => {
                let pattern = match self.without_rows(pattern, Reading::Pattern)? {
                    Some(Lowered::Constant(None)) | None => return Ok(None),
                    Some(pattern) => Box::new(pattern),
                };
                let like = Lowered::Like { value: lower(0)?, pattern };
                Ok(Some(if symbol == "textnlike" { Lowered::Not(Box::new(like)) } else { like }))
            }
            ("text_substr" | "text_substr_no_len", [_, start, rest @ ..]) => {
                let constant = |value: &Expression| match value.node {
                    Node::Constant(Value::Int4(value)) => Some(i64::from(value)),
                    _ => None,
                };
                let Some(start) = constant(start) else { return Ok(None) };
                let length = match rest.first().map(constant) {
                    None => None,
                    Some(Some(length)) if length >= 0 => Some(length),
                    // A length below 0 is an error.
                    Some(_) => return Ok(None),
                };
                Ok(Some(Lowered::Substring { value: lower(0)?, start, length }))
            }
            _ => Ok(None),
        }
    }

    /// A comparison by a function, if vectors can be compared instead.
    fn comparison(
        &self,
        comparison: Comparison,
        function: FunctionId,
        left: &Expression,
        right: &Expression,
        input: &[ColumnId],
    ) -> Result<Option<Lowered>, SqlError> {
        let (left, right) = match comparison_of(function) {
            Some((_, TypeId::BPCHAR, TypeId::BPCHAR)) => {
                (self.comparison_key(left, input)?, self.comparison_key(right, input)?)
            }
            _ if direct_comparison(function).is_some() => {
                (self.expression(left, input)?, self.expression(right, input)?)
            }
            _ if numeric_comparison(function).is_some() => {
                return self.fixed_comparison(comparison, left, right, input);
            }
            _ => return Ok(None),
        };
        Ok(Some(Lowered::Compare { comparison, left: Box::new(left), right: Box::new(right) }))
    }

    /// `x = ANY (constants)`, without nulls among them.
    fn membership(&self, quantified: &Quantified, input: &[ColumnId]) -> Result<Option<Lowered>, SqlError> {
        let numeric = numeric_comparison(quantified.compare.id);
        let of_chars = match comparison_of(quantified.compare.id) {
            Some((comparison, TypeId::BPCHAR, TypeId::BPCHAR)) => Some(comparison),
            _ => None,
        };
        let comparison = direct_comparison(quantified.compare.id).or(numeric).or(of_chars);
        let is_not = match (comparison, quantified.is_all) {
            (Some(Comparison::Equal), false) => false,
            (Some(Comparison::NotEqual), true) => true,
            _ => return Ok(None),
        };
        let constant = |element: &Expression| match &element.node {
            Node::Constant(value) => Some(value.clone()),
            _ if numeric.is_some() => self.constant_numeric(element),
            _ => None,
        };
        if let Node::Array(_, elements) = &quantified.array.node
            && elements.iter().any(|element| self.is_parameter(element))
        {
            return self.alternatives(quantified, elements, is_not, input);
        }
        let values: Option<Vec<Value>> = match &quantified.array.node {
            Node::Constant(Value::Array(array)) => Some(array.values.clone()),
            Node::Array(_, elements) => elements.iter().map(constant).collect(),
            _ => None,
        };
        let Some(values) = values else { return Ok(None) };
        if values.is_empty() || values.iter().any(|value| value.is_null() || matches!(value, Value::Array(_))) {
            return Ok(None);
        }
        if numeric.is_some() {
            let is_in = self.fixed_membership(&quantified.operand, &values, input)?;
            return Ok(is_in.map(|is_in| if is_not { Lowered::Not(Box::new(is_in)) } else { is_in }));
        }
        let id = quantified.operand.sql_type.id;
        let reading = if of_chars.is_some() { Reading::Key } else { Reading::Value };
        let list = values.iter().map(|value| read(value, reading, id)).collect::<Result<Option<Vec<Scalar>>, _>>()?;
        let Some(list) = list else { return Ok(None) };
        let value = Box::new(match of_chars {
            Some(_) => self.comparison_key(&quantified.operand, input)?,
            None => self.expression(&quantified.operand, input)?,
        });
        let is_in = Lowered::In { value, list };
        Ok(Some(if is_not { Lowered::Not(Box::new(is_in)) } else { is_in }))
    }

    /// `x IN ($1, $2)` as alternatives.
    fn alternatives(
        &self,
        quantified: &Quantified,
        elements: &[Expression],
        is_not: bool,
        input: &[ColumnId],
    ) -> Result<Option<Lowered>, SqlError> {
        if !matches!(quantified.operand.node, Node::Column(..)) {
            return Ok(None);
        }
        let mut alternatives = Vec::with_capacity(elements.len());
        for element in elements {
            match self.comparison(Comparison::Equal, quantified.compare.id, &quantified.operand, element, input)? {
                Some(comparison) => alternatives.push(comparison),
                None => return Ok(None),
            }
        }
        let is_in = Lowered::Or(alternatives);
        Ok(Some(if is_not { Lowered::Not(Box::new(is_in)) } else { is_in }))
    }

    /// A date compared with a timestamp that reads no row, as a comparison of days.
    fn comparison_of_days(&self, call: &FunctionCall, input: &[ColumnId]) -> Result<Option<Lowered>, SqlError> {
        let (comparison, date, instant) = match (comparison_of(call.function.id), &call.arguments[..]) {
            (Some((comparison, TypeId::DATE, TypeId::TIMESTAMP)), [date, instant]) => (comparison, date, instant),
            (Some((comparison, TypeId::TIMESTAMP, TypeId::DATE)), [instant, date]) => {
                (comparison.mirrored(), date, instant)
            }
            _ => return Ok(None),
        };
        let reading = match comparison {
            Comparison::Less | Comparison::GreaterOrEqual => Reading::DayFrom,
            Comparison::LessOrEqual | Comparison::Greater => Reading::DayUpTo,
            Comparison::Equal | Comparison::NotEqual => return Ok(None),
        };
        let Some(day) = self.without_rows(instant, reading)? else { return Ok(None) };
        let date = self.expression(date, input)?;
        Ok(Some(Lowered::Compare { comparison, left: Box::new(date), right: Box::new(day) }))
    }

    /// The expression row by row. Scalar subqueries and parameters are arguments of it.
    pub(super) fn row_function(
        &self,
        expression: &Expression,
        input: &[ColumnId],
        result: RowResult,
    ) -> Result<Lowered, SqlError> {
        let mut expression = expression.clone();
        let mut subqueries = Vec::new();
        self.subqueries_as_columns(&mut expression, &mut subqueries)?;
        // No column of a statement has such a number.
        let mut number = u32::MAX;
        let mut next = || {
            number -= 1;
            ColumnId(number)
        };
        self.parameters_as_columns(&mut expression, &mut next, &mut subqueries);
        let mut columns = Vec::new();
        let mut arguments: Vec<(Lowered, DataType)> = Vec::new();
        for column in expression.free_columns() {
            let without_rows = subqueries.iter().find(|(own, _, _)| *own == column);
            let (value, form, id) = match without_rows {
                Some((_, id, (value, form))) => (value.clone(), *form, *id),
                None => {
                    let value = Lowered::Column(position(column, input)?);
                    (value, self.form(column), self.columns.sql_type(column).id)
                }
            };
            let (argument, form) = match form {
                Form::Unpadded { .. } => (in_form(value, form, Form::Text), Form::Text),
                form => (value, form),
            };
            columns.push((column, id));
            arguments.push((argument, form.data_type()));
        }
        let function = RowFunction::new(expression, columns, result, self.session.clone());
        Ok(Lowered::Foreign { function: std::sync::Arc::new(function), arguments })
    }

    /// Puts a column in place of each scalar subquery.
    fn subqueries_as_columns(
        &self,
        expression: &mut Expression,
        subqueries: &mut Vec<(ColumnId, TypeId, (Lowered, Form))>,
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

    /// The value of a subquery that reads no column around it, computed before the query, and its form; `None` for other subqueries.
    pub(super) fn scalar_subquery(&self, subquery: &Subquery) -> Result<Option<(Lowered, Form)>, SqlError> {
        if subquery.kind != SubqueryKind::Scalar || !subquery.relation.free_columns().is_empty() {
            return Ok(None);
        }
        let [column] = subquery.columns[..] else { return Err(unsupported_subquery()) };
        let number = self.add_scalar(&subquery.relation, column)?;
        Ok(Some((Lowered::SubqueryValue(number), self.form(column))))
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
