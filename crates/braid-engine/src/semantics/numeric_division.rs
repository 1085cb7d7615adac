//! Quotients and averages of numerics: PostgreSQL's values, as `numeric_quotient` computes them.
//!
//! A quotient has twenty digits after the point, or as many as an operand; fewer where the whole part needs the room. What
//! PostgreSQL would round earlier is rounded there and ends with zeros, which are not shown (`shown_digits`).

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Decimal128Array};
use arrow::compute::kernels::arity::try_binary;
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type};
use arrow::error::ArrowError;
use braid_exec::values::numeric_quotient::{Numeric, numeric_quotient};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility,
};

use crate::error_mapping::division_by_zero;
use crate::output::shown_digits::quotient_field;
use crate::{EngineError, SqlState};

/// Digits after the point of quotients of moderate numbers: PostgreSQL has as many of those below 1.
const DIGITS: i16 = 20;

/// The scale of a result that has `before` digits before the point.
fn result_scale(before: i16, least: i16) -> u8 {
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

/// `avg(numeric)`
pub(super) fn average() -> AggregateUDF {
    AggregateUDF::from(Average { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Average {
    signature: Signature,
}

impl AggregateUDFImpl for Average {
    fn name(&self) -> &str {
        "avg"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let (precision, scale) = parts(&arg_types[0])?;
        Ok(DataType::Decimal128(38, result_scale(precision - scale, scale) as i8))
    }

    fn return_field(&self, arg_fields: &[FieldRef]) -> Result<FieldRef> {
        let (precision, scale) = parts(arg_fields[0].data_type())?;
        Ok(quotient_field(self.name(), result_scale(precision - scale, scale), scale as u8))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if args.is_distinct {
            return Err(EngineError::unsupported("avg(DISTINCT …) is not supported here").into());
        }
        let argument = args.exprs[0].data_type(args.schema)?;
        let (_, scale) = parts(&argument)?;
        let (_, result_scale) = parts(args.return_field.data_type())?;
        Ok(Box::new(AverageState { sum: 0, count: 0, scale: scale as u8, result_scale: result_scale as u8 }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let (_, scale) = parts(args.input_fields[0].data_type())?;
        let field = |what: &str, data_type| Arc::new(Field::new(format!("{}[{what}]", args.name), data_type, true));
        Ok(vec![field("sum", DataType::Decimal128(38, scale as i8)), field("count", DataType::Int64)])
    }
}

#[derive(Debug)]
struct AverageState {
    sum: i128,
    count: i64,
    scale: u8,
    result_scale: u8,
}

impl AverageState {
    /// Adds values, or takes them out of a window.
    fn apply(&mut self, values: &ArrayRef, with: fn(i128, i128) -> Option<i128>, sign: i64) -> Result<()> {
        for value in values.as_primitive::<Decimal128Type>().iter().flatten() {
            self.sum = with(self.sum, value).ok_or_else(out_of_range)?;
            self.count += sign;
        }
        Ok(())
    }
}

impl Accumulator for AverageState {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.apply(&values[0], i128::checked_add, 1)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.apply(&values[0], i128::checked_sub, -1)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let average = match self.count {
            0 => None,
            count => {
                let sum = Numeric { unscaled: self.sum, scale: self.scale };
                let count = Numeric { unscaled: count.into(), scale: 0 };
                Some(numeric_quotient(sum, count, self.result_scale).ok_or_else(out_of_range)?)
            }
        };
        Ok(ScalarValue::Decimal128(average, 38, self.result_scale as i8))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let sum = ScalarValue::Decimal128(Some(self.sum), 38, self.scale as i8);
        Ok(vec![sum, ScalarValue::Int64(Some(self.count))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let (sums, counts) = (states[0].as_primitive::<Decimal128Type>(), states[1].as_primitive::<Int64Type>());
        for (sum, count) in sums.iter().zip(counts).filter_map(|(sum, count)| Some((sum?, count?))) {
            self.sum = self.sum.checked_add(sum).ok_or_else(out_of_range)?;
            self.count += count;
        }
        Ok(())
    }
}
