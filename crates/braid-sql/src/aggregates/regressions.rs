//! `regr_*`, `covar_*` and `corr`: sums over pairs of floats, by the algorithm of [`floats`](super::floats).

use super::accumulator::{Accumulator, as_many, float_of, same};
use super::floats::at_least;
use super::{Aggregates, Start};
use crate::functions::Call;
use crate::functions::numbers::floats::{add, float_overflow};
use crate::{SqlError, Value};

/// What is made of the moments of pairs; `None` for null.
pub type PairFinish = fn(&PairMoments) -> Option<f64>;

/// Aggregates by the functions of transition and result, each with what it makes of the moments.
macro_rules! of_pairs {
    ($($functions:literal => $finish:expr),* $(,)?) => {
        /// Aggregates of two floats, y before x. Null where the formula divides by 0.
        pub const AGGREGATES: Aggregates = &[$(($functions, {
            const START: Start = |_, _| Ok(Box::new(Moments { moments: PairMoments::default(), finish: $finish }));
            START
        })),*];

        /// What each of them makes of the moments of its arguments.
        pub(super) const FINISHES: &[(&str, PairFinish)] = &[$(($functions, $finish)),*];
    };
}

of_pairs! {
    "float8_regr_accum float8_regr_sxx" => |own| own.counted(1.0, own.xx),
    "float8_regr_accum float8_regr_syy" => |own| own.counted(1.0, own.yy),
    "float8_regr_accum float8_regr_sxy" => |own| own.counted(1.0, own.xy),
    "float8_regr_accum float8_regr_avgx" => |own| own.counted(1.0, own.x / own.count),
    "float8_regr_accum float8_regr_avgy" => |own| own.counted(1.0, own.y / own.count),
    "float8_regr_accum float8_covar_pop" => |own| own.counted(1.0, own.xy / own.count),
    "float8_regr_accum float8_covar_samp" => |own| own.counted(2.0, own.xy / (own.count - 1.0)),
    "float8_regr_accum float8_corr" => |own| match own {
        own if own.xx == 0.0 || own.yy == 0.0 => None,
        own => own.counted(1.0, own.xy / (own.xx * own.yy).sqrt()),
    },
    "float8_regr_accum float8_regr_r2" => |own| match own {
        own if own.xx == 0.0 => None,
        own if own.yy == 0.0 => own.counted(1.0, 1.0),
        own => own.counted(1.0, (own.xy * own.xy) / (own.xx * own.yy)),
    },
    "float8_regr_accum float8_regr_slope" => |own| match own {
        own if own.xx == 0.0 => None,
        own => own.counted(1.0, own.xy / own.xx),
    },
    "float8_regr_accum float8_regr_intercept" => |own| match own {
        own if own.xx == 0.0 => None,
        own => own.counted(1.0, (own.y - own.x * own.xy / own.xx) / own.count),
    },
}

/// Sums of x and of y, and of the products of their differences from their averages.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairMoments {
    count: f64,
    x: f64,
    xx: f64,
    y: f64,
    yy: f64,
    xy: f64,
}

impl PairMoments {
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

    /// Takes a pair in.
    ///
    /// # Errors
    /// When a sum of finite numbers overflows.
    #[inline]
    pub fn add(&mut self, y: f64, x: f64) -> Result<(), SqlError> {
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

    /// These and the moments of other pairs.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn with(&self, other: &Self) -> Result<Self, SqlError> {
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
            count,
            x: add(self.x, other.x)?,
            xx: product(self.xx, other.xx, x_difference, x_difference)?,
            y: add(self.y, other.y)?,
            yy: product(self.yy, other.yy, y_difference, y_difference)?,
            xy: product(self.xy, other.xy, x_difference, y_difference)?,
        })
    }

    /// What they are made of.
    pub fn parts(&self) -> [f64; 6] {
        [self.count, self.x, self.xx, self.y, self.yy, self.xy]
    }

    /// Those of these [parts](Self::parts).
    pub fn of_parts([count, x, xx, y, yy, xy]: [f64; 6]) -> Self {
        Self { count, x, xx, y, yy, xy }
    }
}

/// The moments of the pairs so far.
#[derive(Clone, Copy, Debug)]
struct Moments {
    moments: PairMoments,
    finish: PairFinish,
}

impl Accumulator for Moments {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        self.moments.add(arguments[0].as_float8(), arguments[1].as_float8())
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
        let [count, x, xx, y, yy, xy] = as_many(parts)?;
        let [count, x, xx] = [float_of(count)?, float_of(x)?, float_of(xx)?];
        let [y, yy, xy] = [float_of(y)?, float_of(yy)?, float_of(xy)?];
        self.moments = self.moments.with(&PairMoments::of_parts([count, x, xx, y, yy, xy]))?;
        Ok(())
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        Ok((self.finish)(&self.moments).map_or(Value::Null, Value::Float8))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}
