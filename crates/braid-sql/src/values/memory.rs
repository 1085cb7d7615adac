//! How much memory values hold, for budgets.

use std::sync::Arc;

use super::Value;
use super::json::Jsonb;

/// What an `Arc` has before its value: two counts.
const ARC_BYTES: usize = 16;

impl Value {
    /// Bytes behind the value, about; what several values share counts for each.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Text(text) => ARC_BYTES + text.len(),
            Self::Bytea(bytes) => ARC_BYTES + bytes.len(),
            Self::Numeric(number) => number.heap_bytes(),
            Self::Array(array) => {
                let of_values: usize = array.values.iter().map(Self::heap_bytes).sum();
                ARC_BYTES + size_of_val(array.as_ref()) + size_of_val(array.values.as_slice()) + of_values
            }
            Self::Record(record) => {
                let of_values: usize = record.values.iter().map(Self::heap_bytes).sum();
                ARC_BYTES + size_of_val(record.as_ref()) + size_of_val(record.values.as_slice()) + of_values
            }
            Self::Jsonb(tree) => ARC_BYTES + size_of::<Jsonb>() + tree.heap_bytes(),
            _ => 0,
        }
    }
}

impl Jsonb {
    /// Bytes behind the tree, about.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Null | Self::Bool(_) | Self::Datetime(_) => 0,
            Self::Number(number) => number.heap_bytes(),
            Self::String(text) => ARC_BYTES + text.len(),
            Self::Array(elements) => {
                ARC_BYTES + elements.iter().map(|element| size_of_val(element) + element.heap_bytes()).sum::<usize>()
            }
            Self::Object(fields) => {
                let of_field = |field: &(Arc<str>, Self)| {
                    ARC_BYTES + size_of_val(field) + str::len(&field.0) + field.1.heap_bytes()
                };
                ARC_BYTES + fields.iter().map(of_field).sum::<usize>()
            }
        }
    }
}
