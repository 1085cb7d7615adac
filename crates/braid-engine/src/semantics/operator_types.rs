//! What an operator's two sides are to each other, before DataFusion plans it.
//!
//! A literal takes the other side's type (`unknown_literals`). Then PostgreSQL's operators on dates are put in place:
//! `date ± interval` is a timestamp, the difference of two timestamps an interval, intervals compare by their length. What
//! PostgreSQL has no operator for is refused here, where DataFusion would compare a number with a text by their letters.

use arrow::datatypes::DataType;
use braid_storage::ColumnType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use super::interval_functions::{interval_length, interval_product};
use super::marked_literals::unwrapped;
use super::timestamp_difference::timestamp_difference;
use super::unknown_literals::{cast_to, field_beside, type_beside, typed_as, unknown_text};
use crate::conversion::encoding::byte_concatenation;
use crate::conversion::{is_string, name_of};
use crate::sql_types::field_of;
use crate::{EngineError, SqlState};

/// PostgreSQL's choice of operators.
#[derive(Debug)]
pub(crate) struct OperatorTypes;

impl ExprPlanner for OperatorTypes {
    fn plan_binary_op(&self, raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let raw = RawBinaryExpr { left: unwrapped(raw.left), right: unwrapped(raw.right), ..raw };
        if raw.op == BinaryOperator::StringConcat {
            return concatenation(raw, schema);
        }
        let Some(operator) = operator_of(&raw.op) else { return Ok(PlannerResult::Original(raw)) };
        let RawBinaryExpr { op, left, right } = raw;
        let mut binary = BinaryExpr::new(Box::new(left), operator, Box::new(right));
        resolve_operator(&mut binary, schema)?;
        if let Some(planned) = on_instants(&binary, schema) {
            return Ok(PlannerResult::Planned(planned));
        }
        check(&binary, schema)?;
        Ok(PlannerResult::Original(RawBinaryExpr { op, left: *binary.left, right: *binary.right }))
    }
}

fn operator_of(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        BinaryOperator::Plus => Operator::Plus,
        BinaryOperator::Minus => Operator::Minus,
        BinaryOperator::Multiply => Operator::Multiply,
        BinaryOperator::Divide => Operator::Divide,
        BinaryOperator::Modulo => Operator::Modulo,
        BinaryOperator::And => Operator::And,
        BinaryOperator::Or => Operator::Or,
        _ => return None,
    })
}

/// `||` of a text and something else writes that as a cast would.
fn concatenation(mut raw: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
    let (Some(left), Some(right)) = (field_beside(&raw.left, schema), field_beside(&raw.right, schema)) else {
        return Ok(PlannerResult::Original(raw));
    };
    let is_bytes = |data_type: &DataType| family(data_type) == Some(Family::Bytes);
    for (side, own, other) in [(&mut raw.left, &left, &right), (&mut raw.right, &right, &left)] {
        if unknown_text(side).is_some() && is_bytes(other.data_type()) {
            if let Some(typed) = typed_as(side, other)? {
                *side = typed;
            }
        } else if is_string(other.data_type())
            && !is_bytes(own.data_type())
            && family(own.data_type()).is_some_and(|own| own != Family::Text)
        {
            *side = cast_to(std::mem::take(side), ColumnType::Text);
        }
    }
    if is_bytes(left.data_type()) || is_bytes(right.data_type()) {
        return Ok(PlannerResult::Planned(byte_concatenation().call(vec![raw.left, raw.right])));
    }
    Ok(PlannerResult::Original(raw))
}

/// Gives a literal on one side the type that the other side asks for; whether there was one.
pub(super) fn resolve_operator(binary: &mut BinaryExpr, schema: &DFSchema) -> Result<bool> {
    if matches!(binary.op, Operator::And | Operator::Or) {
        let boolean = field_of("", ColumnType::Boolean, true);
        let (left, right) = (typed_as(&binary.left, &boolean)?, typed_as(&binary.right, &boolean)?);
        let changed = left.is_some() || right.is_some();
        left.into_iter().for_each(|left| *binary.left = left);
        right.into_iter().for_each(|right| *binary.right = right);
        return Ok(changed);
    }
    let (literal, other, is_left) = match (unknown_text(&binary.left), unknown_text(&binary.right)) {
        (Some(_), None) => (&binary.left, &binary.right, true),
        (None, Some(_)) => (&binary.right, &binary.left, false),
        _ => return Ok(false),
    };
    let Some(field) = field_beside(other, schema) else { return Ok(false) };
    let wanted = match (binary.op, field.data_type()) {
        (Operator::Plus, DataType::Timestamp(..)) => field_of("", ColumnType::Interval, true),
        (Operator::Multiply | Operator::Divide, DataType::Interval(_)) => field_of("", ColumnType::Double, true),
        (Operator::Plus, DataType::Date32) => return Err(ambiguous(binary.op, field.data_type()).into()),
        _ if compares(binary.op) || binary.op.is_numerical_operators() => field,
        _ => return Ok(false),
    };
    let Some(typed) = typed_as(literal, &wanted)? else { return Ok(false) };
    **(if is_left { &mut binary.left } else { &mut binary.right }) = typed;
    Ok(true)
}

/// Operators on dates, timestamps and intervals that DataFusion answers otherwise.
fn on_instants(binary: &BinaryExpr, schema: &DFSchema) -> Option<Expr> {
    use DataType::{Date32, Interval, Timestamp};
    let (left, right) = (type_beside(&binary.left, schema)?, type_beside(&binary.right, schema)?);
    let as_timestamp = |expr: &Expr| cast_to(expr.clone(), ColumnType::Timestamp);
    let add =
        |left: Expr, right: Expr| Some(Expr::BinaryExpr(BinaryExpr::new(Box::new(left), binary.op, Box::new(right))));
    match (&left, binary.op, &right) {
        (Date32, Operator::Plus | Operator::Minus, Interval(_)) => {
            add(as_timestamp(&binary.left), (*binary.right).clone())
        }
        (Interval(_), Operator::Plus, Date32) => add((*binary.left).clone(), as_timestamp(&binary.right)),
        (Timestamp(..), Operator::Minus, Timestamp(..) | Date32) | (Date32, Operator::Minus, Timestamp(..)) => {
            let is_zoned = |data_type: &DataType| matches!(data_type, Timestamp(_, Some(_)));
            let zoned = is_zoned(&left) || is_zoned(&right);
            let common = if zoned { ColumnType::TimestampTz } else { ColumnType::Timestamp };
            let side = |expr: &Expr, data_type: &DataType| {
                if *data_type == common.arrow() { expr.clone() } else { cast_to(expr.clone(), common) }
            };
            let sides = vec![side(&binary.left, &left), side(&binary.right, &right)];
            Some(timestamp_difference(&common.arrow()).call(sides))
        }
        (Date32, Operator::Minus, Date32) => {
            add((*binary.left).clone(), (*binary.right).clone()).map(|days| cast_to(days, ColumnType::Integer))
        }
        (Timestamp(_, Some(_)), op, Timestamp(_, None) | Date32) if compares(op) => {
            add((*binary.left).clone(), cast_to((*binary.right).clone(), ColumnType::TimestampTz))
        }
        (Timestamp(_, None) | Date32, op, Timestamp(_, Some(_))) if compares(op) => {
            add(cast_to((*binary.left).clone(), ColumnType::TimestampTz), (*binary.right).clone())
        }
        (Interval(_), op, Interval(_)) if compares(op) => {
            add(length_of((*binary.left).clone()), length_of((*binary.right).clone()))
        }
        (Interval(_), Operator::Multiply, number) if number.is_numeric() => {
            Some(times(&binary.left, (*binary.right).clone()))
        }
        (number, Operator::Multiply, Interval(_)) if number.is_numeric() => {
            Some(times(&binary.right, (*binary.left).clone()))
        }
        (Interval(_), Operator::Divide, number) if number.is_numeric() => {
            let one = Box::new(Expr::Literal(ScalarValue::Float64(Some(1.0)), None));
            let divisor = Box::new(cast_to((*binary.right).clone(), ColumnType::Double));
            let inverse = Expr::BinaryExpr(BinaryExpr::new(one, Operator::Divide, divisor));
            Some(times(&binary.left, inverse))
        }
        _ => None,
    }
}

/// An interval as the number by which it compares.
pub(super) fn length_of(interval: Expr) -> Expr {
    interval_length().call(vec![interval])
}

fn times(interval: &Expr, factor: Expr) -> Expr {
    interval_product().call(vec![interval.clone(), cast_to(factor, ColumnType::Double)])
}

/// Refuses comparisons between families of types, and conditions that are none.
fn check(binary: &BinaryExpr, schema: &DFSchema) -> Result<(), EngineError> {
    let (Some(left), Some(right)) = (type_beside(&binary.left, schema), type_beside(&binary.right, schema)) else {
        return Ok(());
    };
    let (left, right) = (&left, &right);
    if matches!(binary.op, Operator::And | Operator::Or) {
        return [left, right].into_iter().try_for_each(|side| check_condition(side, &binary.op.to_string()));
    }
    match (family(left), family(right)) {
        (Some(one), Some(other)) if compares(binary.op) && one != other => {
            let message = format!("operator does not exist: {} {} {}", name_of(left), binary.op, name_of(right));
            Err(EngineError::new(SqlState::UndefinedFunction, message).with_hint(
                "No operator matches the given name and argument types. You might need to add explicit type casts.",
            ))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_condition(data_type: &DataType, place: &str) -> Result<(), EngineError> {
    match family(data_type) {
        None | Some(Family::Boolean) => Ok(()),
        Some(_) => {
            let message = format!("argument of {place} must be type boolean, not type {}", name_of(data_type));
            Err(EngineError::new(SqlState::DatatypeMismatch, message))
        }
    }
}

fn ambiguous(operator: Operator, data_type: &DataType) -> EngineError {
    let message = format!("operator is not unique: {} {operator} unknown", name_of(data_type));
    EngineError::new(SqlState::AmbiguousFunction, message)
        .with_hint("Could not choose a best candidate operator. You might need to add explicit type casts.")
}

/// Types that compare with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Boolean,
    Number,
    Text,
    Instant,
    Interval,
    Bytes,
    Uuid,
}

pub(super) fn family(data_type: &DataType) -> Option<Family> {
    Some(match data_type {
        DataType::Boolean => Family::Boolean,
        data_type if data_type.is_numeric() => Family::Number,
        data_type if is_string(data_type) => Family::Text,
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => Family::Instant,
        DataType::Interval(_) => Family::Interval,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Family::Bytes,
        DataType::FixedSizeBinary(16) => Family::Uuid,
        _ => return None,
    })
}

fn compares(operator: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(operator, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}
