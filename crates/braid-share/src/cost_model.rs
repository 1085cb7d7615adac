//! How long a template's queries take: alone, and in a pass by its number of distinct queries.
//!
//! 1. *Two forms.* A query alone runs on a plan without sets, a pass on a plan with sets. They have observations of their
//!    own; a form without observations is predicted from the other one.
//! 2. *Points.* Observed passes are kept by powers of two: one [`Estimate`] for passes of 1, of 2, of 3 to 4, of 5 to 8
//!    queries, and so on. Between points the prediction is linear in log2 of the number of queries.
//! 3. *Monotone.* More queries never take less time. Points that contradict this are pooled by weight (pool adjacent
//!    violators: Ayer et al., Annals of Mathematical Statistics 1955), so that one outlier at 4 queries does not lift the
//!    times of 1024.
//! 4. *Beyond the points* the prediction follows [`shape`].
//!
//! Times are microseconds. The number of queries is that of distinct queries: equal ones are one query in a pass.

use crate::estimate::Estimate;

/// Growth of a pass for each doubling of its queries, relative to one query alone. docs/one-pass.md: passes of 16, 64 and
/// 1024 queries take 1.7, 2.1 and 2.6 times as long as one query alone (geometric means of eight types), that is 0.16 to
/// 0.18 for each doubling.
const GROWTH_PER_DOUBLING: f64 = 0.18;

/// A pass of `2^doublings` queries relative to one query, for templates that have not shown their own growth.
fn shape(doublings: f64) -> f64 {
    1.0 + GROWTH_PER_DOUBLING * doublings
}

/// Observed passes of about the same number of queries.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// Number of the point: passes of `2^(power - 1) + 1` to `2^power` queries.
    power: u32,
    /// Mean of log2 of their queries.
    doublings: f64,
    us: Estimate,
}

/// A point of the fitted curve.
#[derive(Clone, Copy, Debug)]
struct Fitted {
    doublings: f64,
    us: f64,
}

/// The model of one template.
#[derive(Clone, Debug, Default)]
pub(crate) struct CostModel {
    alone: Option<Estimate>,
    /// By ascending power.
    points: Vec<Point>,
    /// The monotone curve through `points`.
    curve: Vec<Fitted>,
}

impl CostModel {
    /// Predicted microseconds of one query alone. `prior_us` is for a template of which nothing is known.
    pub(crate) fn alone_us(&self, prior_us: f64) -> f64 {
        match (&self.alone, self.curve.first()) {
            (Some(alone), _) => alone.value(),
            (None, Some(first)) => first.us / shape(first.doublings),
            (None, None) => prior_us.max(1.0),
        }
    }

    /// Whether nothing has been observed.
    pub(crate) fn is_empty(&self) -> bool {
        self.alone.is_none() && self.points.is_empty()
    }

    /// Whether a query alone has been observed.
    pub(crate) fn has_run_alone(&self) -> bool {
        self.alone.is_some()
    }

    /// Predicted microseconds of a pass of `distinct` queries; never less for more queries.
    pub(crate) fn shared_us(&self, distinct: usize, prior_us: f64) -> f64 {
        let at = (distinct.max(1) as f64).log2();
        let (Some(first), Some(last)) = (self.curve.first(), self.curve.last()) else {
            return self.alone_us(prior_us) * shape(at);
        };
        if at <= first.doublings {
            return first.us * shape(at) / shape(first.doublings);
        }
        if at >= last.doublings {
            return last.us * shape(at) / shape(last.doublings);
        }
        let above = self.curve.partition_point(|point| point.doublings < at);
        let (low, high) = (self.curve[above - 1], self.curve[above]);
        low.us + (high.us - low.us) * (at - low.doublings) / (high.doublings - low.doublings)
    }

    /// One query took `us` alone.
    pub(crate) fn observe_alone(&mut self, us: f64) {
        match &mut self.alone {
            Some(alone) => alone.observe(us),
            None => self.alone = Some(Estimate::new(us)),
        }
    }

    /// A pass of `distinct` queries took `us`.
    pub(crate) fn observe_shared(&mut self, distinct: usize, us: f64) {
        let distinct = distinct.max(1);
        let power = distinct.next_power_of_two().trailing_zeros();
        let doublings = (distinct as f64).log2();
        match self.points.binary_search_by_key(&power, |point| point.power) {
            Ok(at) => {
                let point = &mut self.points[at];
                point.us.observe(us);
                point.doublings += (doublings - point.doublings) / point.us.weight();
            }
            Err(at) => {
                // What the other points predict counts as one observation, so that a first outlier is bounded too.
                let known = (!self.points.is_empty()).then(|| self.shared_us(distinct, us));
                let mut estimate = Estimate::new(known.unwrap_or(us));
                if known.is_some() {
                    estimate.observe(us);
                }
                self.points.insert(at, Point { power, doublings, us: estimate });
            }
        }
        self.curve = fit(&self.points);
    }
}

/// The monotone curve closest to the points, by weight.
fn fit(points: &[Point]) -> Vec<Fitted> {
    /// Points with one common value.
    struct Pool {
        us: f64,
        weight: f64,
        points: usize,
    }
    let mut pools: Vec<Pool> = Vec::with_capacity(points.len());
    for point in points {
        let mut pool = Pool { us: point.us.value(), weight: point.us.weight(), points: 1 };
        while let Some(previous) = pools.pop_if(|previous| previous.us > pool.us) {
            let weight = previous.weight + pool.weight;
            pool.us = (previous.us * previous.weight + pool.us * pool.weight) / weight;
            pool = Pool { weight, points: previous.points + pool.points, ..pool };
        }
        pools.push(pool);
    }
    let values = pools.iter().flat_map(|pool| std::iter::repeat_n(pool.us, pool.points));
    points.iter().zip(values).map(|(point, us)| Fitted { doublings: point.doublings, us }).collect()
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

    const PRIOR_US: f64 = 30_000.0;

    fn model(alone: &[f64], shared: &[(usize, f64)]) -> CostModel {
        let mut model = CostModel::default();
        alone.iter().for_each(|&us| model.observe_alone(us));
        shared.iter().for_each(|&(distinct, us)| model.observe_shared(distinct, us));
        model
    }

    fn check(alone: &[f64], shared: &[(usize, f64)], expected_alone: f64, expected: &[(usize, f64)]) {
        let model = model(alone, shared);
        let is_close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.01;
        let found = model.alone_us(PRIOR_US);
        assert!(is_close(found, expected_alone), "alone {alone:?}, shared {shared:?}: {found}");
        for &(distinct, us) in expected {
            let found = model.shared_us(distinct, PRIOR_US);
            assert!(is_close(found, us), "alone {alone:?}, shared {shared:?}: {found} for {distinct}");
        }
    }

    #[test]
    fn forms_are_predicted_from_their_own_observations_first() {
        check(&[], &[], 30_000.0, &[(1, 30_000.0), (2, 35_400.0), (1024, 84_000.0)]);
        check(&[1000.0], &[], 1000.0, &[(1, 1000.0), (4, 1360.0)]);
        check(&[], &[(4, 1360.0)], 1000.0, &[(1, 1000.0), (4, 1360.0), (1024, 2800.0)]);
        check(&[500.0], &[(4, 1360.0)], 500.0, &[(4, 1360.0), (1024, 2800.0)]);
    }

    #[test]
    fn between_points_times_are_linear_in_doublings() {
        // The second point starts from what the first predicts, and reaches its observations with the next ones.
        let shared = [&[(4, 1000.0)][..], &[(64, 3000.0); 40][..]].concat();
        check(&[], &shared, 1000.0 / 1.36, &[(4, 1000.0), (8, 1500.0), (16, 2000.0), (64, 3000.0)]);
    }

    #[test]
    fn contradicting_points_are_pooled_by_weight() {
        // Q1 of docs/one-pass.md: a pass of 16 takes less than a pass of 4.
        let shared = [&[(4, 80_000.0); 8][..], &[(16, 70_000.0); 40][..]].concat();
        check(&[], &shared, 75_000.0 / 1.36, &[(4, 75_000.0), (8, 75_000.0), (16, 75_000.0)]);
    }

    #[test]
    fn one_outlier_moves_predictions_by_less_than_two() {
        let usual = [(1usize, 10_000.0), (4, 15_000.0), (16, 20_000.0), (64, 25_000.0)];
        let observations: Vec<(usize, f64)> = usual.iter().flat_map(|&point| [point; 6]).collect();
        let before = model(&[], &observations);
        for distinct in [1, 2, 4, 8, 64, 1000] {
            for outlier in [1.0, 1e12] {
                let mut after = before.clone();
                after.observe_shared(distinct, outlier);
                for queries in 1..1500 {
                    let ratio = after.shared_us(queries, PRIOR_US) / before.shared_us(queries, PRIOR_US);
                    assert!((0.5..=2.01).contains(&ratio), "{outlier} at {distinct}: {ratio} at {queries}");
                }
            }
        }
    }

    #[test]
    fn times_are_monotone_positive_and_finite_whatever_is_observed() {
        for case in cases!(0..200) {
            let mut random = case.random();
            let mut model = CostModel::default();
            for _ in 0..random.below(60) {
                let us = (of_any_size(&mut random, 40) as f64) / 3.0;
                if random.chance(1, 5) {
                    model.observe_alone(us);
                } else {
                    let distinct = of_any_size(&mut random, 12) as usize;
                    model.observe_shared(distinct, us);
                }
                let times: Vec<f64> = (0..2100).map(|queries| model.shared_us(queries, PRIOR_US)).collect();
                assert!(times.is_sorted_by(|a, b| *a <= b * (1.0 + 1e-12)), "{model:?}");
                assert!(times.iter().all(|us| us.is_finite() && *us > 0.0));
                assert!(model.alone_us(PRIOR_US).is_finite() && model.alone_us(PRIOR_US) > 0.0);
            }
        }
    }
}
