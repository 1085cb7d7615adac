//! Owned bytes at an address that direct I/O accepts.
//!
//! The address is a multiple of [`SEGMENT_ALIGN_BYTES`] and the capacity is rounded up to it, so that a buffer can
//! always be handed to an `O_DIRECT` file; the length may be anything. Ownership moves into a request and back: that
//! is what lets a caller drop a future while the kernel still writes to the memory.
//!
//! A buffer does not grow: the size of a read or of a segment is known before the memory is asked for.

use std::fmt;

use braid_base::SEGMENT_ALIGN_BYTES;
use bytes::Bytes;

use crate::aligned_memory::AlignedMemory;

/// Owned, aligned, initialised bytes.
///
/// Invariant: the first `len` bytes of `memory` are initialised.
pub struct AlignedBuffer {
    memory: AlignedMemory,
    len: usize,
}

impl AlignedBuffer {
    /// `len` zero bytes. Panics if `len` is above the address space; aborts when memory is exhausted.
    pub fn zeroed(len: usize) -> Self {
        Self { memory: AlignedMemory::zeroed(len), len }
    }

    /// A copy of `bytes`, of exactly their length.
    pub fn from_slice(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len());
        buffer.as_mut_slice().copy_from_slice(bytes);
        buffer
    }

    /// A copy of `bytes`, followed by zeros up to the next multiple of [`SEGMENT_ALIGN_BYTES`]: what a direct file
    /// accepts as a write.
    pub fn from_slice_padded(bytes: &[u8]) -> Self {
        let mut buffer = Self::zeroed(bytes.len().next_multiple_of(SEGMENT_ALIGN_BYTES));
        buffer.as_mut_slice()[..bytes.len()].copy_from_slice(bytes);
        buffer
    }

    /// Memory whose first `len` bytes a system call has just filled.
    ///
    /// # Safety
    /// The first `len` bytes of `memory` must be initialised.
    pub(crate) unsafe fn from_filled(memory: AlignedMemory, len: usize) -> Self {
        assert!(len <= memory.capacity(), "{len} bytes of {} bytes of memory", memory.capacity());
        Self { memory, len }
    }

    /// Bytes of content.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no content.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of memory held: the length rounded up to the alignment, at least one alignment unit.
    pub fn capacity(&self) -> usize {
        self.memory.capacity()
    }

    /// The content.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the type's invariant.
        unsafe { self.memory.initialised(self.len) }
    }

    /// The content, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the type's invariant.
        unsafe { self.memory.initialised_mut(self.len) }
    }

    /// The content as shared bytes, without a copy.
    pub fn into_bytes(self) -> Bytes {
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for AlignedBuffer {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl fmt::Debug for AlignedBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AlignedBuffer({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned_and_rounded_up() {
        for (len, capacity) in [(0, 4096), (1, 4096), (4096, 4096), (4097, 8192), (1 << 20, 1 << 20)] {
            let buffer = AlignedBuffer::zeroed(len);
            assert_eq!((buffer.len(), buffer.capacity()), (len, capacity));
            assert_eq!(buffer.as_slice().as_ptr() as usize % SEGMENT_ALIGN_BYTES, 0);
            assert!(buffer.as_slice().iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn content_survives_the_way_into_shared_bytes() {
        let content: Vec<u8> = (0..10_000u32).map(|i| i as u8).collect();
        let mut buffer = AlignedBuffer::from_slice(&content);
        buffer.as_mut_slice()[9_999] = 0xEE;
        let address = buffer.as_slice().as_ptr();
        let bytes = buffer.into_bytes();
        assert_eq!(bytes.as_ptr(), address, "no copy");
        assert_eq!((&bytes[..9_999], bytes[9_999]), (&content[..9_999], 0xEE));
    }

    #[test]
    fn padding_is_zero() {
        let buffer = AlignedBuffer::from_slice_padded(&[7; 5000]);
        assert_eq!(buffer.len(), 8192);
        assert_eq!(&buffer.as_slice()[..5000], &[7; 5000]);
        assert!(buffer.as_slice()[5000..].iter().all(|&byte| byte == 0));
        assert_eq!(AlignedBuffer::from_slice_padded(&[]).len(), 0);
    }

    #[test]
    #[should_panic(expected = "is above the address space")]
    fn an_absurd_length_is_named() {
        AlignedBuffer::zeroed(usize::MAX - 1);
    }
}
