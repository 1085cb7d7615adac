//! Exact sums: `sum`, `avg` and the variances of integers and numerics.

use std::cmp::Ordering;

use super::accumulator::{Accumulator, as_many, count_of, no_parts, same};
use super::{Aggregates, Start};
use crate::functions::Call;
use crate::values::Numeric;
use crate::values::numeric::sums::{NumericSum, Spread, variance};
use crate::{SqlError, SqlState, Value};

/// Sums, averages, variances and deviations.
pub const AGGREGATES: Aggregates = &[
    ("int2_sum", INTEGER_SUM),
    ("int4_sum", INTEGER_SUM),
    ("int8_avg_accum numeric_poly_sum", SUM),
    ("numeric_avg_accum numeric_sum", SUM),
    ("int2_avg_accum int8_avg", AVERAGE),
    ("int4_avg_accum int8_avg", AVERAGE),
    ("int8_avg_accum numeric_poly_avg", AVERAGE),
    ("numeric_avg_accum numeric_avg", AVERAGE),
    ("int2_accum numeric_poly_var_pop", VARIANCE_OF_POPULATION),
    ("int2_accum numeric_poly_var_samp", VARIANCE_OF_SAMPLE),
    ("int2_accum numeric_poly_stddev_pop", DEVIATION_OF_POPULATION),
    ("int2_accum numeric_poly_stddev_samp", DEVIATION_OF_SAMPLE),
    ("int4_accum numeric_poly_var_pop", VARIANCE_OF_POPULATION),
    ("int4_accum numeric_poly_var_samp", VARIANCE_OF_SAMPLE),
    ("int4_accum numeric_poly_stddev_pop", DEVIATION_OF_POPULATION),
    ("int4_accum numeric_poly_stddev_samp", DEVIATION_OF_SAMPLE),
    ("int8_accum numeric_var_pop", VARIANCE_OF_POPULATION),
    ("int8_accum numeric_var_samp", VARIANCE_OF_SAMPLE),
    ("int8_accum numeric_stddev_pop", DEVIATION_OF_POPULATION),
    ("int8_accum numeric_stddev_samp", DEVIATION_OF_SAMPLE),
    ("numeric_accum numeric_var_pop", VARIANCE_OF_POPULATION),
    ("numeric_accum numeric_var_samp", VARIANCE_OF_SAMPLE),
    ("numeric_accum numeric_stddev_pop", DEVIATION_OF_POPULATION),
    ("numeric_accum numeric_stddev_samp", DEVIATION_OF_SAMPLE),
];

const INTEGER_SUM: Start = |_, _| Ok(Box::new(Moments::new(Wanted::IntegerSum)));
const SUM: Start = |_, _| Ok(Box::new(Moments::new(Wanted::Sum)));
const AVERAGE: Start = |_, _| Ok(Box::new(Moments::new(Wanted::Average)));
const VARIANCE_OF_POPULATION: Start = |_, _| Ok(Box::new(Moments::new(Wanted::Variance(Spread::Population))));
const VARIANCE_OF_SAMPLE: Start = |_, _| Ok(Box::new(Moments::new(Wanted::Variance(Spread::Sample))));
const DEVIATION_OF_POPULATION: Start = |_, _| Ok(Box::new(Moments::new(Wanted::Deviation(Spread::Population))));
const DEVIATION_OF_SAMPLE: Start = |_, _| Ok(Box::new(Moments::new(Wanted::Deviation(Spread::Sample))));

/// What is made of the sums.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    /// The sum as a bigint.
    IntegerSum,
    Sum,
    Average,
    Variance(Spread),
    Deviation(Spread),
}

/// Count, sum and sum of squares. Infinities and NaN are only counted.
#[derive(Debug)]
struct Moments {
    wanted: Wanted,
    count: i64,
    sum: NumericSum,
    squares: NumericSum,
    /// The largest scale, and how many numbers have it.
    scale: u16,
    scale_count: i64,
    nan_count: i64,
    infinity_count: i64,
    negative_infinity_count: i64,
}

impl Moments {
    fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            count: 0,
            sum: NumericSum::default(),
            squares: NumericSum::default(),
            scale: 0,
            scale_count: 0,
            nan_count: 0,
            infinity_count: 0,
            negative_infinity_count: 0,
        }
    }

    fn needs_squares(&self) -> bool {
        matches!(self.wanted, Wanted::Variance(_) | Wanted::Deviation(_))
    }

    fn add_integer(&mut self, integer: i64) {
        self.count += 1;
        self.count_scale(0, 1);
        self.sum.add_integer(integer.into());
        if self.needs_squares() {
            self.squares.add_integer(i128::from(integer) * i128::from(integer));
        }
    }

    fn add_numeric(&mut self, number: &Numeric) {
        let Some(scale) = number.scale() else {
            *self.special_count(number) += 1;
            return;
        };
        self.count += 1;
        self.count_scale(scale, 1);
        self.sum.add(number);
        if self.needs_squares() {
            self.squares.add_square(number);
        }
    }

    /// The sum loses its last digits only if another number has as many.
    fn remove_numeric(&mut self, number: &Numeric) -> bool {
        let Some(scale) = number.scale() else {
            *self.special_count(number) -= 1;
            return true;
        };
        if scale == self.scale && scale > 0 && self.scale_count == 1 {
            return false;
        }
        self.count -= 1;
        self.scale_count -= i64::from(scale == self.scale);
        self.sum.subtract(number);
        if self.needs_squares() {
            self.squares.subtract_square(number);
        }
        true
    }

    /// Counts numbers of a scale.
    fn count_scale(&mut self, scale: u16, count: i64) {
        match scale.cmp(&self.scale) {
            Ordering::Less => {}
            Ordering::Equal => self.scale_count += count,
            Ordering::Greater => (self.scale, self.scale_count) = (scale, count),
        }
    }

    /// The count of NaN or of an infinity.
    fn special_count(&mut self, number: &Numeric) -> &mut i64 {
        match number.signum() {
            0 => &mut self.nan_count,
            1 => &mut self.infinity_count,
            _ => &mut self.negative_infinity_count,
        }
    }

    /// All values, infinities and NaN included.
    fn count_all(&self) -> i64 {
        self.count + self.nan_count + self.infinity_count + self.negative_infinity_count
    }

    /// The sum, if infinities and NaN determine it.
    fn special_sum(&self) -> Option<Numeric> {
        match (self.nan_count, self.infinity_count, self.negative_infinity_count) {
            (0, 0, 0) => None,
            (0, _, 0) => Some(Numeric::INFINITY),
            (0, 0, _) => Some(Numeric::NEGATIVE_INFINITY),
            _ => Some(Numeric::NAN),
        }
    }

    fn variance(&self, spread: Spread, is_deviation: bool) -> Result<Value, SqlError> {
        let count_min = if spread == Spread::Sample { 2 } else { 1 };
        if self.count_all() < count_min {
            return Ok(Value::Null);
        }
        if self.special_sum().is_some() {
            return Ok(Value::Numeric(Numeric::NAN));
        }
        variance(&self.sum, &self.squares, self.count, spread, is_deviation).map(Value::Numeric)
    }

    fn integer_sum(&self) -> Result<Value, SqlError> {
        let sum = self.sum.total()?.unscaled().and_then(|(sum, _)| i64::try_from(sum).ok());
        sum.map(Value::Int8).ok_or_else(|| SqlError::new(SqlState::NumericOutOfRange, "bigint out of range"))
    }
}

impl Accumulator for Moments {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        match &arguments[0] {
            Value::Null => {}
            Value::Int2(integer) => self.add_integer((*integer).into()),
            Value::Int4(integer) => self.add_integer((*integer).into()),
            Value::Int8(integer) => self.add_integer(*integer),
            number => self.add_numeric(number.as_numeric()),
        }
        Ok(())
    }

    fn remove(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<bool, SqlError> {
        Ok(match &arguments[0] {
            Value::Null => true,
            Value::Int2(integer) => self.remove_numeric(&Numeric::from(*integer)),
            Value::Int4(integer) => self.remove_numeric(&Numeric::from(*integer)),
            Value::Int8(integer) => self.remove_numeric(&Numeric::from(*integer)),
            number => self.remove_numeric(number.as_numeric()),
        })
    }

    fn merge(&mut self, other: Box<dyn Accumulator>, _call: &Call<'_>) -> Result<(), SqlError> {
        let other: Self = same(other);
        self.count += other.count;
        self.count_scale(other.scale, other.scale_count);
        self.sum.add_sum(&other.sum);
        self.squares.add_sum(&other.squares);
        self.nan_count += other.nan_count;
        self.infinity_count += other.infinity_count;
        self.negative_infinity_count += other.negative_infinity_count;
        Ok(())
    }

    fn parts(&self) -> Option<Vec<Value>> {
        let counts = [self.count, self.scale.into(), self.scale_count, self.nan_count];
        let counts = counts.into_iter().chain([self.infinity_count, self.negative_infinity_count]).map(Value::Int8);
        Some(counts.chain(self.sum.parts()).chain(self.squares.parts()).collect())
    }

    fn merge_parts(&mut self, parts: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        let [count, scale, scale_count, nan_count, infinity_count, negative_infinity_count, sum @ .., _, _] =
            as_many::<10>(parts)?;
        let sum_of = |parts: &[Value]| NumericSum::of_parts(parts).ok_or_else(no_parts);
        let other = Self {
            wanted: self.wanted,
            count: count_of(count)?,
            sum: sum_of(sum)?,
            squares: sum_of(&parts[8..])?,
            scale: u16::try_from(count_of(scale)?).map_err(|_| no_parts())?,
            scale_count: count_of(scale_count)?,
            nan_count: count_of(nan_count)?,
            infinity_count: count_of(infinity_count)?,
            negative_infinity_count: count_of(negative_infinity_count)?,
        };
        self.merge(Box::new(other), call)
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        if self.count_all() == 0 {
            return Ok(Value::Null);
        }
        let special = self.special_sum().map(Value::Numeric);
        match (self.wanted, special) {
            (Wanted::Variance(spread), _) => self.variance(spread, false),
            (Wanted::Deviation(spread), _) => self.variance(spread, true),
            (_, Some(special)) => Ok(special),
            (Wanted::IntegerSum, None) => self.integer_sum(),
            (Wanted::Sum, None) => self.sum.total().map(Value::Numeric),
            (Wanted::Average, None) => self.sum.total()?.checked_div(&Numeric::from(self.count)).map(Value::Numeric),
        }
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.sum.heap_bytes() + self.squares.heap_bytes()
    }
}
