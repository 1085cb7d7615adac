//! A column against a literal, exactly, whatever the two types.
//!
//! A literal is placed among the values that the column's physical type can hold: at one of them, between two
//! neighbours, or outside all. Every comparison then becomes a condition on physical values without rounding errors:
//! `smallint_column < 2.5` is `<= 2`, `numeric(4,1) = 1.25` is never, `date_column >= timestamp '1994-01-01 12:00'` is
//! `> 1994-01-01`. Where the literal cannot be placed exactly (a numeric against a binary float, a time zone against
//! none, intervals, which have no order on encoded data) the answer is `None` and the filter stays above the scan.
//!
//! Floats follow PostgreSQL, as [`Scalar`] does: NaN equals NaN and is above every number, -0 equals 0.

use std::ops::Bound;

use braid_exec::expression::Comparison;
use braid_storage::{ColumnPredicate, ColumnType, PhysicalType, Scalar};
use datafusion::common::ScalarValue;

/// Where a literal lies among the values of a physical type.
#[derive(Clone, Debug, PartialEq)]
pub enum Position {
    /// At this value.
    At(Scalar),
    /// Above this value and below the next one.
    After(Scalar),
    /// Below every value.
    BelowAll,
    /// Above every value.
    AboveAll,
}

/// The predicate that no row satisfies.
pub fn never() -> ColumnPredicate {
    ColumnPredicate::In(Vec::new())
}

/// The rows of a column of type `column_type` for which `column comparison literal` is true; `None` if that cannot be
/// said exactly.
pub fn compare(column_type: ColumnType, comparison: Comparison, literal: &ScalarValue) -> Option<ColumnPredicate> {
    if literal.is_null() {
        return Some(never());
    }
    Some(match position(column_type, literal)? {
        Position::At(value) => match comparison {
            Comparison::Equal => ColumnPredicate::equal(value),
            Comparison::NotEqual => ColumnPredicate::NotEqual(value),
            Comparison::Less => range(Bound::Unbounded, Bound::Excluded(value)),
            Comparison::LessOrEqual => range(Bound::Unbounded, Bound::Included(value)),
            Comparison::Greater => range(Bound::Excluded(value), Bound::Unbounded),
            Comparison::GreaterOrEqual => range(Bound::Included(value), Bound::Unbounded),
        },
        Position::After(value) => match comparison {
            Comparison::Equal => never(),
            Comparison::NotEqual => ColumnPredicate::IsNotNull,
            Comparison::Less | Comparison::LessOrEqual => range(Bound::Unbounded, Bound::Included(value)),
            Comparison::Greater | Comparison::GreaterOrEqual => range(Bound::Excluded(value), Bound::Unbounded),
        },
        Position::BelowAll => match comparison {
            Comparison::Equal | Comparison::Less | Comparison::LessOrEqual => never(),
            Comparison::NotEqual | Comparison::Greater | Comparison::GreaterOrEqual => ColumnPredicate::IsNotNull,
        },
        Position::AboveAll => match comparison {
            Comparison::Equal | Comparison::Greater | Comparison::GreaterOrEqual => never(),
            Comparison::NotEqual | Comparison::Less | Comparison::LessOrEqual => ColumnPredicate::IsNotNull,
        },
    })
}

fn range(low: Bound<Scalar>, high: Bound<Scalar>) -> ColumnPredicate {
    ColumnPredicate::Range { low, high }
}

/// Where `literal` (not null) lies among the values of a column of type `column_type`; `None` if that cannot be said
/// exactly.
pub fn position(column_type: ColumnType, literal: &ScalarValue) -> Option<Position> {
    if let ScalarValue::Dictionary(_, value) = literal {
        return position(column_type, value);
    }
    match column_type {
        ColumnType::Boolean => match literal {
            ScalarValue::Boolean(Some(v)) => Some(Position::At(Scalar::Bool(*v))),
            _ => None,
        },
        ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt => match literal {
            ScalarValue::Float32(Some(v)) if column_type == ColumnType::SmallInt => position_of_float(f64::from(*v)),
            ScalarValue::Float64(Some(v)) if column_type != ColumnType::BigInt => position_of_float(*v),
            _ => position_of_number(column_type, 0, literal),
        },
        ColumnType::Numeric { scale, .. } => position_of_number(column_type, scale, literal),
        ColumnType::Real | ColumnType::Double => position_among_floats(column_type, literal),
        ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_) => match literal {
            ScalarValue::Utf8(Some(v)) | ScalarValue::Utf8View(Some(v)) | ScalarValue::LargeUtf8(Some(v)) => {
                Some(Position::At(Scalar::Bytes(v.as_bytes().to_vec())))
            }
            _ => None,
        },
        ColumnType::Bytea | ColumnType::Uuid => match literal {
            ScalarValue::Binary(Some(v))
            | ScalarValue::BinaryView(Some(v))
            | ScalarValue::LargeBinary(Some(v))
            | ScalarValue::FixedSizeBinary(_, Some(v)) => Some(Position::At(Scalar::Bytes(v.clone()))),
            _ => None,
        },
        ColumnType::Date => match literal {
            ScalarValue::Date32(Some(days)) => Some(Position::At(Scalar::Int(i64::from(*days)))),
            _ => position_in_time(literal, false, MICROSECONDS_PER_DAY),
        },
        ColumnType::Timestamp => match literal {
            ScalarValue::Date32(Some(days)) => {
                position_of_ratio(ColumnType::Timestamp, i128::from(*days) * MICROSECONDS_PER_DAY, 1)
            }
            _ => position_in_time(literal, false, 1),
        },
        ColumnType::TimestampTz => position_in_time(literal, true, 1),
        ColumnType::Interval => None,
    }
}

const MICROSECONDS_PER_DAY: i128 = 86_400_000_000;

/// A timestamp literal, zoned or not, among counts of `unit_us` microseconds.
fn position_in_time(literal: &ScalarValue, zoned: bool, unit_us: i128) -> Option<Position> {
    // Each literal is numerator / denominator microseconds.
    let (value, zone, numerator, denominator) = match literal {
        ScalarValue::TimestampSecond(Some(v), zone) => (v, zone, 1_000_000, 1),
        ScalarValue::TimestampMillisecond(Some(v), zone) => (v, zone, 1_000, 1),
        ScalarValue::TimestampMicrosecond(Some(v), zone) => (v, zone, 1, 1),
        ScalarValue::TimestampNanosecond(Some(v), zone) => (v, zone, 1, 1_000),
        _ => return None,
    };
    if zone.is_some() != zoned {
        return None;
    }
    position_of_ratio(ColumnType::Timestamp, i128::from(*value) * numerator, denominator * unit_us)
}

/// An integer or decimal literal among numbers of `scale` decimal digits.
fn position_of_number(column_type: ColumnType, scale: u8, literal: &ScalarValue) -> Option<Position> {
    let (unscaled, literal_scale) = match literal {
        ScalarValue::Int8(Some(v)) => (i128::from(*v), 0),
        ScalarValue::Int16(Some(v)) => (i128::from(*v), 0),
        ScalarValue::Int32(Some(v)) => (i128::from(*v), 0),
        ScalarValue::Int64(Some(v)) => (i128::from(*v), 0),
        ScalarValue::UInt8(Some(v)) => (i128::from(*v), 0),
        ScalarValue::UInt16(Some(v)) => (i128::from(*v), 0),
        ScalarValue::UInt32(Some(v)) => (i128::from(*v), 0),
        ScalarValue::UInt64(Some(v)) => (i128::from(*v), 0),
        ScalarValue::Decimal32(Some(v), _, scale) => (i128::from(*v), *scale),
        ScalarValue::Decimal64(Some(v), _, scale) => (i128::from(*v), *scale),
        ScalarValue::Decimal128(Some(v), _, scale) => (*v, *scale),
        _ => return None,
    };
    let shift = i32::from(scale) - i32::from(literal_scale);
    let power = 10_i128.checked_pow(shift.unsigned_abs());
    match (shift >= 0, power) {
        (true, power) => match power.and_then(|power| unscaled.checked_mul(power)) {
            Some(value) => position_of_ratio(column_type, value, 1),
            None if unscaled == 0 => position_of_ratio(column_type, 0, 1),
            None if unscaled > 0 => Some(Position::AboveAll),
            None => Some(Position::BelowAll),
        },
        (false, Some(power)) => position_of_ratio(column_type, unscaled, power),
        // Divided by more than 2^127, everything is less than 1 away from 0.
        (false, None) => position_of_ratio(column_type, unscaled.signum(), 2),
    }
}

/// `numerator / denominator` among the integers of the column's physical type.
fn position_of_ratio(column_type: ColumnType, numerator: i128, denominator: i128) -> Option<Position> {
    let floor = numerator.div_euclid(denominator);
    let value = match column_type.physical() {
        PhysicalType::Int => match i64::try_from(floor) {
            Ok(value) => Scalar::Int(value),
            Err(_) if floor > 0 => return Some(Position::AboveAll),
            Err(_) => return Some(Position::BelowAll),
        },
        PhysicalType::Int128 => Scalar::Int128(floor),
        _ => return None,
    };
    Some(if numerator.rem_euclid(denominator) == 0 { Position::At(value) } else { Position::After(value) })
}

/// A float among 64-bit integers.
fn position_of_float(literal: f64) -> Option<Position> {
    /// 2^63, the first float above every 64-bit integer.
    const ABOVE_ALL: f64 = 9_223_372_036_854_775_808.0;
    if literal.is_nan() || literal >= ABOVE_ALL {
        return Some(Position::AboveAll);
    }
    if literal < -ABOVE_ALL {
        return Some(Position::BelowAll);
    }
    let floor = Scalar::Int(literal.floor() as i64);
    Some(if literal == literal.floor() { Position::At(floor) } else { Position::After(floor) })
}

/// A literal among the floats of a `real` or `double precision` column.
fn position_among_floats(column_type: ColumnType, literal: &ScalarValue) -> Option<Position> {
    /// 2^53: integers up to here are exact as a double.
    const EXACT_MAX: u64 = 1 << 53;
    let literal = match literal {
        ScalarValue::Float32(Some(v)) => f64::from(*v),
        ScalarValue::Float64(Some(v)) => *v,
        ScalarValue::Int8(Some(v)) => f64::from(*v),
        ScalarValue::Int16(Some(v)) => f64::from(*v),
        ScalarValue::Int32(Some(v)) => f64::from(*v),
        ScalarValue::Int64(Some(v)) if v.unsigned_abs() <= EXACT_MAX => *v as f64,
        _ => return None,
    };
    let nearest = literal as f32;
    if column_type == ColumnType::Double || literal.is_nan() || f64::from(nearest) == literal {
        return Some(Position::At(Scalar::Float(literal)));
    }
    let below = if f64::from(nearest) < literal { nearest } else { nearest.next_down() };
    Some(Position::After(Scalar::Float(f64::from(below))))
}

/// Whether every value of `column_type` survives a cast to `target` and keeps its order, so that a comparison of the
/// cast column with a literal of type `target` is one of the column itself.
pub fn cast_is_exact(column_type: ColumnType, target: &arrow::datatypes::DataType) -> bool {
    use arrow::datatypes::DataType as Arrow;
    let integer_digits = match column_type {
        ColumnType::SmallInt => 5,
        ColumnType::Integer => 10,
        ColumnType::BigInt => 19,
        ColumnType::Numeric { precision, scale } => precision - scale,
        _ => 0,
    };
    match (column_type, target) {
        _ if column_type.arrow() == *target => true,
        (ColumnType::SmallInt, Arrow::Int32 | Arrow::Int64 | Arrow::Float32 | Arrow::Float64) => true,
        (ColumnType::Integer, Arrow::Int64 | Arrow::Float64) => true,
        (ColumnType::Real, Arrow::Float64) => true,
        (
            ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt,
            Arrow::Decimal32(precision, scale)
            | Arrow::Decimal64(precision, scale)
            | Arrow::Decimal128(precision, scale),
        ) => *scale >= 0 && i16::from(*precision) - i16::from(*scale) >= integer_digits.into(),
        (
            ColumnType::Numeric { scale: own, .. },
            Arrow::Decimal32(precision, scale)
            | Arrow::Decimal64(precision, scale)
            | Arrow::Decimal128(precision, scale),
        ) => i16::from(*scale) >= own.into() && i16::from(*precision) - i16::from(*scale) >= integer_digits.into(),
        (ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_), Arrow::Utf8 | Arrow::LargeUtf8) => true,
        (ColumnType::Bytea | ColumnType::Uuid, Arrow::Binary | Arrow::LargeBinary | Arrow::BinaryView) => true,
        (ColumnType::Date, Arrow::Timestamp(_, None)) => true,
        (ColumnType::Timestamp, Arrow::Timestamp(unit, None)) => keeps_microseconds(*unit),
        (ColumnType::TimestampTz, Arrow::Timestamp(unit, Some(_))) => keeps_microseconds(*unit),
        _ => false,
    }
}

fn keeps_microseconds(unit: arrow::datatypes::TimeUnit) -> bool {
    use arrow::datatypes::TimeUnit;
    matches!(unit, TimeUnit::Microsecond | TimeUnit::Nanosecond)
}
