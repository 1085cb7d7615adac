//! Arrays that tasks fill at random places: cells of relaxed atomics, which cost what plain ones do.
//!
//! Whoever fills them takes care that no two tasks write one cell, or that it does not matter; atomics only keep it from
//! being undefined where that is wrong. In the end they become plain arrays, in the same memory. The loops that say so do
//! nothing, and are nothing in optimised code; nor do those touch memory that the allocator knows to be zero.

use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// Zeros.
pub(crate) fn zeroed_u8(count: usize) -> Vec<AtomicU8> {
    vec![0; count].into_iter().map(AtomicU8::new).collect()
}

/// Zeros.
pub(crate) fn zeroed_u32(count: usize) -> Vec<AtomicU32> {
    vec![0; count].into_iter().map(AtomicU32::new).collect()
}

/// Zeros.
pub(crate) fn zeroed_u64(count: usize) -> Vec<AtomicU64> {
    vec![0; count].into_iter().map(AtomicU64::new).collect()
}

/// What they hold.
pub(crate) fn plain_u32(cells: Vec<AtomicU32>) -> Vec<u32> {
    cells.into_iter().map(AtomicU32::into_inner).collect()
}

/// What they hold.
pub(crate) fn plain_u64(cells: Vec<AtomicU64>) -> Vec<u64> {
    cells.into_iter().map(AtomicU64::into_inner).collect()
}
