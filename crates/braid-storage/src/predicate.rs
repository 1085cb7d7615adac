//! What a scan may ask of one column without decoding it.
//!
//! Comparisons with constants, ranges and IN lists reach the codecs in this form; everything else (LIKE, arithmetic,
//! two columns) is evaluated on decoded vectors above. A null never satisfies a predicate except
//! [`ColumnPredicate::IsNull`], as in SQL's WHERE.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::Scalar;

/// A condition on the values of one column. All scalars in it have the column's physical type.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnPredicate {
    /// Within the bounds: comparisons, BETWEEN and equality (both bounds included and equal).
    Range {
        /// Lower bound.
        low: Bound<Scalar>,
        /// Upper bound.
        high: Bound<Scalar>,
    },
    /// Different from the value.
    NotEqual(Scalar),
    /// Equal to one of the values; no duplicates, ascending where the type has an order.
    In(Vec<Scalar>),
    /// Non-null and equal to none of the values.
    NotIn(Vec<Scalar>),
    /// Null.
    IsNull,
    /// Not null.
    IsNotNull,
}

impl ColumnPredicate {
    /// Equality.
    pub fn equal(value: Scalar) -> Self {
        Self::Range { low: Bound::Included(value.clone()), high: Bound::Included(value) }
    }

    /// Whether `value` (`None` for null) satisfies the predicate: the definition that every codec is tested against.
    pub fn matches(&self, value: Option<&Scalar>) -> bool {
        let Some(value) = value else { return *self == Self::IsNull };
        match self {
            Self::Range { low, high } => above(value, low) && below(value, high),
            Self::NotEqual(other) => value != other,
            Self::In(values) => values.iter().any(|v| v == value),
            Self::NotIn(values) => values.iter().all(|v| v != value),
            Self::IsNull => false,
            Self::IsNotNull => true,
        }
    }
}

fn above(value: &Scalar, low: &Bound<Scalar>) -> bool {
    match low {
        Bound::Unbounded => true,
        Bound::Included(low) => matches!(value.compare(low), Some(Ordering::Greater | Ordering::Equal)),
        Bound::Excluded(low) => value.compare(low) == Some(Ordering::Greater),
    }
}

fn below(value: &Scalar, high: &Bound<Scalar>) -> bool {
    match high {
        Bound::Unbounded => true,
        Bound::Included(high) => matches!(value.compare(high), Some(Ordering::Less | Ordering::Equal)),
        Bound::Excluded(high) => value.compare(high) == Some(Ordering::Less),
    }
}
