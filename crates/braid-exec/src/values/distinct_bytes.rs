//! The bytes of vectors that share buffers of strings.

use std::collections::HashSet;

use super::vector::{Values, Vector};

/// The bytes that vectors hold together. A buffer that several of them share counts once.
#[derive(Debug, Default)]
pub(crate) struct DistinctBytes {
    /// Their addresses.
    buffers: HashSet<usize>,
    total: usize,
}

impl DistinctBytes {
    /// Adds a vector. Returns the bytes of all vectors so far.
    pub(crate) fn add(&mut self, vector: &Vector) -> usize {
        let shared: usize = match vector.values() {
            Values::Bytes(strings) => {
                let known = strings.buffers().iter().filter(|buffer| !self.buffers.insert(buffer.as_ptr() as usize));
                known.map(|buffer| buffer.len()).sum()
            }
            _ => 0,
        };
        self.total += vector.bytes() - shared;
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByteStrings;

    #[test]
    fn a_shared_buffer_counts_once() {
        let long = vec![b'x'; 1000];
        let strings = Vector::new(Values::Bytes(ByteStrings::from_strings([&long[..], b"short"])), None).closed();
        let mut bytes = DistinctBytes::default();
        let alone = bytes.add(&strings);
        assert!(alone >= 1032, "{alone} bytes");
        assert_eq!(bytes.add(&strings.take(&[0, 0, 1])), alone + 3 * 16);
        assert_eq!(bytes.add(&Vector::integers(vec![1, 2])), alone + 3 * 16 + 2 * 8);
    }
}
