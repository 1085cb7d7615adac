//! Decisions about 64 rows at a time: one byte a row, which compilers compare and combine 32 at a time, and the highest bits of
//! all of them as a word of a selection.

use braid_base::VECTOR_ROWS;
use wide::i8x32;

use crate::Selection;

/// The decisions about 64 rows: -1 for yes, 0 for no.
pub(crate) type Flags = [i8; 64];

/// The flag of a decision.
#[inline(always)]
pub(crate) fn flag(decision: bool) -> i8 {
    -i8::from(decision)
}

/// Narrows a selection by a word for each 64 values; of words without selected rows nothing is asked.
#[inline(always)]
pub(crate) fn filter_words<T>(values: &[T; VECTOR_ROWS], selection: &mut Selection, word_of: impl Fn(&[T; 64]) -> u64) {
    for (word, values) in selection.words_mut().iter_mut().zip(values.as_chunks::<64>().0) {
        if *word != 0 {
            *word &= word_of(values);
        }
    }
}

/// Narrows a selection by a flag for each value.
#[inline(always)]
pub(crate) fn filter_flags<T>(
    values: &[T; VECTOR_ROWS],
    selection: &mut Selection,
    decide: impl Fn(&[T; 64], &mut Flags),
) {
    filter_words(values, selection, |values| {
        let mut flags = [0; 64];
        decide(values, &mut flags);
        fold(&flags)
    });
}

/// Keeps the rows whose value passes `test`, which is evaluated 64 values at a time, without branches.
#[inline]
pub(crate) fn filter_where<T: Copy>(
    values: &[T; VECTOR_ROWS],
    selection: &mut Selection,
    test: impl Fn(T) -> bool + Copy,
) {
    filter_flags(values, selection, |values, flags| {
        for (to, &value) in flags.iter_mut().zip(values) {
            *to = flag(test(value));
        }
    });
}

/// The highest bit of each byte.
#[inline(always)]
fn fold(flags: &Flags) -> u64 {
    let (halves, _) = flags.as_chunks::<32>();
    halves.iter().rev().fold(0, |word, half| word << 32 | u64::from(i8x32::new(*half).to_bitmask()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_fold_to_their_bits() {
        let mut flags = [0; 64];
        assert_eq!(fold(&flags), 0);
        for i in 0..64 {
            let mut one = [0; 64];
            one[i] = flag(true);
            assert_eq!(fold(&one), 1 << i);
            flags[i] = flag(true);
            assert_eq!(fold(&flags), u64::MAX >> (63 - i));
        }
    }
}
