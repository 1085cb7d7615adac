//! Conditions on 64-bit integers, and their evaluation over vectors of values or of packed codes.
//!
//! Every condition is a range, a set, or the complement of one. Booleans, dates, timestamps, numerics, dictionary
//! codes and (through an order-preserving map) floats all come down to it. Comparisons produce one byte a row, which
//! compilers vectorise, and whose highest bits are a word of the selection.

use std::ops::Bound;

use braid_base::VECTOR_ROWS;

use super::flags::filter_where;
use super::integer_set::IntegerSet;
use crate::{ColumnPredicate, Scalar, Selection};

/// A condition on an integer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IntegerTest {
    /// Holds for none.
    Never,
    /// Holds for all.
    Always,
    /// In `low..=high`, or not.
    Range {
        /// Smallest value of the range.
        low: i64,
        /// Largest value of the range; not below `low`.
        high: i64,
        /// Whether it is the values outside that satisfy the condition.
        negated: bool,
    },
    /// In the set, or not.
    Set {
        /// The set.
        set: IntegerSet,
        /// Whether it is the values outside that satisfy the condition.
        negated: bool,
    },
}

impl IntegerTest {
    /// The test that holds for exactly these values, in any order, perhaps twice.
    pub(crate) fn one_of(mut values: Vec<i64>) -> Self {
        values.sort_unstable();
        values.dedup();
        let (Some(&low), Some(&high)) = (values.first(), values.last()) else { return Self::Never };
        if high.wrapping_sub(low) as u64 == values.len() as u64 - 1 {
            return Self::Range { low, high, negated: false };
        }
        Self::Set { set: IntegerSet::new(values), negated: false }
    }

    /// The test that holds for `low..=high`, which may be empty.
    pub(crate) fn range(low: i64, high: i64) -> Self {
        match (low, high) {
            _ if low > high => Self::Never,
            (i64::MIN, i64::MAX) => Self::Always,
            _ => Self::Range { low, high, negated: false },
        }
    }

    /// The test that holds where this one does not.
    pub(crate) fn not(self) -> Self {
        match self {
            Self::Never => Self::Always,
            Self::Always => Self::Never,
            Self::Range { low, high, negated } => Self::Range { low, high, negated: !negated },
            Self::Set { set, negated } => Self::Set { set, negated: !negated },
        }
    }

    /// What `predicate` says about non-null values, given where `key` finds scalars among the integers, in the values'
    /// order. For a scalar of another type it finds nothing: no value is equal to it, above or below.
    pub(crate) fn translate(predicate: &ColumnPredicate, key: impl Fn(&Scalar) -> Option<Key>) -> Self {
        match predicate {
            ColumnPredicate::Range { low, high } => Self::translate_range(low, high, key),
            ColumnPredicate::NotEqual(value) => Self::one_of(exact_keys(std::slice::from_ref(value), key)).not(),
            ColumnPredicate::In(values) => Self::one_of(exact_keys(values, key)),
            ColumnPredicate::NotIn(values) => Self::one_of(exact_keys(values, key)).not(),
            ColumnPredicate::IsNull => Self::Never,
            ColumnPredicate::IsNotNull => Self::Always,
        }
    }

    fn translate_range(low: &Bound<Scalar>, high: &Bound<Scalar>, key: impl Fn(&Scalar) -> Option<Key>) -> Self {
        let smallest = match low {
            Bound::Unbounded => Some(i64::MIN),
            Bound::Included(low) => match key(low) {
                Some(Key::Exact(k)) => Some(k),
                Some(Key::Below) => Some(i64::MIN),
                Some(Key::Above) | None => None,
            },
            Bound::Excluded(low) => match key(low) {
                Some(Key::Exact(k)) => k.checked_add(1),
                Some(Key::Below) => Some(i64::MIN),
                Some(Key::Above) | None => None,
            },
        };
        let largest = match high {
            Bound::Unbounded => Some(i64::MAX),
            Bound::Included(high) => match key(high) {
                Some(Key::Exact(k)) => Some(k),
                Some(Key::Above) => Some(i64::MAX),
                Some(Key::Below) | None => None,
            },
            Bound::Excluded(high) => match key(high) {
                Some(Key::Exact(k)) => k.checked_sub(1),
                Some(Key::Above) => Some(i64::MAX),
                Some(Key::Below) | None => None,
            },
        };
        match (smallest, largest) {
            (Some(low), Some(high)) => Self::range(low, high),
            _ => Self::Never,
        }
    }

    /// Whether `value` satisfies the test.
    #[inline]
    pub(crate) fn holds(&self, value: i64) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Range { low, high, negated } => (*low <= value && value <= *high) != *negated,
            Self::Set { set, negated } => set.contains(value) != *negated,
        }
    }

    /// What is known about all values in `low..=high`: whether none (`Some(false)`) or all (`Some(true)`) satisfy it.
    pub(crate) fn verdict(&self, low: i64, high: i64) -> Option<bool> {
        match self {
            Self::Never => Some(false),
            Self::Always => Some(true),
            Self::Range { low: from, high: to, negated } => {
                if high < *from || low > *to {
                    Some(*negated)
                } else if *from <= low && high <= *to {
                    Some(!*negated)
                } else {
                    None
                }
            }
            Self::Set { set, negated } => match set.within(low, high).len() {
                0 => Some(*negated),
                1 if low == high => Some(!*negated),
                _ => None,
            },
        }
    }

    /// Keeps the rows whose value satisfies the test.
    pub(crate) fn filter(&self, values: &[i64; VECTOR_ROWS], selection: &mut Selection) {
        match self {
            Self::Never => selection.clear(),
            Self::Always => {}
            Self::Range { low, high, negated } => {
                let (low, span, negated) = (*low, high.wrapping_sub(*low) as u64, *negated);
                filter_where(values, selection, |v| (v.wrapping_sub(low) as u64 <= span) != negated);
            }
            Self::Set { set, negated } => set.filter(values, |value| value, *negated, selection),
        }
    }
}

/// Where a scalar lies among 64-bit integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// It is this one.
    Exact(i64),
    /// Below all.
    Below,
    /// Above all.
    Above,
}

impl Key {
    /// Where a wide integer lies.
    pub(crate) fn of_i128(value: i128) -> Self {
        match i64::try_from(value) {
            Ok(value) => Self::Exact(value),
            Err(_) if value < 0 => Self::Below,
            Err(_) => Self::Above,
        }
    }
}

fn exact_keys(values: &[Scalar], key: impl Fn(&Scalar) -> Option<Key>) -> Vec<i64> {
    let exact = |v| match key(v) {
        Some(Key::Exact(k)) => Some(k),
        _ => None,
    };
    values.iter().filter_map(exact).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_agree_with_their_verdicts_and_their_filters() {
        let tests = [
            IntegerTest::Never,
            IntegerTest::Always,
            IntegerTest::range(3, 9),
            IntegerTest::range(5, 5).not(),
            IntegerTest::range(9, 3),
            IntegerTest::range(i64::MIN, 4),
            IntegerTest::range(i64::MIN, i64::MAX).not(),
            IntegerTest::one_of(vec![7, 2, 2, 11]),
            IntegerTest::one_of(vec![4, 5, 6]),
            IntegerTest::one_of(vec![i64::MIN, 8, i64::MAX]).not(),
            IntegerTest::one_of(vec![-1, 0, 2, 4, 6, 8, 10, 12, 14, 15, 17]),
            IntegerTest::one_of(vec![-1, 0, 2, 4, 6, 8, 10, 12, 14, 15, 1 << 40]).not(),
            IntegerTest::one_of(vec![]),
        ];
        let values: [i64; VECTOR_ROWS] = std::array::from_fn(|i| (i % 16) as i64);
        for test in &tests {
            let mut selection = Selection::all(1000);
            test.filter(&values, &mut selection);
            assert!(selection.iter().eq((0..1000).filter(|&r| test.holds(values[r]))), "{test:?}");
            for low in 0..16 {
                for high in low..16 {
                    if let Some(verdict) = test.verdict(low, high) {
                        assert!((low..=high).all(|v| test.holds(v) == verdict), "{test:?} {low}..={high}");
                    }
                }
            }
        }
    }

    #[test]
    fn bounds_outside_64_bits_are_not_forgotten() {
        let key = |s: &Scalar| match s {
            Scalar::Int128(v) => Some(Key::of_i128(*v)),
            _ => None,
        };
        let range = |low, high| {
            let predicate = ColumnPredicate::Range { low, high };
            IntegerTest::translate(&predicate, key)
        };
        let wide = |v| Bound::Included(Scalar::Int128(v));
        assert_eq!(range(wide(i128::MIN), wide(i128::MAX)), IntegerTest::Always);
        assert_eq!(range(wide(1 << 100), Bound::Unbounded), IntegerTest::Never);
        assert_eq!(range(Bound::Unbounded, wide(-(1 << 100))), IntegerTest::Never);
        assert_eq!(range(Bound::Excluded(Scalar::Int128(i64::MAX.into())), Bound::Unbounded), IntegerTest::Never);
        assert_eq!(range(wide(3), wide(1 << 100)), IntegerTest::range(3, i64::MAX));
        assert_eq!(range(Bound::Included(Scalar::Int(3)), Bound::Unbounded), IntegerTest::Never);
    }
}
