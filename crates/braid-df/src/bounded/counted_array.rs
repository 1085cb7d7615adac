//! Arrays that hold memory of a statement's budget for as long as any of their buffers exists.

use std::sync::Arc;

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, RecordBatch, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use bytes::Bytes;
use datafusion::execution::memory_pool::MemoryReservation;

/// A buffer and the memory that it is counted under.
struct Counted {
    buffer: Buffer,
    _memory: Arc<MemoryReservation>,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        self.buffer.as_slice()
    }
}

/// The array, whose buffers hold `reservation` together.
pub(super) fn counted_array(array: &ArrayRef, reservation: MemoryReservation) -> Result<ArrayRef, ArrowError> {
    Ok(make_array(hold(array.to_data(), &Arc::new(reservation))?))
}

fn hold(data: ArrayData, memory: &Arc<MemoryReservation>) -> Result<ArrayData, ArrowError> {
    let held = |buffer: &Buffer| {
        let owner = Counted { buffer: buffer.clone(), _memory: memory.clone() };
        Buffer::from(Bytes::from_owner(owner))
    };
    let buffers = data.buffers().iter().map(held).collect();
    let children: Result<Vec<ArrayData>, ArrowError> =
        data.child_data().iter().map(|child| hold(child.clone(), memory)).collect();
    data.into_builder().buffers(buffers).child_data(children?).build()
}

/// Bytes of a batch's values.
pub fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| value_bytes(column)).sum()
}

/// Bytes of an array's values, each as if it lay there alone: views may share buffers with others.
pub(crate) fn value_bytes(array: &dyn Array) -> usize {
    let length = |view: &u128| (*view & u128::from(u32::MAX)) as usize;
    match array.data_type() {
        DataType::Utf8View => array.as_string_view().views().iter().map(length).sum(),
        DataType::BinaryView => array.as_binary_view().views().iter().map(length).sum(),
        DataType::Utf8 => array.as_string::<i32>().value_offsets().last().map_or(0, |end| *end as usize),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (first, last) = (list.value_offsets().first(), list.value_offsets().last());
            let (first, last) = (first.map_or(0, |at| *at as usize), last.map_or(0, |at| *at as usize));
            value_bytes(&*list.values().slice(first, last - first))
        }
        _ => array.to_data().get_slice_memory_size().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int64Array, ListArray, StringArray, StringViewArray};
    use arrow::datatypes::Int64Type;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    use super::*;

    #[test]
    fn memory_is_held_until_the_last_buffer_goes() {
        let texts = ["a text that does not lie in its view", "b", "another one that is as long"];
        let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), Some(2)]), None]);
        let arrays: [ArrayRef; 4] = [
            Arc::new(StringArray::from_iter_values(texts)),
            Arc::new(StringViewArray::from_iter_values(texts)),
            Arc::new(Int64Array::from(vec![1, 2, 3])),
            Arc::new(lists),
        ];
        for (array, bytes) in arrays.iter().zip([64, 64, 24, 16]) {
            assert_eq!(value_bytes(array), bytes, "{array:?}");
            let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1000));
            let reservation = MemoryConsumer::new("test").register(&pool);
            reservation.try_grow(100).unwrap();
            let counted = counted_array(array, reservation).unwrap();
            assert_eq!(&counted, array);
            let slice = counted.slice(1, 1);
            drop(counted);
            assert_eq!(pool.reserved(), 100, "{slice:?}");
            drop(slice);
            assert_eq!(pool.reserved(), 0);
        }
    }
}
