//! Averages and variances of floats.
//!
//! The sum of squared differences from the average is kept up to date with each row (Youngs and Cramer, "Some Results Relevant to Choice
//! of Sum and Sum-of-Product Algorithms", 1971), in PostgreSQL's order of operations, so that all digits agree.

use super::accumulator::{Accumulator, as_many, float_of, same};
use super::{Aggregates, Start};
use crate::functions::Call;
use crate::functions::numbers::floats::{add, float_overflow};
use crate::{SqlError, Value};

/// Averages, variances and deviations of `real` and `double precision`.
pub const AGGREGATES: Aggregates = &[
    ("float4_accum float8_avg", AVERAGE),
    ("float4_accum float8_var_pop", VARIANCE_OF_POPULATION),
    ("float4_accum float8_var_samp", VARIANCE_OF_SAMPLE),
    ("float4_accum float8_stddev_pop", DEVIATION_OF_POPULATION),
    ("float4_accum float8_stddev_samp", DEVIATION_OF_SAMPLE),
    ("float8_accum float8_avg", AVERAGE),
    ("float8_accum float8_var_pop", VARIANCE_OF_POPULATION),
    ("float8_accum float8_var_samp", VARIANCE_OF_SAMPLE),
    ("float8_accum float8_stddev_pop", DEVIATION_OF_POPULATION),
    ("float8_accum float8_stddev_samp", DEVIATION_OF_SAMPLE),
];

const AVERAGE: Start = |_, _| Ok(Box::new(FloatMoments::new(|own| Some(own.sum / at_least(own.count, 1.0)?))));
const VARIANCE_OF_POPULATION: Start =
    |_, _| Ok(Box::new(FloatMoments::new(|own| Some(own.squares / at_least(own.count, 1.0)?))));
const VARIANCE_OF_SAMPLE: Start =
    |_, _| Ok(Box::new(FloatMoments::new(|own| Some(own.squares / (at_least(own.count, 2.0)? - 1.0)))));
const DEVIATION_OF_POPULATION: Start =
    |_, _| Ok(Box::new(FloatMoments::new(|own| Some((own.squares / at_least(own.count, 1.0)?).sqrt()))));
const DEVIATION_OF_SAMPLE: Start =
    |_, _| Ok(Box::new(FloatMoments::new(|own| Some((own.squares / (at_least(own.count, 2.0)? - 1.0)).sqrt()))));

/// A count that suffices for a result.
pub(super) fn at_least(count: f64, count_min: f64) -> Option<f64> {
    (count >= count_min).then_some(count)
}

#[derive(Clone, Copy, Debug)]
struct FloatMoments {
    finish: fn(&Self) -> Option<f64>,
    count: f64,
    sum: f64,
    /// The sum of squared differences from the average.
    squares: f64,
}

impl FloatMoments {
    fn new(finish: fn(&Self) -> Option<f64>) -> Self {
        Self { finish, count: 0.0, sum: 0.0, squares: 0.0 }
    }

    fn add_float(&mut self, value: f64) -> Result<(), SqlError> {
        let before = *self;
        self.count += 1.0;
        self.sum += value;
        if before.count == 0.0 {
            if !value.is_finite() {
                self.squares = f64::NAN;
            }
            return Ok(());
        }
        let difference = value * self.count - self.sum;
        self.squares += difference * difference / (self.count * before.count);
        if self.sum.is_infinite() || self.squares.is_infinite() {
            if !before.sum.is_infinite() && !value.is_infinite() {
                return Err(float_overflow());
            }
            self.squares = f64::NAN;
        }
        Ok(())
    }

    fn with(&self, other: &Self) -> Result<Self, SqlError> {
        if self.count == 0.0 || other.count == 0.0 {
            return Ok(if self.count == 0.0 { *other } else { *self });
        }
        let count = self.count + other.count;
        let difference = self.sum / self.count - other.sum / other.count;
        let squares = self.squares + other.squares + self.count * other.count * difference * difference / count;
        if squares.is_infinite() && !self.squares.is_infinite() && !other.squares.is_infinite() {
            return Err(float_overflow());
        }
        Ok(Self { finish: self.finish, count, sum: add(self.sum, other.sum)?, squares })
    }
}

impl Accumulator for FloatMoments {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        match &arguments[0] {
            Value::Float4(value) => self.add_float((*value).into()),
            value => self.add_float(value.as_float8()),
        }
    }

    fn merge(&mut self, other: Box<dyn Accumulator>, _call: &Call<'_>) -> Result<(), SqlError> {
        *self = self.with(&same(other))?;
        Ok(())
    }

    fn parts(&self) -> Option<Vec<Value>> {
        Some([self.count, self.sum, self.squares].map(Value::Float8).into())
    }

    fn merge_parts(&mut self, parts: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        let [count, sum, squares] = as_many(parts)?;
        let [count, sum, squares] = [float_of(count)?, float_of(sum)?, float_of(squares)?];
        *self = self.with(&Self { finish: self.finish, count, sum, squares })?;
        Ok(())
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        Ok((self.finish)(self).map_or(Value::Null, Value::Float8))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}
