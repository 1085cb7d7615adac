//! The average of intervals.

use super::Aggregates;
use super::accumulator::{Accumulator, as_many, count_of, no_parts, same};
use crate::functions::Call;
use crate::functions::datetime::{interval_scaling, intervals};
use crate::values::Interval;
use crate::{SqlError, Value};

/// `avg`
pub const AGGREGATES: Aggregates = &[("interval_accum interval_avg", |_, _| Ok(Box::new(IntervalSum::default())))];

#[derive(Debug, Default)]
struct IntervalSum {
    count: i64,
    sum: Interval,
}

impl Accumulator for IntervalSum {
    fn add(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        self.sum = intervals::sum(self.sum, arguments[0].as_interval())?;
        self.count += 1;
        Ok(())
    }

    fn remove(&mut self, arguments: &[Value], _call: &Call<'_>) -> Result<bool, SqlError> {
        self.sum = intervals::difference(self.sum, arguments[0].as_interval())?;
        self.count -= 1;
        Ok(true)
    }

    fn merge(&mut self, other: Box<dyn Accumulator>, _call: &Call<'_>) -> Result<(), SqlError> {
        let other: Self = same(other);
        self.sum = intervals::sum(self.sum, other.sum)?;
        self.count += other.count;
        Ok(())
    }

    fn parts(&self) -> Option<Vec<Value>> {
        Some(vec![Value::Int8(self.count), Value::Interval(self.sum)])
    }

    fn merge_parts(&mut self, parts: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        let [count, sum] = as_many(parts)?;
        let Value::Interval(sum) = *sum else { return Err(no_parts()) };
        self.merge(Box::new(Self { count: count_of(count)?, sum }), call)
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        if self.count == 0 {
            return Ok(Value::Null);
        }
        interval_scaling::over(self.sum, self.count as f64).map(Value::Interval)
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}
