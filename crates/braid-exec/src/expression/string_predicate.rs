//! A function of strings, evaluated once for each string of a dictionary where that is less work.
//!
//! A small dictionary is evaluated at once; a large one when as many rows with its strings were evaluated one by one, so
//! that no more than twice the work that would have been the least is ever done, however few rows come of a segment. The
//! results of one dictionary are kept, with the dictionary, so that no other can be taken for it.

use std::sync::Arc;

use crate::values::byte_strings::ByteStrings;
use crate::values::vector::{CodedStrings, Values};

/// A dictionary of so many strings is evaluated whatever the number of rows.
const SMALL_DICTIONARY_STRINGS: usize = 1024;

/// A dictionary is evaluated when it has at most so many times as many strings as there are rows.
const STRINGS_A_ROW_MAX: usize = 8;

/// What depends on a dictionary, for the dictionary that was seen last.
#[derive(Debug)]
pub(super) struct DictionaryCache<T> {
    dictionary: Option<Arc<ByteStrings>>,
    /// Rows that were seen with this dictionary before it was worth evaluating.
    row_count: usize,
    result: Option<T>,
}

impl<T> Default for DictionaryCache<T> {
    fn default() -> Self {
        Self { dictionary: None, row_count: 0, result: None }
    }
}

impl<T> DictionaryCache<T> {
    /// What `of_dictionary` makes of the vector's dictionary, unless that would be more work than its rows are.
    pub fn get(&mut self, coded: &CodedStrings, of_dictionary: impl FnOnce(&ByteStrings) -> T) -> Option<&T> {
        if !self.dictionary.as_ref().is_some_and(|dictionary| Arc::ptr_eq(dictionary, &coded.dictionary)) {
            *self = Self { dictionary: Some(coded.dictionary.clone()), ..Self::default() };
        }
        if self.result.is_none() {
            self.row_count += coded.codes.len();
            let string_count = coded.dictionary.len();
            if string_count > SMALL_DICTIONARY_STRINGS.max(self.row_count)
                && string_count > STRINGS_A_ROW_MAX * coded.codes.len()
            {
                return None;
            }
            self.result = Some(of_dictionary(&coded.dictionary));
        }
        self.result.as_ref()
    }
}

/// Which strings fulfil a condition; `None` when the values are not strings.
#[inline]
pub(super) fn select_strings(
    values: &Values,
    cache: &mut DictionaryCache<Vec<bool>>,
    condition: impl Fn(&[u8]) -> bool,
) -> Option<Vec<bool>> {
    match values {
        Values::Bytes(strings) => Some(each(strings, condition)),
        Values::Coded(coded) => Some(match cache.get(coded, |dictionary| each(dictionary, &condition)) {
            // A dictionary of nulls alone may have no strings.
            Some(results) => coded.codes.iter().map(|code| results.get(*code as usize) == Some(&true)).collect(),
            None => (0..coded.codes.len()).map(|row| condition(coded.get(row))).collect(),
        }),
        _ => None,
    }
}

fn each(strings: &ByteStrings, condition: impl Fn(&[u8]) -> bool) -> Vec<bool> {
    (0..strings.len()).map(|row| condition(strings.get(row))).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_large_dictionary_is_evaluated_once_its_rows_are_as_many() {
        let texts: Vec<String> = (0..2000).map(|number| number.to_string()).collect();
        let dictionary = Arc::new(ByteStrings::from_strings(texts.iter().map(String::as_bytes)));
        let rows = Values::Coded(CodedStrings { codes: vec![7; 100], dictionary });
        let calls = Cell::new(0);
        let mut cache = DictionaryCache::default();
        let mut counts = Vec::new();
        for _ in 0..22 {
            let selected = select_strings(&rows, &mut cache, |string| {
                calls.set(calls.get() + 1);
                string == b"7"
            });
            assert_eq!(selected, Some(vec![true; 100]));
            counts.push(calls.take());
        }
        assert_eq!(counts[..19], [100; 19]);
        assert_eq!(counts[19..], [2000, 0, 0]);
    }
}
