//! Averages and variances of floats.
//!
//! The sum of squared differences from the average is kept up to date with each row (Youngs and Cramer, "Some Results Relevant to Choice
//! of Sum and Sum-of-Product Algorithms", 1971), in PostgreSQL's order of operations, so that all digits agree.

use super::accumulator::{Accumulator, as_many, float_of, same};
use super::{Aggregates, Start};
use crate::functions::Call;
use crate::functions::numbers::floats::{add, float_overflow};
use crate::{SqlError, Value};

/// What is made of the moments of floats; `None` for null.
pub type FloatFinish = fn(&FloatMoments) -> Option<f64>;

/// Aggregates by the functions of transition and result, each with what it makes of the moments.
macro_rules! of_floats {
    ($($functions:literal => $finish:expr),* $(,)?) => {
        /// Averages, variances and deviations of `real` and `double precision`.
        pub const AGGREGATES: Aggregates = &[$(($functions, {
            const START: Start = |_, _| Ok(Box::new(Moments { moments: FloatMoments::default(), finish: $finish }));
            START
        })),*];

        /// What each of them makes of the moments of its argument.
        pub(super) const FINISHES: &[(&str, FloatFinish)] = &[$(($functions, $finish)),*];
    };
}

of_floats! {
    "float4_accum float8_avg" => AVERAGE,
    "float4_accum float8_var_pop" => VARIANCE_OF_POPULATION,
    "float4_accum float8_var_samp" => VARIANCE_OF_SAMPLE,
    "float4_accum float8_stddev_pop" => DEVIATION_OF_POPULATION,
    "float4_accum float8_stddev_samp" => DEVIATION_OF_SAMPLE,
    "float8_accum float8_avg" => AVERAGE,
    "float8_accum float8_var_pop" => VARIANCE_OF_POPULATION,
    "float8_accum float8_var_samp" => VARIANCE_OF_SAMPLE,
    "float8_accum float8_stddev_pop" => DEVIATION_OF_POPULATION,
    "float8_accum float8_stddev_samp" => DEVIATION_OF_SAMPLE,
}

const AVERAGE: FloatFinish = |own| Some(own.sum / at_least(own.count, 1.0)?);
const VARIANCE_OF_POPULATION: FloatFinish = |own| Some(own.squares / at_least(own.count, 1.0)?);
const VARIANCE_OF_SAMPLE: FloatFinish = |own| Some(own.squares / (at_least(own.count, 2.0)? - 1.0));
const DEVIATION_OF_POPULATION: FloatFinish = |own| Some((own.squares / at_least(own.count, 1.0)?).sqrt());
const DEVIATION_OF_SAMPLE: FloatFinish = |own| Some((own.squares / (at_least(own.count, 2.0)? - 1.0)).sqrt());

/// A count that suffices for a result.
pub(super) fn at_least(count: f64, count_min: f64) -> Option<f64> {
    (count >= count_min).then_some(count)
}

/// Count, sum, and sum of squared differences from the average.
#[derive(Clone, Copy, Debug, Default)]
pub struct FloatMoments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl FloatMoments {
    /// Takes a value in.
    ///
    /// # Errors
    /// When a sum of finite numbers overflows.
    #[inline]
    pub fn add(&mut self, value: f64) -> Result<(), SqlError> {
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

    /// These and the moments of other values.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn with(&self, other: &Self) -> Result<Self, SqlError> {
        if self.count == 0.0 || other.count == 0.0 {
            return Ok(if self.count == 0.0 { *other } else { *self });
        }
        let count = self.count + other.count;
        let difference = self.sum / self.count - other.sum / other.count;
        let squares = self.squares + other.squares + self.count * other.count * difference * difference / count;
        if squares.is_infinite() && !self.squares.is_infinite() && !other.squares.is_infinite() {
            return Err(float_overflow());
        }
        Ok(Self { count, sum: add(self.sum, other.sum)?, squares })
    }

    /// What they are made of.
    pub fn parts(&self) -> [f64; 3] {
        [self.count, self.sum, self.squares]
    }

    /// Those of these [parts](Self::parts).
    pub fn of_parts([count, sum, squares]: [f64; 3]) -> Self {
        Self { count, sum, squares }
    }
}

/// The moments of the values so far.
#[derive(Clone, Copy, Debug)]
struct Moments {
    moments: FloatMoments,
    finish: FloatFinish,
}

impl Accumulator for Moments {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        match &arguments[0] {
            Value::Float4(value) => self.moments.add((*value).into()),
            value => self.moments.add(value.as_float8()),
        }
    }

    fn merge(&mut self, other: Box<dyn Accumulator>, _call: &Call<'_>) -> Result<(), SqlError> {
        let other: Self = same(other);
        self.moments = self.moments.with(&other.moments)?;
        Ok(())
    }

    fn parts(&self) -> Option<Vec<Value>> {
        Some(self.moments.parts().map(Value::Float8).into())
    }

    fn merge_parts(&mut self, parts: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        let [count, sum, squares] = as_many(parts)?;
        let parts = [float_of(count)?, float_of(sum)?, float_of(squares)?];
        self.moments = self.moments.with(&FloatMoments::of_parts(parts))?;
        Ok(())
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        Ok((self.finish)(&self.moments).map_or(Value::Null, Value::Float8))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}
