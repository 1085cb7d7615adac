//! The functions that checked arithmetic becomes.
//!
//! Sums, differences and products of integers are computed with wrap-around, which vectorises, and one bit for each row says whether it wrapped; the bits
//! are only looked at row by row when one of them is set, since a row that is null may wrap without harm.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, Datum, PrimitiveArray, Scalar};
use arrow::buffer::NullBuffer;
use arrow::compute::kernels::numeric::{add, div, mul, rem, sub};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type};
use arrow::error::ArrowError;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use crate::error_mapping::division_by_zero;
use crate::{EngineError, SqlState};

/// An operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// An operator on two values of one type.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct ArithmeticFunction {
    operator: Arithmetic,
    data_type: DataType,
    signature: Signature,
}

impl ArithmeticFunction {
    pub fn new(operator: Arithmetic, data_type: DataType) -> Self {
        let signature = Signature::exact(vec![data_type.clone(), data_type.clone()], Volatility::Immutable);
        Self { operator, data_type, signature }
    }

    fn symbol(&self) -> &'static str {
        match self.operator {
            Arithmetic::Add => "+",
            Arithmetic::Subtract => "-",
            Arithmetic::Multiply => "*",
            Arithmetic::Divide => "/",
            Arithmetic::Remainder => "%",
        }
    }
}

impl ArithmeticFunction {
    /// The operator on two values of its type, for `row_count` rows.
    pub fn compute(&self, left: &ColumnarValue, right: &ColumnarValue, row_count: usize) -> Result<ColumnarValue> {
        let all_scalar = matches!((left, right), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)));
        let row_count = if all_scalar { 1 } else { row_count };
        let (left, right) = (Side::of(left)?, Side::of(right)?);
        let result = match self.data_type {
            DataType::Int16 => integers::<Int16Type>(self.operator, &left, &right, row_count, "smallint"),
            DataType::Int32 => integers::<Int32Type>(self.operator, &left, &right, row_count, "integer"),
            DataType::Int64 => integers::<Int64Type>(self.operator, &left, &right, row_count, "bigint"),
            DataType::Float32 => floats::<Float32Type>(self.operator, &left, &right, row_count),
            _ => floats::<Float64Type>(self.operator, &left, &right, row_count),
        }?;
        if all_scalar {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?));
        }
        Ok(ColumnarValue::Array(result))
    }
}

impl ScalarUDFImpl for ArithmeticFunction {
    fn name(&self) -> &str {
        match self.operator {
            Arithmetic::Add => "checked_add",
            Arithmetic::Subtract => "checked_subtract",
            Arithmetic::Multiply => "checked_multiply",
            Arithmetic::Divide => "checked_divide",
            Arithmetic::Remainder => "checked_remainder",
        }
    }

    /// As the operator's, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(names.join(&format!(" {} ", self.symbol())))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = &args.args[..] else {
            return Err(EngineError::internal("an operator has two sides").into());
        };
        self.compute(left, right, args.number_rows)
    }
}

/// One side of an operator: a column, or one value for all rows.
pub(super) struct Side {
    pub array: ArrayRef,
    pub is_scalar: bool,
}

impl Side {
    pub fn of(value: &ColumnarValue) -> Result<Self> {
        Ok(match value {
            ColumnarValue::Array(array) => Self { array: array.clone(), is_scalar: false },
            ColumnarValue::Scalar(scalar) => Self { array: scalar.to_array()?, is_scalar: true },
        })
    }

    /// What one of Arrow's kernels computes of both sides.
    pub fn with(
        &self,
        other: &Self,
        kernel: fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>,
    ) -> Result<ArrayRef, ArrowError> {
        let scalar = |side: &Self| Scalar::new(side.array.clone());
        match (self.is_scalar, other.is_scalar) {
            (false, false) => kernel(&self.array, &other.array),
            (true, false) => kernel(&scalar(self), &other.array),
            (false, true) => kernel(&self.array, &scalar(other)),
            (true, true) => kernel(&scalar(self), &scalar(other)),
        }
    }

    /// Nulls of `row_count` rows.
    fn nulls(&self, row_count: usize) -> Option<NullBuffer> {
        match (self.is_scalar, self.array.nulls()) {
            (true, Some(nulls)) if nulls.is_null(0) => Some(NullBuffer::new_null(row_count)),
            (true, _) => None,
            (false, nulls) => nulls.cloned(),
        }
    }
}

/// Integers that say whether they overflow.
trait Overflowing: Copy {
    fn compute(self, operator: Arithmetic, other: Self) -> (Self, bool);
}

macro_rules! overflowing {
    ($($type:ty),*) => {
        $(impl Overflowing for $type {
            #[inline(always)]
            fn compute(self, operator: Arithmetic, other: Self) -> (Self, bool) {
                match operator {
                    Arithmetic::Add => self.overflowing_add(other),
                    Arithmetic::Subtract => self.overflowing_sub(other),
                    _ => self.overflowing_mul(other),
                }
            }
        })*
    };
}
overflowing!(i16, i32, i64);

fn integers<T>(
    operator: Arithmetic,
    left: &Side,
    right: &Side,
    row_count: usize,
    type_name: &str,
) -> Result<ArrayRef, EngineError>
where
    T: ArrowPrimitiveType,
    T::Native: Overflowing,
{
    // The operator is chosen outside of the loops, so that each of them is straight arithmetic.
    match operator {
        Arithmetic::Add => integer_rows::<T>(left, right, row_count, type_name, |a, b| a.compute(Arithmetic::Add, b)),
        Arithmetic::Subtract => {
            integer_rows::<T>(left, right, row_count, type_name, |a, b| a.compute(Arithmetic::Subtract, b))
        }
        Arithmetic::Multiply => {
            integer_rows::<T>(left, right, row_count, type_name, |a, b| a.compute(Arithmetic::Multiply, b))
        }
        Arithmetic::Divide => quotients(left, right, row_count, type_name, div),
        Arithmetic::Remainder => quotients(left, right, row_count, type_name, rem),
    }
}

/// Arrow's kernel checks each row that is not null.
fn quotients(
    left: &Side,
    right: &Side,
    row_count: usize,
    type_name: &str,
    kernel: fn(&dyn Datum, &dyn Datum) -> Result<ArrayRef, ArrowError>,
) -> Result<ArrayRef, EngineError> {
    let quotients = left.with(right, kernel).map_err(|error| match error {
        ArrowError::DivideByZero => division_by_zero(),
        _ => EngineError::new(SqlState::NumericOutOfRange, format!("{type_name} out of range")),
    })?;
    if left.is_scalar && right.is_scalar && row_count != 1 {
        return Err(EngineError::internal("two constants have one quotient"));
    }
    Ok(quotients)
}

fn integer_rows<T: ArrowPrimitiveType>(
    left: &Side,
    right: &Side,
    row_count: usize,
    type_name: &str,
    compute: impl Fn(T::Native, T::Native) -> (T::Native, bool),
) -> Result<ArrayRef, EngineError> {
    let (lefts, rights) = (left.array.as_primitive::<T>().values(), right.array.as_primitive::<T>().values());
    let mut any_wrapped = false;
    let mut note = |(value, wrapped): (T::Native, bool)| {
        any_wrapped |= wrapped;
        value
    };
    let values: Vec<T::Native> = match (left.is_scalar, right.is_scalar) {
        (false, false) => lefts.iter().zip(rights).map(|(a, b)| note(compute(*a, *b))).collect(),
        (false, true) => lefts.iter().map(|a| note(compute(*a, rights[0]))).collect(),
        (true, false) => rights.iter().map(|b| note(compute(lefts[0], *b))).collect(),
        (true, true) => (0..row_count).map(|_| note(compute(lefts[0], rights[0]))).collect(),
    };
    let nulls = NullBuffer::union(left.nulls(row_count).as_ref(), right.nulls(row_count).as_ref());
    if any_wrapped {
        let at = |side: &Side, row: usize| if side.is_scalar { 0 } else { row };
        let is_valid = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
        let wrapped = |row: usize| compute(lefts[at(left, row)], rights[at(right, row)]).1;
        if (0..row_count).filter(is_valid).any(wrapped) {
            return Err(EngineError::new(SqlState::NumericOutOfRange, format!("{type_name} out of range")));
        }
    }
    Ok(Arc::new(PrimitiveArray::<T>::new(values.into(), nulls)))
}

/// Floats fail where a divisor is zero, and where finite numbers give an infinite one or numbers other than zero give zero
/// (`float8_mul` and similar functions in PostgreSQL's float.h).
fn floats<T>(operator: Arithmetic, left: &Side, right: &Side, row_count: usize) -> Result<ArrayRef, EngineError>
where
    T: ArrowPrimitiveType,
    T::Native: Into<f64> + From<f32>,
{
    let (lefts, rights) = (left.array.as_primitive::<T>().values(), right.array.as_primitive::<T>().values());
    let at = |side: &Side, row: usize| if side.is_scalar { 0 } else { row };
    let nulls = NullBuffer::union(left.nulls(row_count).as_ref(), right.nulls(row_count).as_ref());
    let is_valid = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
    let divides = matches!(operator, Arithmetic::Divide | Arithmetic::Remainder);
    let is_zero = |divisor: &T::Native| Into::<f64>::into(*divisor) == 0.0;
    if divides
        && rights.iter().any(is_zero)
        && (0..row_count).filter(is_valid).any(|row| is_zero(&rights[at(right, row)]))
    {
        return Err(division_by_zero());
    }
    let result = float_kernel(operator, left, right)?;
    let results = result.as_primitive::<T>().values();
    let (mut suspicious, mut has_nan) = (false, false);
    for value in results {
        let value: f64 = (*value).into();
        suspicious |= value.is_infinite() | (value == 0.0);
        has_nan |= value.is_nan();
    }
    if suspicious {
        for row in (0..row_count).filter(is_valid) {
            let (a, b): (f64, f64) = (lefts[at(left, row)].into(), rights[at(right, row)].into());
            check_float(operator, a, b, results[row].into())?;
        }
    }
    if has_nan {
        // The processor's NaN has a sign, by which Arrow tells it from others.
        let nan = T::Native::from(f32::NAN);
        let is_nan = |value: T::Native| Into::<f64>::into(value).is_nan();
        let one_nan = result.as_primitive::<T>().unary::<_, T>(|value| if is_nan(value) { nan } else { value });
        return Ok(Arc::new(one_nan));
    }
    Ok(result)
}

fn check_float(operator: Arithmetic, left: f64, right: f64, result: f64) -> Result<(), EngineError> {
    let error = |what: &str| Err(EngineError::new(SqlState::NumericOutOfRange, format!("value out of range: {what}")));
    let from_finite = left.is_finite() && (right.is_finite() || operator == Arithmetic::Divide);
    if result.is_infinite() && from_finite {
        return error("overflow");
    }
    let vanishes = match operator {
        Arithmetic::Multiply => left != 0.0 && right != 0.0,
        Arithmetic::Divide => left != 0.0 && !right.is_infinite(),
        _ => false,
    };
    if result == 0.0 && vanishes { error("underflow") } else { Ok(()) }
}

fn float_kernel(operator: Arithmetic, left: &Side, right: &Side) -> Result<ArrayRef, EngineError> {
    let kernel = match operator {
        Arithmetic::Add => add,
        Arithmetic::Subtract => sub,
        Arithmetic::Multiply => mul,
        Arithmetic::Divide => div,
        Arithmetic::Remainder => rem,
    };
    Ok(left.with(right, kernel)?)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, Int32Array};
    use arrow::datatypes::Field;
    use datafusion::common::config::ConfigOptions;

    use super::*;

    fn compute(operator: Arithmetic, left: ColumnarValue, right: ColumnarValue) -> Result<ArrayRef, EngineError> {
        let data_type = left.data_type();
        let number_rows = match (&left, &right) {
            (ColumnarValue::Array(array), _) | (_, ColumnarValue::Array(array)) => array.len(),
            _ => 1,
        };
        let field = Arc::new(Field::new("x", data_type.clone(), true));
        let args = ScalarFunctionArgs {
            args: vec![left, right],
            arg_fields: vec![field.clone(), field.clone()],
            number_rows,
            return_field: field,
            config_options: Arc::new(ConfigOptions::new()),
        };
        Ok(ArithmeticFunction::new(operator, data_type).invoke_with_args(args)?.into_array(number_rows)?)
    }

    fn ints(values: &[Option<i32>]) -> ColumnarValue {
        ColumnarValue::Array(Arc::new(Int32Array::from(values.to_vec())))
    }

    fn int(value: Option<i32>) -> ColumnarValue {
        ColumnarValue::Scalar(ScalarValue::Int32(value))
    }

    #[test]
    fn integers_overflow_unless_they_are_null() {
        let max = i32::MAX;
        let sum = compute(Arithmetic::Add, ints(&[Some(1), None]), int(Some(2))).unwrap();
        assert_eq!(sum.as_primitive::<Int32Type>().iter().collect::<Vec<_>>(), [Some(3), None]);
        let error = compute(Arithmetic::Add, ints(&[Some(1), Some(max)]), int(Some(1))).unwrap_err();
        assert_eq!((error.sqlstate(), error.message()), ("22003", "integer out of range"));
        // The slot under a null holds whatever it holds.
        let masked = Int32Array::new(vec![max, 1].into(), Some(NullBuffer::from(vec![false, true])));
        let masked = ColumnarValue::Array(Arc::new(masked));
        assert_eq!(compute(Arithmetic::Multiply, masked, int(Some(2))).unwrap().null_count(), 1);
        assert_eq!(compute(Arithmetic::Subtract, int(None), ints(&[Some(1)])).unwrap().null_count(), 1);
        assert!(compute(Arithmetic::Subtract, int(Some(i32::MIN)), int(Some(1))).is_err());
    }

    #[test]
    fn floats_are_not_divided_by_zero() {
        let floats = |values: Vec<Option<f64>>| ColumnarValue::Array(Arc::new(Float64Array::from(values)) as ArrayRef);
        let float = |value| ColumnarValue::Scalar(ScalarValue::Float64(value));
        let quotient = compute(Arithmetic::Divide, floats(vec![Some(1.0), None]), float(Some(4.0))).unwrap();
        assert_eq!(quotient.as_primitive::<Float64Type>().value(0), 0.25);
        let zeros = floats(vec![Some(2.0), Some(-0.0)]);
        assert_eq!(compute(Arithmetic::Remainder, float(Some(1.0)), zeros).unwrap_err().sqlstate(), "22012");
        assert_eq!(compute(Arithmetic::Divide, floats(vec![None]), float(Some(0.0))).unwrap().null_count(), 1);
    }

    #[test]
    fn floats_neither_overflow_nor_vanish() {
        let float = |value| ColumnarValue::Scalar(ScalarValue::Float64(Some(value)));
        for (operator, left, right, expected) in [
            (Arithmetic::Multiply, 1e308, 10.0, Err("value out of range: overflow")),
            (Arithmetic::Add, 1e308, 1e308, Err("value out of range: overflow")),
            (Arithmetic::Multiply, 1e-200, 1e-200, Err("value out of range: underflow")),
            (Arithmetic::Divide, 1e-308, 1e300, Err("value out of range: underflow")),
            (Arithmetic::Multiply, f64::INFINITY, 2.0, Ok(f64::INFINITY)),
            (Arithmetic::Divide, 1.0, f64::INFINITY, Ok(0.0)),
            (Arithmetic::Subtract, 1.5, 1.5, Ok(0.0)),
        ] {
            let result = compute(operator, float(left), float(right));
            let value = result.as_ref().map(|array| array.as_primitive::<Float64Type>().value(0));
            assert_eq!(value.map_err(|error| error.message()), expected, "{left} {right}");
        }
    }
}
