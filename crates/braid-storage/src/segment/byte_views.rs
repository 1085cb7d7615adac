//! Arrow's view arrays (`Utf8View`, `BinaryView`) made without checking every string again.
//!
//! A view is 16 bytes: the length and up to 12 bytes of string, or the length, the first 4 bytes, and a buffer's
//! number and offset. All strings of a gather share one buffer: a segment's strings take at most
//! [`super::SEGMENT_BYTES_MAX`] bytes, which offsets reach.
//!
//! This is the module that may call `new_unchecked`. What it rests on: views are only made by [`ByteViews`] and
//! [`view`], from bytes in their buffer; and text segments hold UTF-8, which [`super::Segment::open`] checks.

use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewArray, StringViewArray};
use arrow::buffer::{Buffer, NullBuffer, ScalarBuffer};

/// Longest string that lies in the view itself, in bytes.
const INLINE_BYTES_MAX: usize = 12;

/// Views and the buffer they point into.
pub(crate) struct ByteViews {
    views: Vec<u128>,
    data: Vec<u8>,
}

impl ByteViews {
    /// No views yet, with room for `capacity`.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { views: Vec::with_capacity(capacity), data: Vec::new() }
    }

    /// Appends a string.
    #[inline]
    pub(crate) fn push(&mut self, string: &[u8]) {
        self.views.push(view(string, self.data.len()));
        if string.len() > INLINE_BYTES_MAX {
            self.data.extend_from_slice(string);
        }
    }

    /// Appends strings that lie one after the other in `data`, given where each ends.
    pub(crate) fn extend(&mut self, data: &[u8], ends: impl Iterator<Item = u32>) {
        let base = self.data.len();
        let (mut start, mut longest) = (0, 0);
        self.views.extend(ends.map(|end| {
            let string = &data[start..end as usize];
            longest = longest.max(string.len());
            let view = view(string, base + start);
            start = end as usize;
            view
        }));
        if longest > INLINE_BYTES_MAX {
            self.data.extend_from_slice(data);
        }
    }

    /// The views and their buffer.
    pub(crate) fn finish(self) -> SharedViews {
        let buffers = if self.data.is_empty() { Vec::new() } else { vec![Buffer::from_vec(self.data)] };
        SharedViews { views: self.views, buffers }
    }
}

/// The view of a string that lies at `offset` in buffer 0 unless it is short.
#[inline]
fn view(string: &[u8], offset: usize) -> u128 {
    let len = string.len() as u128;
    if string.len() <= INLINE_BYTES_MAX {
        let mut bytes = [0; 16];
        bytes[4..4 + string.len()].copy_from_slice(string);
        return u128::from_le_bytes(bytes) | len;
    }
    let prefix = u32::from_le_bytes(string[..4].try_into().expect("longer than 12 bytes"));
    len | u128::from(prefix) << 32 | (offset as u128) << 96
}

/// Finished views whose buffers can be shared by many arrays.
#[derive(Debug)]
pub(crate) struct SharedViews {
    views: Vec<u128>,
    buffers: Vec<Buffer>,
}

impl SharedViews {
    /// Some of these strings, in any order: only views are copied.
    pub(crate) fn select(&self, indices: &[i32]) -> Self {
        let views = indices.iter().map(|&index| self.views[index as usize]).collect();
        Self { views, buffers: self.buffers.clone() }
    }

    /// Calls `visit` with each string.
    pub(crate) fn for_each(&self, mut visit: impl FnMut(&[u8])) {
        for view in &self.views {
            let len = *view as u32 as usize;
            if len <= INLINE_BYTES_MAX {
                visit(&view.to_le_bytes()[4..4 + len]);
            } else {
                let offset = (view >> 96) as usize;
                visit(&self.buffers[0][offset..offset + len]);
            }
        }
    }

    /// The array of these strings; text only if they are UTF-8, which opening their segment has checked.
    pub(crate) fn into_array(self, text: bool, nulls: Option<NullBuffer>) -> ArrayRef {
        let views = ScalarBuffer::from(self.views);
        assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == views.len()), "one validity bit for each string");
        if text {
            // SAFETY: every view was made by `view` from a string that then went into buffer 0 at the view's offset,
            // or lies in the view; strings of text columns were checked to be UTF-8, one by one, when their segment
            // was opened; the null buffer has as many bits as there are views.
            Arc::new(unsafe { StringViewArray::new_unchecked(views, self.buffers, nulls) })
        } else {
            // SAFETY: as above; bytes need not be UTF-8.
            Arc::new(unsafe { BinaryViewArray::new_unchecked(views, self.buffers, nulls) })
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Array, AsArray};

    use super::*;

    #[test]
    fn views_are_those_that_arrow_makes() {
        let strings =
            ["", "a", "twelve bytes", "thirteen byte", "a much longer string than that", "ü", "", "naïve café ✓"];
        let expected = StringViewArray::from_iter_values(strings);
        let mut pushed = ByteViews::with_capacity(strings.len());
        let mut extended = ByteViews::with_capacity(0);
        strings.iter().for_each(|s| pushed.push(s.as_bytes()));
        let ends = strings.iter().scan(0, |end, s| {
            *end += s.len() as u32;
            Some(*end)
        });
        extended.extend(strings.concat().as_bytes(), ends);
        for array in [pushed.finish().into_array(true, None), extended.finish().into_array(true, None)] {
            array.to_data().validate_full().unwrap();
            assert_eq!(array.as_string_view(), &expected);
        }
    }
}
