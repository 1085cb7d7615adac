//! Numerics as integers: arithmetic and CASE.
//!
//! PostgreSQL's numerics have a display scale each: a sum has the larger one, a product has both together. So the scale of an expression
//! follows from those of its parts, and its value is an integer at that scale. Only CASE and COALESCE have rows of several scales. Their
//! integers are at the largest one, and a second expression gives the digits after the point that each row shows.
//!
//! How many digits a value can have follows as well. Where they may not fit 128 bits, there is no such expression, and values are
//! computed row by row; or it is tried where that is allowed ([`super::forms`]).

use std::sync::Arc;

use braid_exec::Expression as Lowered;
use braid_exec::expression::{Arithmetic, Comparison, NumberRange};
use braid_sql::expression::{Expression, FunctionCall, Node};
use braid_sql::pg_catalog::{TypeId, Volatility, pg_catalog};
use braid_sql::relation::ColumnId;
use braid_sql::{SqlError, Value};
use braid_storage::Scalar;

use super::expressions::position;
use super::forms::{form_of_number, in_form};
use super::numeric_functions::AsEncoded;
use super::parameters::Reading;
use super::query::Lowering;
use crate::values::Form;
use crate::values::arrays::{integer_scalar, scalar_of};
use crate::values::form::DIGITS_MAX;

/// Most parts of an expression for the digits that are shown: it repeats those of its operands.
const SHOWN_PARTS_MAX: usize = 64;

/// Calls within a constant that are computed when it is lowered.
const CONSTANT_DEPTH_MAX: usize = 8;

/// A numeric as integers.
#[derive(Clone, Debug)]
pub(super) struct FixedPoint {
    /// The integers.
    pub value: Lowered,
    /// Digits that they have at most, or [`UNBOUNDED_DIGITS`](crate::values::form::UNBOUNDED_DIGITS).
    pub digits: u8,
    /// Digits of them after the point.
    pub scale: u8,
    /// The digits after the point that each row shows, if that is not `scale`.
    pub shown: Option<Shown>,
    /// The value is null where one of these is.
    pub nullable: Vec<Lowered>,
}

/// Digits after the point by row; null where the value is.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub scale: Lowered,
    /// How many parts the expression has, about.
    parts: usize,
}

impl Shown {
    /// Digits that an expression of its own computes.
    pub fn of(scale: Lowered) -> Self {
        Self { scale, parts: 1 }
    }
}

impl FixedPoint {
    /// An expression that shows all digits of its scale, and is null itself where it is.
    pub fn of(value: Lowered, digits: u8, scale: u8) -> Self {
        Self { nullable: vec![value.clone()], value, digits, scale, shown: None }
    }

    fn null() -> Self {
        Self { value: Lowered::Constant(None), digits: 0, scale: 0, shown: None, nullable: Vec::new() }
    }

    fn is_null_constant(&self) -> bool {
        matches!(self.value, Lowered::Constant(None))
    }

    /// The form of a column of these values, if they all show the same digits.
    pub fn form(&self) -> Option<Form> {
        self.shown.is_none().then_some(Form::Fixed { digits: self.digits, scale: self.scale })
    }

    /// The values as bytes.
    pub fn encoded(self) -> Lowered {
        let own = Form::Fixed { digits: self.digits, scale: self.scale };
        match self.shown {
            None => in_form(self.value, own, Form::Encoded),
            Some(shown) => Lowered::Foreign {
                function: Arc::new(AsEncoded { scale: self.scale }),
                arguments: vec![(self.value, own.data_type()), (shown.scale, Form::Integer.data_type())],
            },
        }
    }

    /// Digits of the integers at a larger scale.
    pub fn digits_at(&self, scale: u8) -> u32 {
        u32::from(self.digits) + u32::from(scale.saturating_sub(self.scale))
    }

    /// The integers at a larger scale.
    pub fn at_scale(&self, scale: u8) -> Lowered {
        scaled_up(self.value.clone(), scale.saturating_sub(self.scale))
    }

    /// The digits after the point by row, null where the value is.
    pub fn shown_digits(&self) -> Shown {
        self.shown.clone().unwrap_or_else(|| Shown {
            scale: unless_null(&self.nullable, Lowered::Constant(Some(Scalar::Int(self.scale.into())))),
            parts: 1 + self.nullable.len(),
        })
    }

    /// What is null where the value is.
    fn nullable_once(&self) -> Vec<Lowered> {
        match &self.shown {
            None => self.nullable.clone(),
            Some(shown) => vec![shown.scale.clone()],
        }
    }
}

/// Integers times a power of ten.
pub(super) fn scaled_up(value: Lowered, digits: u8) -> Lowered {
    if digits == 0 || matches!(value, Lowered::Constant(None)) {
        return value;
    }
    if let Lowered::Constant(Some(constant)) = &value {
        let constant = match constant {
            Scalar::Int(constant) => Some(i128::from(*constant)),
            Scalar::Int128(constant) => Some(*constant),
            _ => None,
        };
        let power = 10_i128.checked_pow(digits.into());
        if let Some(scaled) = constant.zip(power).and_then(|(constant, power)| constant.checked_mul(power)) {
            return Lowered::Constant(Some(integer_scalar(scaled)));
        }
    }
    Lowered::ScaleUp { value: Box::new(value), digits }
}

/// Whether one of these is null.
pub(super) fn any_null(values: &[Lowered]) -> Lowered {
    let mut tests: Vec<Lowered> = values.iter().map(|value| Lowered::IsNull(Box::new(value.clone()))).collect();
    match (tests.len(), tests.pop()) {
        (1, Some(test)) => test,
        (_, Some(last)) => Lowered::Or(tests.into_iter().chain([last]).collect()),
        (_, None) => Lowered::Constant(Some(Scalar::Bool(false))),
    }
}

/// A value, null where one of these is.
fn unless_null(values: &[Lowered], value: Lowered) -> Lowered {
    match values {
        [] => value,
        values => Lowered::Case {
            branches: vec![(any_null(values), Lowered::Constant(None))],
            otherwise: Some(Box::new(value)),
        },
    }
}

fn arithmetic(operation: Arithmetic, left: Lowered, right: Lowered, range: NumberRange) -> Lowered {
    Lowered::Arithmetic { operation, left: Box::new(left), right: Box::new(right), range }
}

impl Lowering<'_> {
    /// A numeric as integers; `None` if they cannot be known to have a scale and few enough digits.
    pub(super) fn fixed(&self, expression: &Expression, input: &[ColumnId]) -> Result<Option<FixedPoint>, SqlError> {
        if expression.sql_type.id != TypeId::NUMERIC {
            return Ok(None);
        }
        let fixed = self.fixed_parts(expression, input)?;
        if !self.is_parameter(expression) {
            return Ok(fixed);
        }
        // It is computed once, when a statement is bound.
        Ok(fixed.filter(|fixed| fixed.shown.is_none()).map(|FixedPoint { digits, scale, .. }| {
            FixedPoint::of(self.parameter(expression, Reading::Fixed { scale }), digits, scale)
        }))
    }

    fn fixed_parts(&self, expression: &Expression, input: &[ColumnId]) -> Result<Option<FixedPoint>, SqlError> {
        Ok(match &expression.node {
            Node::Constant(value) => self.fixed_constant(value),
            Node::Parameter(number) => match self.form_of_parameter(*number) {
                Some(form) => self.fixed_column(self.parameter(expression, Reading::Value), form),
                None => None,
            },
            Node::Column(column, _) => {
                let at = position(*column, input)?;
                self.fixed_column(Lowered::Column(at), self.form(*column))
            }
            Node::Subquery(subquery) => match self.scalar_subquery(subquery)? {
                Some((value, form)) => self.fixed_column(value, form),
                None => None,
            },
            Node::Relabel(operand) => self.fixed(operand, input)?,
            Node::Call(call) => match self.constant_numeric(expression) {
                Some(value) => self.fixed_constant(&value),
                None => self.fixed_call(call, input)?,
            },
            Node::Case { branches, otherwise } if !expression.is_volatile() => {
                let mut results = Vec::with_capacity(branches.len() + 1);
                for result in branches.iter().map(|(_, result)| result).chain([&**otherwise]) {
                    match self.fixed(result, input)? {
                        Some(result) => results.push(result),
                        None => return Ok(None),
                    }
                }
                let Some(otherwise) = results.pop() else { return Ok(None) };
                let conditions = branches.iter().map(|(condition, _)| self.expression(condition, input));
                let conditions = conditions.collect::<Result<Vec<_>, _>>()?;
                self.fixed_case(conditions.into_iter().zip(results).collect(), otherwise)
            }
            Node::Coalesce(values) if !expression.is_volatile() => self.fixed_coalesce(values, input)?,
            Node::Let { operand, body } => match inlined(operand, body) {
                Some(body) => self.fixed(&body, input)?,
                None => None,
            },
            _ => None,
        })
    }

    fn fixed_constant(&self, value: &Value) -> Option<FixedPoint> {
        if value.is_null() {
            return Some(FixedPoint::null());
        }
        let Value::Numeric(number) = value else { return None };
        let form = form_of_number(number)?;
        let Form::Fixed { digits, scale } = form else { return None };
        let value = Lowered::Constant(scalar_of(value, form).ok()?);
        Some(FixedPoint { value, digits, scale, shown: None, nullable: Vec::new() })
    }

    fn fixed_column(&self, value: Lowered, form: Form) -> Option<FixedPoint> {
        match form {
            Form::Fixed { digits, scale } => Some(FixedPoint::of(value, digits, scale)),
            _ => None,
        }
    }

    /// The value of a numeric that is always the same, if it can be computed.
    pub(super) fn constant_numeric(&self, expression: &Expression) -> Option<Value> {
        if let Node::Constant(value) = &expression.node {
            return Some(value.clone());
        }
        let value = is_constant(expression, CONSTANT_DEPTH_MAX).then(|| self.constant_value(expression).ok()).flatten();
        value.filter(|value| matches!(value, Value::Null | Value::Numeric(_)))
    }

    fn fixed_call(&self, call: &FunctionCall, input: &[ColumnId]) -> Result<Option<FixedPoint>, SqlError> {
        let entry = pg_catalog().function(call.function.id);
        match (entry.symbol.unwrap_or_default(), &call.arguments[..]) {
            ("numeric_add", [left, right]) => self.fixed_sum(Arithmetic::Add, left, right, input),
            ("numeric_sub", [left, right]) => self.fixed_sum(Arithmetic::Subtract, left, right, input),
            ("numeric_mul", [left, right]) => self.fixed_product(left, right, input),
            ("numeric_div", [left, right]) => self.fixed_quotient(left, right, input),
            ("numeric_uplus", [operand]) => self.fixed(operand, input),
            ("numeric_uminus", [operand]) => Ok(self.fixed(operand, input)?.and_then(|operand| {
                let zero = Lowered::Constant(Some(Scalar::Int(0)));
                let value = arithmetic(Arithmetic::Subtract, zero, operand.value.clone(), NumberRange::Numeric);
                let digits = self.digits(operand.digits.into())?;
                Some(FixedPoint { value, digits, ..operand })
            })),
            _ => self.fixed_rounding(call, input),
        }
    }

    pub(super) fn fixed_operands(
        &self,
        left: &Expression,
        right: &Expression,
        input: &[ColumnId],
    ) -> Result<Option<(FixedPoint, FixedPoint)>, SqlError> {
        let Some(left) = self.fixed(left, input)? else { return Ok(None) };
        Ok(self.fixed(right, input)?.map(|right| (left, right)))
    }

    /// A sum or a difference.
    fn fixed_sum(
        &self,
        operation: Arithmetic,
        left: &Expression,
        right: &Expression,
        input: &[ColumnId],
    ) -> Result<Option<FixedPoint>, SqlError> {
        let Some((left, right)) = self.fixed_operands(left, right, input)? else { return Ok(None) };
        let scale = left.scale.max(right.scale);
        let Some(digits) = self.digits(left.digits_at(scale).max(right.digits_at(scale)) + 1) else { return Ok(None) };
        let value = arithmetic(operation, left.at_scale(scale), right.at_scale(scale), NumberRange::Numeric);
        // Where one side always shows the larger scale, so does the result.
        let is_shown = [&left, &right].into_iter().any(|side| side.scale == scale && side.shown.is_none());
        let shown = match is_shown {
            true => None,
            false => match larger(&left, &right) {
                Some(shown) => Some(shown),
                None => return Ok(None),
            },
        };
        Ok(Some(FixedPoint { value, digits, scale, shown, nullable: both_nullable(&left, &right) }))
    }

    fn fixed_product(
        &self,
        left: &Expression,
        right: &Expression,
        input: &[ColumnId],
    ) -> Result<Option<FixedPoint>, SqlError> {
        let Some((left, right)) = self.fixed_operands(left, right, input)? else { return Ok(None) };
        let scale = left.scale + right.scale;
        if scale > DIGITS_MAX {
            return Ok(None);
        }
        let Some(digits) = self.digits(u32::from(left.digits) + u32::from(right.digits)) else { return Ok(None) };
        let value = arithmetic(Arithmetic::Multiply, left.value.clone(), right.value.clone(), NumberRange::Numeric);
        let shown = match left.shown.is_none() && right.shown.is_none() {
            true => None,
            false => {
                let (left, right) = (left.shown_digits(), right.shown_digits());
                let parts = left.parts + right.parts;
                if parts > SHOWN_PARTS_MAX {
                    return Ok(None);
                }
                let scale = arithmetic(Arithmetic::Add, left.scale, right.scale, NumberRange::Int64);
                Some(Shown { scale, parts })
            }
        };
        Ok(Some(FixedPoint { value, digits, scale, shown, nullable: both_nullable(&left, &right) }))
    }

    /// CASE with these conditions and results.
    fn fixed_case(&self, branches: Vec<(Lowered, FixedPoint)>, otherwise: FixedPoint) -> Option<FixedPoint> {
        let results = || branches.iter().map(|(_, result)| result).chain([&otherwise]);
        let numbers = || results().filter(|result| !result.is_null_constant());
        let scale = numbers().map(|result| result.scale).max().unwrap_or(0);
        let digits = self.digits(numbers().map(|result| result.digits_at(scale)).max().unwrap_or(0))?;
        let case = |of: &dyn Fn(&FixedPoint) -> Lowered| Lowered::Case {
            branches: branches.iter().map(|(condition, result)| (condition.clone(), of(result))).collect(),
            otherwise: Some(Box::new(of(&otherwise))),
        };
        let value = case(&|result| result.at_scale(scale));
        if numbers().all(|result| result.shown.is_none() && result.scale == scale) {
            let is_nullable = results().any(|result| result.is_null_constant() || !result.nullable.is_empty());
            let nullable = if is_nullable { vec![value.clone()] } else { Vec::new() };
            return Some(FixedPoint { value, digits, scale, shown: None, nullable });
        }
        let parts = branches.len() + numbers().map(|result| result.shown_digits().parts).sum::<usize>();
        if parts > SHOWN_PARTS_MAX {
            return None;
        }
        let shown = case(&|result| match result.is_null_constant() {
            true => Lowered::Constant(None),
            false => result.shown_digits().scale,
        });
        let nullable = vec![shown.clone()];
        Some(FixedPoint { value, digits, scale, shown: Some(Shown { scale: shown, parts }), nullable })
    }

    /// The first value that is not null.
    fn fixed_coalesce(&self, values: &[Expression], input: &[ColumnId]) -> Result<Option<FixedPoint>, SqlError> {
        let mut numbers = Vec::with_capacity(values.len());
        for value in values {
            match self.fixed(value, input)? {
                Some(number) => numbers.push(number),
                None => return Ok(None),
            }
        }
        let Some(last) = numbers.pop() else { return Ok(None) };
        // What tells that a value is null is computed once more.
        let is_cheap = |value: &Lowered| matches!(value, Lowered::Column(_) | Lowered::SubqueryValue(_));
        if !numbers.iter().all(|number| number.nullable.iter().all(is_cheap)) {
            return Ok(None);
        }
        let branches = numbers.into_iter().map(|number| {
            let is_null = match number.is_null_constant() {
                true => Lowered::Constant(Some(Scalar::Bool(true))),
                false => any_null(&number.nullable),
            };
            (Lowered::Not(Box::new(is_null)), number)
        });
        Ok(self.fixed_case(branches.collect(), last))
    }
}

/// What is null where one of both sides is.
pub(super) fn both_nullable(left: &FixedPoint, right: &FixedPoint) -> Vec<Lowered> {
    if left.is_null_constant() || right.is_null_constant() {
        return vec![Lowered::Constant(None)];
    }
    let mut nullable = left.nullable_once();
    for value in right.nullable_once() {
        let is_known = value.as_column().is_some() && nullable.iter().any(|own| own.as_column() == value.as_column());
        if !is_known {
            nullable.push(value);
        }
    }
    nullable
}

/// The larger number of digits of both sides.
fn larger(left: &FixedPoint, right: &FixedPoint) -> Option<Shown> {
    let (left, right) = (left.shown_digits(), right.shown_digits());
    let parts = 3 * (left.parts + right.parts);
    if parts > SHOWN_PARTS_MAX {
        return None;
    }
    let is_larger = Lowered::Compare {
        comparison: Comparison::Greater,
        left: Box::new(left.scale.clone()),
        right: Box::new(right.scale.clone()),
    };
    let is_null = any_null(&[left.scale.clone(), right.scale.clone()]);
    let branches = vec![(is_null, Lowered::Constant(None)), (is_larger, left.scale)];
    Some(Shown { scale: Lowered::Case { branches, otherwise: Some(Box::new(right.scale)) }, parts })
}

/// Whether an expression is made of constants and functions that always give the same.
fn is_constant(expression: &Expression, depth: usize) -> bool {
    match &expression.node {
        Node::Constant(_) => true,
        _ if depth == 0 => false,
        Node::Call(call) => {
            call.volatility == Volatility::Immutable
                && call.arguments.iter().all(|argument| is_constant(argument, depth - 1))
        }
        Node::Relabel(operand) => is_constant(operand, depth - 1),
        _ => false,
    }
}

/// The body of a LET with its operand in place, if that costs nothing to compute again.
pub(super) fn inlined(operand: &Expression, body: &Expression) -> Option<Expression> {
    if !matches!(operand.node, Node::Column(..) | Node::Constant(_)) {
        return None;
    }
    let mut body = body.clone();
    body.put_operand(operand);
    Some(body)
}
