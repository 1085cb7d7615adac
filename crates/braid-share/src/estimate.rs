//! A positive quantity learned from noisy observations: a geometric mean with exponential forgetting and bounded steps.
//!
//! 1. *Forgetting.* The k-th observation has the weight `1 / k`, and [`NEWEST_WEIGHT`] at least. So the first four are
//!    averaged, and later an observation counts half after three more.
//! 2. *Outliers.* An observation further than a factor of [`SURPRISE_FACTOR`] away counts as one at that factor: a single
//!    outlier of any size moves an estimate that has four observations by `4^0.25 = 1.41`, and a younger one by 2 at most.
//! 3. *Changes.* The k-th surprise in a row on the same side is bounded by the factor's k-th power. An estimate that is
//!    wrong by a factor of 1000 is therefore within a factor of 2 after 10 observations.
//!
//! The mean is geometric because times vary by factors: a pass on a cold buffer takes ten times as long, not ten seconds
//! longer.

/// Least weight of a new observation.
const NEWEST_WEIGHT: f64 = 0.25;

/// Factor from the estimate beyond which an observation is a surprise.
const SURPRISE_FACTOR: f64 = 4.0;

/// The estimate. Its unit is that of its observations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    ln: f64,
    observations: u32,
    /// Surprises in a row; negative where the observations were too small.
    surprises: i32,
}

impl Estimate {
    /// An estimate from one observation, or from a guess that counts as one. Values below 1 count as 1.
    pub(crate) fn new(value: f64) -> Self {
        Self { ln: value.max(1.0).ln(), observations: 1, surprises: 0 }
    }

    /// The estimated value, at least 1.
    pub(crate) fn value(&self) -> f64 {
        self.ln.exp()
    }

    /// The weight of this estimate among others: the observations that it remembers.
    pub(crate) fn weight(&self) -> f64 {
        f64::from(self.observations).min(1.0 / NEWEST_WEIGHT)
    }

    /// Adds an observation. Values below 1 count as 1.
    pub(crate) fn observe(&mut self, value: f64) {
        let step = value.max(1.0).ln() - self.ln;
        let bound = SURPRISE_FACTOR.ln();
        let side = if step.abs() > bound { step.signum() as i32 } else { 0 };
        let goes_on = side != 0 && side == self.surprises.signum();
        self.surprises = if goes_on { self.surprises.saturating_add(side) } else { side };
        let bound = bound * f64::from(self.surprises.unsigned_abs().max(1));
        self.observations = self.observations.saturating_add(1);
        let weight = (1.0 / f64::from(self.observations)).max(NEWEST_WEIGHT);
        self.ln += weight * step.clamp(-bound, bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(observations: &[f64], expected: f64, tolerance: f64) {
        let mut estimate = Estimate::new(observations[0]);
        observations[1..].iter().for_each(|&value| estimate.observe(value));
        let ratio = estimate.value() / expected;
        assert!(ratio < tolerance && ratio > 1.0 / tolerance, "{observations:?}: {}", estimate.value());
    }

    #[test]
    fn it_follows_what_lasts_and_not_what_happens_once() {
        check(&[100.0], 100.0, 1.001);
        check(&[0.0], 1.0, 1.001);
        check(&[100.0, 400.0], 200.0, 1.001);
        check(&[100.0, 100.0, 100.0, 100.0, 1e9], 141.4, 1.001);
        check(&[100.0, 1e9], 200.0, 1.001);
        check(&[100.0, 100.0, 100.0, 100.0, 1e9, 100.0, 100.0, 100.0], 116.0, 1.01);
        check(&[&[100.0; 4][..], &[1e5; 10][..]].concat(), 1e5, 2.0);
        check(&[&[1e5; 4][..], &[100.0; 10][..]].concat(), 100.0, 2.0);
        check(&[&[100.0; 50][..], &[200.0; 8][..]].concat(), 200.0, 1.1);
    }
}
