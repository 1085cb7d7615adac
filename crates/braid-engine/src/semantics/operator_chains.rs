//! The functions that long chains of `+`, `-` and `||` once became.
//!
//! They compute what the operators would, from left to right: the same types at every step, the same kernels, the same
//! errors. A sum is of numbers, a concatenation of texts and integers. A chain of anything else is refused, because the
//! rules of its operators (dates, intervals, arrays) are not repeated here.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringBuilder};
use arrow::compute::kernels::numeric::{add_wrapping, sub_wrapping};
use arrow::datatypes::DataType;
use braid_sql::syntax::CHAIN_OPERANDS_MIN;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::binary::BinaryTypeCoercer;
use datafusion::logical_expr::{
    ColumnarValue, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::arithmetic_function::{Arithmetic, Side};
use super::checked_arithmetic::checked_function;
use crate::conversion::{is_string, name_of};
use crate::statement_limits::too_complex;
use crate::{EngineError, SqlState};

/// The function that adds and subtracts: of its operators as a text (`+` before the first term) and the terms.
pub(crate) const SUM_OF_TERMS: &str = "sum_of_terms";

/// The function that `||` becomes.
pub(crate) const CONCATENATION: &str = "concatenation";

/// Sums and concatenations.
pub(crate) fn chain_functions() -> [ScalarUDF; 2] {
    let signature = || Signature::user_defined(Volatility::Immutable);
    [ScalarUDF::from(SumOfTerms { signature: signature() }), ScalarUDF::from(Concatenation { signature: signature() })]
}

fn refused(operators: &str, data_type: &DataType) -> EngineError {
    let name = name_of(data_type);
    too_complex(format!(
        "A chain of {CHAIN_OPERANDS_MIN} or more operands of {operators} has an operand of type {name}, which long chains \
         cannot have."
    ))
    .with_hint("Put parentheses around parts of the chain, or cast the operand.")
}

fn undefined(left: &DataType, operator: &str, right: &DataType) -> EngineError {
    let message = format!("operator does not exist: {} {operator} {}", name_of(left), name_of(right));
    EngineError::new(SqlState::UndefinedFunction, message)
        .with_hint("No operator matches the given name and argument types. You might need to add explicit type casts.")
}

/// `sum_of_terms('+-+', a, b, c)` is `a - b + c`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SumOfTerms {
    signature: Signature,
}

/// How one term is added to those before it.
#[derive(Clone)]
struct Step {
    left: DataType,
    right: DataType,
    result: DataType,
}

impl Step {
    /// As DataFusion coerces the operands of `+` and `-`, after a numeric beside a float has become one (`mixed_numbers`).
    fn of(left: &DataType, right: &DataType) -> Result<Self> {
        let as_float = |own: &DataType, other: &DataType| {
            if own.is_decimal() && other.is_floating() { DataType::Float64 } else { own.clone() }
        };
        let (left, right) = (as_float(left, right), as_float(right, left));
        let coercer = BinaryTypeCoercer::new(&left, &Operator::Plus, &right);
        let (coerced_left, coerced_right) = coercer.get_input_types()?;
        Ok(Self { left: coerced_left, right: coerced_right, result: coercer.get_result_type()? })
    }
}

/// The steps of a sum of terms of these types. Equal pairs of types are looked at once in a row.
fn steps<'a>(terms: impl Iterator<Item = &'a DataType>) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut last: Option<(DataType, DataType)> = None;
    let mut sum: Option<DataType> = None;
    for term in terms {
        if let Some(sum) = &sum {
            let pair = (sum.clone(), term.clone());
            let step = match steps.last() {
                Some(step) if last.as_ref() == Some(&pair) => step.clone(),
                _ => Step::of(&pair.0, &pair.1)?,
            };
            last = Some(pair);
            steps.push(step);
        }
        sum = Some(steps.last().map_or_else(|| term.clone(), |step| step.result.clone()));
    }
    Ok(steps)
}

fn is_summed(data_type: &DataType) -> bool {
    use DataType::{Decimal128, Float32, Float64, Int16, Int32, Int64};
    matches!(data_type, Int16 | Int32 | Int64 | Float32 | Float64 | Decimal128(..))
}

fn add(operator: Arithmetic, left: &ColumnarValue, right: &ColumnarValue, row_count: usize) -> Result<ColumnarValue> {
    if let Some(function) = checked_function(operator, &left.data_type()) {
        return function.compute(left, right, row_count);
    }
    let kernel = if operator == Arithmetic::Add { add_wrapping } else { sub_wrapping };
    let is_scalar = matches!((left, right), (ColumnarValue::Scalar(_), ColumnarValue::Scalar(_)));
    let sum = Side::of(left)?.with(&Side::of(right)?, kernel)?;
    Ok(if is_scalar { ColumnarValue::Scalar(ScalarValue::try_from_array(&sum, 0)?) } else { ColumnarValue::Array(sum) })
}

impl ScalarUDFImpl for SumOfTerms {
    fn name(&self) -> &str {
        SUM_OF_TERMS
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        match arg_types.iter().skip(1).find(|data_type| !is_summed(data_type)) {
            Some(other) if is_string(other) || *other == DataType::Boolean => {
                Err(undefined(&arg_types[1], "+", other).into())
            }
            Some(other) => Err(refused("+ and -", other).into()),
            None => Ok(arg_types.to_vec()),
        }
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        let steps = steps(arg_types.iter().skip(1))?;
        let last = steps.last().ok_or_else(|| EngineError::internal("a sum has two terms at least"))?;
        Ok(last.result.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let row_count = args.number_rows;
        let mut args = args.args.into_iter();
        let (Some(ColumnarValue::Scalar(ScalarValue::Utf8(Some(signs)))), Some(first)) = (args.next(), args.next())
        else {
            return Err(EngineError::internal("a sum has signs and terms").into());
        };
        let terms: Vec<ColumnarValue> = args.collect();
        let types: Vec<DataType> = std::iter::once(&first).chain(&terms).map(ColumnarValue::data_type).collect();
        let mut sum = first;
        for ((term, step), sign) in terms.iter().zip(steps(types.iter())?).zip(signs.bytes().skip(1)) {
            let operator = if sign == b'-' { Arithmetic::Subtract } else { Arithmetic::Add };
            sum = add(operator, &sum.cast_to(&step.left, None)?, &term.cast_to(&step.right, None)?, row_count)?;
        }
        Ok(sum)
    }
}

/// `concatenation(a, b, c)` is `a || b || c`: null where any of them is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Concatenation {
    signature: Signature,
}

impl ScalarUDFImpl for Concatenation {
    fn name(&self) -> &str {
        CONCATENATION
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let is_joined = |data_type: &DataType| {
            is_string(data_type) || matches!(data_type, DataType::Int16 | DataType::Int32 | DataType::Int64)
        };
        if let Some(other) = arg_types.iter().find(|data_type| !is_joined(data_type)) {
            return Err(refused("||", other).into());
        }
        if let [first, second, ..] = arg_types
            && !is_string(first)
            && !is_string(second)
        {
            return Err(undefined(first, "||", second).into());
        }
        Ok(vec![DataType::Utf8; arg_types.len()])
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let all_scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let row_count = if all_scalar { 1 } else { args.number_rows };
        let sides: Vec<Side> = args.args.iter().map(Side::of).collect::<Result<_>>()?;
        let texts: Vec<(&StringArray, bool)> =
            sides.iter().map(|side| (side.array.as_string::<i32>(), side.is_scalar)).collect();
        let mut joined = StringBuilder::new();
        let mut text = String::new();
        for row in 0..row_count {
            text.clear();
            let mut is_null = false;
            for (texts, is_scalar) in &texts {
                let at = if *is_scalar { 0 } else { row };
                is_null |= texts.is_null(at);
                if !is_null {
                    text.push_str(texts.value(at));
                }
            }
            if is_null { joined.append_null() } else { joined.append_value(&text) }
        }
        let joined: ArrayRef = Arc::new(joined.finish());
        Ok(if all_scalar {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&joined, 0)?)
        } else {
            ColumnarValue::Array(joined)
        })
    }
}
