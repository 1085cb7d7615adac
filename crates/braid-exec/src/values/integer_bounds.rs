//! Integers between two bounds.
//!
//! Sums have 128 bits. A sum of integers of 64 bits therefore never goes out of range: it would need 2^64 rows.

/// Integers between two others, which are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntegerBounds {
    /// No value is below this.
    pub low: i128,
    /// No value is above this.
    pub high: i128,
}

impl IntegerBounds {
    /// All integers of 64 bits.
    pub const INT64: Self = Self { low: i64::MIN as i128, high: i64::MAX as i128 };

    /// One value.
    pub fn only(value: i128) -> Self {
        Self { low: value, high: value }
    }

    /// The values of both.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// Whether a sum of any number of such values is in range.
    pub fn can_be_summed(self) -> bool {
        self.or(Self::INT64) == Self::INT64
    }

    /// The results of an operation that is monotonic in each operand, so that its extremes are at the corners; `None` if a
    /// corner has no result.
    pub(crate) fn of_corners(self, other: Self, apply: impl Fn(i128, i128) -> Option<i128>) -> Option<Self> {
        let corners = [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
        let results: Option<Vec<i128>> = corners.into_iter().map(|(a, b)| apply(a, b)).collect();
        results?.into_iter().map(Self::only).reduce(Self::or)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_64_bits_are_in_range() {
        let of = |low, high| IntegerBounds { low, high }.can_be_summed();
        assert!(of(i64::MIN.into(), i64::MAX.into()));
        assert!(!of(0, i128::from(i64::MAX) + 1));
        assert!(!of(i128::from(i64::MIN) - 1, 0));
    }
}
