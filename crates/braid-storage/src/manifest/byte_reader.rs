//! Little-endian reading with bounds checks, for decoders that must survive any bytes.
//!
//! Every method either returns a value that was really there or [`ManifestError::Malformed`] with the offset at which
//! it was missing. Nothing here allocates more than the bytes it has seen.

use crate::ManifestError;

/// A position in a byte string.
pub(crate) struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> ByteReader<'a> {
    /// A reader of `bytes` that stands at `at`, which must not be beyond the end.
    pub(crate) fn at(bytes: &'a [u8], at: usize) -> Self {
        assert!(at <= bytes.len(), "a reader starts within its bytes");
        Self { bytes, at }
    }

    /// Bytes that are left.
    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The error that `what` is wrong here.
    pub(crate) fn malformed(&self, what: impl Into<String>) -> ManifestError {
        ManifestError::Malformed { offset: self.at as u64, what: what.into() }
    }

    /// A capacity for `count` entries of at least `entry_bytes_min` each: never more than the bytes left can hold.
    pub(crate) fn bounded_capacity(&self, count: usize, entry_bytes_min: usize) -> usize {
        count.min(self.remaining() / entry_bytes_min)
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], ManifestError> {
        if count > self.remaining() {
            return Err(self.malformed(format!("{count} bytes wanted, {} left", self.remaining())));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], ManifestError> {
        Ok(self.take(N)?.try_into().expect("take returns as many bytes as asked for"))
    }

    /// One byte.
    pub(crate) fn u8(&mut self) -> Result<u8, ManifestError> {
        Ok(self.array::<1>()?[0])
    }

    /// Two bytes.
    pub(crate) fn u16(&mut self) -> Result<u16, ManifestError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes.
    pub(crate) fn u32(&mut self) -> Result<u32, ManifestError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Four bytes, signed.
    pub(crate) fn i32(&mut self) -> Result<i32, ManifestError> {
        Ok(i32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    pub(crate) fn u64(&mut self) -> Result<u64, ManifestError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Eight bytes, signed.
    pub(crate) fn i64(&mut self) -> Result<i64, ManifestError> {
        Ok(i64::from_le_bytes(self.array()?))
    }

    /// Sixteen bytes, signed.
    pub(crate) fn i128(&mut self) -> Result<i128, ManifestError> {
        Ok(i128::from_le_bytes(self.array()?))
    }

    /// A length in four bytes and that many bytes of UTF-8.
    pub(crate) fn string(&mut self) -> Result<String, ManifestError> {
        let length = self.u32()? as usize;
        let bytes = self.take(length)?;
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(self.malformed("a text is not UTF-8")),
        }
    }
}
