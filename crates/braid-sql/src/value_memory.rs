//! Memory for long values: it is reserved under the budget of a query before they are made.
//!
//! A function whose result may be much longer than its arguments reserves memory for the result before it allocates it. Results of all
//! other functions are about as long as their arguments: the evaluation reserves as much before it calls them ([`counted`]), from which
//! the function's own reservations are taken. When the result is there, it stays reserved until the evaluation of a row ends, whatever
//! becomes of the value; what was on the way to it is given back. Short values are not counted.
//!
//! A text that grows takes three times its bytes: the old and the new string while it is moved, or the string and the value that is made of
//! it ([`GrowingValue`]). A text whose length is known takes its bytes ([`exact_text`](crate::values::exact_text)).

use std::cell::Cell;
use std::fmt;

use crate::pg_catalog::{TypeId, pg_catalog};
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

    /// Gives back what was reserved for values that are gone.
    fn release(&self, bytes: usize);
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

    fn release(&self, _: usize) {}
}

/// A number of bytes for all values together, for evaluations outside of the run of a query.
#[derive(Debug)]
pub struct LimitedMemory {
    limit: usize,
    reserved: Cell<usize>,
    /// The most bytes of the values that stay.
    kept_max: usize,
    kept: Cell<usize>,
}

impl LimitedMemory {
    /// Memory of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, reserved: Cell::new(0), kept_max: limit, kept: Cell::new(0) }
    }

    /// The same for long values of at most `kept_max` bytes that stay, and others on the way to them.
    #[must_use]
    pub fn keeping(self, kept_max: usize) -> Self {
        Self { kept_max, ..self }
    }

    /// The value that `make` makes under this memory. What it made on the way is gone then, and the value alone stays reserved.
    ///
    /// # Errors
    /// Those of `make`; out of memory (53200).
    pub fn only(&self, make: impl FnOnce(&Self) -> Result<Value, SqlError>) -> Result<Value, SqlError> {
        let made = make(self);
        self.reserved.set(self.kept.get());
        let value = made?;
        let bytes = value.heap_bytes();
        if bytes > SHORT_BYTES_MAX {
            let kept = self.kept.get().saturating_add(bytes);
            if kept > self.kept_max {
                return Err(exceeded(kept, self.kept_max));
            }
            self.kept.set(kept);
            self.reserved.set(kept);
        }
        Ok(value)
    }
}

fn exceeded(bytes: usize, limit: usize) -> SqlError {
    SqlError::new(SqlState::OutOfMemory, format!("values need {bytes} bytes; {limit} bytes are available"))
}

impl ValueMemory for LimitedMemory {
    fn reserve(&self, bytes: usize) -> Result<(), SqlError> {
        let reserved = self.reserved.get().saturating_add(bytes);
        if reserved > self.limit {
            return Err(exceeded(reserved, self.limit));
        }
        self.reserved.set(reserved);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.reserved.get()
    }

    fn release(&self, bytes: usize) {
        self.reserved.set(self.reserved.get().saturating_sub(bytes));
    }
}

/// Memory that was reserved for a call before it: what the call reserves is taken from it first.
#[derive(Debug)]
struct PaidMemory<'a> {
    memory: &'a dyn ValueMemory,
    left: Cell<usize>,
}

impl ValueMemory for PaidMemory<'_> {
    fn reserve(&self, bytes: usize) -> Result<(), SqlError> {
        let paid = self.left.get().min(bytes);
        if bytes > paid {
            self.memory.reserve(bytes - paid)?;
        }
        self.left.set(self.left.get() - paid);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.memory.reserved().saturating_sub(self.left.get())
    }

    fn release(&self, bytes: usize) {
        self.memory.release(bytes);
    }
}

/// Bytes that a value takes for each of its own while it grows: see the top of this file.
const GROWING_FACTOR: usize = 3;

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

    /// Reserves memory for the value to have `bytes` bytes, and for its growth.
    ///
    /// # Errors
    /// As [`ValueMemory::reserve`].
    pub fn reach(&mut self, bytes: usize) -> Result<(), SqlError> {
        let bytes = if bytes > SHORT_BYTES_MAX { bytes.saturating_mul(GROWING_FACTOR) } else { 0 };
        if bytes > self.reserved {
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

/// Makes a value that needs about `expected` bytes meanwhile, under the memory that `make` is given. The value stays reserved, and what
/// was reserved on the way to it does not.
///
/// # Errors
/// Those of `make`; as [`ValueMemory::reserve`].
pub fn counted(
    memory: &dyn ValueMemory,
    expected: usize,
    make: impl FnOnce(&dyn ValueMemory) -> Result<Value, SqlError>,
) -> Result<Value, SqlError> {
    let before = memory.reserved();
    let value = match expected {
        0..=SHORT_BYTES_MAX => make(memory)?,
        expected => {
            memory.reserve(expected)?;
            let paid = PaidMemory { memory, left: Cell::new(expected) };
            let value = make(&paid)?;
            memory.release(paid.left.get());
            value
        }
    };
    let bytes = Some(own_bytes(&value)).filter(|bytes| *bytes > SHORT_BYTES_MAX).unwrap_or(0);
    let reserved = memory.reserved().saturating_sub(before);
    if bytes > reserved {
        memory.reserve(bytes - reserved)?;
    } else if !has_parts(&value) {
        memory.release(reserved - bytes);
    }
    Ok(value)
}

/// Whether other values are within a value, which may have been counted when they were made.
fn has_parts(value: &Value) -> bool {
    matches!(value, Value::Array(_) | Value::Record(_) | Value::Jsonb(_))
}

/// Bytes that a call needs about while it makes a value of this type of its arguments, beside them: a text is made as a string first.
/// Documents are not looked into, and what is of a fixed length takes none.
pub fn expected_bytes(arguments: &[Value], result_type: TypeId) -> usize {
    let of_argument = |argument: &Value| match argument {
        Value::Text(text) => text.len(),
        // As text a byte has two digits.
        Value::Bytea(bytes) => 2 * bytes.len(),
        Value::Array(array) => size_of_val(array.values.as_slice()),
        _ => 0,
    };
    let bytes: usize = arguments.iter().map(of_argument).sum();
    if bytes <= SHORT_BYTES_MAX || pg_catalog().type_entry(result_type).length > 0 {
        return 0;
    }
    bytes.saturating_mul(2)
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
    use crate::values::ArrayValue;

    #[test]
    fn a_growing_value_reserves_what_it_lacks() {
        let memory = LimitedMemory::new(30_000);
        let mut value = GrowingValue::new(&memory);
        for (bytes, reserved) in [(100, 0), (SHORT_BYTES_MAX, 0), (5000, 15_000), (4999, 15_000), (10_000, 30_000)] {
            value.reach(bytes).unwrap();
            assert_eq!(memory.reserved(), reserved, "{bytes}");
        }
        let error = value.reach(10_001).unwrap_err();
        assert_eq!(error.state(), SqlState::OutOfMemory);
        assert_eq!(error.message(), "values need 30003 bytes; 30000 bytes are available");
        // What was refused is not counted.
        assert_eq!(memory.reserved(), 30_000);
    }

    #[test]
    fn a_value_is_counted_once() {
        let memory = LimitedMemory::new(usize::MAX);
        let text = |bytes: usize| Value::text("x".repeat(bytes));
        let own = own_bytes(&text(5000));
        counted(&memory, 0, |_| Ok(text(5000))).unwrap();
        assert_eq!(memory.reserved(), own);
        counted(&memory, 0, |memory| {
            memory.reserve(5000)?;
            Ok(text(5000))
        })
        .unwrap();
        assert_eq!(memory.reserved(), 2 * own);
        counted(&memory, 0, |_| Ok(text(100))).unwrap();
        assert_eq!(memory.reserved(), 2 * own);
    }

    #[test]
    fn what_a_call_needs_is_reserved_before_it() {
        let memory = LimitedMemory::new(20_000);
        let text = |bytes: usize| Value::text("x".repeat(bytes));
        let own = own_bytes(&text(5000));
        let made = counted(&memory, 15_000, |paid| {
            assert_eq!((memory.reserved(), paid.reserved()), (15_000, 0));
            paid.reserve(10_000)?;
            assert_eq!((memory.reserved(), paid.reserved()), (15_000, 10_000));
            paid.reserve(7000)?;
            assert_eq!((memory.reserved(), paid.reserved()), (17_000, 17_000));
            Ok(text(5000))
        });
        assert_eq!(made.unwrap(), text(5000));
        assert_eq!(memory.reserved(), own);
        counted(&memory, 15_000, |_| -> Result<Value, SqlError> { panic!("it is called within the memory") })
            .unwrap_err();
        // Elements that were counted when they were made stay counted.
        counted(&memory, 6000, |paid| {
            let elements = vec![counted(paid, 0, |_| Ok(text(5000)))?];
            Ok(Value::Array(ArrayValue::of(TypeId::TEXT, elements).into()))
        })
        .unwrap();
        assert_eq!(memory.reserved(), 2 * own);
        for (result_type, expected) in [(TypeId::TEXT, 10_000), (TypeId::INT4, 0), (TypeId::CSTRING, 10_000)] {
            assert_eq!(expected_bytes(&[text(5000), Value::Int4(1)], result_type), expected);
        }
    }

    #[test]
    fn values_on_the_way_to_another_are_forgotten() {
        let memory = LimitedMemory::new(10_000);
        let with_text_of = |bytes: usize| {
            memory.only(|memory| {
                counted(memory, 0, |_| Ok(Value::text("x".repeat(6000))))?;
                Ok(Value::text("x".repeat(bytes)))
            })
        };
        for (bytes, fits, reserved) in [(10, true, 0), (5000, true, 5016), (10, false, 5016)] {
            assert_eq!(with_text_of(bytes).is_ok(), fits, "{bytes}");
            assert_eq!(memory.reserved(), reserved, "{bytes}");
        }
        let memory = LimitedMemory::new(10_000).keeping(6000);
        let text = |bytes: usize| memory.only(|_| Ok(Value::text("x".repeat(bytes))));
        assert_eq!([5000, 5000, 4000, 7000].map(|bytes| text(bytes).is_ok()), [true, false, true, false]);
        assert_eq!(memory.reserved(), 5016);
    }
}
