//! Ordered-set aggregates: `percentile_disc`, `percentile_cont` and `mode`. Nulls among the rows do not count.

use super::accumulator::Accumulator;
use super::{Aggregates, Start};
use crate::functions::Call;
use crate::functions::datetime::{interval_scaling, intervals};
use crate::functions::ordering::SortKey;
use crate::output::float_text::general;
use crate::pg_catalog::pg_catalog;
use crate::values::ArrayValue;
use crate::{SqlError, SqlState, Value};

/// An aggregate with a result of the rows.
macro_rules! of_rows {
    ($finish:expr) => {{
        const START: Start = |_, keys| Ok(Box::new(OrderedRows::new(keys, $finish)));
        START
    }};
}
/// Percentiles for one fraction and for an array of them, and the most frequent value.
pub const AGGREGATES: Aggregates = &[
    ("ordered_set_transition percentile_disc_final", of_rows!(|own, direct, _| own.percentile(&direct[0], discrete))),
    (
        "ordered_set_transition percentile_disc_multi_final",
        of_rows!(|own, direct, call| { own.percentiles(&direct[0], discrete, call) }),
    ),
    (
        "ordered_set_transition percentile_cont_float8_final",
        of_rows!(|own, direct, _| {
            own.percentile(&direct[0], |rows, fraction| continuous(rows, fraction, between_floats))
        }),
    ),
    (
        "ordered_set_transition percentile_cont_interval_final",
        of_rows!(|own, direct, _| {
            own.percentile(&direct[0], |rows, fraction| continuous(rows, fraction, between_intervals))
        }),
    ),
    (
        "ordered_set_transition percentile_cont_float8_multi_final",
        of_rows!(|own, direct, call| {
            own.percentiles(&direct[0], |rows, fraction| continuous(rows, fraction, between_floats), call)
        }),
    ),
    (
        "ordered_set_transition percentile_cont_interval_multi_final",
        of_rows!(|own, direct, call| {
            own.percentiles(&direct[0], |rows, fraction| continuous(rows, fraction, between_intervals), call)
        }),
    ),
    ("ordered_set_transition mode_final", of_rows!(|own, _, call| own.mode(call))),
];

/// A percentile of one fraction, which may be made of values that are not sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Percentile {
    /// The first value of at least a fraction of the rows.
    Discrete,
    /// The float at a fraction of the way from the first row to the last.
    Continuous,
}

impl Percentile {
    /// The one that these functions of transition and result make.
    pub(super) fn of(functions: &str) -> Option<Self> {
        match functions {
            "ordered_set_transition percentile_disc_final" => Some(Self::Discrete),
            "ordered_set_transition percentile_cont_float8_final" => Some(Self::Continuous),
            _ => None,
        }
    }

    /// The places of the two rows, of which there are `count`, that the value is between, and how far it is from the first to the second.
    ///
    /// # Errors
    /// For what is no fraction.
    pub fn places(self, count: usize, fraction: f64) -> Result<(usize, usize, f64), SqlError> {
        check_fraction(fraction)?;
        let last = count.saturating_sub(1);
        if let Self::Discrete = self {
            let place = ((fraction * count as f64).ceil() as usize).clamp(1, count.max(1)) - 1;
            return Ok((place, place, 0.0));
        }
        let place = fraction * last as f64;
        let (below, above) = (place.floor(), place.ceil());
        Ok(((below as usize).min(last), (above as usize).min(last), place - below))
    }
}

type Finish = fn(&OrderedRows, &[Value], &Call<'_>) -> Result<Value, SqlError>;

/// The values that are not null, in their order.
#[derive(Debug)]
struct OrderedRows {
    keys: Vec<SortKey>,
    finish: Finish,
    rows: Vec<Value>,
    heap_bytes: usize,
}

impl OrderedRows {
    fn new(keys: &[SortKey], finish: Finish) -> Self {
        Self { keys: keys.to_vec(), finish, rows: Vec::new(), heap_bytes: 0 }
    }

    /// The value at a fraction of the rows; null without rows.
    fn percentile(
        &self,
        fraction: &Value,
        value_at: impl Fn(&[Value], f64) -> Result<Value, SqlError>,
    ) -> Result<Value, SqlError> {
        let Value::Float8(fraction) = fraction else { return Ok(Value::Null) };
        check_fraction(*fraction)?;
        if self.rows.is_empty() { Ok(Value::Null) } else { value_at(&self.rows, *fraction) }
    }

    /// The values at all fractions of an array, in an array of the same shape.
    fn percentiles(
        &self,
        fractions: &Value,
        value_at: impl Fn(&[Value], f64) -> Result<Value, SqlError>,
        call: &Call<'_>,
    ) -> Result<Value, SqlError> {
        let (Value::Array(fractions), false) = (fractions, self.rows.is_empty()) else { return Ok(Value::Null) };
        for fraction in fractions.values.iter().filter(|fraction| !fraction.is_null()) {
            check_fraction(fraction.as_float8())?;
        }
        let values: Result<Vec<Value>, SqlError> =
            fractions.values.iter().map(|fraction| self.percentile(fraction, &value_at)).collect();
        let element = pg_catalog().element_of_array(call.result_type.id).expect("the result is an array");
        Ok(Value::Array(ArrayValue { element, dimensions: fractions.dimensions.clone(), values: values? }.into()))
    }

    /// The first of the values that are there most often.
    fn mode(&self, call: &Call<'_>) -> Result<Value, SqlError> {
        let Some(key) = self.keys.first() else { panic!("mode without an order") };
        let (mut longest, mut count_max) = (&Value::Null, 0);
        let mut rest = self.rows.as_slice();
        while let Some((first, mut following)) = rest.split_first() {
            let mut count = 1;
            while let Some((next, behind)) = following.split_first()
                && key.compare(first, next, call.session)?.is_eq()
            {
                (count, following) = (count + 1, behind);
            }
            if count > count_max {
                (longest, count_max) = (first, count);
            }
            rest = following;
        }
        Ok(longest.clone())
    }
}

fn check_fraction(fraction: f64) -> Result<(), SqlError> {
    if (0.0..=1.0).contains(&fraction) {
        return Ok(());
    }
    let message = format!("percentile value {} is not between 0 and 1", general(fraction, 0));
    Err(SqlError::new(SqlState::NumericOutOfRange, message))
}

/// The first value of at least this fraction of the rows.
fn discrete(rows: &[Value], fraction: f64) -> Result<Value, SqlError> {
    let (place, ..) = Percentile::Discrete.places(rows.len(), fraction)?;
    Ok(rows[place].clone())
}

/// The value at this fraction of the way from the first to the last row, between two rows if it falls there.
fn continuous(
    rows: &[Value],
    fraction: f64,
    between: fn(&Value, &Value, f64) -> Result<Value, SqlError>,
) -> Result<Value, SqlError> {
    let (below, above, rest) = Percentile::Continuous.places(rows.len(), fraction)?;
    if below == above { Ok(rows[below].clone()) } else { between(&rows[below], &rows[above], rest) }
}

fn between_floats(low: &Value, high: &Value, fraction: f64) -> Result<Value, SqlError> {
    Ok(Value::Float8(float_between(low.as_float8(), high.as_float8(), fraction)))
}

/// The float at a fraction of the way from one to another.
pub fn float_between(low: f64, high: f64, fraction: f64) -> f64 {
    low + fraction * (high - low)
}

fn between_intervals(low: &Value, high: &Value, fraction: f64) -> Result<Value, SqlError> {
    let (low, high) = (low.as_interval(), high.as_interval());
    let part = interval_scaling::times(intervals::difference(high, low)?, fraction)?;
    intervals::sum(part, low).map(Value::Interval)
}

impl Accumulator for OrderedRows {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        if !arguments[0].is_null() {
            self.heap_bytes += arguments[0].heap_bytes();
            self.rows.push(arguments[0].clone());
        }
        Ok(())
    }

    fn finish(&self, direct: &[Value], call: &Call<'_>) -> Result<Value, SqlError> {
        (self.finish)(self, direct, call)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.rows.capacity() * size_of::<Value>() + self.heap_bytes
    }
}
