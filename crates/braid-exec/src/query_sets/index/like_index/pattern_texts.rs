//! The distinct texts of the patterns, from which the searches of a `LikeIndex` are built.

use std::collections::{BTreeSet, HashMap};

use super::affix_trie::AffixTrie;
use crate::expression::LikePattern;

/// The distinct texts of the patterns without `_`.
#[derive(Debug)]
pub(super) struct PatternTexts<'a> {
    /// The prefixes and exact patterns, ascending.
    prefixes: Vec<&'a [u8]>,
    /// The suffixes, each reversed, ascending.
    suffixes: Vec<Vec<u8>>,
    /// The texts between two `%`, by number.
    pieces: Vec<&'a [u8]>,
    piece_numbers: HashMap<&'a [u8], usize>,
}

impl<'a> PatternTexts<'a> {
    /// The texts of these patterns.
    pub fn new(patterns: &'a [LikePattern]) -> Self {
        let mut prefixes: BTreeSet<&[u8]> = BTreeSet::new();
        let mut suffixes = BTreeSet::new();
        let mut pieces = Vec::new();
        let mut piece_numbers = HashMap::new();
        for pattern in patterns {
            match pattern {
                LikePattern::Exact(text) => prefixes.extend([text.as_slice()]),
                LikePattern::Plain { prefix, middles, suffix } => {
                    prefixes.extend((!prefix.is_empty()).then_some(prefix.as_slice()));
                    suffixes.extend((!suffix.is_empty()).then(|| reversed(suffix)));
                    for middle in middles {
                        piece_numbers.entry(middle.needle()).or_insert_with(|| {
                            pieces.push(middle.needle());
                            pieces.len() - 1
                        });
                    }
                }
                LikePattern::Characters(_) | LikePattern::General { .. } => {}
            }
        }
        let (prefixes, suffixes) = (prefixes.into_iter().collect(), suffixes.into_iter().collect());
        Self { prefixes, suffixes, pieces, piece_numbers }
    }

    /// Number of prefixes and exact patterns.
    pub fn prefix_count(&self) -> usize {
        self.prefixes.len()
    }

    /// Number of suffixes.
    pub fn suffix_count(&self) -> usize {
        self.suffixes.len()
    }

    /// The texts between two `%`, by number.
    pub fn pieces(&self) -> &[&'a [u8]] {
        &self.pieces
    }

    /// The number of a prefix or exact pattern.
    pub fn prefix(&self, text: &[u8]) -> usize {
        self.prefixes.binary_search(&text).expect("all were collected")
    }

    /// The number of a suffix.
    pub fn suffix(&self, text: &[u8]) -> usize {
        self.suffixes.binary_search(&reversed(text)).expect("all were collected")
    }

    /// The number of a piece.
    pub fn piece(&self, text: &[u8]) -> usize {
        self.piece_numbers[text]
    }

    /// The trie for strings from their first byte on; `None` without prefixes.
    pub fn prefix_trie(&self) -> Option<AffixTrie> {
        (!self.prefixes.is_empty()).then(|| AffixTrie::new(&self.prefixes))
    }

    /// The trie for strings from their last byte back; `None` without suffixes.
    pub fn suffix_trie(&self) -> Option<AffixTrie> {
        let suffixes: Vec<&[u8]> = self.suffixes.iter().map(Vec::as_slice).collect();
        (!suffixes.is_empty()).then(|| AffixTrie::new(&suffixes))
    }
}

fn reversed(text: &[u8]) -> Vec<u8> {
    text.iter().rev().copied().collect()
}
