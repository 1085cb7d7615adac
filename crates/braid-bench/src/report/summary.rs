//! Summaries of measurements.

/// The median; of an even number of values, the upper one of the two in the middle. Panics without values.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
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
    fn the_median_does_not_ask_for_order() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![2.0, 1.0]), 2.0);
    }
}
