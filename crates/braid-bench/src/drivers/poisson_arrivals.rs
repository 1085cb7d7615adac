//! Random times of arrivals: a Poisson process, determined by its rate and a seed.
//!
//! Many clients that know nothing of each other arrive like this. The gaps between arrivals are independent and exponentially
//! distributed, so that arrivals come in bursts: a server that is busy for half of the time has a queue now and then.

use std::time::Duration;

use braid_base::{Random, SeededRandom};

/// The times of all arrivals before `end`, in order. `rate_per_s` is their mean number per second, and positive.
pub(crate) fn poisson_arrivals(rate_per_s: f64, end: Duration, seed: u64) -> Vec<Duration> {
    assert!(rate_per_s > 0.0 && rate_per_s.is_finite(), "a rate of {rate_per_s} arrivals per second");
    let mut random = SeededRandom::new(seed);
    let (mut arrivals, mut at_s) = (Vec::new(), 0.0);
    loop {
        at_s += exponential(&mut random) / rate_per_s;
        if at_s >= end.as_secs_f64() {
            return arrivals;
        }
        arrivals.push(Duration::from_secs_f64(at_s));
    }
}

/// A positive number, exponentially distributed with mean 1: the inverse of the distribution function at a uniform number in (0, 1].
fn exponential(random: &mut SeededRandom) -> f64 {
    // As many values as a float's significand has.
    let uniform = (random.below(1 << 53) + 1) as f64 / (1_u64 << 53) as f64;
    -uniform.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: Duration = Duration::from_secs(100);

    #[test]
    fn a_seed_determines_the_arrivals() {
        let arrivals = poisson_arrivals(10.0, END, 1);
        assert_eq!(arrivals, poisson_arrivals(10.0, END, 1));
        assert_ne!(arrivals, poisson_arrivals(10.0, END, 2));
        assert!(arrivals.is_sorted() && arrivals.iter().all(|at| *at < END));
        // The same process for a shorter time is its beginning.
        let shorter = poisson_arrivals(10.0, END / 2, 1);
        assert!(shorter.len() < arrivals.len() && arrivals.starts_with(&shorter));
    }

    #[test]
    fn rate_and_gaps_are_those_of_a_poisson_process() {
        let arrivals = poisson_arrivals(1000.0, END, 3);
        // 100 000 expected, and a standard deviation of their root: 316.
        assert!(arrivals.len().abs_diff(100_000) < 4 * 316, "{} arrivals", arrivals.len());
        let gaps_s: Vec<f64> = arrivals.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
        for (multiple, share) in [(0.5_f64, 0.6065), (1.0, 0.3679), (3.0, 0.0498)] {
            let longer = gaps_s.iter().filter(|gap| **gap > multiple / 1000.0).count() as f64 / gaps_s.len() as f64;
            assert!((longer - share).abs() < 0.007, "{longer} of the gaps are longer than {multiple} of the mean");
        }
        // No gap depends on the one before: as many arrivals in seconds after busy seconds as in any.
        let mut by_second = [0_u32; 100];
        arrivals.iter().for_each(|at| by_second[at.as_secs() as usize] += 1);
        assert!(by_second.iter().all(|count| count.abs_diff(1000) < 5 * 32), "{by_second:?}");
    }
}
