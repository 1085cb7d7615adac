//! Strings of bytes in Arrow's view layout: 16 bytes per string, which contain the string or a position in a shared buffer.
//!
//! Taking rows copies views and shares buffers. A view contains a string of at most 12 bytes; two such strings are equal
//! exactly when their views are. Most comparisons of longer strings end at the length and the first four bytes.

use std::sync::Arc;

use arrow::buffer::Buffer;

/// Maximum length of a string that its view contains.
pub const INLINE_BYTES_MAX: usize = 12;

/// Size in bytes at which [`ByteStrings::append`] closes the current buffer.
const BUFFER_BYTES: usize = 1 << 20;

/// A view: the length in 32 bits; then the string and zeros, or its first four bytes, the number of its buffer and its
/// offset there, 32 bits each; all little-endian.
pub(crate) type View = [u8; 16];

/// The view of the empty string.
pub(crate) const EMPTY: View = [0; 16];

/// Strings, one for each row.
#[derive(Clone, Debug, Default)]
pub struct ByteStrings {
    views: Vec<View>,
    buffers: Arc<Vec<Buffer>>,
    /// The open buffer that strings are appended to. Its number follows those of `buffers`.
    open: Vec<u8>,
}

impl ByteStrings {
    /// Strings of Arrow's views and buffers. The caller guarantees that each view lies within its buffer.
    pub fn from_views(views: &[u128], buffers: Vec<Buffer>) -> Self {
        Self {
            views: views.iter().map(|view| view.to_le_bytes()).collect(),
            buffers: Arc::new(buffers),
            open: Vec::new(),
        }
    }

    /// Views into these buffers.
    pub(crate) fn of_buffers(views: Vec<View>, buffers: Vec<Buffer>) -> Self {
        Self { views, buffers: Arc::new(buffers), open: Vec::new() }
    }

    /// Copies of strings.
    pub fn from_strings<'a>(strings: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut copied = Self::default();
        strings.into_iter().for_each(|string| copied.push(string));
        copied
    }

    /// Copies of concatenated strings. Panics unless `bytes` has the sum of all lengths.
    pub(crate) fn of_lengths(lengths: &[i64], bytes: &[u8]) -> Self {
        let mut copied = Self { views: Vec::with_capacity(lengths.len()), ..Self::default() };
        let mut rest = bytes;
        for length in lengths {
            let (string, others) = rest.split_at(*length as usize);
            copied.push(string);
            rest = others;
        }
        copied.shrink();
        copied
    }

    /// `count` empty strings.
    pub fn empty_strings(count: usize) -> Self {
        Self { views: vec![EMPTY; count], ..Self::default() }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// The string of a row. Panics when the row does not exist.
    #[inline]
    pub fn get(&self, row: usize) -> &[u8] {
        let view = &self.views[row];
        let length = field(view, 0);
        if length <= INLINE_BYTES_MAX {
            &view[4..4 + length]
        } else {
            let offset = field(view, 12);
            &self.buffer(field(view, 8))[offset..offset + length]
        }
    }

    fn buffer(&self, number: usize) -> &[u8] {
        self.buffers.get(number).map_or(&self.open, |buffer| buffer.as_slice())
    }

    /// Appends a copy of a string.
    #[inline]
    pub fn push(&mut self, string: &[u8]) {
        let mut view = EMPTY;
        set_field(&mut view, 0, string.len());
        if string.len() <= INLINE_BYTES_MAX {
            view[4..4 + string.len()].copy_from_slice(string);
            return self.views.push(view);
        }
        if self.open.len() >= BUFFER_BYTES {
            self.close();
        }
        view[4..8].copy_from_slice(&string[..4]);
        set_field(&mut view, 8, self.buffers.len());
        set_field(&mut view, 12, self.open.len());
        self.open.extend_from_slice(string);
        self.views.push(view);
    }

    fn close(&mut self) {
        let full = std::mem::take(&mut self.open);
        Arc::make_mut(&mut self.buffers).push(Buffer::from_vec(full));
    }

    /// Appends copies of strings.
    pub fn append(&mut self, other: &Self) {
        self.views.reserve(other.len());
        for row in 0..other.len() {
            self.push_from(other, row);
        }
    }

    /// Appends copies of the strings at `rows` of `other`.
    pub fn append_selected(&mut self, other: &Self, rows: &[u32]) {
        self.views.reserve(rows.len());
        for row in rows {
            self.push_from(other, *row as usize);
        }
    }

    /// Appends the strings at `rows` of `other`. If they are long, they share the closed buffers of `other`, which may hold their memory.
    pub(crate) fn append_or_share(&mut self, other: &Self, rows: &[u32]) {
        let bytes: usize = rows.iter().map(|row| field(&other.views[*row as usize], 0)).sum();
        if bytes <= BUFFER_BYTES || !other.is_closed() {
            return self.append_selected(other, rows);
        }
        self.shrink();
        let buffer_count = self.buffers.len();
        self.views.extend(rows.iter().map(|row| other.view_behind(*row as usize, buffer_count)));
        Arc::make_mut(&mut self.buffers).extend(other.buffers.iter().cloned());
    }

    /// Appends a copy of one string of `other`.
    #[inline]
    pub fn push_from(&mut self, other: &Self, row: usize) {
        let view = other.views[row];
        if field(&view, 0) <= INLINE_BYTES_MAX {
            self.views.push(view);
        } else {
            self.push(other.get(row));
        }
    }

    /// The strings at these rows. Shares the closed buffers, and copies from the open one.
    pub fn take(&self, rows: &[u32]) -> Self {
        if !self.open.is_empty() {
            let mut taken = Self::default();
            taken.append_selected(self, rows);
            return taken;
        }
        Self {
            views: rows.iter().map(|row| self.views[*row as usize]).collect(),
            buffers: self.buffers.clone(),
            open: Vec::new(),
        }
    }

    /// Closes the open buffer, so that [`Self::take`] shares it.
    pub fn shrink(&mut self) {
        if !self.open.is_empty() {
            self.open.shrink_to_fit();
            self.close();
        }
    }

    /// Whether no buffer is open.
    pub(crate) fn is_closed(&self) -> bool {
        self.open.is_empty()
    }

    /// The closed buffers.
    pub(crate) fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The view of a row, with `buffer_count` added to the number of its buffer. The view of the empty string if the row does
    /// not exist.
    #[inline]
    pub(crate) fn view_behind(&self, row: usize, buffer_count: usize) -> View {
        let mut view = self.views.get(row).copied().unwrap_or(EMPTY);
        if field(&view, 0) > INLINE_BYTES_MAX {
            let number = field(&view, 8) + buffer_count;
            set_field(&mut view, 8, number);
        }
        view
    }

    /// The views and buffers, as Arrow's arrays take them.
    pub fn to_views(&self) -> (Vec<u128>, Vec<Buffer>) {
        let mut buffers = self.buffers.to_vec();
        if !self.open.is_empty() {
            buffers.push(Buffer::from_slice_ref(&self.open));
        }
        (self.views.iter().map(|view| u128::from_le_bytes(*view)).collect(), buffers)
    }

    /// Bytes held, including shared buffers.
    pub fn bytes(&self) -> usize {
        self.views.len() * 16 + self.open.len() + self.buffers.iter().map(Buffer::len).sum::<usize>()
    }

    /// Whether the strings of two rows are equal.
    #[inline]
    pub fn equal(&self, row: usize, other: &Self, other_row: usize) -> bool {
        let (a, b) = (self.views[row], other.views[other_row]);
        // Length and first four bytes.
        if a[..8] != b[..8] {
            return false;
        }
        if field(&a, 0) <= INLINE_BYTES_MAX { a == b } else { self.get(row) == other.get(other_row) }
    }
}

/// The first bytes of a string, padded with zeros, as a number. A string with a smaller number is smaller.
#[inline]
pub(crate) fn order_prefix(string: &[u8]) -> u64 {
    let mut prefix = [0; 8];
    let length = string.len().min(8);
    prefix[..length].copy_from_slice(&string[..length]);
    u64::from_be_bytes(prefix)
}

/// 32 bits of a view.
#[inline]
fn field(view: &View, at: usize) -> usize {
    u32::from_le_bytes(view[at..at + 4].try_into().expect("four bytes")) as usize
}

fn set_field(view: &mut View, at: usize, value: usize) {
    let value = u32::try_from(value).expect("strings and buffers are below 4 GiB");
    view[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use arrow::array::StringViewArray;
    use braid_testing::properties;
    use braid_testing::proptest::prelude::*;

    use super::*;

    #[test]
    fn long_strings_are_appended_without_a_copy() {
        let long = "x".repeat(BUFFER_BYTES + 1);
        let array = StringViewArray::from_iter_values(["short", long.as_str(), "not within a view"]);
        let other = ByteStrings::from_views(array.views(), array.data_buffers().to_vec());
        let mut all = ByteStrings::from_strings([b"the first one of all".as_slice()]);
        all.append_or_share(&other, &[2, 1, 0]);
        all.append_or_share(&other, &[0, 2]);
        let found: Vec<&[u8]> = (0..all.len()).map(|row| all.get(row)).collect();
        let expected = ["the first one of all", "not within a view", &long, "short", "short", "not within a view"];
        assert_eq!(found, expected.map(str::as_bytes));
        assert_eq!(all.get(2).as_ptr(), other.get(1).as_ptr());
        assert_ne!(all.get(5).as_ptr(), other.get(2).as_ptr());
    }

    properties! {
        256 cases;

        #[test]
        fn strings_come_back_as_they_went_in(
            strings in prop::collection::vec("[a-c]{0,30}", 1..50),
            more in prop::collection::vec("[a-c]{0,30}", 1..50),
        ) {
            let mut held = ByteStrings::from_strings(strings.iter().map(String::as_bytes));
            let array = StringViewArray::from_iter_values(&more);
            let added = ByteStrings::from_views(array.views(), array.data_buffers().to_vec());
            held.append(&added);
            let all: Vec<&[u8]> = strings.iter().chain(&more).map(String::as_bytes).collect();
            let found: Vec<&[u8]> = (0..held.len()).map(|row| held.get(row)).collect();
            prop_assert_eq!(&found, &all);
            let rows: Vec<u32> = (0..held.len() as u32).rev().collect();
            let before = held.take(&rows);
            held.shrink();
            let after = held.take(&rows);
            for (at, row) in rows.iter().enumerate() {
                prop_assert_eq!(before.get(at), all[*row as usize]);
                prop_assert_eq!(after.get(at), all[*row as usize]);
                prop_assert!(after.equal(at, &held, *row as usize));
                prop_assert_eq!(after.equal(at, &held, 0), all[*row as usize] == all[0]);
            }
        }
    }
}
