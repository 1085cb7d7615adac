//! One non-null value in physical form: the stuff of zone maps and of predicates on encoded data.

use std::cmp::Ordering;

/// A value of one [`crate::PhysicalType`]. Two scalars compare only within a type.
///
/// Floats follow PostgreSQL's total order: NaN equals NaN and is above every number; -0 equals 0.
#[derive(Clone, Debug)]
pub enum Scalar {
    /// boolean
    Bool(bool),
    /// integers, dates, timestamps, numerics up to 18 digits (unscaled)
    Int(i64),
    /// numerics above 18 digits (unscaled)
    Int128(i128),
    /// real and double precision
    Float(f64),
    /// text (UTF-8, compared bytewise: the C collation), bytea, uuid
    Bytes(Vec<u8>),
    /// interval: months, days, nanoseconds
    Interval(i32, i32, i64),
}

impl Scalar {
    /// The order of two values of one type; `None` for values of different types and for unequal intervals, which
    /// have no order that predicates on encoded data may use.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Int128(a), Self::Int128(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => Some(compare_floats(*a, *b)),
            (Self::Bytes(a), Self::Bytes(b)) => Some(a.cmp(b)),
            (Self::Interval(a, b, c), Self::Interval(x, y, z)) => ((a, b, c) == (x, y, z)).then_some(Ordering::Equal),
            _ => None,
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Some(Ordering::Equal)
    }
}

/// PostgreSQL's order of floats: NaN equals NaN and is above every number; -0 equals 0.
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_ordered_as_in_postgresql() {
        assert_eq!(Scalar::Float(f64::NAN), Scalar::Float(f64::NAN));
        assert_eq!(Scalar::Float(-0.0), Scalar::Float(0.0));
        assert_eq!(Scalar::Float(f64::NAN).compare(&Scalar::Float(f64::INFINITY)), Some(Ordering::Greater));
        assert_eq!(Scalar::Float(1.0).compare(&Scalar::Float(f64::NAN)), Some(Ordering::Less));
    }

    #[test]
    fn values_of_different_types_do_not_compare() {
        assert_eq!(Scalar::Int(1).compare(&Scalar::Float(1.0)), None);
        assert_ne!(Scalar::Int(1), Scalar::Int128(1));
    }
}
