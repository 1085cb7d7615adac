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

/// Every value equals itself, NaN too.
impl Eq for Scalar {}

/// PostgreSQL's order of floats: NaN equals NaN and is above every number; -0 equals 0.
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// A value, or null, as a key of hash tables. Two keys are equal if no operation can tell them apart: unlike as values, 0 and
/// -0 are two keys, in the total order of floats (IEEE 754, section 5.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScalarKey<'a>(Option<KeyBits<'a>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum KeyBits<'a> {
    Bool(bool),
    Int(i64),
    Int128(i128),
    Float(u64),
    Bytes(&'a [u8]),
    Interval(i32, i32, i64),
}

impl<'a> ScalarKey<'a> {
    /// The key of a value, or of null.
    pub fn of(scalar: &'a Option<Scalar>) -> Self {
        Self(scalar.as_ref().map(|scalar| match scalar {
            Scalar::Bool(value) => KeyBits::Bool(*value),
            Scalar::Int(value) => KeyBits::Int(*value),
            Scalar::Int128(value) => KeyBits::Int128(*value),
            Scalar::Float(value) => KeyBits::Float(value.to_bits()),
            Scalar::Bytes(bytes) => KeyBits::Bytes(bytes),
            Scalar::Interval(months, days, nanoseconds) => KeyBits::Interval(*months, *days, *nanoseconds),
        }))
    }
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
    fn keys_are_equal_where_nothing_tells_values_apart() {
        let values = [
            None,
            Some(Scalar::Int(1)),
            Some(Scalar::Int128(1)),
            Some(Scalar::Bool(true)),
            Some(Scalar::Float(0.0)),
            Some(Scalar::Float(-0.0)),
            Some(Scalar::Float(f64::NAN)),
            Some(Scalar::Bytes(b"1".to_vec())),
            Some(Scalar::Bytes(Vec::new())),
            Some(Scalar::Interval(1, 0, 0)),
            Some(Scalar::Interval(0, 30, 0)),
        ];
        for (at, value) in values.iter().enumerate() {
            for (other_at, other) in values.iter().enumerate() {
                assert_eq!(
                    ScalarKey::of(value) == ScalarKey::of(&other.clone()),
                    at == other_at,
                    "{value:?}, {other:?}"
                );
            }
        }
    }

    #[test]
    fn values_of_different_types_do_not_compare() {
        assert_eq!(Scalar::Int(1).compare(&Scalar::Float(1.0)), None);
        assert_ne!(Scalar::Int(1), Scalar::Int128(1));
    }
}
