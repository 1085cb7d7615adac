//! A cast to `numeric` without a precision keeps all digits.
//!
//! The type of such a column has ten digits after the point (`sql_types`), which would round. The cast becomes this function,
//! whose type is that of its argument: numerics stay as they are, integers have no digits after the point, floats and texts
//! have twenty.

use arrow::datatypes::DataType;
use braid_storage::ColumnType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use super::marked_literals::check_value_free;
use super::unknown_literals::{cast_to, unknown_text};
use crate::EngineError;
use crate::conversion::is_string;
use crate::input::numbers::numeric_digits;
use crate::sql_types::NUMERIC_DEFAULT;

/// The function's name.
pub(crate) const PLAIN_NUMERIC: &str = "plain_numeric";

/// What floats and texts become: eighteen digits before the point.
const WIDE: ColumnType = ColumnType::Numeric { precision: 38, scale: 20 };

/// The function. It is replaced before anything runs.
pub(crate) fn plain_numeric() -> ScalarUDF {
    ScalarUDF::from(PlainNumeric { signature: Signature::any(1, Volatility::Immutable) })
}

/// The cast that a call stands for; `None` if its argument is a numeric already.
pub(super) fn cast_of(argument: &Expr, source: &DataType) -> Result<Option<Expr>> {
    if let Some(text) = unknown_text(argument) {
        check_value_free(argument)?;
        let (precision, scale) = numeric_digits(text).map_err(EngineError::from)?;
        return Ok(Some(cast_to(argument.clone(), ColumnType::Numeric { precision, scale })));
    }
    Ok(target_of(source).map(|target| cast_to(argument.clone(), target)))
}

fn target_of(source: &DataType) -> Option<ColumnType> {
    let whole = |precision| Some(ColumnType::Numeric { precision, scale: 0 });
    match source {
        DataType::Decimal128(_, scale) if *scale >= 0 => None,
        DataType::Int16 => whole(5),
        DataType::Int32 => whole(10),
        DataType::Int64 => whole(19),
        DataType::Float32 | DataType::Float64 => Some(WIDE),
        source if is_string(source) => Some(WIDE),
        _ => Some(NUMERIC_DEFAULT),
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct PlainNumeric {
    signature: Signature,
}

impl ScalarUDFImpl for PlainNumeric {
    fn name(&self) -> &str {
        PLAIN_NUMERIC
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(target_of(&arg_types[0]).map_or_else(|| arg_types[0].clone(), ColumnType::arrow))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Err(EngineError::internal("a cast to numeric was left in the plan").into())
    }
}
