//! The one NaN of SQL. Processors give NaNs a sign, and Arrow's order of floats puts those with one below all numbers and those
//! without above; PostgreSQL has one NaN, above all numbers. So every float that comes in or is computed passes here.

/// The value; of any NaN, the one without a sign.
pub fn one_nan(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value }
}

/// [`one_nan`] of a real.
pub fn one_nan_real(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}
