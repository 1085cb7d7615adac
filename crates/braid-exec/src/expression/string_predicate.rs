//! A function of strings, evaluated once for each string of a dictionary if that is less work.
//!
//! A small dictionary is evaluated at once. A large dictionary is evaluated after as many rows with its strings have been
//! evaluated one by one, so that the work is at most twice the minimum for any number of rows of a segment. The cache holds
//! the results together with their dictionary, so that they cannot be used for another one.

use std::sync::Arc;

use crate::values::byte_strings::ByteStrings;
use crate::values::vector::{CodedStrings, Values};

/// Maximum size of a dictionary that is evaluated for any number of rows.
const SMALL_DICTIONARY_STRINGS: usize = 1024;

/// A dictionary is evaluated when it has at most this many strings per row.
const STRINGS_A_ROW_MAX: usize = 8;

/// A result for the latest dictionary.
#[derive(Debug)]
pub(super) struct DictionaryCache<T> {
    dictionary: Option<Arc<ByteStrings>>,
    /// Rows with this dictionary that were evaluated one by one.
    row_count: usize,
    result: Option<T>,
}

impl<T> Default for DictionaryCache<T> {
    fn default() -> Self {
        Self { dictionary: None, row_count: 0, result: None }
    }
}

impl<T> DictionaryCache<T> {
    /// The result of `of_dictionary` for the vector's dictionary, or `None` if evaluating the rows is less work.
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

/// For each string, whether it satisfies a condition; `None` if the values are not strings.
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
