//! Plans with parameters: what a template of many statements is planned to.
//!
//! A logical plan of a template has placeholders in the places of its constants: `$1` is the first value of a statement, `$2` the
//! second. An expression of placeholders alone is one parameter of Braid's plan, an
//! [`Expression::Parameter`](braid_exec::Expression::Parameter). A statement computes its parameters when it is bound
//! ([`TemplateParameter::value`]), once, and not for each row.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use braid_exec::plan::Plan;
use braid_storage::Scalar;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::{ColumnarValue, Expr};
use datafusion::physical_expr::PhysicalExpr;

use super::expression_translation::literal;

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// A plan with parameters.
#[derive(Debug)]
pub struct TemplatePlan {
    /// The plan. Its parameters are numbered as below.
    pub plan: Plan,
    /// How a statement computes its parameters.
    pub parameters: Vec<TemplateParameter>,
}

/// A parameter of a plan: an expression over the values of a statement.
#[derive(Clone, Debug)]
pub struct TemplateParameter {
    formula: Formula,
    form: ParameterForm,
}

/// A value that is computed from the values of a statement.
#[derive(Clone)]
pub struct Formula(Form);

#[derive(Clone)]
enum Form {
    /// The value at a position.
    Value(usize),
    /// Computed from the values at some positions, which are the columns of the schema.
    Computed { expr: Arc<dyn PhysicalExpr>, schema: SchemaRef, positions: Arc<[usize]> },
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Value(position) => write!(f, "${}", position + 1),
            Form::Computed { expr, .. } => write!(f, "{expr}"),
        }
    }
}

impl Formula {
    /// The formula of `expr`, an expression of placeholders.
    ///
    /// # Errors
    /// When a placeholder has no type, or DataFusion has no such expression.
    pub fn new(session: &dyn Session, expr: &Expr) -> Result<Self> {
        let mut placeholders: Vec<(usize, DataType)> = Vec::new();
        expr.apply(|expr| {
            if let Expr::Placeholder(placeholder) = expr {
                let found = position_and_type(placeholder)?;
                if !placeholders.contains(&found) {
                    placeholders.push(found);
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        if let (Expr::Placeholder(_), [(position, _)]) = (expr, &placeholders[..]) {
            return Ok(Self(Form::Value(*position)));
        }
        let fields: Vec<Field> =
            placeholders.iter().map(|(at, data_type)| Field::new(column_name(*at), data_type.clone(), true)).collect();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let over_columns = expr.clone().transform(|expr| match expr {
            Expr::Placeholder(placeholder) => {
                let (position, _) = position_and_type(&placeholder)?;
                Ok(Transformed::yes(Expr::Column(Column::new_unqualified(column_name(position)))))
            }
            other => Ok(Transformed::no(other)),
        })?;
        let of_columns = DFSchema::try_from(schema.as_ref().clone())?;
        let expr = session.create_physical_expr(over_columns.data, &of_columns)?;
        let positions = placeholders.iter().map(|(position, _)| *position).collect();
        Ok(Self(Form::Computed { expr, schema, positions }))
    }

    /// The value for a statement with these values.
    ///
    /// # Errors
    /// When the expression fails.
    pub fn value(&self, values: &[ScalarValue]) -> Result<ScalarValue> {
        match &self.0 {
            Form::Value(position) => Ok(values[*position].clone()),
            Form::Computed { expr, schema, positions } => {
                let columns = positions.iter().map(|position| values[*position].to_array());
                let row = RecordBatch::try_new(schema.clone(), columns.collect::<Result<_>>()?)?;
                match expr.evaluate(&row)? {
                    ColumnarValue::Scalar(value) => Ok(value),
                    ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0),
                }
            }
        }
    }
}

/// What is made of an expression's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParameterForm {
    /// The value itself.
    AsItIs,
    /// A pattern of LIKE.
    Pattern,
    /// The first day that does not begin before a timestamp.
    DayFrom,
    /// The last day that does not begin after a timestamp.
    DayUpTo,
}

impl TemplateParameter {
    /// A parameter that is `expr`, an expression of placeholders.
    pub(super) fn new(session: &dyn Session, expr: &Expr, form: ParameterForm) -> Result<Self> {
        Ok(Self { formula: Formula::new(session, expr)?, form })
    }

    pub(super) fn is_in_form(&self, form: ParameterForm) -> bool {
        self.form == form
    }

    /// The parameter of the statement with these values.
    ///
    /// # Errors
    /// When the expression fails, or its value does not have the form that the plan needs. The statement is then planned with
    /// its constants, which decides whether it fails.
    pub fn value(&self, values: &[ScalarValue]) -> Result<Option<Scalar>> {
        let value = self.formula.value(values)?;
        let scalar = literal(&value).ok_or_else(|| misfit(format!("a parameter of type {}", value.data_type())))?;
        match (self.form, scalar) {
            (ParameterForm::AsItIs, scalar) => Ok(scalar),
            (_, None) => Ok(None),
            (ParameterForm::Pattern, Some(Scalar::Bytes(pattern))) if ends_in_escape(&pattern) => {
                Err(misfit("a pattern that ends in its escape character".to_owned()))
            }
            (ParameterForm::Pattern, scalar) => Ok(scalar),
            (form, Some(Scalar::Int(time))) if is_finite(time) => {
                let day = units_of_day(&value.data_type())?;
                let days = if form == ParameterForm::DayFrom { -(-time).div_euclid(day) } else { time.div_euclid(day) };
                Ok(Some(Scalar::Int(days)))
            }
            (_, Some(other)) => Err(misfit(format!("{other:?} as a day"))),
        }
    }
}

/// Whether it is an expression of placeholders alone, which has the same value for all rows.
pub fn is_parameter(expr: &Expr) -> bool {
    let mut has_placeholder = false;
    let visited = expr.apply(|expr| {
        match expr {
            Expr::Placeholder(_) => has_placeholder = true,
            Expr::Column(_)
            | Expr::OuterReferenceColumn(..)
            | Expr::ScalarSubquery(_)
            | Expr::Exists(_)
            | Expr::InSubquery(_)
            | Expr::AggregateFunction(_)
            | Expr::WindowFunction(_) => return Ok(TreeNodeRecursion::Stop),
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    has_placeholder && matches!(visited, Ok(TreeNodeRecursion::Continue)) && !expr.is_volatile()
}

/// The position of a placeholder's value, and its type.
fn position_and_type(placeholder: &Placeholder) -> Result<(usize, DataType)> {
    let number: Option<usize> = placeholder.id.strip_prefix('$').and_then(|number| number.parse().ok());
    match (number.and_then(|number| number.checked_sub(1)), &placeholder.field) {
        (Some(position), Some(field)) => Ok((position, field.data_type().clone())),
        _ => Err(misfit(format!("the placeholder {} without a type", placeholder.id))),
    }
}

fn column_name(position: usize) -> String {
    format!("v{position}")
}

/// Whether the last character of a pattern escapes nothing.
fn ends_in_escape(pattern: &[u8]) -> bool {
    pattern.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Whether it is neither of the infinite timestamps, nor near them.
fn is_finite(time: i64) -> bool {
    time.unsigned_abs() < i64::MAX as u64
}

/// A day in the units of a type of timestamps.
fn units_of_day(data_type: &DataType) -> Result<i64> {
    match data_type {
        DataType::Timestamp(TimeUnit::Second, None) => Ok(DAY_S),
        DataType::Timestamp(TimeUnit::Millisecond, None) => Ok(DAY_S * 1_000),
        DataType::Timestamp(TimeUnit::Microsecond, None) => Ok(DAY_S * 1_000_000),
        DataType::Timestamp(TimeUnit::Nanosecond, None) => Ok(DAY_S * 1_000_000_000),
        other => Err(misfit(format!("{other} as an instant"))),
    }
}

fn misfit(what: String) -> DataFusionError {
    DataFusionError::ArrowError(Box::new(ArrowError::InvalidArgumentError(what)), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_US: i64 = DAY_S * 1_000_000;

    fn day(form: ParameterForm, time_us: i64) -> Option<Scalar> {
        let parameter = TemplateParameter { formula: Formula(Form::Value(0)), form };
        parameter.value(&[ScalarValue::TimestampMicrosecond(Some(time_us), None)]).unwrap()
    }

    #[test]
    fn days_are_compared_in_place_of_their_first_instants() {
        for (time_us, from, up_to) in [
            (0, 0, 0),
            (1, 1, 0),
            (DAY_US - 1, 1, 0),
            (DAY_US, 1, 1),
            (-1, 0, -1),
            (-DAY_US, -1, -1),
            (-DAY_US - 1, -1, -2),
        ] {
            assert_eq!(day(ParameterForm::DayFrom, time_us), Some(Scalar::Int(from)), "{time_us}");
            assert_eq!(day(ParameterForm::DayUpTo, time_us), Some(Scalar::Int(up_to)), "{time_us}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let parameter = |form| TemplateParameter { formula: Formula(Form::Value(0)), form };
        let infinity = ScalarValue::TimestampMicrosecond(Some(i64::MAX), None);
        assert!(parameter(ParameterForm::DayFrom).value(&[infinity]).is_err());
        for (pattern, fits) in [("a%", true), ("a\\", false), ("a\\\\", true), ("", true)] {
            let value = parameter(ParameterForm::Pattern).value(&[ScalarValue::from(pattern)]);
            assert_eq!(value.is_ok(), fits, "{pattern}");
        }
        let null = parameter(ParameterForm::DayUpTo).value(&[ScalarValue::TimestampMicrosecond(None, None)]);
        assert_eq!(null.unwrap(), None);
    }
}
