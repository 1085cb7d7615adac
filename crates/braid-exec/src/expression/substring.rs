//! Parts of strings, counted in characters.
//!
//! In an ASCII string, bytes are characters; only the bytes up to the last needed one must be ASCII. The parts of a
//! dictionary's strings form a new dictionary of distinct parts, so that later operators still use codes.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use crate::Vector;
use crate::expression::like_pattern::is_continuation;
use crate::expression::operand::{Operand, nulls};
use crate::expression::string_predicate::DictionaryCache;
use crate::values::byte_strings::ByteStrings;
use crate::values::vector::{CodedStrings, Values};

/// A part of each string.
#[derive(Debug)]
pub(super) struct Substring {
    /// The positions of its characters, from 0.
    characters: Range<usize>,
    cache: DictionaryCache<Parts>,
}

/// The parts of a dictionary's strings.
#[derive(Debug)]
struct Parts {
    /// For each string of the dictionary, its part's position in `parts`.
    codes: Vec<u32>,
    parts: Arc<ByteStrings>,
}

impl Substring {
    /// The `length` characters from the character `start` on, counted from 1. Positions before the first character count
    /// towards the length.
    pub fn new(start: i64, length: Option<i64>) -> Self {
        let position = |character: i64| usize::try_from(character.saturating_sub(1)).unwrap_or(0);
        let to = length.and_then(|length| start.checked_add(length)).map_or(usize::MAX, position);
        Self { characters: position(start).min(to)..to, cache: DictionaryCache::default() }
    }

    /// The part of each string.
    pub fn of(&mut self, operand: &Operand) -> Operand {
        if operand.is_null() {
            return nulls();
        }
        let vector = operand.clone().into_vector(1);
        let characters = &self.characters;
        let values = match vector.values() {
            Values::Bytes(strings) => Values::Bytes(parts(strings, characters)),
            Values::Coded(coded) => match self.cache.get(coded, |dictionary| Parts::new(dictionary, characters)) {
                Some(Parts { codes, parts }) => {
                    let codes = coded.codes.iter().map(|code| codes.get(*code as usize).copied().unwrap_or(0));
                    Values::Coded(CodedStrings { codes: codes.collect(), dictionary: parts.clone() })
                }
                None => {
                    let strings = coded.codes.iter().map(|code| coded.dictionary.get(*code as usize));
                    Values::Bytes(ByteStrings::from_strings(strings.map(|string| part(string, characters))))
                }
            },
            _ => panic!("substring of what is not a string"),
        };
        let parts = Vector::new(values, vector.valid().map(<[bool]>::to_vec));
        match operand {
            Operand::Vector(_) => parts.into(),
            Operand::Constant(_) => Operand::Constant(parts.value(0).map(Arc::new)),
        }
    }
}

impl Parts {
    fn new(dictionary: &ByteStrings, characters: &Range<usize>) -> Self {
        let mut numbers: HashMap<&[u8], u32> = HashMap::new();
        let mut parts = ByteStrings::default();
        let mut codes = Vec::with_capacity(dictionary.len());
        for string in (0..dictionary.len()).map(|row| dictionary.get(row)) {
            let part = part(string, characters);
            codes.push(*numbers.entry(part).or_insert_with(|| {
                parts.push(part);
                parts.len() as u32 - 1
            }));
        }
        parts.shrink();
        Self { codes, parts: Arc::new(parts) }
    }
}

fn parts(strings: &ByteStrings, characters: &Range<usize>) -> ByteStrings {
    let mut parts = ByteStrings::from_strings((0..strings.len()).map(|row| part(strings.get(row), characters)));
    parts.shrink();
    parts
}

/// The characters at these positions, as far as the string has them.
#[inline]
fn part<'a>(string: &'a [u8], characters: &Range<usize>) -> &'a [u8] {
    let head = &string[..characters.end.min(string.len())];
    if head.is_ascii() {
        return &head[characters.start.min(head.len())..];
    }
    let start = character_start(string, characters.start);
    &string[start..start + character_start(&string[start..], characters.len())]
}

/// The position of a character's first byte, or the end of a shorter string.
fn character_start(string: &[u8], position: usize) -> usize {
    let starts = string.iter().enumerate().filter(|(_, byte)| !is_continuation(**byte));
    starts.map(|(at, _)| at).nth(position).unwrap_or(string.len())
}

#[cfg(test)]
mod tests {
    use braid_testing::properties;
    use braid_testing::proptest::prelude::*;

    use super::*;

    properties! {
        256 cases;

        #[test]
        fn parts_are_those_of_postgresql(
            string in "[abé日]{0,8}",
            start in -4i64..10,
            length in prop::option::of(0i64..8),
        ) {
            let position = |at: usize| at as i64 + 1;
            let is_in = |at: i64| at >= start && length.is_none_or(|length| at < start + length);
            let expected: String =
                string.chars().enumerate().filter(|(at, _)| is_in(position(*at))).map(|(_, c)| c).collect();
            let Substring { characters, .. } = Substring::new(start, length);
            prop_assert_eq!(part(string.as_bytes(), &characters), expected.as_bytes());
        }
    }

    #[test]
    fn extreme_positions_do_not_overflow() {
        let check = |start: i64, length: Option<i64>, expected: &str| {
            let Substring { characters, .. } = Substring::new(start, length);
            assert_eq!(part("añb".as_bytes(), &characters), expected.as_bytes(), "from {start} for {length:?}");
        };
        check(i64::MIN, None, "añb");
        check(i64::MIN, Some(i64::MAX), "");
        check(i64::MAX, Some(i64::MAX), "");
        check(2, Some(i64::MAX), "ñb");
        check(-1, Some(3), "a");
    }

    #[test]
    fn parts_of_a_dictionary_are_distinct() {
        let dictionary = Arc::new(ByteStrings::from_strings([b"13-1".as_slice(), b"13-2", b"29-1"]));
        let coded = Vector::new(Values::Coded(CodedStrings { codes: vec![2, 0, 1], dictionary }), None);
        let Operand::Vector(parts) = Substring::new(1, Some(2)).of(&coded.into()) else { panic!("a vector") };
        let Values::Coded(parts) = parts.values() else { panic!("codes") };
        assert_eq!(parts.dictionary.len(), 2);
        assert_eq!([parts.get(0), parts.get(1), parts.get(2)], [b"29", b"13", b"13"]);
    }
}
