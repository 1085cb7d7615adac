//! An allocator that counts the bytes that are allocated, so that a figure does not depend on what an allocator keeps.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with a count.
pub struct CountingAllocator;

static ALLOCATED_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Bytes that are allocated now, as they were asked for.
pub fn allocated_bytes() -> usize {
    ALLOCATED_BYTES.load(Ordering::Relaxed)
}

/// The most bytes that were allocated at a time since [`forget_peak`].
pub fn peak_bytes() -> usize {
    PEAK_BYTES.load(Ordering::Relaxed)
}

/// Starts a new measurement of the peak.
pub fn forget_peak() {
    PEAK_BYTES.store(allocated_bytes(), Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator with what the caller gave, and its results are returned as they are.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of `alloc`, which are the same.
        let allocated = unsafe { System.alloc(layout) };
        if !allocated.is_null() {
            let before = ALLOCATED_BYTES.fetch_add(layout.size(), Ordering::Relaxed);
            PEAK_BYTES.fetch_max(before + layout.size(), Ordering::Relaxed);
        }
        allocated
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        ALLOCATED_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller gives a pointer of `alloc` with its layout, which came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}
