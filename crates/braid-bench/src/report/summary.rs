//! Summaries of measurements.

/// The median; of an even number of values, the upper one of the two in the middle. Panics without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The smallest value that at least a share `quantile` of the values, in `0.0..=1.0`, does not exceed; 0 without values.
pub(crate) fn quantile(mut values: Vec<f64>, quantile: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (quantile * values.len() as f64).ceil() as usize;
    values.get(rank.saturating_sub(1)).or(values.last()).copied().unwrap_or(0.0)
}

/// The geometric mean, which is the right mean for ratios: that of one half and two is one.
pub(crate) fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().copied().map(f64::ln).sum::<f64>() / values.len() as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_geometric_mean_weighs_ratios() {
        assert!((geometric_mean(&[1.0, 4.0, 16.0]) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn quantiles_are_values_that_occur() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let of = |share| quantile(values.clone(), share);
        assert_eq!([0.0, 0.5, 0.95, 0.99, 0.991, 1.0].map(of), [1.0, 50.0, 95.0, 99.0, 100.0, 100.0]);
        assert_eq!((quantile(vec![7.0], 0.5), quantile(Vec::new(), 0.5)), (7.0, 0.0));
    }

    #[test]
    fn the_median_does_not_ask_for_order() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![2.0, 1.0]), 2.0);
    }
}
