//! Aggregates whose state is a value: the first that is not null, then what a function makes of it and the next.

use super::accumulator::{Accumulator, as_many, same};
use crate::functions::{Call, Implementation};
use crate::{SqlError, SqlType, Value};

/// What a fold of integers does with their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitOperation {
    /// `bit_and`
    And,
    /// `bit_or`
    Or,
    /// `bit_xor`
    Xor,
}

impl BitOperation {
    /// That of a transition function.
    pub(super) fn of(transition: &str) -> Option<Self> {
        match transition {
            "int2and" | "int4and" | "int8and" => Some(Self::And),
            "int2or" | "int4or" | "int8or" => Some(Self::Or),
            "int2xor" | "int4xor" | "int8xor" => Some(Self::Xor),
            _ => None,
        }
    }

    /// The bits of both integers.
    pub fn combined(self, one: i64, other: i64) -> i64 {
        match self {
            Self::And => one & other,
            Self::Or => one | other,
            Self::Xor => one ^ other,
        }
    }
}

/// The value so far; null before the first.
#[derive(Debug)]
pub(super) struct Fold {
    value: Value,
    transition: Implementation,
    combine: Option<Implementation>,
}

impl Fold {
    pub(super) fn new(transition: Implementation, combine: Option<Implementation>) -> Self {
        Self { value: Value::Null, transition, combine }
    }

    /// The state has the type of the argument.
    fn take(&mut self, value: &Value, function: Implementation, call: &Call<'_>) -> Result<(), SqlError> {
        if self.value.is_null() {
            self.value = value.clone();
        } else if !value.is_null() {
            let types: [SqlType; 2] = [call.argument_types[0]; 2];
            let inner = Call { argument_types: &types, ..*call };
            let state = std::mem::replace(&mut self.value, Value::Null);
            self.value = function(&[state, value.clone()], &inner)?;
        }
        Ok(())
    }
}

impl Accumulator for Fold {
    fn add(&mut self, arguments: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        self.take(&arguments[0], self.transition, call)
    }

    fn merge(&mut self, other: Box<dyn Accumulator>, call: &Call<'_>) -> Result<(), SqlError> {
        let other: Self = same(other);
        let combine = self.combine.expect("it merges");
        self.take(&other.value, combine, call)
    }

    fn parts(&self) -> Option<Vec<Value>> {
        self.combine.map(|_| vec![self.value.clone()])
    }

    fn merge_parts(&mut self, parts: &[Value], call: &Call<'_>) -> Result<(), SqlError> {
        let [value] = as_many(parts)?;
        self.take(value, self.combine.expect("it has parts"), call)
    }

    fn finish(&self, _direct: &[Value], _call: &Call<'_>) -> Result<Value, SqlError> {
        Ok(self.value.clone())
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.value.heap_bytes()
    }
}
