//! Long values, counted under the budget of a query while they exist.
//!
//! The values on the way to one row are [`RowValues`]: they go when the row is there. The row's result stays, in a [`CountedArray`].
//! Of each, [`BATCH_BYTES_MAX`] bytes are free, as batches between operators are. An array with more holds its memory for as long as one
//! of its buffers exists.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, make_array};
use arrow::buffer::Buffer;
use arrow::error::ArrowError;
use braid_base::BATCH_BYTES_MAX;
use braid_exec::expression::Resources;
use braid_exec::{ExecError, MemoryBudget, Reservation};
use braid_sql::functions::ValueMemory;
use braid_sql::value_memory::SHORT_BYTES_MAX;
use braid_sql::{SqlError, SqlState, Value};
use bytes::Bytes;

use super::Form;
use super::arrays::ArrayBuilder;

/// The name in errors.
const OPERATOR: &str = "a long value";

/// Bytes that the budget is asked for at a time, so that a value that grows by few bytes does not ask it each time.
const STEP_BYTES: usize = 64 << 10;

/// The values of one row that is computed.
#[derive(Debug)]
pub struct RowValues {
    reservation: RefCell<Reservation>,
    bytes: Cell<usize>,
}

impl RowValues {
    /// No values, of a query with this budget.
    pub fn new(budget: &Arc<dyn MemoryBudget>) -> Self {
        Self { reservation: RefCell::new(Reservation::new(budget.clone(), OPERATOR)), bytes: Cell::new(0) }
    }

    /// Counts a value that is there.
    ///
    /// # Errors
    /// Out of memory (53200) when the budget refuses.
    pub fn add(&self, value: &Value) -> Result<(), SqlError> {
        match value.heap_bytes() {
            0..=SHORT_BYTES_MAX => Ok(()),
            bytes => self.reserve(bytes),
        }
    }

    /// The row is there: its values go.
    pub fn clear(&self) {
        if self.bytes.replace(0) > BATCH_BYTES_MAX {
            self.reservation.borrow_mut().resize(0).expect("less memory is never refused");
        }
    }
}

impl ValueMemory for RowValues {
    fn reserve(&self, bytes: usize) -> Result<(), SqlError> {
        let bytes = self.bytes.get().saturating_add(bytes);
        if bytes > BATCH_BYTES_MAX {
            grow(&mut self.reservation.borrow_mut(), bytes)?;
        }
        self.bytes.set(bytes);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.bytes.get()
    }

    fn release(&self, bytes: usize) {
        let (before, bytes) = (self.bytes.get(), self.bytes.get().saturating_sub(bytes));
        self.bytes.set(bytes);
        if before > BATCH_BYTES_MAX {
            let held = if bytes > BATCH_BYTES_MAX { bytes } else { 0 };
            self.reservation.borrow_mut().resize(held).expect("less memory is never refused");
        }
    }
}

/// Makes an array of values, which it counts.
#[derive(Debug)]
pub struct CountedArray {
    builder: ArrayBuilder,
    reservation: Reservation,
    is_divisible: bool,
}

impl CountedArray {
    /// Of a form.
    pub fn new(form: Form, resources: Resources<'_>) -> Self {
        let reservation = Reservation::new(resources.budget.clone(), OPERATOR);
        Self { builder: ArrayBuilder::new(form), reservation, is_divisible: resources.is_divisible }
    }

    /// Reserves memory for a value that is to be added.
    ///
    /// # Errors
    /// [`ExecError::BatchTooLong`] if the values become too long for a divisible batch; out of memory (53200).
    pub fn reserve(&mut self, value: &Value) -> Result<(), Box<dyn Error + Send + Sync>> {
        let bytes = self.builder.bytes().saturating_add(value.heap_bytes());
        match bytes > BATCH_BYTES_MAX {
            true if self.is_divisible => Err(Box::new(ExecError::BatchTooLong)),
            true => Ok(grow(&mut self.reservation, bytes)?),
            false => Ok(()),
        }
    }

    /// Adds a value.
    ///
    /// # Errors
    /// As [`Self::reserve`]; when the value is not of the array's form.
    pub fn add(&mut self, value: &Value) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.reserve(value)?;
        Ok(self.builder.add(value)?)
    }

    /// Bytes of texts and the like that were added.
    pub fn bytes(&self) -> usize {
        self.builder.bytes()
    }

    /// The array. If it is long, its buffers hold its memory.
    ///
    /// # Errors
    /// Out of memory (53200): the bytes of a value may be more than it has in memory.
    pub fn finish(self) -> Result<ArrayRef, Box<dyn Error + Send + Sync>> {
        let Self { builder, mut reservation, .. } = self;
        let bytes = builder.bytes();
        if bytes <= BATCH_BYTES_MAX {
            return Ok(builder.finish());
        }
        if bytes > reservation.held() {
            grow(&mut reservation, bytes)?;
        } else {
            reservation.resize(bytes)?;
        }
        Ok(counted_array(&builder.finish(), reservation)?)
    }
}

/// Makes a reservation one of at least so many bytes.
fn grow(reservation: &mut Reservation, bytes: usize) -> Result<(), SqlError> {
    if bytes <= reservation.held() {
        return Ok(());
    }
    let steps = bytes.checked_next_multiple_of(STEP_BYTES).unwrap_or(bytes);
    // What is needed may be there although a whole step is not.
    let grown = reservation.resize(steps).or_else(|_| reservation.resize(bytes));
    grown.map_err(|error| SqlError::new(SqlState::OutOfMemory, error.to_string()))
}

/// A buffer and the memory that it is counted under.
struct CountedBuffer {
    buffer: Buffer,
    _memory: Arc<Reservation>,
}

impl AsRef<[u8]> for CountedBuffer {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_slice()
    }
}

/// The array that `make` makes of about so many bytes. If it is long, it is counted as a [`CountedArray`].
///
/// # Errors
/// Those of `make`; out of memory (53200).
pub fn counted_array_of(
    bytes: usize,
    budget: &Arc<dyn MemoryBudget>,
    make: impl FnOnce() -> Result<ArrayRef, SqlError>,
) -> Result<ArrayRef, SqlError> {
    if bytes <= BATCH_BYTES_MAX {
        return make();
    }
    let mut reservation = Reservation::new(budget.clone(), OPERATOR);
    grow(&mut reservation, bytes)?;
    let broken = |error: ArrowError| SqlError::new(SqlState::InternalError, error.to_string());
    counted_array(&make()?, reservation).map_err(broken)
}

/// The array, whose buffers hold the reservation together.
fn counted_array(array: &ArrayRef, reservation: Reservation) -> Result<ArrayRef, ArrowError> {
    Ok(make_array(counted_data(array.to_data(), &Arc::new(reservation))?))
}

fn counted_data(data: ArrayData, memory: &Arc<Reservation>) -> Result<ArrayData, ArrowError> {
    let held = |buffer: &Buffer| {
        let owner = CountedBuffer { buffer: buffer.clone(), _memory: memory.clone() };
        Buffer::from(Bytes::from_owner(owner))
    };
    let buffers = data.buffers().iter().map(held).collect();
    let children = data.child_data().iter().map(|child| counted_data(child.clone(), memory));
    let children = children.collect::<Result<Vec<_>, _>>()?;
    data.into_builder().buffers(buffers).child_data(children).build()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{AsArray, ListArray};
    use arrow::datatypes::Int64Type;
    use braid_base::ByteSize;
    use braid_exec::{FixedBudget, Vector};

    use super::*;

    const LONG: usize = 3 << 20;

    fn budget(bytes: usize) -> (Arc<FixedBudget>, Arc<dyn MemoryBudget>) {
        let budget = FixedBudget::new(ByteSize(bytes as u64));
        (budget.clone(), budget)
    }

    fn text(bytes: usize) -> Value {
        Value::text("x".repeat(bytes))
    }

    fn is_out_of_memory(error: &(dyn Error + Send + Sync + 'static)) -> bool {
        error.downcast_ref::<SqlError>().is_some_and(|error| error.state() == SqlState::OutOfMemory)
    }

    #[test]
    fn a_long_array_is_counted_until_its_last_buffer_goes() {
        let (fixed, budget) = budget(10 << 20);
        let mut array = CountedArray::new(Form::Text, Resources { budget: &budget, is_divisible: false });
        for value in [text(LONG), Value::Null, text(5)] {
            array.add(&value).unwrap();
        }
        let array = array.finish().unwrap();
        assert_eq!(fixed.used(), LONG + 5);
        assert_eq!(array.as_string_view().value(0).len(), LONG);
        let (slice, vector) = (array.slice(1, 2), Vector::from_array(&array).unwrap());
        drop(array);
        assert_eq!(fixed.used(), LONG + 5);
        assert_eq!(slice.as_string_view().value(1), "xxxxx");
        drop(slice);
        assert_eq!(fixed.used(), LONG + 5);
        drop(vector);
        assert_eq!(fixed.used(), 0);
    }

    #[test]
    fn an_array_of_lists_is_counted_with_its_elements() {
        let (fixed, budget) = budget(10 << 20);
        let lists = || {
            let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), Some(2)]), None]);
            Ok(Arc::new(lists) as ArrayRef)
        };
        let counted = counted_array_of(LONG, &budget, lists).unwrap();
        assert_eq!(&counted, &lists().unwrap());
        let elements = counted.as_list::<i32>().values().clone();
        drop(counted);
        assert!(fixed.used() >= LONG);
        drop(elements);
        assert_eq!(fixed.used(), 0);
        let short = counted_array_of(16, &budget, lists).unwrap();
        assert_eq!((short.len(), fixed.used()), (2, 0));
        assert_eq!(counted_array_of(20 << 20, &budget, lists).unwrap_err().state(), SqlState::OutOfMemory);
    }

    #[test]
    fn short_values_are_free() {
        let (fixed, budget) = budget(0);
        let mut array = CountedArray::new(Form::Text, Resources { budget: &budget, is_divisible: false });
        let values = RowValues::new(&budget);
        for _ in 0..10 {
            values.add(&text(BATCH_BYTES_MAX / 20)).unwrap();
            array.add(&text(BATCH_BYTES_MAX / 20)).unwrap();
        }
        assert_eq!(array.finish().unwrap().len(), 10);
        assert_eq!(fixed.used(), 0);
    }

    #[test]
    fn a_divisible_batch_is_divided_before_memory_is_reserved() {
        let (fixed, budget) = budget(10 << 20);
        let mut array = CountedArray::new(Form::Text, Resources { budget: &budget, is_divisible: true });
        array.add(&text(BATCH_BYTES_MAX / 2)).unwrap();
        let error = array.add(&text(LONG)).unwrap_err();
        assert!(matches!(error.downcast_ref(), Some(ExecError::BatchTooLong)), "{error}");
        assert_eq!(fixed.used(), 0);
    }

    #[test]
    fn the_values_of_a_row_go_with_it() {
        let (fixed, budget) = budget(4 << 20);
        let values = RowValues::new(&budget);
        for _ in 0..10 {
            values.reserve(LONG).unwrap();
            assert!((LONG..LONG + STEP_BYTES).contains(&fixed.used()));
            assert_eq!(values.reserve(LONG).unwrap_err().state(), SqlState::OutOfMemory);
            assert_eq!(values.reserved(), LONG);
            values.clear();
            assert_eq!((values.reserved(), fixed.used()), (0, 0));
        }
        values.reserve(LONG).unwrap();
        values.release(1 << 20);
        assert_eq!((values.reserved(), fixed.used()), (2 << 20, 2 << 20));
        values.release(LONG);
        assert_eq!((values.reserved(), fixed.used()), (0, 0));
        values.reserve(LONG).unwrap();
        drop(values);
        assert_eq!(fixed.used(), 0);
    }

    #[test]
    fn memory_that_suffices_exactly_is_granted() {
        let (fixed, budget) = budget(LONG + 1);
        let values = RowValues::new(&budget);
        values.reserve(LONG).unwrap();
        values.reserve(1).unwrap();
        assert_eq!(fixed.used(), LONG + 1);
        assert!(values.reserve(1).is_err());
        values.clear();
        let mut array = CountedArray::new(Form::Encoded, Resources { budget: &budget, is_divisible: false });
        let error = array.add(&text(LONG + 100)).unwrap_err();
        assert!(is_out_of_memory(&*error), "{error}");
        assert_eq!(error.to_string(), "a long value needs 3.0 MB more memory: 0 B of 3.0 MB are used");
    }
}
