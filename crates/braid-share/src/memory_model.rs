//! How much memory a template's passes take, by their number of distinct queries.
//!
//! 1. *High is safe.* A pass that takes more than predicted fails, one that takes less was only divided too early. An
//!    observation above the prediction is therefore believed at once, and the prediction falls by
//!    [`FALLING_SHARE`] of the difference for each lower one.
//! 2. *Monotone.* More queries never take less memory: a point is at least as high as the points below it.
//! 3. *Beyond the points.* Above the largest observed pass, memory is proportional to the queries (each has groups and
//!    rows of its own; sharing can only save). Below the smallest one it is that of the smallest one.
//! 4. *Nothing observed, nothing predicted.*

/// Share of the difference by which a prediction falls when a pass takes less.
const FALLING_SHARE: f64 = 0.125;

/// Observed passes of about the same number of queries.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Number of the point, as in `cost_model.rs`.
    power: u32,
    /// Most queries observed.
    distinct: usize,
    bytes: f64,
}

/// The model of one template.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryModel {
    /// By ascending power.
    points: Vec<Point>,
}

impl MemoryModel {
    /// A pass of `distinct` queries took `bytes`.
    pub(crate) fn observe(&mut self, distinct: usize, bytes: u64) {
        let distinct = distinct.max(1);
        let power = distinct.next_power_of_two().trailing_zeros();
        let bytes = bytes as f64;
        match self.points.binary_search_by_key(&power, |point| point.power) {
            Ok(at) => {
                let point = &mut self.points[at];
                let share = if bytes > point.bytes { 1.0 } else { FALLING_SHARE };
                point.bytes += (bytes - point.bytes) * share;
                point.distinct = point.distinct.max(distinct);
            }
            Err(at) => self.points.insert(at, Point { power, distinct, bytes }),
        }
    }

    /// Predicted bytes of a pass of `distinct` queries; `None` if no pass was observed. Never less for more queries.
    pub(crate) fn bytes(&self, distinct: usize) -> Option<u64> {
        let mut previous: Option<(usize, f64)> = None;
        for point in &self.points {
            let highest = previous.map_or(point.bytes, |(_, bytes)| point.bytes.max(bytes));
            if distinct <= point.distinct {
                let Some((from, low)) = previous else { return Some(highest as u64) };
                let share = distinct.saturating_sub(from) as f64 / (point.distinct - from) as f64;
                return Some((low + (highest - low) * share) as u64);
            }
            previous = Some((point.distinct, highest));
        }
        previous.map(|(last, bytes)| (bytes * distinct as f64 / last as f64) as u64)
    }

    /// The most queries, up to `most`, whose pass is predicted to take at most `bytes_max`.
    pub(crate) fn distinct_max(&self, most: usize, bytes_max: u64) -> usize {
        let fits = |distinct: usize| self.bytes(distinct).is_none_or(|bytes| bytes <= bytes_max);
        if fits(most) {
            return most;
        }
        let (mut fitting, mut too_many) = (0, most);
        while too_many - fitting > 1 {
            let middle = fitting + (too_many - fitting) / 2;
            if fits(middle) { fitting = middle } else { too_many = middle }
        }
        fitting
    }
}

#[cfg(test)]
mod tests {
    use braid_base::{Random, SeededRandom};
    use braid_testing::cases;

    use super::*;

    /// A number below `2^bits`, small ones as often as large ones.
    fn of_any_size(random: &mut SeededRandom, bits: u64) -> u64 {
        let bits = random.below(bits);
        random.below(1 << bits)
    }

    fn check(observed: &[(usize, u64)], expected: &[(usize, Option<u64>)]) {
        let mut model = MemoryModel::default();
        observed.iter().for_each(|&(distinct, bytes)| model.observe(distinct, bytes));
        for &(distinct, bytes) in expected {
            assert_eq!(model.bytes(distinct), bytes, "{observed:?}, {distinct} queries");
        }
    }

    #[test]
    fn memory_rises_at_once_falls_slowly_and_grows_with_the_queries() {
        check(&[], &[(1, None), (1024, None)]);
        check(&[(4, 100)], &[(1, Some(100)), (4, Some(100)), (8, Some(200)), (1024, Some(25_600))]);
        check(&[(4, 100), (16, 400)], &[(4, Some(100)), (10, Some(250)), (16, Some(400)), (32, Some(800))]);
        check(&[(4, 800), (4, 0)], &[(4, Some(700))]);
        check(&[(4, 800), (3, 900)], &[(3, Some(900)), (4, Some(900))]);
        check(&[(4, 800), (16, 100)], &[(4, Some(800)), (16, Some(800)), (32, Some(1600))]);
    }

    #[test]
    fn the_most_queries_within_a_limit_fit_and_one_more_does_not() {
        for case in cases!(0..300) {
            let mut random = case.random();
            let mut model = MemoryModel::default();
            for _ in 0..random.below(8) {
                model.observe(1 + random.below(1500) as usize, of_any_size(&mut random, 40));
            }
            let bytes: Vec<u64> = (1..2000).filter_map(|distinct| model.bytes(distinct)).collect();
            assert!(bytes.is_sorted(), "{model:?}");
            let limit = of_any_size(&mut random, 42);
            let most = model.distinct_max(1024, limit);
            assert!(most == 0 || model.bytes(most).is_none_or(|bytes| bytes <= limit));
            assert!(most == 1024 || model.bytes(most + 1).is_some_and(|bytes| bytes > limit));
        }
    }
}
