//! Functions whose result has another type or scale in PostgreSQL.
//!
//! `ceil`, `floor` and `trunc` of a numeric have the scale they were asked for, `avg` of integers is numeric, `concat`
//! writes a boolean as `t` or `f`, quotients and averages of numerics have PostgreSQL's digits, `round` of a float goes to the even
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
use datafusion::logical_expr::expr::{AggregateFunction, Cast, ScalarFunction};
use datafusion::logical_expr::{
    AggregateUDF, BinaryExpr, ColumnarValue, Expr, LogicalPlan, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility, WindowFunctionDefinition, when,
};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::float_functions::checked;
use super::frame_aggregates::{may_be_nan, over_frames, starts_again};
use super::numeric_aggregates::{NumericAggregate, Of};
use super::numeric_division::quotient;
use super::operator_types::{Family, family};
use super::plain_numeric::{PLAIN_NUMERIC, cast_of};
use super::rewrite_expressions;
use super::unknown_literals::{cast_to, unknown_text};
use crate::conversion::zone_function::ZONE_FUNCTION;
use crate::conversion::{is_string, name_of};
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
        let new = quotient_of(binary, schema);
        return Ok(replaced(expr, new));
    }
    if let Expr::BinaryExpr(BinaryExpr { op: Operator::BitwiseShiftLeft, left, .. }) = &expr
        && matches!(type_of(left, schema), Ok(DataType::Int16))
    {
        // The result has 16 bits in PostgreSQL.
        let message = "smallint << integer is not supported";
        return Err(EngineError::unsupported(message).with_hint("Cast the smallint to integer.").into());
    }
    match &mut expr {
        Expr::ScalarFunction(function) => replace_function(function, schema).map(|new| replaced(expr, new)),
        Expr::AggregateFunction(function) if function.func.name() == "avg" => {
            let exact = make_numeric(&mut function.params.args, schema).then(|| NumericAggregate::Average.function());
            let exact = exact.or_else(|| with_one_nan(function, schema));
            let changed = exact.is_some();
            exact.into_iter().for_each(|exact| function.func = Arc::new(exact));
            Ok(Transformed::new_transformed(expr, changed))
        }
        Expr::AggregateFunction(function) if is_unordered_list(function) => {
            // Sorting is how PostgreSQL finds what is distinct.
            let key = function.params.args[0].clone();
            function.params.order_by = vec![key.sort(true, false)];
            Ok(Transformed::yes(expr))
        }
        Expr::AggregateFunction(function) => {
            check_order(function.func.name(), &function.params.args, schema)?;
            let spread = exact_spread(function.func.name(), &mut function.params.args, schema);
            let exact = spread.or_else(|| with_one_nan(function, schema));
            let changed = exact.is_some();
            exact.into_iter().for_each(|exact| function.func = Arc::new(exact));
            Ok(Transformed::new_transformed(expr, changed))
        }
        Expr::WindowFunction(function) => {
            let name = function.fun.name().to_owned();
            check_order(&name, &function.params.args, schema)?;
            if function.params.distinct {
                return Err(EngineError::unsupported("DISTINCT is not implemented for window functions").into());
            }
            check_offset(&name, &function.params.args)?;
            if matches!(name.as_str(), "lead" | "lag") {
                check_default(&name, &function.params.args, schema)?;
            }
            let exact = match name.as_str() {
                "avg" => make_numeric(&mut function.params.args, schema).then(|| NumericAggregate::Average.function()),
                "sum" => is_numeric(&function.params.args, schema).then(|| NumericAggregate::Sum.function()),
                _ => exact_spread(&name, &mut function.params.args, schema),
            };
            let exact = exact.or_else(|| frame_aggregate(&function.fun, &function.params.args, schema));
            let changed = exact.is_some();
            exact.into_iter().for_each(|exact| function.fun = WindowFunctionDefinition::AggregateUDF(Arc::new(exact)));
            Ok(Transformed::new_transformed(expr, changed))
        }
        _ => Ok(Transformed::no(expr)),
    }
}

/// Makes numerics of integers; whether the argument is a numeric then.
fn make_numeric(args: &mut [Expr], schema: &DFSchema) -> bool {
    let Some(argument) = args.first_mut() else { return false };
    match type_of(argument, schema) {
        Ok(data_type) if data_type.is_integer() => {
            let Some((before, _)) = digits_of(&data_type) else { return false };
            *argument = cast(std::mem::take(argument), DataType::Decimal128(before as u8, 0));
            true
        }
        Ok(DataType::Decimal128(_, scale)) => scale >= 0,
        _ => false,
    }
}

/// The spread of integers or numerics, which is a numeric; `None` for other aggregates.
fn exact_spread(name: &str, args: &mut [Expr], schema: &DFSchema) -> Option<AggregateUDF> {
    let kind = match name {
        "stddev" | "stddev_samp" => NumericAggregate::Deviation(Of::Sample),
        "stddev_pop" => NumericAggregate::Deviation(Of::Population),
        "var" | "var_samp" | "variance" => NumericAggregate::Variance(Of::Sample),
        "var_pop" | "var_population" => NumericAggregate::Variance(Of::Population),
        _ => return None,
    };
    make_numeric(args, schema).then(|| kind.function())
}

/// An aggregate of floats whose results are one NaN or numbers; `None` for other aggregates.
fn with_one_nan(function: &AggregateFunction, schema: &DFSchema) -> Option<AggregateUDF> {
    let params = &function.params;
    let is_float = || params.args.iter().any(|arg| type_of(arg, schema).is_ok_and(|of| of.is_floating()));
    let is_wrapped = !params.distinct && may_be_nan(function.func.name()) && is_float();
    is_wrapped.then(|| over_frames(function.func.as_ref().clone()))
}

/// An aggregate that is computed anew for frames that slide; `None` for other functions.
fn frame_aggregate(fun: &WindowFunctionDefinition, args: &[Expr], schema: &DFSchema) -> Option<AggregateUDF> {
    let WindowFunctionDefinition::AggregateUDF(fun) = fun else { return None };
    let is_float = |arg: &Expr| type_of(arg, schema).is_ok_and(|data_type| data_type.is_floating());
    starts_again(fun.name(), args.iter().any(is_float)).then(|| over_frames(fun.as_ref().clone()))
}

fn is_numeric(args: &[Expr], schema: &DFSchema) -> bool {
    matches!(args.first().map(|argument| type_of(argument, schema)), Some(Ok(DataType::Decimal128(_, scale))) if scale >= 0)
}

/// PostgreSQL 15 has no least and greatest boolean or uuid.
fn check_order(name: &str, args: &[Expr], schema: &DFSchema) -> Result<()> {
    let Some(argument) = args.first().filter(|_| matches!(name, "min" | "max")) else { return Ok(()) };
    match type_of(argument, schema) {
        Ok(data_type) if matches!(family(&data_type), Some(Family::Boolean | Family::Uuid)) => {
            let message = format!("function {name}({}) does not exist", name_of(&data_type));
            Err(EngineError::new(SqlState::UndefinedFunction, message).into())
        }
        _ => Ok(()),
    }
}

/// The number of rows that `lead` and `lag` look away, and the row of `nth_value`.
fn check_offset(name: &str, args: &[Expr]) -> Result<()> {
    let Some(Expr::Literal(offset, _)) = args.get(1) else { return Ok(()) };
    match name {
        "lead" | "lag" if offset.is_null() => {
            Err(EngineError::unsupported(format!("{name} with a null offset is not supported")).into())
        }
        "nth_value" if matches!(offset, ScalarValue::Int32(Some(..=0)) | ScalarValue::Int64(Some(..=0))) => {
            let message = "argument of nth_value must be greater than zero";
            Err(EngineError::new(SqlState::InvalidNthValueArgument, message).into())
        }
        _ => Ok(()),
    }
}

/// The default of `lead` and `lag` has the type of their values.
fn check_default(name: &str, args: &[Expr], schema: &DFSchema) -> Result<()> {
    let [value, _, default] = args else { return Ok(()) };
    let (Ok(value), Ok(default)) = (type_of(value, schema), type_of(default, schema)) else { return Ok(()) };
    if value.is_integer() && (default.is_decimal() || default.is_floating()) {
        let message = format!("{name} of integers with a default of another type is not supported");
        return Err(EngineError::unsupported(message).with_hint("Cast both to one type.").into());
    }
    Ok(())
}

/// Lists of distinct values.
fn is_unordered_list(function: &AggregateFunction) -> bool {
    let params = &function.params;
    matches!(function.func.name(), "string_agg" | "array_agg") && params.distinct && params.order_by.is_empty()
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
        (PLAIN_NUMERIC, Some(source), 1) => {
            let argument = std::mem::take(&mut function.args[0]);
            Some(cast_of(&argument, &source)?.unwrap_or(argument))
        }
        ("concat" | "concat_ws", ..) => write_texts(function, schema)?,
        ("extract" | "date_part", Some(_), 2)
            if !is_absolute(&function.args[0]) && is_zoned(&function.args[1], schema) =>
        {
            let local = cast_to(function.args.remove(1), ColumnType::Timestamp);
            let args = vec![function.args.remove(0), local];
            Some(Expr::ScalarFunction(ScalarFunction { func: function.func.clone(), args }))
        }
        (name @ ("extract" | "date_part"), Some(_), 2)
            if is_of_calendar(&function.args[0]) && is_date(&function.args[1], schema) =>
        {
            // For these Braid's operators have kernels.
            let data_type = if name == "extract" { DataType::Decimal128(10, 0) } else { DataType::Float64 };
            Some(cast(datafusion::functions::datetime::date_part().call(std::mem::take(&mut function.args)), data_type))
        }
        (ZONE_FUNCTION, Some(_), 2)
            if is_date(&function.args[1], schema) || unknown_text(&function.args[1]).is_some() =>
        {
            function.args[1] = cast_to(std::mem::take(&mut function.args[1]), ColumnType::TimestampTz);
            Some(Expr::ScalarFunction(function.clone()))
        }
        ("date_trunc", Some(_), 2) if unknown_text(&function.args[0]).is_some_and(|unit| unit.ends_with("seconds")) => {
            let unit = unknown_text(&function.args[0]).unwrap_or_default().trim_end_matches('s').to_owned();
            function.args[0] = Expr::Literal(ScalarValue::from(unit), None);
            return replace_function(function, schema)
                .map(|replaced| Some(replaced.unwrap_or_else(|| Expr::ScalarFunction(function.clone()))));
        }
        ("date_trunc", Some(_), 2) if is_date(&function.args[1], schema) => {
            let args = vec![function.args.remove(0), cast_to(function.args.remove(0), ColumnType::Timestamp)];
            let truncated = Expr::ScalarFunction(ScalarFunction { func: function.func.clone(), args });
            Some(cast_to(truncated, ColumnType::TimestampTz))
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
        ("generate_series", Some(DataType::Date32), _) => {
            let message = "a series of dates is not supported";
            return Err(EngineError::unsupported(message).with_hint("Cast its bounds to timestamp.").into());
        }
        ("round", Some(first), 2) if first.is_integer() => match digits(&function.args[1]) {
            Some(places) if places >= 0 => {
                let precision = (19 + places as u8).min(38);
                Some(cast(std::mem::take(&mut function.args[0]), DataType::Decimal128(precision, places)))
            }
            _ => {
                let message =
                    "round of an integer to a number of places that is negative or not a literal is not supported";
                return Err(EngineError::unsupported(message).into());
            }
        },
        ("signum", Some(DataType::Decimal128(..)), 1) => {
            Some(cast_to(Expr::ScalarFunction(function.clone()), ColumnType::Numeric { precision: 1, scale: 0 }))
        }
        ("factorial", Some(first), 1) if first.is_integer() => {
            Some(cast(Expr::ScalarFunction(function.clone()), DataType::Decimal128(20, 0)))
        }
        ("to_hex", Some(DataType::Int16 | DataType::Int32), 1) => {
            // Negative numbers have as many digits as their type.
            let wide = Box::new(cast(std::mem::take(&mut function.args[0]), DataType::Int64));
            let mask = Box::new(Expr::Literal(ScalarValue::Int64(Some(0xFFFF_FFFF)), None));
            let masked = Expr::BinaryExpr(BinaryExpr::new(wide, Operator::BitwiseAnd, mask));
            Some(Expr::ScalarFunction(ScalarFunction { func: function.func.clone(), args: vec![masked] }))
        }
        (name, Some(DataType::Binary | DataType::BinaryView | DataType::LargeBinary), _) if is_of_texts(name) => {
            let message = format!("function {name}(bytea) is not supported");
            return Err(EngineError::unsupported(message).with_hint("Use encode or convert the text.").into());
        }
        (name @ ("upper" | "lower"), Some(argument), 1) if !is_string(&argument) && argument != DataType::Null => {
            let message = format!("function {name}({}) does not exist", name_of(&argument));
            return Err(EngineError::new(SqlState::UndefinedFunction, message).into());
        }
        ("round", Some(DataType::Float32 | DataType::Float64), 1) => {
            Some(float_function(FloatKind::RoundToEven).call(vec![cast(function.args.remove(0), DataType::Float64)]))
        }
        ("round", Some(first), 1) if first.is_integer() => {
            Some(float_function(FloatKind::RoundToEven).call(vec![cast(function.args.remove(0), DataType::Float64)]))
        }
        ("ln" | "log" | "log2" | "log10", Some(first), 1) if first.is_numeric() && !first.is_decimal() => {
            let positive = |arg: Expr| float_function(FloatKind::Positive).call(vec![cast(arg, DataType::Float64)]);
            let args = function.args.drain(..).map(positive).collect();
            Some(Expr::ScalarFunction(ScalarFunction { func: function.func.clone(), args }))
        }
        _ => checked(function, schema)?,
    })
}

/// Functions of texts that DataFusion also applies to the bytes of a bytea.
fn is_of_texts(name: &str) -> bool {
    matches!(
        name,
        "reverse"
            | "upper"
            | "lower"
            | "initcap"
            | "overlay"
            | "repeat"
            | "replace"
            | "translate"
            | "lpad"
            | "rpad"
            | "left"
            | "right"
            | "ascii"
            | "strpos"
            | "split_part"
            | "starts_with"
            | "character_length"
            | "levenshtein"
    )
}

/// A quotient of numerics; `None` for other divisions.
fn quotient_of(binary: &BinaryExpr, schema: &DFSchema) -> Option<Expr> {
    let (left, right) = (type_of(&binary.left, schema).ok()?, type_of(&binary.right, schema).ok()?);
    if !left.is_decimal() && !right.is_decimal() {
        return None;
    }
    let side = |expr: &Expr, data_type: &DataType| {
        let (before, scale) = digits_of(data_type)?;
        // A literal such as 1e10 has a scale below zero.
        let is_numeric = data_type.is_decimal() && scale >= 0;
        let precision = u8::try_from(before).ok().filter(|precision| *precision <= 38)?;
        Some(if is_numeric { expr.clone() } else { cast(expr.clone(), DataType::Decimal128(precision, 0)) })
    };
    Some(quotient().call(vec![side(&binary.left, &left)?, side(&binary.right, &right)?]))
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

fn is_date(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(type_of(expr, schema), Ok(DataType::Date32))
}

fn is_of_calendar(field: &Expr) -> bool {
    let is_one = |field: &str| ["year", "quarter", "month", "day"].iter().any(|one| field.eq_ignore_ascii_case(one));
    unknown_text(field).is_some_and(is_one)
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
            Ok(data_type)
                if data_type.is_temporal()
                    || data_type.is_floating()
                    || data_type.is_decimal()
                    || matches!(family(&data_type), Some(Family::Bytes | Family::Uuid)) =>
            {
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
