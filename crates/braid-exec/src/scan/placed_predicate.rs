//! Predicates with constants of a plan, as predicates with constants of a column's physical type.
//!
//! Constants have the smallest width that fits; codecs and zone maps compare only scalars of the column's own type.

use std::ops::Bound;

use braid_storage::{ColumnPredicate, PhysicalType, Scalar};

use crate::Expression;

/// The place of a constant among the values of a column.
enum Place {
    /// It is one of the values that the type can have.
    At(Scalar),
    /// No value equals it.
    Nowhere,
}

/// The same predicate for a column of this type; `None` if that cannot be expressed exactly.
pub(crate) fn placed(predicate: ColumnPredicate, physical: PhysicalType) -> Option<ColumnPredicate> {
    Some(match predicate {
        ColumnPredicate::Range { low, high } => {
            ColumnPredicate::Range { low: placed_bound(low, physical)?, high: placed_bound(high, physical)? }
        }
        ColumnPredicate::NotEqual(value) => none_of(placed_values(vec![value], physical)?),
        ColumnPredicate::In(values) => one_of(placed_values(values, physical)?),
        ColumnPredicate::NotIn(values) => none_of(placed_values(values, physical)?),
        test @ (ColumnPredicate::IsNull | ColumnPredicate::IsNotNull) => test,
    })
}

fn placed_bound(bound: Bound<Scalar>, physical: PhysicalType) -> Option<Bound<Scalar>> {
    let at = |value| match place(value, physical)? {
        Place::At(value) => Some(value),
        Place::Nowhere => None,
    };
    Some(match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(value) => Bound::Included(at(value)?),
        Bound::Excluded(value) => Bound::Excluded(at(value)?),
    })
}

/// The constants that a value can equal, ascending, each once.
fn placed_values(values: Vec<Scalar>, physical: PhysicalType) -> Option<Vec<Scalar>> {
    let mut found = Vec::with_capacity(values.len());
    for value in values {
        if let Place::At(value) = place(value, physical)? {
            found.push(value);
        }
    }
    found.sort_by(|a, b| a.compare(b).expect("scalars of one type, except intervals, have an order"));
    found.dedup();
    Some(found)
}

fn one_of(mut values: Vec<Scalar>) -> ColumnPredicate {
    if values.len() == 1 { ColumnPredicate::equal(values.remove(0)) } else { ColumnPredicate::In(values) }
}

fn none_of(mut values: Vec<Scalar>) -> ColumnPredicate {
    match values.len() {
        0 => ColumnPredicate::IsNotNull,
        1 => ColumnPredicate::NotEqual(values.remove(0)),
        _ => ColumnPredicate::NotIn(values),
    }
}

/// `None` if the constant is of another kind than the column, or has no order.
fn place(value: Scalar, physical: PhysicalType) -> Option<Place> {
    Some(match (value, physical) {
        (Scalar::Int(value), PhysicalType::Int128) => Place::At(Scalar::Int128(value.into())),
        (Scalar::Int128(value), PhysicalType::Int) => match i64::try_from(value) {
            Ok(value) => Place::At(Scalar::Int(value)),
            Err(_) => Place::Nowhere,
        },
        // The payload of a NaN is irrelevant.
        (Scalar::Float(value), PhysicalType::Float32) if !value.is_nan() && f64::from(value as f32) != value => {
            Place::Nowhere
        }
        (value @ Scalar::Float(_), PhysicalType::Float32 | PhysicalType::Float64)
        | (value @ Scalar::Bool(_), PhysicalType::Bool)
        | (value @ Scalar::Int(_), PhysicalType::Int)
        | (value @ Scalar::Int128(_), PhysicalType::Int128)
        | (value @ Scalar::Bytes(_), PhysicalType::Bytes) => Place::At(value),
        _ => return None,
    })
}

/// A predicate as EXPLAIN shows it.
pub(crate) fn predicate_text(name: &str, predicate: &ColumnPredicate) -> String {
    let text = |value: &Scalar| Expression::Constant(Some(value.clone())).to_string();
    let list = |values: &[Scalar]| values.iter().map(text).collect::<Vec<_>>().join(", ");
    match predicate {
        ColumnPredicate::Range { low: Bound::Included(low), high: Bound::Included(high) } if low == high => {
            format!("{name} = {}", text(low))
        }
        ColumnPredicate::Range { low, high } => {
            let bound = |bound: &Bound<Scalar>, [included, excluded]: [&str; 2]| match bound {
                Bound::Unbounded => None,
                Bound::Included(value) => Some(format!("{name} {included} {}", text(value))),
                Bound::Excluded(value) => Some(format!("{name} {excluded} {}", text(value))),
            };
            let bounds = [bound(low, [">=", ">"]), bound(high, ["<=", "<"])];
            bounds.into_iter().flatten().collect::<Vec<_>>().join(" AND ")
        }
        ColumnPredicate::NotEqual(value) => format!("{name} <> {}", text(value)),
        ColumnPredicate::In(values) => format!("{name} IN ({})", list(values)),
        ColumnPredicate::NotIn(values) => format!("{name} NOT IN ({})", list(values)),
        ColumnPredicate::IsNull => format!("{name} IS NULL"),
        ColumnPredicate::IsNotNull => format!("{name} IS NOT NULL"),
    }
}
