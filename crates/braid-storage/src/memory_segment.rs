//! A segment that is in memory and in no file: the bytes of an ordinary segment, opened once for all its readers.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::{ColumnType, Segment, SegmentError};

/// An encoded segment and its bytes, which it shares.
pub struct MemorySegment {
    bytes: Bytes,
    segment: Arc<Segment>,
}

impl MemorySegment {
    /// The segment with these bytes, without padding.
    ///
    /// # Errors
    /// When the bytes are no segment of such a column.
    pub fn open(bytes: Vec<u8>, stored_type: ColumnType) -> Result<Self, SegmentError> {
        // Without the room that encoding left. Allocators align it as opening needs it, which would copy the bytes otherwise.
        let bytes = Bytes::from(bytes.into_boxed_slice());
        let segment = Arc::new(Segment::open(bytes.clone(), stored_type)?);
        Ok(Self { bytes, segment })
    }

    /// The segment's bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The segment, open.
    pub fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }
}

impl fmt::Debug for MemorySegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemorySegment({} bytes)", self.bytes.len())
    }
}

/// Equal bytes are equal segments.
impl PartialEq for MemorySegment {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}
