//! Functions whose result has another type or scale in PostgreSQL.
//!
//! `ceil`, `floor` and `trunc` of a numeric have the scale they were asked for, `avg` of integers is numeric, `concat`
//! writes a boolean as `t` or `f`, a quotient of numerics has 16 digits after the point, `round` of a float goes to the even
//! neighbour, and a logarithm of zero is an error.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use braid_df::type_of;
use braid_storage::ColumnType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, WindowFunctionDefinition, when,
};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::rewrite_expressions;
use super::unknown_literals::{cast_to, unknown_text};
use crate::{EngineError, SqlState};

#[derive(Debug)]
pub(super) struct FunctionTypes;

impl AnalyzerRule for FunctionTypes {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| expr.transform_up(|expr| replace(expr, schema)))
    }

    fn name(&self) -> &str {
        "function_types"
    }
}

fn replace(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    if let Expr::BinaryExpr(binary) = &expr
        && binary.op == Operator::Divide
    {
        let new = quotient(binary, schema);
        return Ok(replaced(expr, new));
    }
    let average_of = match &mut expr {
        Expr::ScalarFunction(function) => return replace_function(function, schema).map(|new| replaced(expr, new)),
        Expr::AggregateFunction(function) if function.func.name() == "avg" => &mut function.params.args,
        Expr::WindowFunction(function) => match &function.fun {
            WindowFunctionDefinition::AggregateUDF(fun) if fun.name() == "avg" => &mut function.params.args,
            _ => return Ok(Transformed::no(expr)),
        },
        _ => return Ok(Transformed::no(expr)),
    };
    for argument in average_of {
        // DataFusion's average has four digits more than its argument: 16, and 12 where more could overflow its sum.
        let numeric = match type_of(argument, schema) {
            Ok(DataType::Int16 | DataType::Int32) => DataType::Decimal128(22, 12),
            Ok(DataType::Int64) => DataType::Decimal128(27, 8),
            _ => continue,
        };
        *argument = cast(std::mem::take(argument), numeric);
    }
    Ok(Transformed::yes(expr))
}

fn replaced(old: Expr, new: Option<Expr>) -> Transformed<Expr> {
    match new {
        Some(new) => Transformed::yes(new),
        None => Transformed::no(old),
    }
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), data_type))
}

fn replace_function(function: &mut ScalarFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let first = function.args.first().and_then(|arg| type_of(arg, schema).ok());
    Ok(match (function.name(), first, function.args.len()) {
        ("concat" | "concat_ws", ..) => write_texts(function, schema)?,
        ("date_part", Some(_), 2) if !is_absolute(&function.args[0]) && is_zoned(&function.args[1], schema) => {
            let local = cast_to(function.args.remove(1), ColumnType::Timestamp);
            let args = vec![function.args.remove(0), local];
            Some(Expr::ScalarFunction(ScalarFunction { func: function.func.clone(), args }))
        }
        ("date_trunc", Some(_), 2) if is_zoned(&function.args[1], schema) => {
            let local = cast_to(function.args.remove(1), ColumnType::Timestamp);
            let args = vec![function.args.remove(0), local];
            let truncated = Expr::ScalarFunction(ScalarFunction { func: function.func.clone(), args });
            Some(cast_to(truncated, ColumnType::TimestampTz))
        }
        ("ceil" | "floor" | "trunc", Some(DataType::Decimal128(precision, scale)), 1) => {
            Some(rescaled(function, precision, scale, 0))
        }
        ("trunc", Some(DataType::Decimal128(precision, scale)), 2) => match digits(&function.args[1]) {
            Some(digits) if (0..scale).contains(&digits) => Some(rescaled(function, precision, scale, digits)),
            _ => None,
        },
        ("round", Some(DataType::Float32 | DataType::Float64), 1) => {
            Some(float_function(FloatKind::RoundToEven).call(vec![cast(function.args.remove(0), DataType::Float64)]))
        }
        ("ln" | "log" | "log2" | "log10", Some(first), _) if first.is_numeric() => {
            let positive = |arg: Expr| float_function(FloatKind::Positive).call(vec![cast(arg, DataType::Float64)]);
            let args = function.args.drain(..).map(positive).collect();
            Some(Expr::ScalarFunction(ScalarFunction { func: function.func.clone(), args }))
        }
        _ => None,
    })
}

/// A quotient of numerics with PostgreSQL's 16 digits after the point, where 38 digits have room for what it may be. It is
/// computed with one more, which decides how the last one is rounded: Arrow cuts.
fn quotient(binary: &BinaryExpr, schema: &DFSchema) -> Option<Expr> {
    const DIGITS: i8 = 16;
    // Arrow's quotient has four digits more than the dividend.
    const DIVIDEND_DIGITS: i8 = DIGITS + 1 - 4;
    let (left, right) = (type_of(&binary.left, schema).ok()?, type_of(&binary.right, schema).ok()?);
    let (before, scale) = digits_of(&left)?;
    let (_, right_scale) = digits_of(&right)?;
    let is_numeric = left.is_decimal() || right.is_decimal();
    let digits = before + right_scale + i16::from(DIGITS);
    if !is_numeric || scale > i16::from(DIVIDEND_DIGITS) || digits + 1 > 38 {
        return None;
    }
    let dividend = DataType::Decimal128((before + i16::from(DIVIDEND_DIGITS)) as u8, DIVIDEND_DIGITS);
    let left = Box::new(cast((*binary.left).clone(), dividend));
    let quotient = Expr::BinaryExpr(BinaryExpr::new(left, Operator::Divide, binary.right.clone()));
    Some(cast(quotient, DataType::Decimal128(digits as u8, DIGITS)))
}

/// Digits before and after the point.
fn digits_of(data_type: &DataType) -> Option<(i16, i16)> {
    Some(match data_type {
        DataType::Int16 => (5, 0),
        DataType::Int32 => (10, 0),
        DataType::Int64 => (19, 0),
        DataType::Decimal128(precision, scale) => (i16::from(*precision) - i16::from(*scale), i16::from(*scale)),
        _ => return None,
    })
}

/// A literal number of digits.
fn digits(expr: &Expr) -> Option<i8> {
    match expr {
        Expr::Literal(value, _) => match value {
            ScalarValue::Int32(Some(digits)) => i8::try_from(*digits).ok(),
            ScalarValue::Int64(Some(digits)) => i8::try_from(*digits).ok(),
            _ => None,
        },
        _ => None,
    }
}

/// The function's result, which has no more than `digits` after the point. `ceil` may need one more before it.
fn rescaled(function: &ScalarFunction, precision: u8, scale: i8, digits: i8) -> Expr {
    let wide = (precision + 1).min(38);
    let mut function = function.clone();
    function.args[0] = cast(std::mem::take(&mut function.args[0]), DataType::Decimal128(wide, scale));
    let before = i16::from(wide) - i16::from(scale);
    let precision = (before + i16::from(digits)).clamp(1, 38) as u8;
    cast(Expr::ScalarFunction(function), DataType::Decimal128(precision, digits))
}

/// Instants have their fields and days in the session's time zone.
fn is_zoned(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(type_of(expr, schema), Ok(DataType::Timestamp(_, Some(_))))
}

/// Fields that are the same in every time zone.
fn is_absolute(field: &Expr) -> bool {
    unknown_text(field).is_some_and(|field| field.eq_ignore_ascii_case("epoch"))
}

/// The arguments of `concat` as PostgreSQL writes them.
fn write_texts(function: &ScalarFunction, schema: &DFSchema) -> Result<Option<Expr>> {
    let text = |letter: &str| Expr::Literal(ScalarValue::from(letter), None);
    let mut changed = false;
    let mut args = Vec::with_capacity(function.args.len());
    for arg in &function.args {
        let written = match type_of(arg, schema) {
            Ok(DataType::Boolean) => {
                when(arg.clone(), text("t")).when(Expr::Not(Box::new(arg.clone())), text("f")).end()?
            }
            Ok(data_type) if data_type.is_temporal() || data_type.is_floating() => {
                cast_to(arg.clone(), ColumnType::Text)
            }
            _ => {
                args.push(arg.clone());
                continue;
            }
        };
        changed = true;
        args.push(written);
    }
    Ok(changed.then(|| Expr::ScalarFunction(ScalarFunction { func: function.func.clone(), args })))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FloatKind {
    /// The nearest whole number, the even one of two.
    RoundToEven,
    /// The argument itself, if a logarithm has a value there.
    Positive,
}

fn float_function(kind: FloatKind) -> ScalarUDF {
    let signature = Signature::exact(vec![DataType::Float64], Volatility::Immutable);
    ScalarUDF::from(FloatFunction { kind, signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FloatFunction {
    kind: FloatKind,
    signature: Signature,
}

impl ScalarUDFImpl for FloatFunction {
    fn name(&self) -> &str {
        match self.kind {
            FloatKind::RoundToEven => "round_to_even",
            FloatKind::Positive => "positive",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [array] = &arrays[..] else { return Err(EngineError::internal("this function has one argument").into()) };
        let floats: &Float64Array = array.as_primitive::<Float64Type>();
        let result: ArrayRef = match self.kind {
            FloatKind::RoundToEven => Arc::new(floats.unary::<_, Float64Type>(f64::round_ties_even)),
            FloatKind::Positive => Arc::new(floats.try_unary::<_, Float64Type, _>(positive)?),
        };
        Ok(ColumnarValue::Array(result))
    }
}

fn positive(value: f64) -> Result<f64, ArrowError> {
    let error = |of: &str| {
        let message = format!("cannot take logarithm of {of}");
        Err(ArrowError::ExternalError(Box::new(EngineError::new(SqlState::InvalidLogarithmArgument, message))))
    };
    match value {
        0.0 => error("zero"),
        value if value < 0.0 => error("a negative number"),
        value => Ok(value),
    }
}
