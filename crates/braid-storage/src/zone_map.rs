//! Zone maps: the smallest and largest value of a segment, and what they refute.
//!
//! Invariant: a bound, where present, holds for every non-null value of the segment. It need not be attained: long
//! strings are cut to [`ZONE_BYTES_MAX`] bytes, the upper bound rounded up. Absent bounds say nothing.

use std::cmp::Ordering;
use std::ops::Bound;

use crate::{ColumnPredicate, Scalar};

/// Longest string bound kept, in bytes; enough to tell TPC-H's and most people's strings apart.
pub const ZONE_BYTES_MAX: usize = 32;

/// Bounds and null count of one segment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneMap {
    /// No non-null value is below this.
    pub min: Option<Scalar>,
    /// No non-null value is above this.
    pub max: Option<Scalar>,
    /// Number of nulls.
    pub null_count: u32,
    /// Whether `min` and `max` are values that occur (false once a string bound was cut).
    pub exact: bool,
}

/// What a zone map says about a predicate over its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No row can satisfy it: the chunk need not be read.
    None,
    /// Some rows may.
    Some,
    /// Every row does: the predicate need not be evaluated.
    All,
}

impl ZoneMap {
    /// What is known of `predicate` over the segment's `row_count` rows.
    pub fn verdict(&self, predicate: &ColumnPredicate, row_count: u32) -> Verdict {
        let all_null = self.null_count == row_count;
        match predicate {
            ColumnPredicate::IsNull => match self.null_count {
                0 => Verdict::None,
                n if n == row_count => Verdict::All,
                _ => Verdict::Some,
            },
            ColumnPredicate::IsNotNull => match self.null_count {
                0 => Verdict::All,
                _ if all_null => Verdict::None,
                _ => Verdict::Some,
            },
            _ if all_null => Verdict::None,
            _ => {
                let (Some(min), Some(max)) = (&self.min, &self.max) else { return Verdict::Some };
                match verdict_between(min, max, predicate) {
                    Verdict::All if self.null_count > 0 => Verdict::Some,
                    verdict => verdict,
                }
            }
        }
    }
}

/// The verdict for non-null values known to lie in `min..=max`.
fn verdict_between(min: &Scalar, max: &Scalar, predicate: &ColumnPredicate) -> Verdict {
    let outside = |v: &Scalar| v.compare(min) == Some(Ordering::Less) || v.compare(max) == Some(Ordering::Greater);
    match predicate {
        ColumnPredicate::Range { low, high } => {
            let refuted = match low {
                Bound::Unbounded => false,
                Bound::Included(low) => max.compare(low) == Some(Ordering::Less),
                Bound::Excluded(low) => matches!(max.compare(low), Some(Ordering::Less | Ordering::Equal)),
            } || match high {
                Bound::Unbounded => false,
                Bound::Included(high) => min.compare(high) == Some(Ordering::Greater),
                Bound::Excluded(high) => matches!(min.compare(high), Some(Ordering::Greater | Ordering::Equal)),
            };
            if refuted {
                Verdict::None
            } else if predicate.matches(Some(min)) && predicate.matches(Some(max)) {
                Verdict::All
            } else {
                Verdict::Some
            }
        }
        ColumnPredicate::NotEqual(value) if outside(value) => Verdict::All,
        ColumnPredicate::NotEqual(value) if min == max && value == min => Verdict::None,
        ColumnPredicate::In(values) if values.iter().all(outside) => Verdict::None,
        ColumnPredicate::NotIn(values) if values.iter().all(outside) => Verdict::All,
        _ => Verdict::Some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(min: i64, max: i64, null_count: u32) -> ZoneMap {
        ZoneMap { min: Some(Scalar::Int(min)), max: Some(Scalar::Int(max)), null_count, exact: true }
    }

    fn range(low: Bound<i64>, high: Bound<i64>) -> ColumnPredicate {
        ColumnPredicate::Range { low: low.map(Scalar::Int), high: high.map(Scalar::Int) }
    }

    #[test]
    fn a_verdict_never_contradicts_any_value_between_the_bounds() {
        use Bound::{Excluded, Included, Unbounded};
        let bounds = |v| [Included(v), Excluded(v), Unbounded];
        let mut predicates = vec![ColumnPredicate::IsNull, ColumnPredicate::IsNotNull];
        for a in 0..8 {
            predicates.push(ColumnPredicate::NotEqual(Scalar::Int(a)));
            for b in a..8 {
                predicates.push(ColumnPredicate::In(vec![Scalar::Int(a), Scalar::Int(b)]));
                predicates.push(ColumnPredicate::NotIn(vec![Scalar::Int(a), Scalar::Int(b)]));
                for low in bounds(a) {
                    for high in bounds(b) {
                        predicates.push(range(low, high));
                    }
                }
            }
        }
        for predicate in &predicates {
            for (min, max) in [(2, 2), (2, 5), (3, 4)] {
                let holds = |v| predicate.matches(Some(&Scalar::Int(v)));
                match zone(min, max, 0).verdict(predicate, 10) {
                    Verdict::None => assert!(!(min..=max).any(holds), "{predicate:?} in {min}..={max}"),
                    Verdict::All => assert!((min..=max).all(holds), "{predicate:?} in {min}..={max}"),
                    Verdict::Some => {}
                }
            }
        }
    }

    #[test]
    fn nulls_are_not_values() {
        let below_nine = range(Bound::Unbounded, Bound::Excluded(9));
        assert_eq!(zone(1, 5, 0).verdict(&below_nine, 10), Verdict::All);
        assert_eq!(zone(1, 5, 3).verdict(&below_nine, 10), Verdict::Some);
        assert_eq!(zone(1, 5, 10).verdict(&below_nine, 10), Verdict::None);
        assert_eq!(zone(1, 5, 10).verdict(&ColumnPredicate::IsNull, 10), Verdict::All);
        assert_eq!(ZoneMap::default().verdict(&below_nine, 10), Verdict::Some);
    }
}
