//! Arrays that tasks fill at random positions, as relaxed atomics, which are as fast as plain integers.
//!
//! The callers ensure that no two tasks write one cell, or that the order of such writes does not matter. Atomics prevent
//! undefined behaviour if a caller breaks this rule. At the end the cells become plain arrays in the same memory. The
//! compiler removes the loops of this conversion, and the allocation of zeros does not touch memory that the allocator
//! knows to be zero.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// `count` zeros.
pub(crate) fn zeroed_u8(count: usize) -> Vec<AtomicU8> {
    vec![0; count].into_iter().map(AtomicU8::new).collect()
}

/// `count` zeros.
pub(crate) fn zeroed_u32(count: usize) -> Vec<AtomicU32> {
    vec![0; count].into_iter().map(AtomicU32::new).collect()
}

/// `count` zeros.
pub(crate) fn zeroed_u64(count: usize) -> Vec<AtomicU64> {
    vec![0; count].into_iter().map(AtomicU64::new).collect()
}

/// The cells' values.
pub(crate) fn plain_u32(cells: Vec<AtomicU32>) -> Vec<u32> {
    cells.into_iter().map(AtomicU32::into_inner).collect()
}

/// The cells' values.
pub(crate) fn plain_u64(cells: Vec<AtomicU64>) -> Vec<u64> {
    cells.into_iter().map(AtomicU64::into_inner).collect()
}
