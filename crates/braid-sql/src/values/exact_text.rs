//! Texts whose length is known before they are made: they are written where they stay.
//!
//! A string that becomes a shared text is copied, so that both are there for a while. A text of a gigabyte would take two.

use std::sync::Arc;

/// A text that is written from its beginning to its end.
#[derive(Debug)]
pub struct ExactText {
    /// Invariant: the first `written` bytes are whole texts, one behind the other.
    bytes: Arc<[u8]>,
    written: usize,
}

impl ExactText {
    /// A text of `length` bytes, none of them written yet.
    pub fn new(length: usize) -> Self {
        // SAFETY: zeros are bytes.
        let bytes = unsafe { Arc::<[u8]>::new_zeroed_slice(length).assume_init() };
        Self { bytes, written: 0 }
    }

    /// Writes the next part. Panics if it does not fit.
    pub fn push(&mut self, part: &str) {
        let bytes = Arc::get_mut(&mut self.bytes).expect("nothing else has it before it is complete");
        bytes[self.written..][..part.len()].copy_from_slice(part.as_bytes());
        self.written += part.len();
    }

    /// Writes a part again and again. Panics if all do not fit.
    pub fn push_repeated(&mut self, part: &str, count: usize) {
        let length = part.len().checked_mul(count).expect("a text has fewer bytes than there are addresses");
        let first = self.written;
        if length == 0 {
            return;
        }
        self.push(part);
        let bytes = Arc::get_mut(&mut self.bytes).expect("nothing else has it before it is complete");
        let bytes = &mut bytes[first..][..length];
        let mut done = part.len();
        while done < length {
            // What is there is copied as a whole, so that short parts take few copies.
            let more = done.min(length - done);
            bytes.copy_within(..more, done);
            done += more;
        }
        self.written = first + length;
    }

    /// The text. Panics if a part is missing.
    pub fn finish(self) -> Arc<str> {
        assert_eq!(self.written, self.bytes.len(), "all bytes of a text are written");
        // SAFETY: all bytes are those of whole texts, which are UTF-8, and so is what they are together. A `str` has the layout of its bytes.
        unsafe { Arc::from_raw(Arc::into_raw(self.bytes) as *const str) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_its_parts() {
        for (part, count) in [("", 5), ("x", 0), ("x", 1), ("xé", 2), ("xé", 1000), ("äöü", 77)] {
            let mut text = ExactText::new(3 + part.len() * count + 2);
            text.push("a");
            text.push("");
            text.push("é");
            text.push_repeated(part, count);
            text.push("yz");
            assert_eq!(&*text.finish(), format!("aé{}yz", part.repeat(count)), "{part:?} {count} times");
        }
        assert_eq!(&*ExactText::new(0).finish(), "");
    }

    #[test]
    #[should_panic(expected = "all bytes of a text are written")]
    fn a_text_without_its_end_is_none() {
        ExactText::new(1).finish();
    }

    #[test]
    #[should_panic(expected = "out of range")]
    fn a_text_has_no_more_than_its_bytes() {
        ExactText::new(1).push("xy");
    }
}
