//! Physical values as DataFusion's scalars: for statistics and for EXPLAIN.

use std::sync::Arc;

use arrow::datatypes::IntervalMonthDayNano;
use arrow::util::display::array_value_to_string;
use braid_storage::{ColumnPredicate, ColumnType, Scalar};
use datafusion::common::ScalarValue;
use std::ops::Bound;

/// `scalar` as a value of `column_type`; `None` if it has no such value: a string bound that was cut inside a character, a number
/// out of the type's range, a scalar of another type.
pub fn scalar_value(column_type: ColumnType, scalar: &Scalar) -> Option<ScalarValue> {
    Some(match (column_type, scalar) {
        (ColumnType::Boolean, Scalar::Bool(v)) => ScalarValue::Boolean(Some(*v)),
        (ColumnType::SmallInt, Scalar::Int(v)) => ScalarValue::Int16(Some(i16::try_from(*v).ok()?)),
        (ColumnType::Integer, Scalar::Int(v)) => ScalarValue::Int32(Some(i32::try_from(*v).ok()?)),
        (ColumnType::BigInt, Scalar::Int(v)) => ScalarValue::Int64(Some(*v)),
        (ColumnType::Real, Scalar::Float(v)) => ScalarValue::Float32(Some(*v as f32)),
        (ColumnType::Double, Scalar::Float(v)) => ScalarValue::Float64(Some(*v)),
        (ColumnType::Numeric { precision, scale }, Scalar::Int(v)) => {
            ScalarValue::Decimal128(Some(i128::from(*v)), precision, scale as i8)
        }
        (ColumnType::Numeric { precision, scale }, Scalar::Int128(v)) => {
            ScalarValue::Decimal128(Some(*v), precision, scale as i8)
        }
        (ColumnType::Text | ColumnType::Varchar(_) | ColumnType::Char(_), Scalar::Bytes(v)) => {
            ScalarValue::Utf8View(Some(String::from_utf8(v.clone()).ok()?))
        }
        (ColumnType::Date, Scalar::Int(v)) => ScalarValue::Date32(Some(i32::try_from(*v).ok()?)),
        (ColumnType::Timestamp, Scalar::Int(v)) => ScalarValue::TimestampMicrosecond(Some(*v), None),
        (ColumnType::TimestampTz, Scalar::Int(v)) => {
            ScalarValue::TimestampMicrosecond(Some(*v), Some(Arc::from("UTC")))
        }
        (ColumnType::Interval, Scalar::Interval(months, days, nanos)) => {
            ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(*months, *days, *nanos)))
        }
        (ColumnType::Bytea, Scalar::Bytes(v)) => ScalarValue::BinaryView(Some(v.clone())),
        (ColumnType::Uuid, Scalar::Bytes(v)) if v.len() == 16 => ScalarValue::FixedSizeBinary(16, Some(v.clone())),
        _ => return None,
    })
}

/// `predicate` on the column called `name`, as SQL that people read in EXPLAIN.
pub fn predicate_text(name: &str, column_type: ColumnType, predicate: &ColumnPredicate) -> String {
    let text = |scalar: &Scalar| scalar_text(column_type, scalar);
    // Lists are cut: an IN of a thousand values says no more than one of eight.
    let list = |values: &[Scalar]| {
        let shown: Vec<String> = values.iter().take(8).map(text).collect();
        let more = if values.len() > 8 { format!(", … {} more", values.len() - 8) } else { String::new() };
        format!("({}{more})", shown.join(", "))
    };
    match predicate {
        ColumnPredicate::Range { low: Bound::Included(low), high: Bound::Included(high) } if low == high => {
            format!("{name} = {}", text(low))
        }
        ColumnPredicate::Range { low, high } => {
            let low = match low {
                Bound::Unbounded => None,
                Bound::Included(low) => Some(format!("{name} >= {}", text(low))),
                Bound::Excluded(low) => Some(format!("{name} > {}", text(low))),
            };
            let high = match high {
                Bound::Unbounded => None,
                Bound::Included(high) => Some(format!("{name} <= {}", text(high))),
                Bound::Excluded(high) => Some(format!("{name} < {}", text(high))),
            };
            let sides: Vec<String> = low.into_iter().chain(high).collect();
            if sides.is_empty() { format!("{name} IS NOT NULL") } else { sides.join(" AND ") }
        }
        ColumnPredicate::NotEqual(value) => format!("{name} <> {}", text(value)),
        ColumnPredicate::In(values) if values.is_empty() => "false".to_owned(),
        ColumnPredicate::In(values) => format!("{name} IN {}", list(values)),
        ColumnPredicate::NotIn(values) => format!("{name} NOT IN {}", list(values)),
        ColumnPredicate::IsNull => format!("{name} IS NULL"),
        ColumnPredicate::IsNotNull => format!("{name} IS NOT NULL"),
    }
}

/// `scalar` as a literal that people read: `'text'`, `1994-01-05`, `0.07`.
fn scalar_text(column_type: ColumnType, scalar: &Scalar) -> String {
    let Some(value) = scalar_value(column_type, scalar) else { return format!("{scalar:?}") };
    let text = value.to_array().and_then(|array| Ok(array_value_to_string(&array, 0)?));
    match (text, column_type) {
        (Err(_), _) => value.to_string(),
        (Ok(text), ColumnType::Boolean | ColumnType::SmallInt | ColumnType::Integer | ColumnType::BigInt) => text,
        (Ok(text), ColumnType::Real | ColumnType::Double | ColumnType::Numeric { .. } | ColumnType::Date) => text,
        (Ok(text), _) => format!("'{text}'"),
    }
}
