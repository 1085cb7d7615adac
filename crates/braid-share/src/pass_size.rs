//! How many of the waiting queries one pass takes.
//!
//! A pass takes at most `queries_max` queries, and at most `distinct_max` distinct ones: as many as its memory is
//! predicted to suffice for. A queue with more is divided before its pass starts: the oldest queries go first, in order,
//! up to the first query that would exceed a limit. A pass takes at least one query; if not even one fits the memory, it
//! runs and meets the limit itself.

use std::collections::HashSet;

/// The limits of one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassLimits {
    /// Most queries, at least 1.
    pub(crate) queries_max: usize,
    /// Most distinct queries; 0 if the memory does not suffice for one.
    pub(crate) distinct_max: usize,
}

/// The size of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PassSize {
    /// Queries, the oldest of their queue.
    pub(crate) queries: usize,
    /// Distinct ones among them.
    pub(crate) distinct: usize,
}

impl PassLimits {
    /// The size of the first pass of a queue with these queries. An estimate for queues that are divided, in constant
    /// time: it takes equal queries to be spread evenly.
    pub(crate) fn expected_size(&self, queries: usize, distinct: usize) -> PassSize {
        let distinct_max = self.distinct_max.max(1);
        if queries <= self.queries_max && distinct <= distinct_max {
            return PassSize { queries, distinct };
        }
        let by_distinct = (queries as u128 * distinct_max as u128 / distinct.max(1) as u128) as usize;
        let taken = by_distinct.min(queries).min(self.queries_max).max(1);
        let distinct = (distinct as u128 * taken as u128).div_ceil(queries as u128) as usize;
        PassSize { queries: taken, distinct: distinct.min(distinct_max).max(1) }
    }

    /// The size of the first pass of a queue with these identities, oldest first; exact.
    pub(crate) fn size(&self, identities: impl Iterator<Item = u64>) -> PassSize {
        let mut seen = HashSet::new();
        let mut queries = 0;
        for identity in identities.take(self.queries_max) {
            let is_full = seen.len() >= self.distinct_max.max(1);
            if is_full && !seen.contains(&identity) {
                break;
            }
            seen.insert(identity);
            queries += 1;
        }
        PassSize { queries, distinct: seen.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(limits: (usize, usize), identities: &[u64], expected: (usize, usize)) {
        let limits = PassLimits { queries_max: limits.0, distinct_max: limits.1 };
        let found = limits.size(identities.iter().copied());
        assert_eq!((found.queries, found.distinct), expected, "{limits:?} {identities:?}");
    }

    #[test]
    fn the_oldest_go_first_up_to_the_first_that_exceeds_a_limit() {
        check((10, 10), &[1, 2, 3], (3, 3));
        check((2, 10), &[1, 2, 3], (2, 2));
        check((10, 2), &[1, 2, 3], (2, 2));
        check((10, 2), &[1, 2, 1, 2, 3, 1], (4, 2));
        check((10, 0), &[1, 1, 2], (2, 1));
        check((1, 0), &[1, 1, 2], (1, 1));
        check((10, 10), &[], (0, 0));
    }

    #[test]
    fn expected_sizes_are_exact_without_division_and_within_the_limits_with_it() {
        let limits = PassLimits { queries_max: 100, distinct_max: 10 };
        for (queries, distinct, expected) in [
            (100, 10, (100, 10)),
            (1, 1, (1, 1)),
            (200, 5, (100, 3)),
            (50, 50, (10, 10)),
            (300, 20, (100, 7)),
            (101, 101, (10, 10)),
        ] {
            let found = limits.expected_size(queries, distinct);
            assert_eq!((found.queries, found.distinct), expected, "{queries} {distinct}");
        }
        let none = PassLimits { queries_max: 100, distinct_max: 0 };
        assert_eq!(none.expected_size(5, 5), PassSize { queries: 1, distinct: 1 });
    }
}
