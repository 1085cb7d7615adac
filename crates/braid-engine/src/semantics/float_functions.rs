//! Functions of floats whose results are checked, as PostgreSQL's float.c checks them.
//!
//! DataFusion answers infinity where a result is too large and NaN where a function has no value. A second call
//! around the function checks its result. `sqrt`, `exp`, `ln`, `log` and `power` of a numeric are numerics in
//! PostgreSQL, with more digits than a float has; they are refused.

use std::sync::Arc;

use arrow::array::{Array, AsArray, Float64Array};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast,
};

use crate::{EngineError, SqlState};

const CHECKED: [&str; 15] = [
    "cos", "cot", "sin", "acos", "acosh", "asin", "atanh", "cosh", "degrees", "exp", "power", "radians", "sinh",
    "sqrt", "tan",
];

/// The call with its checks; `None` if the function needs none.
pub(super) fn checked(function: &ScalarFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let name = function.name();
    let is_numeric = |arg: &Expr| arg.get_type(schema).is_ok_and(|data_type| data_type.is_decimal());
    let takes_numerics = matches!(name, "sqrt" | "exp" | "ln" | "log" | "log10" | "power");
    if (takes_numerics && function.args.iter().any(is_numeric)) || (name == "log" && function.args.len() > 1) {
        let message = format!("{name} of a numeric is not supported");
        return Err(EngineError::unsupported(message).with_hint("Cast it to double precision.").into());
    }
    let Some(name) = CHECKED.iter().find(|checked| **checked == name) else { return Ok(None) };
    let args: Vec<Expr> = function.args.iter().map(|arg| cast(arg.clone(), DataType::Float64)).collect();
    let call = Expr::ScalarFunction(ScalarFunction { func: function.func.clone(), args: args.clone() });
    let signature = Signature::exact(vec![DataType::Float64; args.len() + 1], Volatility::Immutable);
    let check = ScalarUDF::from(CheckedFloat { function: name, signature });
    Ok(Some(check.call(std::iter::once(call).chain(args).collect())))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedFloat {
    function: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for CheckedFloat {
    fn name(&self) -> &str {
        "checked_float"
    }

    /// As the function's, so that columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(args.first().map(|call| call.schema_name().to_string()).unwrap_or_default())
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let columns: Vec<&Float64Array> = arrays.iter().map(|array| array.as_primitive::<Float64Type>()).collect();
        let (results, arguments) =
            columns.split_first().ok_or_else(|| EngineError::internal("a check has a result"))?;
        for row in (0..results.len()).filter(|row| results.is_valid(*row)) {
            let arguments: Vec<f64> = arguments.iter().map(|argument| argument.value(row)).collect();
            check(self.function, results.value(row), &arguments)?;
        }
        Ok(ColumnarValue::Array(Arc::clone(&arrays[0])))
    }
}

fn check(function: &str, result: f64, arguments: &[f64]) -> Result<(), EngineError> {
    let of_power = |message: &str| Err(EngineError::new(SqlState::InvalidPowerArgument, message));
    let out_of_range = |message: &str| Err(EngineError::new(SqlState::NumericOutOfRange, message));
    if arguments.iter().any(|argument| argument.is_nan()) {
        return Ok(());
    }
    let finite = arguments.iter().all(|argument| argument.is_finite());
    match (function, result) {
        ("power", _) if arguments[0] == 0.0 && arguments[1] < 0.0 => {
            of_power("zero raised to a negative power is undefined")
        }
        ("power", result) if result.is_nan() => {
            of_power("a negative number raised to a non-integer power yields a complex result")
        }
        ("sqrt", result) if result.is_nan() => of_power("cannot take square root of a negative number"),
        (_, result) if result.is_nan() => out_of_range("input is out of range"),
        ("atanh" | "tan", _) => Ok(()),
        (_, result) if result.is_infinite() && finite => out_of_range("value out of range: overflow"),
        ("exp" | "power", 0.0) if finite && arguments[0] != 0.0 => out_of_range("value out of range: underflow"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every SQLSTATE was PostgreSQL 15's answer.
    #[test]
    fn results_out_of_range_are_errors() {
        for (function, arguments, result, expected) in [
            ("exp", &[1000.0][..], f64::INFINITY, Some("22003")),
            ("exp", &[-1000.0], 0.0, Some("22003")),
            ("exp", &[f64::NEG_INFINITY], 0.0, None),
            ("power", &[-8.0, 0.5], f64::NAN, Some("2201F")),
            ("power", &[0.0, -1.0], f64::INFINITY, Some("2201F")),
            ("power", &[0.0, 2.0], 0.0, None),
            ("sqrt", &[-1.0], f64::NAN, Some("2201F")),
            ("asin", &[2.0], f64::NAN, Some("22003")),
            ("asin", &[f64::NAN], f64::NAN, None),
            ("atanh", &[1.0], f64::INFINITY, None),
        ] {
            let state = check(function, result, arguments).err().map(|error| error.sqlstate());
            assert_eq!(state, expected, "{function} {arguments:?}");
        }
    }
}
