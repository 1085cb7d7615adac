//! `count` and `regr_count`.

use super::Aggregates;
use super::accumulator::{Accumulator, as_many, count_of, same};
use crate::functions::Call;
use crate::{SqlError, SqlState, Value};

/// Counts of rows. Those with a null argument are skipped before.
pub const AGGREGATES: Aggregates = &[
    ("int8inc", |_, _| Ok(Box::new(Count(0)))),
    ("int8inc_any", |_, _| Ok(Box::new(Count(0)))),
    (COUNT_OF_PAIRS, |_, _| Ok(Box::new(Count(0)))),
];

/// `regr_count`
pub(super) const COUNT_OF_PAIRS: &str = "int8inc_float8_float8";

#[derive(Debug)]
struct Count(i64);

impl Count {
    fn increase(&mut self, by: i64) -> Result<(), SqlError> {
        let sum = self.0.checked_add(by);
        self.0 = sum.ok_or_else(|| SqlError::new(SqlState::NumericOutOfRange, "bigint out of range"))?;
        Ok(())
    }
}

impl Accumulator for Count {
    fn add(&mut self, _arguments: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        self.increase(1)
    }

    fn remove(&mut self, _arguments: &[Value], _call: &Call<'_>) -> Result<bool, SqlError> {
        self.0 -= 1;
        Ok(true)
    }

    fn merge(&mut self, other: Box<dyn Accumulator>, _call: &Call<'_>) -> Result<(), SqlError> {
        let other: Self = same(other);
        self.increase(other.0)
    }

    fn parts(&self) -> Option<Vec<Value>> {
        Some(vec![Value::Int8(self.0)])
    }

    fn merge_parts(&mut self, parts: &[Value], _call: &Call<'_>) -> Result<(), SqlError> {
        let [count] = as_many(parts)?;
        self.increase(count_of(count)?)
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        Ok(Value::Int8(self.0))
    }

    fn bytes(&self) -> usize {
        size_of::<Self>()
    }
}
