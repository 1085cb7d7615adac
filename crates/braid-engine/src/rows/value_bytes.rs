//! How many bytes the values of arrays take.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::datatypes::DataType;

/// Bytes of a batch's values.
pub(crate) fn batch_bytes(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(|column| value_bytes(column)).sum()
}

/// Bytes of an array's values, each as if it lay there alone: views may share buffers with others.
pub(super) fn value_bytes(array: &dyn Array) -> usize {
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
    use std::sync::Arc;

    use arrow::array::{ArrayRef, Int64Array, ListArray, StringArray, StringViewArray};
    use arrow::datatypes::Int64Type;

    use super::*;

    #[test]
    fn values_are_counted_once_and_slices_by_their_part() {
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
        }
        assert_eq!(value_bytes(&*arrays[1].slice(1, 1)), 1);
    }
}
