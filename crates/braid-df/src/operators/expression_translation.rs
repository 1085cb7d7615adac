//! DataFusion's expressions as Braid's: natively where there is a kernel and the types are those it computes with, else
//! as an expression that DataFusion evaluates on Arrow arrays.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use braid_base::BATCH_BYTES_MAX;
use braid_exec::expression::{Arithmetic, Comparison, DatePart, ForeignExpression, NumberRange, Resources};
use braid_exec::values::arrow_arrays::is_supported;
use braid_exec::{ExecError, Expression, Vector};
use braid_storage::Scalar;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DataFusionError, ScalarValue};
use datafusion::logical_expr::expr::{InList, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Case, Expr, Like, Operator};
use datafusion::physical_expr::PhysicalExpr;

use super::coverage::{Coverage, Uncovered, uncovered};
use super::template_plan::{ParameterForm, TemplateParameter, is_parameter};
use crate::bounded::{divisible, is_batch_too_long, literal_bytes};
use crate::expression_types::type_of;
use crate::filter_translation::comparison;

/// The columns that stand for parameters in an expression of DataFusion's. No statement names a column so.
const PARAMETER_COLUMN: &str = "\u{0}parameter";

/// The parameter and the type of each such column.
type ParameterColumns = HashMap<Column, (Expression, DataType)>;

/// What values are computed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    /// Integers that are compared as they are, of this width or unit.
    Integer(IntegerKind),
    /// A numeric with this number of digits after the point.
    Numeric(i8),
    Float,
    Text,
    Bytes,
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IntegerKind {
    Number,
    Date,
    Timestamp(arrow::datatypes::TimeUnit),
}

fn kind(data_type: &DataType) -> Option<Kind> {
    Some(match data_type {
        DataType::Boolean => Kind::Bool,
        DataType::Int16 | DataType::Int32 | DataType::Int64 => Kind::Integer(IntegerKind::Number),
        DataType::Date32 => Kind::Integer(IntegerKind::Date),
        DataType::Timestamp(unit, _) => Kind::Integer(IntegerKind::Timestamp(*unit)),
        DataType::Decimal128(_, scale) if *scale >= 0 => Kind::Numeric(*scale),
        DataType::Float32 | DataType::Float64 => Kind::Float,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => Kind::Bytes,
        DataType::Null => Kind::Null,
        _ => return None,
    })
}

/// Whether values of two types are equal exactly when their vectors' values are.
pub(super) fn is_same_kind(a: &DataType, b: &DataType) -> bool {
    kind(a).is_some_and(|a| a != Kind::Null && kind(b) == Some(a))
}

/// Whether columns of this type can be carried by Braid's operators.
pub(super) fn is_carried(data_type: &DataType) -> bool {
    is_supported(data_type)
}

impl Coverage<'_> {
    /// An expression over the columns of `schema`.
    pub(super) fn expression(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Expression, Uncovered> {
        if is_parameter(expr) {
            return self.parameter(expr, schema);
        }
        match self.native(expr, schema)? {
            Some(expression) => Ok(expression),
            None => self.foreign(expr, schema),
        }
    }

    /// The expression, if there are kernels for all of it down to foreign parts.
    fn native(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Option<Expression>, Uncovered> {
        Ok(match expr {
            Expr::Alias(alias) => Some(self.expression(&alias.expr, schema)?),
            Expr::Column(column) => Some(Expression::Column(self.column(column, schema)?)),
            Expr::Literal(value, _) => literal(value).map(Expression::Constant),
            Expr::BinaryExpr(binary) => self.binary(binary, expr, schema)?,
            Expr::Not(inner) => Some(Expression::Not(Box::new(self.expression(inner, schema)?))),
            Expr::IsNull(inner) => Some(Expression::IsNull(Box::new(self.expression(inner, schema)?))),
            Expr::IsNotNull(inner) => {
                let is_null = Expression::IsNull(Box::new(self.expression(inner, schema)?));
                Some(Expression::Not(Box::new(is_null)))
            }
            Expr::Between(between) => {
                let low = (*between.expr.clone()).gt_eq(*between.low.clone());
                let high = (*between.expr.clone()).lt_eq(*between.high.clone());
                let within = self.native(&low.and(high), schema)?;
                if between.negated { within.map(|within| Expression::Not(Box::new(within))) } else { within }
            }
            Expr::InList(list) => self.in_list(list, schema)?,
            Expr::Like(like) => self.like(like, schema)?,
            Expr::Case(case) => self.case(case, expr, schema)?,
            Expr::Cast(cast) => self.cast(&cast.expr, cast.field.data_type(), schema)?,
            Expr::ScalarFunction(function) => self.function(function, schema)?,
            Expr::ScalarSubquery(subquery) => Some(self.scalar_subquery(subquery)?),
            _ => None,
        })
    }

    pub(super) fn column(&self, column: &Column, schema: &DFSchema) -> Result<usize, Uncovered> {
        schema.index_of_column(column).map_err(|error| uncovered(error.to_string()))
    }

    fn binary(&mut self, binary: &BinaryExpr, expr: &Expr, schema: &DFSchema) -> Result<Option<Expression>, Uncovered> {
        let BinaryExpr { left, op, right } = binary;
        if matches!(op, Operator::And | Operator::Or) {
            let mut parts = Vec::new();
            flatten(left, *op, &mut parts);
            flatten(right, *op, &mut parts);
            let parts: Result<Vec<Expression>, Uncovered> =
                parts.into_iter().map(|part| self.expression(part, schema)).collect();
            return Ok(Some(if *op == Operator::And { Expression::And(parts?) } else { Expression::Or(parts?) }));
        }
        let (Some(left_kind), Some(right_kind)) = (self.kind_of(left, schema)?, self.kind_of(right, schema)?) else {
            return Ok(None);
        };
        if let Some(comparison) = comparison(*op) {
            if let Some(of_days) = self.comparison_of_days(comparison, left, right, schema)? {
                return Ok(Some(of_days));
            }
            let (left, right) = match (left_kind, right_kind) {
                (Kind::Numeric(a), Kind::Numeric(b)) => {
                    let (left, right) = (self.expression(left, schema)?, self.expression(right, schema)?);
                    (scale_up(left, (b - a).max(0)), scale_up(right, (a - b).max(0)))
                }
                (a, b) if a == b && a != Kind::Null => {
                    (self.expression(left, schema)?, self.expression(right, schema)?)
                }
                _ => return Ok(None),
            };
            return Ok(Some(Expression::Compare { comparison, left: Box::new(left), right: Box::new(right) }));
        }
        // Integers and floats are computed by functions that check them; what is left here is numerics.
        let (Kind::Numeric(a), Kind::Numeric(b)) = (left_kind, right_kind) else { return Ok(None) };
        let Some(DataType::Decimal128(_, scale)) = type_of(expr, schema).ok() else {
            return Ok(None);
        };
        let (operation, ups) = match op {
            Operator::Plus => (Arithmetic::Add, (scale - a, scale - b)),
            Operator::Minus => (Arithmetic::Subtract, (scale - a, scale - b)),
            Operator::Multiply if a + b == scale => (Arithmetic::Multiply, (0, 0)),
            _ => return Ok(None),
        };
        if ups.0 < 0 || ups.1 < 0 {
            return Ok(None);
        }
        let left = scale_up(self.expression(left, schema)?, ups.0);
        let right = scale_up(self.expression(right, schema)?, ups.1);
        Ok(Some(arithmetic(operation, left, right, NumberRange::Numeric)))
    }

    fn kind_of(&self, expr: &Expr, schema: &DFSchema) -> Result<Option<Kind>, Uncovered> {
        let data_type = type_of(expr, schema).map_err(|error| uncovered(error.to_string()))?;
        Ok(kind(&data_type))
    }

    fn in_list(&mut self, list: &InList, schema: &DFSchema) -> Result<Option<Expression>, Uncovered> {
        if list.list.iter().any(is_parameter) {
            return self.alternatives(list, schema);
        }
        let value_kind = self.kind_of(&list.expr, schema)?;
        let mut constants: Vec<Scalar> = Vec::with_capacity(list.list.len());
        for item in &list.list {
            let Expr::Literal(value, _) = item else { return Ok(None) };
            match (literal(value), kind(&value.data_type()) == value_kind) {
                (Some(Some(scalar)), true) => constants.push(scalar),
                _ => return Ok(None),
            }
        }
        let value = Box::new(self.expression(&list.expr, schema)?);
        let membership = Expression::In { value, list: constants };
        Ok(Some(if list.negated { Expression::Not(Box::new(membership)) } else { membership }))
    }

    fn like(&mut self, like: &Like, schema: &DFSchema) -> Result<Option<Expression>, Uncovered> {
        let escape_is_usual = like.escape_char.is_none_or(|escape| escape == '\\');
        let is_text = self.kind_of(&like.expr, schema)? == Some(Kind::Text);
        if like.case_insensitive || !escape_is_usual || !is_text {
            return Ok(None);
        }
        let pattern = match &*like.pattern {
            Expr::Literal(
                ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)) | ScalarValue::LargeUtf8(Some(text)),
                _,
            ) => Expression::Constant(Some(Scalar::Bytes(text.clone().into()))),
            pattern if is_parameter(pattern) && self.kind_of(pattern, schema)? == Some(Kind::Text) => {
                self.parameter_in_form(pattern, ParameterForm::Pattern, schema)?
            }
            _ => return Ok(None),
        };
        let pattern = Box::new(pattern);
        let matches = Expression::Like { value: Box::new(self.expression(&like.expr, schema)?), pattern };
        Ok(Some(if like.negated { Expression::Not(Box::new(matches)) } else { matches }))
    }

    fn case(&mut self, case: &Case, expr: &Expr, schema: &DFSchema) -> Result<Option<Expression>, Uncovered> {
        if case.expr.as_ref().is_some_and(|base| base.is_volatile()) {
            // It is evaluated once, not for each branch.
            return Ok(None);
        }
        let result_kind = self.kind_of(expr, schema)?;
        let mut branches = Vec::with_capacity(case.when_then_expr.len());
        for (when, then) in &case.when_then_expr {
            let kind = self.kind_of(then, schema)?;
            if kind != result_kind && kind != Some(Kind::Null) {
                return Ok(None);
            }
            let condition = match &case.expr {
                None => self.expression(when, schema)?,
                Some(value) => self.expression(&(**value).clone().eq((**when).clone()), schema)?,
            };
            branches.push((condition, self.expression(then, schema)?));
        }
        let otherwise = match &case.else_expr {
            None => None,
            Some(otherwise) => {
                let kind = self.kind_of(otherwise, schema)?;
                if kind != result_kind && kind != Some(Kind::Null) {
                    return Ok(None);
                }
                Some(Box::new(self.expression(otherwise, schema)?))
            }
        };
        Ok(Some(Expression::Case { branches, otherwise }))
    }

    /// A cast that keeps every value.
    fn cast(&mut self, expr: &Expr, to: &DataType, schema: &DFSchema) -> Result<Option<Expression>, Uncovered> {
        let from = type_of(expr, schema).map_err(|error| uncovered(error.to_string()))?;
        let digits = match (&from, to) {
            (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View, _) if kind(to) == Some(Kind::Text) => 0,
            (DataType::Int16, DataType::Int16 | DataType::Int32 | DataType::Int64) => 0,
            (DataType::Int32, DataType::Int32 | DataType::Int64) => 0,
            (DataType::Int64, DataType::Int64) => 0,
            (DataType::Int16, DataType::Decimal128(precision, scale)) if holds(*precision, *scale, 5) => *scale,
            (DataType::Int32, DataType::Decimal128(precision, scale)) if holds(*precision, *scale, 10) => *scale,
            (DataType::Int64, DataType::Decimal128(precision, scale)) if holds(*precision, *scale, 19) => *scale,
            (DataType::Decimal128(p, s), DataType::Decimal128(precision, scale))
                if scale >= s && *s >= 0 && holds(*precision, *scale, (*p).saturating_sub(*s as u8)) =>
            {
                scale - s
            }
            _ => return Ok(None),
        };
        Ok(Some(scale_up(self.expression(expr, schema)?, digits)))
    }

    fn function(&mut self, function: &ScalarFunction, schema: &DFSchema) -> Result<Option<Expression>, Uncovered> {
        let arguments = &function.args;
        match (function.func.name(), &arguments[..]) {
            ("checked_add" | "checked_subtract" | "checked_multiply", [left, right]) => {
                let data_type = type_of(left, schema).map_err(|error| uncovered(error.to_string()))?;
                let range = match data_type {
                    DataType::Int16 => NumberRange::Int16,
                    DataType::Int32 => NumberRange::Int32,
                    DataType::Int64 => NumberRange::Int64,
                    _ => return Ok(None),
                };
                let operation = match function.func.name() {
                    "checked_add" => Arithmetic::Add,
                    "checked_subtract" => Arithmetic::Subtract,
                    _ => Arithmetic::Multiply,
                };
                let (left, right) = (self.expression(left, schema)?, self.expression(right, schema)?);
                Ok(Some(arithmetic(operation, left, right, range)))
            }
            ("date_part", [part, value]) => {
                let of_dates = type_of(value, schema).is_ok_and(|data_type| data_type == DataType::Date32);
                let to_integer = type_of(&Expr::ScalarFunction(function.clone()), schema)
                    .is_ok_and(|data_type| kind(&data_type) == Some(Kind::Integer(IntegerKind::Number)));
                let part = match text(part).map(str::to_ascii_lowercase).as_deref() {
                    Some("year") => DatePart::Year,
                    Some("quarter") => DatePart::Quarter,
                    Some("month") => DatePart::Month,
                    Some("day") => DatePart::Day,
                    _ => return Ok(None),
                };
                if !of_dates || !to_integer {
                    return Ok(None);
                }
                Ok(Some(Expression::DatePart { part, value: Box::new(self.expression(value, schema)?) }))
            }
            ("substr", [value, start, rest @ ..]) if rest.len() <= 1 => {
                let of_text = self.kind_of(value, schema)? == Some(Kind::Text);
                let (Some(start), length) = (integer(start), rest.first().map(integer)) else { return Ok(None) };
                let length = match length {
                    None => None,
                    Some(Some(length)) if length >= 0 => Some(length),
                    Some(_) => return Ok(None),
                };
                if !of_text {
                    return Ok(None);
                }
                let value = Box::new(self.expression(value, schema)?);
                Ok(Some(Expression::Substring { value, start, length }))
            }
            _ => Ok(None),
        }
    }

    /// An expression of placeholders, as a parameter of the plan.
    fn parameter(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Expression, Uncovered> {
        self.parameter_in_form(expr, ParameterForm::AsItIs, schema)
    }

    fn parameter_in_form(
        &mut self,
        expr: &Expr,
        form: ParameterForm,
        schema: &DFSchema,
    ) -> Result<Expression, Uncovered> {
        if let Expr::Alias(alias) = expr {
            return self.parameter_in_form(&alias.expr, form, schema);
        }
        let data_type = type_of(expr, schema)?;
        if !is_carried(&data_type) || kind(&data_type).is_none() {
            return Err(uncovered(format!("the parameter {expr} of type {data_type}")));
        }
        let parameter = TemplateParameter::new(self.session, expr, form)?;
        let known = self.parameters.iter().position(|(known, of)| known == expr && of.is_in_form(form));
        let number = known.unwrap_or(self.parameters.len());
        if known.is_none() {
            self.parameters.push((expr.clone(), parameter));
        }
        Ok(Expression::Parameter(number))
    }

    /// `value IN ($1, $2)` as alternatives.
    fn alternatives(&mut self, list: &InList, schema: &DFSchema) -> Result<Option<Expression>, Uncovered> {
        let value_kind = self.kind_of(&list.expr, schema)?;
        let mut alternatives = Vec::with_capacity(list.list.len());
        for item in &list.list {
            let is_constant = is_parameter(item) || matches!(item, Expr::Literal(..));
            if !is_constant || self.kind_of(item, schema)? != value_kind {
                return Ok(None);
            }
            alternatives.push(self.expression(&(*list.expr.clone()).eq(item.clone()), schema)?);
        }
        let among = Expression::Or(alternatives);
        Ok(Some(if list.negated { Expression::Not(Box::new(among)) } else { among }))
    }

    /// A date, cast to a timestamp and compared with a parameter, as a comparison of days.
    fn comparison_of_days(
        &mut self,
        comparison: Comparison,
        left: &Expr,
        right: &Expr,
        schema: &DFSchema,
    ) -> Result<Option<Expression>, Uncovered> {
        let (comparison, date, instant) = match (is_parameter(left), is_parameter(right)) {
            (false, true) => (comparison, left, right),
            (true, false) => (comparison.mirrored(), right, left),
            _ => return Ok(None),
        };
        let form = match comparison {
            Comparison::Less | Comparison::GreaterOrEqual => ParameterForm::DayFrom,
            Comparison::LessOrEqual | Comparison::Greater => ParameterForm::DayUpTo,
            Comparison::Equal | Comparison::NotEqual => return Ok(None),
        };
        let Expr::Cast(cast) = date else { return Ok(None) };
        let is_of_date = type_of(&cast.expr, schema)? == DataType::Date32;
        let local = type_of(instant, schema)?;
        if !is_of_date || !matches!(local, DataType::Timestamp(_, None)) || *cast.field.data_type() != local {
            return Ok(None);
        }
        let left = Box::new(self.expression(&cast.expr, schema)?);
        let right = Box::new(self.parameter_in_form(instant, form, schema)?);
        Ok(Some(Expression::Compare { comparison, left, right }))
    }

    /// The expression with a column in the place of each parameter, and the parameter and type of each such column.
    fn parameters_as_columns(&mut self, expr: &Expr, schema: &DFSchema) -> Result<(Expr, ParameterColumns), Uncovered> {
        let mut parameters = HashMap::new();
        let mut refusal = None;
        let replaced = expr.clone().transform_down(|expr| {
            if !is_parameter(&expr) {
                return Ok(Transformed::no(expr));
            }
            match (self.parameter(&expr, schema), type_of(&expr, schema)) {
                (Ok(parameter), Ok(data_type)) => {
                    let column = Column::new_unqualified(format!("{PARAMETER_COLUMN}{}", parameters.len()));
                    parameters.insert(column.clone(), (parameter, data_type));
                    Ok(Transformed::new(Expr::Column(column), true, TreeNodeRecursion::Jump))
                }
                (Err(reason), _) => {
                    refusal.get_or_insert(reason);
                    Ok(Transformed::new(expr, false, TreeNodeRecursion::Stop))
                }
                (_, Err(error)) => Err(error),
            }
        })?;
        match refusal {
            None => Ok((replaced.data, parameters)),
            Some(reason) => Err(reason),
        }
    }

    /// The expression as DataFusion evaluates it.
    fn foreign(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Expression, Uncovered> {
        let error = |error: DataFusionError| uncovered(error.to_string());
        let contains_subquery = expr
            .exists(|expr| {
                Ok(matches!(
                    expr,
                    Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::OuterReferenceColumn(_, _)
                ))
            })
            .map_err(error)?;
        if contains_subquery {
            return Err(uncovered(format!("a subquery within {expr}")));
        }
        let result_type = type_of(expr, schema).map_err(error)?;
        if !is_carried(&result_type) {
            return Err(uncovered(format!("{expr} of type {result_type}")));
        }
        let (expr, parameters) = self.parameters_as_columns(expr, schema)?;
        let expr = &expr;
        let mut columns: Vec<Column> = Vec::new();
        expr.apply(|expr| {
            if let Expr::Column(column) = expr
                && !columns.contains(column)
            {
                columns.push(column.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .map_err(error)?;
        let mut fields = Vec::with_capacity(columns.len());
        let mut arguments = Vec::with_capacity(columns.len());
        for (at, column) in columns.iter().enumerate() {
            if let Some((parameter, data_type)) = parameters.get(column) {
                arguments.push((parameter.clone(), data_type.clone()));
                fields.push(Arc::new(Field::new(argument_name(at), data_type.clone(), true)));
                continue;
            }
            let position = self.column(column, schema)?;
            let field = schema.field(position);
            if !is_carried(field.data_type()) {
                return Err(uncovered(format!("column {column} of type {}", field.data_type())));
            }
            arguments.push((Expression::Column(position), field.data_type().clone()));
            let name = argument_name(at);
            let field = Field::new(name, field.data_type().clone(), true).with_metadata(field.metadata().clone());
            fields.push(Arc::new(field));
        }
        let renamed = expr.clone().transform(|expr| {
            Ok(match expr {
                Expr::Column(column) => {
                    let at = columns.iter().position(|other| *other == column).expect("every column was collected");
                    Transformed::yes(Expr::Column(Column::new_unqualified(argument_name(at))))
                }
                other => Transformed::no(other),
            })
        });
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let argument_schema = DFSchema::try_from(schema.as_ref().clone()).map_err(error)?;
        let physical = self.session.create_physical_expr(renamed.map_err(error)?.data, &argument_schema);
        let function = Arc::new(DataFusionExpression::new(physical.map_err(error)?, schema));
        Ok(Expression::Foreign { function, arguments })
    }
}

fn argument_name(at: usize) -> String {
    format!("c{at}")
}

/// An expression on columns that it names by position.
#[derive(Debug)]
struct DataFusionExpression {
    expr: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    /// Bytes that its constants take for each row where they become columns.
    row_bytes: usize,
}

impl DataFusionExpression {
    fn new(expr: Arc<dyn PhysicalExpr>, schema: SchemaRef) -> Self {
        let row_bytes = literal_bytes(&expr);
        Self { expr, schema, row_bytes }
    }
}

impl ForeignExpression for DataFusionExpression {
    fn evaluate(&self, arguments: &[ArrayRef], row_count: usize) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let options = RecordBatchOptions::new().with_row_count(Some(row_count));
        let batch = RecordBatch::try_new_with_options(self.schema.clone(), arguments.to_vec(), &options)?;
        Ok(self.expr.evaluate(&batch)?.into_array(row_count)?)
    }

    fn evaluate_within(
        &self,
        arguments: &[ArrayRef],
        row_count: usize,
        resources: Resources<'_>,
    ) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        if !resources.is_divisible {
            return self.evaluate(arguments, row_count);
        }
        if self.row_bytes.saturating_mul(row_count) > BATCH_BYTES_MAX {
            return Err(Box::new(ExecError::BatchTooLong));
        }
        divisible(|| self.evaluate(arguments, row_count)).map_err(|error| match error.downcast_ref() {
            Some(too_long) if is_batch_too_long(too_long) => Box::new(ExecError::BatchTooLong),
            _ => error,
        })
    }
}

impl std::fmt::Display for DataFusionExpression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.expr.fmt(f)
    }
}

fn flatten<'a>(expr: &'a Expr, op: Operator, parts: &mut Vec<&'a Expr>) {
    match expr {
        Expr::BinaryExpr(binary) if binary.op == op => {
            flatten(&binary.left, op, parts);
            flatten(&binary.right, op, parts);
        }
        other => parts.push(other),
    }
}

fn arithmetic(operation: Arithmetic, left: Expression, right: Expression, range: NumberRange) -> Expression {
    Expression::Arithmetic { operation, left: Box::new(left), right: Box::new(right), range }
}

/// A numeric with more digits after the point. What does not fit 128 bits then is multiplied when it runs, which fails.
pub(super) fn scale_up(value: Expression, digits: i8) -> Expression {
    if digits == 0 {
        return value;
    }
    if let Expression::Constant(Some(scalar)) = &value
        && let Some(scaled) = scaled_up(scalar, digits)
    {
        return Expression::Constant(Some(scaled));
    }
    Expression::ScaleUp { value: Box::new(value), digits: digits as u8 }
}

fn scaled_up(value: &Scalar, digits: i8) -> Option<Scalar> {
    let unscaled = match value {
        Scalar::Int(value) => i128::from(*value),
        Scalar::Int128(value) => *value,
        _ => return None,
    };
    let power = 10_i128.checked_pow(digits.unsigned_abs().into())?;
    let scaled = unscaled.checked_mul(power)?;
    Some(i64::try_from(scaled).map_or(Scalar::Int128(scaled), Scalar::Int))
}

/// Whether a numeric type has enough digits before the point.
fn holds(precision: u8, scale: i8, digits: u8) -> bool {
    scale >= 0 && precision.saturating_sub(scale as u8) >= digits
}

/// A constant as operators know it; `None` when its type is not theirs.
pub(super) fn literal(value: &ScalarValue) -> Option<Option<Scalar>> {
    if value.is_null() {
        return Some(None);
    }
    if !is_carried(&value.data_type()) {
        return None;
    }
    let array = value.to_array().ok()?;
    Vector::from_array(&array).map(|vector| vector.value(0))
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten(),
        _ => None,
    }
}

fn integer(expr: &Expr) -> Option<i64> {
    match expr {
        Expr::Literal(ScalarValue::Int64(value), _) => *value,
        Expr::Literal(ScalarValue::Int32(value), _) => value.map(i64::from),
        _ => None,
    }
}
