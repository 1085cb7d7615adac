//! Reading and writing the sections of a segment: little-endian, aligned, never beyond the end.
//!
//! The reader is what makes [`crate::Segment::open`] total: every access is checked against the segment's length
//! before anything is allocated, and lengths are computed in 64 bits, where a 32-bit count times 16 cannot overflow.

use bytes::Bytes;

use super::SegmentError;

/// A cursor over a segment's bytes.
pub(crate) struct SectionReader {
    bytes: Bytes,
    at: usize,
}

impl SectionReader {
    /// A reader at the first byte.
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `len` bytes, without copying.
    pub(crate) fn take(&mut self, section: &'static str, len: u64) -> Result<Bytes, SegmentError> {
        let rest = (self.bytes.len() - self.at) as u64;
        if len > rest {
            return Err(SegmentError::Truncated { section, offset: self.at, wanted: len, len: self.bytes.len() });
        }
        let start = self.at;
        self.at += len as usize;
        Ok(self.bytes.slice(start..self.at))
    }

    /// Skips padding up to the next multiple of `align` bytes from the segment's start.
    pub(crate) fn align(&mut self, align: usize) -> Result<(), SegmentError> {
        let padding = self.at.next_multiple_of(align) - self.at;
        self.take("padding", padding as u64).map(|_| ())
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self, section: &'static str) -> Result<[u8; N], SegmentError> {
        let bytes = self.take(section, N as u64)?;
        Ok(bytes[..].try_into().expect("`take` returned N bytes"))
    }

    /// A byte.
    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, SegmentError> {
        Ok(self.array::<1>(field)?[0])
    }

    /// A 32-bit integer of at most `limit`.
    pub(crate) fn u32(&mut self, field: &'static str, limit: u32) -> Result<u32, SegmentError> {
        let value = u32::from_le_bytes(self.array(field)?);
        check_limit(field, u64::from(value), u64::from(limit))?;
        Ok(value)
    }

    /// `count` 64-bit integers.
    pub(crate) fn u64s(&mut self, section: &'static str, count: usize) -> Result<Vec<u64>, SegmentError> {
        let bytes = self.take(section, count as u64 * 8)?;
        Ok(bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes"))).collect())
    }

    /// `count` 32-bit integers.
    pub(crate) fn u32s(&mut self, section: &'static str, count: usize) -> Result<Vec<u32>, SegmentError> {
        let bytes = self.take(section, count as u64 * 4)?;
        Ok(bytes.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().expect("4 bytes"))).collect())
    }

    /// Refuses bytes after the last section.
    pub(crate) fn finish(self) -> Result<(), SegmentError> {
        check_equal("the end of the last section", self.at as u64, self.bytes.len() as u64)
    }
}

/// An error when `value` is above `limit`.
pub(crate) fn check_limit(field: &'static str, value: u64, limit: u64) -> Result<(), SegmentError> {
    if value > limit { Err(SegmentError::Field { field, value, limit }) } else { Ok(()) }
}

/// An error when `value` is not what the rest of the segment says.
pub(crate) fn check_equal(field: &'static str, value: u64, expected: u64) -> Result<(), SegmentError> {
    if value != expected { Err(SegmentError::Mismatch { field, value, expected }) } else { Ok(()) }
}

/// The bytes of a segment being written.
pub(crate) struct SectionWriter {
    bytes: Vec<u8>,
}

impl SectionWriter {
    /// A writer with room for `capacity` bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity) }
    }

    /// Appends bytes.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a byte.
    pub(crate) fn put_u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends a 32-bit integer.
    pub(crate) fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    /// Appends a 64-bit integer.
    pub(crate) fn put_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    /// Appends zeros up to the next multiple of `align` bytes.
    pub(crate) fn align(&mut self, align: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
    }

    /// The bytes so far, for appending in place.
    pub(crate) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The finished bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
