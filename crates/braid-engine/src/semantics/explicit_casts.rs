//! Casts that round, parse and print as PostgreSQL's.
//!
//! A cast that Arrow does like PostgreSQL stays what it is, so that DataFusion can reason about it (integer to wider
//! integer, date to timestamp). The others become calls of [`CastFunction`]; of a literal, its result.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::datatypes::{DataType, Field};
use braid_df::type_of;
use braid_storage::ColumnType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, ScalarUDF};
use datafusion::optimizer::analyzer::AnalyzerRule;

use super::marked_literals::mark_of;
use super::operator_types::{Family, family};
use super::rewrite_expressions;
use crate::conversion::cast_function::CastFunction;
use crate::conversion::{Strength, convert, is_string, name_of};
use crate::input::datetime::utc;
use crate::output::shown_digits::least_digits;
use crate::sql_types::column_type_of;
use crate::{EngineError, SqlState};

#[derive(Debug)]
pub(super) struct ExplicitCasts;

impl AnalyzerRule for ExplicitCasts {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        let zone_name = config.execution.time_zone.clone().unwrap_or_else(|| "UTC".to_owned());
        let zone = zone_name.parse().unwrap_or_else(|_| utc());
        rewrite_expressions(plan, |expr, schema| {
            expr.transform_up(|expr| match expr {
                Expr::Cast(cast) => replace(cast, schema, &zone_name, &zone).map(Transformed::yes),
                expr => Ok(Transformed::no(expr)),
            })
        })
    }

    fn name(&self) -> &str {
        "explicit_casts"
    }
}

fn replace(cast: Cast, schema: &DFSchema, zone_name: &str, zone: &Tz) -> Result<Expr> {
    if let Ok(source) = type_of(&cast.expr, schema)
        && !exists(&source, cast.field.data_type())
    {
        let (source, target) = (name_of(&source), name_of(cast.field.data_type()));
        return Err(EngineError::new(SqlState::CannotCoerce, format!("cannot cast type {source} to {target}")).into());
    }
    if let Ok(source) = type_of(&cast.expr, schema)
        && is_opaque(&source, cast.field.data_type())
    {
        let (source, target) = (name_of(&source), name_of(cast.field.data_type()));
        return Err(EngineError::unsupported(format!("a cast of type {source} to {target} is not supported")).into());
    }
    let target = match (column_type_of(&cast.field), type_of(&cast.expr, schema)) {
        (Some(target), Ok(source)) if is_ours(&source, target) => target,
        (Some(target), Ok(_)) if is_string(&target.arrow()) && is_quotient(&cast.expr, schema) => target,
        _ => return Ok(without_metadata(cast)),
    };
    converted(*cast.expr, target, zone_name, zone)
}

/// The call that converts an expression; of a literal without a mark, its result.
fn converted(expr: Expr, target: ColumnType, zone_name: &str, zone: &Tz) -> Result<Expr> {
    if let Expr::Literal(value, _) = &expr
        && mark_of(&expr).is_none()
    {
        let array = value.to_array()?;
        let converted = convert(&array, target, Strength::Explicit, zone)?;
        return Ok(Expr::Literal(ScalarValue::try_from_array(&converted, 0)?, None));
    }
    let function = ScalarUDF::from(CastFunction::new(target, zone_name));
    Ok(function.call(vec![expr]))
}

/// A number as a float. The conversion knows no time zone.
pub(super) fn as_float(expr: Expr, target: ColumnType) -> Result<Expr> {
    converted(expr, target, "UTC", &utc())
}

/// Arrays as texts are not read, and rows are not written, as PostgreSQL does.
fn is_opaque(source: &DataType, target: &DataType) -> bool {
    is_string(source) && target.is_list() || matches!(source, DataType::Struct(_)) && is_string(target)
}

fn is_quotient(expr: &Expr, schema: &DFSchema) -> bool {
    expr.to_field(schema).is_ok_and(|(_, field)| least_digits(&field).is_some())
}

/// Whether PostgreSQL has a cast between the types: DataFusion also makes numbers of dates.
fn exists(source: &DataType, target: &DataType) -> bool {
    match (family(source), family(target)) {
        (Some(Family::Text), _) | (_, Some(Family::Text)) | (None, _) | (_, None) => true,
        (Some(Family::Boolean), Some(Family::Number)) => *target == DataType::Int32,
        (Some(Family::Number), Some(Family::Boolean)) => *source == DataType::Int32,
        (source, target) => source == target,
    }
}

/// The type planner's notes on lengths have been read; left in place, they would make the logical and the physical
/// type of the cast differ.
fn without_metadata(cast: Cast) -> Expr {
    let Cast { expr, field } = cast;
    if field.metadata().is_empty() {
        return Expr::Cast(Cast { expr, field });
    }
    let plain = Field::new(field.name(), field.data_type().clone(), field.is_nullable());
    Expr::Cast(Cast { expr, field: Arc::new(plain) })
}

/// Whether PostgreSQL's cast differs from Arrow's.
fn is_ours(source: &DataType, target: ColumnType) -> bool {
    let is_zoned = matches!(source, DataType::Timestamp(_, Some(_)));
    let is_plain = matches!(source, DataType::Timestamp(_, None) | DataType::Date32 | DataType::Date64);
    match target {
        _ if *source == DataType::Null => false,
        ColumnType::Text => !is_string(source) && !prints_alike(source),
        ColumnType::Varchar(_) | ColumnType::Char(_) => true,
        _ if is_string(source) => true,
        ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt => !fits_integer(source, target),
        ColumnType::Numeric { precision, scale } => !fits_numeric(source, precision, scale),
        ColumnType::Real => *source == DataType::Float64 || source.is_decimal(),
        ColumnType::Double => source.is_decimal(),
        ColumnType::Timestamp | ColumnType::Date => is_zoned,
        ColumnType::TimestampTz => is_plain,
        _ => false,
    }
}

/// Whether an integer type holds every value of `source`. Where it does not, the optimiser must not see a cast: it
/// would compare the uncast values, and never notice an overflow or a rounding.
fn fits_integer(source: &DataType, target: ColumnType) -> bool {
    match target {
        _ if !source.is_integer() => !source.is_numeric(),
        ColumnType::SmallInt => matches!(source, DataType::Int8 | DataType::UInt8 | DataType::Int16),
        ColumnType::Integer => !matches!(source, DataType::UInt32 | DataType::Int64 | DataType::UInt64),
        _ => *source != DataType::UInt64,
    }
}

/// Whether `numeric(precision, scale)` holds every value of `source`.
fn fits_numeric(source: &DataType, precision: u8, scale: u8) -> bool {
    let digits_before = precision.saturating_sub(scale);
    match source {
        DataType::Int16 => digits_before >= 5,
        DataType::Int32 => digits_before >= 10,
        DataType::Int64 => digits_before >= 19,
        DataType::Decimal128(from, from_scale) => {
            let scale = i16::from(scale);
            let (from, from_scale) = (i16::from(*from), i16::from(*from_scale));
            from_scale <= scale && from - from_scale <= i16::from(digits_before)
        }
        source => !source.is_numeric(),
    }
}

/// Whether Arrow writes such values as PostgreSQL does.
fn prints_alike(source: &DataType) -> bool {
    source.is_integer() || source.is_decimal() || matches!(source, DataType::Boolean | DataType::Date32)
}
