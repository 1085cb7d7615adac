//! Quotients of numerics: PostgreSQL's values, as `numeric_quotient` computes them.
//!
//! A quotient has twenty digits after the point, or as many as an operand; fewer where the whole part needs the room. What
//! PostgreSQL would round earlier is rounded there and ends with zeros, which are not shown (`shown_digits`).

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Decimal128Array};
use arrow::compute::kernels::arity::try_binary;
use arrow::datatypes::{DataType, Decimal128Type, FieldRef};
use arrow::error::ArrowError;
use braid_exec::values::numeric_quotient::{Numeric, numeric_quotient};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use crate::error_mapping::division_by_zero;
use crate::output::shown_digits::quotient_field;
use crate::{EngineError, SqlState};

/// Digits after the point of quotients of moderate numbers: PostgreSQL has as many of those below 1.
const DIGITS: i16 = 20;

/// The scale of a result that has `before` digits before the point.
pub(super) fn result_scale(before: i16, least: i16) -> u8 {
    let room = 38 - before;
    // Without enough room a large quotient fails when it runs.
    let scale = if (16..DIGITS).contains(&room) { room } else { DIGITS };
    scale.max(least) as u8
}

/// Precision and scale of a numeric.
pub(super) fn parts(data_type: &DataType) -> Result<(i16, i16), EngineError> {
    match data_type {
        DataType::Decimal128(precision, scale) => Ok(((*precision).into(), (*scale).into())),
        other => Err(EngineError::internal(format!("{other} is no numeric"))),
    }
}

/// `numeric / numeric`
pub(super) fn quotient() -> ScalarUDF {
    ScalarUDF::from(Quotient { signature: Signature::any(2, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Quotient {
    signature: Signature,
}

impl ScalarUDFImpl for Quotient {
    fn name(&self) -> &str {
        "numeric_quotient"
    }

    /// As the operator's, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(names.join(" / "))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(EngineError::internal("the type of a quotient comes with its field").into())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let (precision, left) = parts(args.arg_fields[0].data_type())?;
        let (_, right) = parts(args.arg_fields[1].data_type())?;
        let least = left.max(right);
        Ok(quotient_field(self.name(), result_scale(precision - left + right, least), least as u8))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let sides = ColumnarValue::values_to_arrays(&args.args)?;
        let (dividends, divisors) =
            (sides[0].as_primitive::<Decimal128Type>(), sides[1].as_primitive::<Decimal128Type>());
        let (_, scale) = parts(args.return_field.data_type())?;
        let (left_scale, right_scale) = (dividends.scale() as u8, divisors.scale() as u8);
        let quotients: Decimal128Array = try_binary(dividends, divisors, |dividend, divisor| {
            if divisor == 0 {
                return Err(ArrowError::ExternalError(Box::new(division_by_zero())));
            }
            let left = Numeric { unscaled: dividend, scale: left_scale };
            numeric_quotient(left, Numeric { unscaled: divisor, scale: right_scale }, scale as u8)
                .ok_or_else(|| ArrowError::ExternalError(Box::new(out_of_range())))
        })?;
        let array: ArrayRef = Arc::new(quotients.with_data_type(args.return_field.data_type().clone()));
        if args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_))) {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&array, 0)?));
        }
        Ok(ColumnarValue::Array(array))
    }
}

pub(super) fn out_of_range() -> EngineError {
    EngineError::new(SqlState::NumericOutOfRange, "numeric value out of range: a quotient has at most 38 digits")
}
