//! Operators and methods of paths that compute.

use super::execution::{Finds, Found, Run};
use super::failure::Failure;
use crate::functions::json::json_types::type_name;
use crate::input::numbers::read_double;
use crate::values::Numeric;
use crate::values::json::Jsonb;
use crate::values::json_path::{Chain, PathItem, PathMethod, PathOperator};
use crate::{SqlError, SqlState};

/// Digits of a double that are the same in all its decimals.
const DOUBLE_DIGITS: usize = 15;

impl Run<'_> {
    /// A sum, a product and so on of two numbers.
    pub(super) fn operation(
        &mut self,
        operator: PathOperator,
        operands: &[Chain; 2],
        value: &Jsonb,
    ) -> Result<Numeric, Failure> {
        let left = self.values_of(&operands[0], value, true)?;
        let right = self.values_of(&operands[1], value, true)?;
        let single = |side: &str, values: &[Jsonb]| match values {
            [Jsonb::Number(number)] => Ok(number.clone()),
            _ => {
                let name = operator.name();
                let message = format!("{side} operand of jsonpath operator {name} is not a single numeric value");
                Err(Failure::of_value(SqlState::SingletonSqlJsonItemRequired, message))
            }
        };
        let (left, right) = (single("left", &left)?, single("right", &right)?);
        let result = match operator {
            PathOperator::Add => left.checked_add(&right),
            PathOperator::Subtract => left.checked_sub(&right),
            PathOperator::Multiply => left.checked_mul(&right),
            PathOperator::Divide => left.checked_div(&right),
            _ => left.checked_rem(&right),
        };
        result.map_err(Failure::OfValue)
    }

    /// A sign before each value of a path.
    pub(super) fn run_sign(
        &mut self,
        is_minus: bool,
        operand: &Chain,
        rest: &[PathItem],
        value: &Jsonb,
        mut found: Found<'_>,
    ) -> Finds {
        let mut finds = false;
        for value in self.values_of(operand, value, true)? {
            let number = match value {
                Jsonb::Number(_) if found.is_none() && rest.is_empty() => return Ok(true),
                Jsonb::Number(number) => number,
                _ if found.is_none() && rest.is_empty() => continue,
                _ => {
                    let sign = if is_minus { '-' } else { '+' };
                    let message = format!("operand of unary jsonpath operator {sign} is not a numeric value");
                    return Err(Failure::of_value(SqlState::SqlJsonNumberNotFound, message));
                }
            };
            let number = if is_minus { number.negated() } else { number };
            finds |= self.next(rest, &Jsonb::Number(number), found.as_deref_mut())?;
            if finds && found.is_none() {
                return Ok(true);
            }
        }
        Ok(finds)
    }

    /// A method of a value.
    pub(super) fn run_method(
        &mut self,
        method: PathMethod,
        rest: &[PathItem],
        value: &Jsonb,
        found: Found<'_>,
    ) -> Finds {
        let name = method.name();
        let result = match (method, value) {
            (PathMethod::Type, value) => Jsonb::string(type_name(value)),
            (PathMethod::Size, Jsonb::Array(elements)) => Jsonb::Number((elements.len() as i64).into()),
            (PathMethod::Size, _) if self.is_lax => Jsonb::Number(Numeric::ONE),
            (PathMethod::Size, _) if self.ignores_structure => return Ok(false),
            (PathMethod::Size, _) => {
                let message = format!("jsonpath item method .{name}() can only be applied to an array");
                return Err(Failure::of_value(SqlState::SqlJsonArrayNotFound, message));
            }
            (PathMethod::Abs, Jsonb::Number(number)) => Jsonb::Number(number.abs()),
            (PathMethod::Ceiling, Jsonb::Number(number)) => Jsonb::Number(number.ceil().map_err(Failure::Fatal)?),
            (PathMethod::Floor, Jsonb::Number(number)) => Jsonb::Number(number.floor().map_err(Failure::Fatal)?),
            (PathMethod::Double, Jsonb::Number(number)) => {
                let message =
                    "numeric argument of jsonpath item method .double() is out of range for type double precision";
                double(&number.to_string(), message)?;
                Jsonb::Number(number.clone())
            }
            (PathMethod::Double, Jsonb::String(text)) => {
                let message = "string argument of jsonpath item method .double() is not a valid representation of a double precision number";
                Jsonb::Number(Numeric::from_f64(double(text, message)?, DOUBLE_DIGITS))
            }
            (PathMethod::KeyValue, Jsonb::Object(fields)) if fields.is_empty() => return Ok(false),
            (PathMethod::KeyValue, Jsonb::Object(_)) => {
                let error = SqlError::unsupported("jsonpath item method .keyvalue() is not supported");
                return Err(Failure::Fatal(error));
            }
            (PathMethod::KeyValue, _) => {
                let message = format!("jsonpath item method .{name}() can only be applied to an object");
                return Err(Failure::of_value(SqlState::SqlJsonObjectNotFound, message));
            }
            (PathMethod::Double, _) => {
                let message =
                    format!("jsonpath item method .{name}() can only be applied to a string or numeric value");
                return Err(Failure::of_value(SqlState::NonNumericSqlJsonItem, message));
            }
            (PathMethod::Abs | PathMethod::Ceiling | PathMethod::Floor, _) => {
                let message = format!("jsonpath item method .{name}() can only be applied to a numeric value");
                return Err(Failure::of_value(SqlState::NonNumericSqlJsonItem, message));
            }
        };
        self.next(rest, &result, found)
    }
}

/// A finite double.
fn double(text: &str, message: &str) -> Result<f64, Failure> {
    let double = read_double(text).ok().filter(|double| double.is_finite());
    double.ok_or_else(|| Failure::of_value(SqlState::NonNumericSqlJsonItem, message))
}
