//! The one allocation behind every buffer: memory at a multiple of [`SEGMENT_ALIGN_BYTES`], possibly not yet written.
//!
//! Reads take memory that is not zeroed first: zeroing would touch every byte once more than the disk does. So memory
//! has two states in two types: [`AlignedMemory`] may be uninitialised and gives out only raw addresses;
//! [`crate::AlignedBuffer`] is memory whose first `len` bytes are initialised and gives out slices.
//!
//! Invariants: the address is a multiple of `SEGMENT_ALIGN_BYTES`; the capacity is a positive multiple of it.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use braid_base::SEGMENT_ALIGN_BYTES;

/// Aligned, owned, possibly uninitialised bytes.
pub(crate) struct AlignedMemory {
    start: NonNull<u8>,
    capacity: usize,
}

// SAFETY: the memory is owned by this value alone, like a `Box<[MaybeUninit<u8>]>`; it has no ties to a thread.
unsafe impl Send for AlignedMemory {}
// SAFETY: a shared reference gives out only an address and a length; nothing is written through it.
unsafe impl Sync for AlignedMemory {}

impl AlignedMemory {
    /// Memory for `len` bytes, with arbitrary content.
    pub(crate) fn uninitialised(len: usize) -> Self {
        let layout = Self::layout(len);
        // SAFETY: the layout's size is positive.
        Self::from_allocation(unsafe { alloc(layout) }, layout)
    }

    /// Memory for `len` bytes, every byte up to its capacity zero.
    pub(crate) fn zeroed(len: usize) -> Self {
        let layout = Self::layout(len);
        // SAFETY: the layout's size is positive.
        Self::from_allocation(unsafe { alloc_zeroed(layout) }, layout)
    }

    /// Bytes that may be used, a multiple of the alignment.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// The address of byte `offset`, for a system call to write to.
    pub(crate) fn address_mut(&mut self, offset: usize) -> *mut u8 {
        self.address(offset).cast_mut()
    }

    /// The address of byte `offset`, for a system call to read from.
    pub(crate) fn address(&self, offset: usize) -> *const u8 {
        assert!(offset <= self.capacity, "offset {offset} lies outside {} bytes of memory", self.capacity);
        // SAFETY: `offset` is within the allocation or one past its end.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// The first `len` bytes.
    ///
    /// # Safety
    /// They must have been initialised.
    pub(crate) unsafe fn initialised(&self, len: usize) -> &[u8] {
        assert!(len <= self.capacity, "{len} bytes of {} bytes of memory", self.capacity);
        // SAFETY: within the allocation, initialised by the caller's promise, borrowed as `self` is.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), len) }
    }

    /// The first `len` bytes, for writing.
    ///
    /// # Safety
    /// They must have been initialised.
    pub(crate) unsafe fn initialised_mut(&mut self, len: usize) -> &mut [u8] {
        assert!(len <= self.capacity, "{len} bytes of {} bytes of memory", self.capacity);
        // SAFETY: within the allocation, initialised by the caller's promise, borrowed mutably as `self` is.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), len) }
    }

    fn layout(len: usize) -> Layout {
        let size = len.max(1).checked_next_multiple_of(SEGMENT_ALIGN_BYTES).unwrap_or(usize::MAX);
        Layout::from_size_align(size, SEGMENT_ALIGN_BYTES)
            .unwrap_or_else(|_| panic!("a buffer of {len} bytes is above the address space"))
    }

    fn from_allocation(start: *mut u8, layout: Layout) -> Self {
        match NonNull::new(start) {
            Some(start) => Self { start, capacity: layout.size() },
            None => handle_alloc_error(layout),
        }
    }
}

impl Drop for AlignedMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `alloc` or `alloc_zeroed` with this very layout (`capacity` is already rounded up).
        unsafe { dealloc(self.start.as_ptr(), Self::layout(self.capacity)) }
    }
}
