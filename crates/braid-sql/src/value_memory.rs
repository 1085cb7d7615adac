//! Memory for long values: it is reserved under the budget of a query before they are made.
//!
//! A function whose result may be much longer than its arguments reserves memory for the result before it allocates it. Results of all
//! other functions are at most a small multiple of their arguments; the evaluation counts them when they are there. What is reserved stays
//! reserved until the evaluation of a row ends, whatever becomes of the values. Short values are not counted.

use std::cell::Cell;
use std::fmt;

use crate::values::Value;
use crate::{SqlError, SqlState};

/// The most bytes of a value that is not counted: 4 KiB, so that the 10,000 values of a large expression have at most 40 MiB.
pub const SHORT_BYTES_MAX: usize = 4 << 10;

/// What long values are counted under.
pub trait ValueMemory: fmt::Debug {
    /// Reserves memory for a value that is about to be made, or for more of one that grows.
    ///
    /// # Errors
    /// Out of memory (53200) when the budget refuses.
    fn reserve(&self, bytes: usize) -> Result<(), SqlError>;

    /// Bytes that values have reserved since the evaluation began.
    fn reserved(&self) -> usize;
}

/// Memory without a limit, for values that are bounded in another way.
#[derive(Clone, Copy, Debug)]
pub struct UnlimitedMemory;

impl ValueMemory for UnlimitedMemory {
    fn reserve(&self, _: usize) -> Result<(), SqlError> {
        Ok(())
    }

    fn reserved(&self) -> usize {
        0
    }
}

/// A number of bytes for all values together, for evaluations outside of the run of a query.
#[derive(Debug)]
pub struct LimitedMemory {
    limit: usize,
    reserved: Cell<usize>,
}

impl LimitedMemory {
    /// Memory of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, reserved: Cell::new(0) }
    }

    /// The value that `make` makes under this memory. What it made on the way is gone then, and the value alone stays reserved.
    ///
    /// # Errors
    /// Those of `make`; out of memory (53200).
    pub fn only(&self, make: impl FnOnce(&Self) -> Result<Value, SqlError>) -> Result<Value, SqlError> {
        let before = self.reserved.get();
        let value = make(self);
        let kept = value.as_ref().map_or(0, Value::heap_bytes);
        self.reserved.set(before + if kept > SHORT_BYTES_MAX { kept } else { 0 });
        value
    }
}

impl ValueMemory for LimitedMemory {
    fn reserve(&self, bytes: usize) -> Result<(), SqlError> {
        let reserved = self.reserved.get().saturating_add(bytes);
        if reserved > self.limit {
            let message = format!("values need {reserved} bytes; {} bytes are available", self.limit);
            return Err(SqlError::new(SqlState::OutOfMemory, message));
        }
        self.reserved.set(reserved);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.reserved.get()
    }
}

/// The memory of a value that grows until it is complete.
#[derive(Debug)]
pub struct GrowingValue<'a> {
    memory: &'a dyn ValueMemory,
    reserved: usize,
}

impl<'a> GrowingValue<'a> {
    /// A value of no bytes.
    pub fn new(memory: &'a dyn ValueMemory) -> Self {
        Self { memory, reserved: 0 }
    }

    /// Reserves memory for the value to have `bytes` bytes.
    ///
    /// # Errors
    /// As [`ValueMemory::reserve`].
    pub fn reach(&mut self, bytes: usize) -> Result<(), SqlError> {
        if bytes > SHORT_BYTES_MAX && bytes > self.reserved {
            self.memory.reserve(bytes - self.reserved)?;
            self.reserved = bytes;
        }
        Ok(())
    }
}

/// Reserves memory for a value of `bytes` bytes that is about to be made.
///
/// # Errors
/// As [`ValueMemory::reserve`].
pub fn reserve(memory: &dyn ValueMemory, bytes: usize) -> Result<(), SqlError> {
    if bytes > SHORT_BYTES_MAX { memory.reserve(bytes) } else { Ok(()) }
}

/// Makes a value, and counts those of its bytes that were not reserved meanwhile.
///
/// # Errors
/// Those of `make`; as [`ValueMemory::reserve`].
pub fn counted(memory: &dyn ValueMemory, make: impl FnOnce() -> Result<Value, SqlError>) -> Result<Value, SqlError> {
    let before = memory.reserved();
    let value = make()?;
    let bytes = own_bytes(&value);
    if bytes > SHORT_BYTES_MAX {
        let reserved = memory.reserved() - before;
        if bytes > reserved {
            memory.reserve(bytes - reserved)?;
        }
    }
    Ok(value)
}

/// Bytes behind a value, without those that the elements of an array have: elements are shared with other arrays, or were counted when they
/// were made.
fn own_bytes(value: &Value) -> usize {
    match value {
        Value::Array(array) => size_of_val(array.values.as_slice()),
        other => other.heap_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_value_reserves_what_it_lacks() {
        let memory = LimitedMemory::new(10_000);
        let mut value = GrowingValue::new(&memory);
        for (bytes, reserved) in [(100, 0), (SHORT_BYTES_MAX, 0), (5000, 5000), (4999, 5000), (10_000, 10_000)] {
            value.reach(bytes).unwrap();
            assert_eq!(memory.reserved(), reserved, "{bytes}");
        }
        let error = value.reach(10_001).unwrap_err();
        assert_eq!(error.state(), SqlState::OutOfMemory);
        assert_eq!(error.message(), "values need 10001 bytes; 10000 bytes are available");
        // What was refused is not counted.
        assert_eq!(memory.reserved(), 10_000);
    }

    #[test]
    fn a_value_is_counted_once() {
        let memory = LimitedMemory::new(usize::MAX);
        let text = |bytes: usize| Value::text("x".repeat(bytes));
        let own = own_bytes(&text(5000));
        counted(&memory, || Ok(text(5000))).unwrap();
        assert_eq!(memory.reserved(), own);
        counted(&memory, || {
            memory.reserve(5000)?;
            Ok(text(5000))
        })
        .unwrap();
        assert_eq!(memory.reserved(), 2 * own);
        counted(&memory, || Ok(text(100))).unwrap();
        assert_eq!(memory.reserved(), 2 * own);
    }

    #[test]
    fn values_on_the_way_to_another_are_forgotten() {
        let memory = LimitedMemory::new(10_000);
        let with_text_of = |bytes: usize| {
            memory.only(|memory| {
                counted(memory, || Ok(Value::text("x".repeat(6000))))?;
                Ok(Value::text("x".repeat(bytes)))
            })
        };
        for (bytes, fits, reserved) in [(10, true, 0), (5000, true, 5016), (10, false, 5016)] {
            assert_eq!(with_text_of(bytes).is_ok(), fits, "{bytes}");
            assert_eq!(memory.reserved(), reserved, "{bytes}");
        }
    }
}
