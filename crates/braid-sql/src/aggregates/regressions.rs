//! `regr_*`, `covar_*` and `corr`: sums over pairs of floats, by the algorithm of [`floats`](super::floats).

use super::accumulator::{Accumulator, as_many, float_of, same};
use super::floats::at_least;
use super::{Aggregates, Start};
use crate::functions::Call;
use crate::functions::numbers::floats::{add, float_overflow};
use crate::{SqlError, Value};

/// A result of the sums over pairs.
macro_rules! of_pairs {
    ($finish:expr) => {{
        const START: Start = |_, _| Ok(Box::new(PairMoments::new($finish)));
        START
    }};
}

/// Aggregates of two floats, y before x. Null where the formula divides by 0.
pub const AGGREGATES: Aggregates = &[
    ("float8_regr_accum float8_regr_sxx", of_pairs!(|own| own.counted(1.0, own.xx))),
    ("float8_regr_accum float8_regr_syy", of_pairs!(|own| own.counted(1.0, own.yy))),
    ("float8_regr_accum float8_regr_sxy", of_pairs!(|own| own.counted(1.0, own.xy))),
    ("float8_regr_accum float8_regr_avgx", of_pairs!(|own| own.counted(1.0, own.x / own.count))),
    ("float8_regr_accum float8_regr_avgy", of_pairs!(|own| own.counted(1.0, own.y / own.count))),
    ("float8_regr_accum float8_covar_pop", of_pairs!(|own| own.counted(1.0, own.xy / own.count))),
    ("float8_regr_accum float8_covar_samp", of_pairs!(|own| own.counted(2.0, own.xy / (own.count - 1.0)))),
    (
        "float8_regr_accum float8_corr",
        of_pairs!(|own| match own {
            own if own.xx == 0.0 || own.yy == 0.0 => None,
            own => own.counted(1.0, own.xy / (own.xx * own.yy).sqrt()),
        }),
    ),
    (
        "float8_regr_accum float8_regr_r2",
        of_pairs!(|own| match own {
            own if own.xx == 0.0 => None,
            own if own.yy == 0.0 => own.counted(1.0, 1.0),
            own => own.counted(1.0, (own.xy * own.xy) / (own.xx * own.yy)),
        }),
    ),
    (
        "float8_regr_accum float8_regr_slope",
        of_pairs!(|own| match own {
            own if own.xx == 0.0 => None,
            own => own.counted(1.0, own.xy / own.xx),
        }),
    ),
    (
        "float8_regr_accum float8_regr_intercept",
        of_pairs!(|own| match own {
            own if own.xx == 0.0 => None,
            own => own.counted(1.0, (own.y - own.x * own.xy / own.xx) / own.count),
        }),
    ),
];

/// Sums of x and of y, and of the products of their differences from their averages.
#[derive(Clone, Copy, Debug)]
struct PairMoments {
    finish: fn(&Self) -> Option<f64>,
    count: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

impl PairMoments {
    fn new(finish: fn(&Self) -> Option<f64>) -> Self {
        Self { finish, count: 0.0, x: 0.0, xx: 0.0, y: 0.0, yy: 0.0, xy: 0.0 }
    }

    /// A result for at least so many pairs.
    fn counted(&self, count_min: f64, result: f64) -> Option<f64> {
        at_least(self.count, count_min).map(|_| result)
    }

    fn add_first(&mut self, y: f64, x: f64) {
        if !x.is_finite() {
            (self.xx, self.xy) = (f64::NAN, f64::NAN);
        }
        if !y.is_finite() {
            (self.yy, self.xy) = (f64::NAN, f64::NAN);
        }
    }

    fn add_pair(&mut self, y: f64, x: f64) -> Result<(), SqlError> {
        let before = *self;
        self.count += 1.0;
        self.x += x;
        self.y += y;
        if before.count == 0.0 {
            self.add_first(y, x);
            return Ok(());
        }
        let (x_difference, y_difference) = (x * self.count - self.x, y * self.count - self.y);
        let scale = 1.0 / (self.count * before.count);
        self.xx += x_difference * x_difference * scale;
        self.yy += y_difference * y_difference * scale;
        self.xy += x_difference * y_difference * scale;
        let x_was_finite = !before.x.is_infinite() && !x.is_infinite();
        let y_was_finite = !before.y.is_infinite() && !y.is_infinite();
        if ((self.x.is_infinite() || self.xx.is_infinite()) && x_was_finite)
            || ((self.y.is_infinite() || self.yy.is_infinite()) && y_was_finite)
            || (self.xy.is_infinite() && x_was_finite && y_was_finite)
        {
            return Err(float_overflow());
        }
        for sum in [&mut self.xx, &mut self.yy, &mut self.xy] {
            if sum.is_infinite() {
                *sum = f64::NAN;
            }
        }
        Ok(())
    }

    fn with(&self, other: &Self) -> Result<Self, SqlError> {
        if self.count == 0.0 || other.count == 0.0 {
            return Ok(if self.count == 0.0 { *other } else { *self });
        }
        let count = self.count + other.count;
        let x_difference = self.x / self.count - other.x / other.count;
        let y_difference = self.y / self.count - other.y / other.count;
        let product = |one: f64, another: f64, left: f64, right: f64| {
            let sum = one + another + self.count * other.count * left * right / count;
            let overflows = sum.is_infinite() && !one.is_infinite() && !another.is_infinite();
            if overflows { Err(float_overflow()) } else { Ok(sum) }
        };
        Ok(Self {
            finish: self.finish,
            count,
            x: add(self.x, other.x)?,
            xx: product(self.xx, other.xx, x_difference, x_difference)?,
            y: add(self.y, other.y)?,
            yy: product(self.yy, other.yy, y_difference, y_difference)?,
            xy: product(self.xy, other.xy, x_difference, y_difference)?,
        })
    }
}

impl Accumulator for PairMoments {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        self.add_pair(arguments[0].as_float8(), arguments[1].as_float8())
    }

    fn merge(&mut self, other: Box<dyn Accumulator>, _call: &Call<'_>) -> Result<(), SqlError> {
        *self = self.with(&same(other))?;
        Ok(())
    }

    fn parts(&self) -> Option<Vec<Value>> {
        Some([self.count, self.x, self.xx, self.y, self.yy, self.xy].map(Value::Float8).into())
    }

    fn merge_parts(&mut self, parts: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        let [count, x, xx, y, yy, xy] = as_many(parts)?;
        let (count, x, y) = (float_of(count)?, float_of(x)?, float_of(y)?);
        let (xx, yy, xy) = (float_of(xx)?, float_of(yy)?, float_of(xy)?);
        *self = self.with(&Self { finish: self.finish, count, x, xx, y, yy, xy })?;
        Ok(())
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        Ok((self.finish)(self).map_or(Value::Null, Value::Float8))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}
