//! Bitmaps over the rows of a segment: validity, and the values of boolean columns. Least significant bit first, as
//! in Arrow; vector `v` begins at byte `128 v`.

use braid_base::VECTOR_ROWS;

use crate::selection::SELECTION_WORDS;

/// The bits of a vector; zero beyond the bitmap's end.
pub(crate) fn vector_words(bitmap: &[u8], vector: usize) -> [u64; SELECTION_WORDS] {
    let mut words = [0; SELECTION_WORDS];
    let start = vector * VECTOR_ROWS / 8;
    let bytes = &bitmap[start..bitmap.len().min(start + VECTOR_ROWS / 8)];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_le_bytes(eight);
    }
    words
}

/// Whether a row's bit is set.
pub(crate) fn bit(bitmap: &[u8], row: usize) -> bool {
    bitmap[row / 8] >> (row % 8) & 1 == 1
}

/// The bitmap of a sequence of bits.
pub(crate) fn from_bits(bits: impl Iterator<Item = bool>) -> Vec<u8> {
    let mut bitmap = Vec::new();
    for (row, bit) in bits.enumerate() {
        if row % 8 == 0 {
            bitmap.push(0);
        }
        bitmap[row / 8] |= u8::from(bit) << (row % 8);
    }
    bitmap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_where_words_and_bytes_say() {
        let holds = |row: usize| row.is_multiple_of(3) || row == 1031;
        let bitmap = from_bits((0..1037).map(holds));
        assert_eq!(bitmap.len(), 130);
        for row in 0..1037 {
            let word = vector_words(&bitmap, row / VECTOR_ROWS)[row % VECTOR_ROWS / 64];
            assert_eq!((bit(&bitmap, row), word >> (row % 64) & 1 == 1), (holds(row), holds(row)));
        }
        assert_eq!(vector_words(&bitmap, 1)[1], 0);
    }
}
