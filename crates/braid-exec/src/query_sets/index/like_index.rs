//! The LIKE patterns of many queries on one column, matched together. The index maps a string to the set of the patterns that
//! it matches, in a time that hardly grows with the number of patterns.
//!
//! A pattern without `_` consists of a prefix, pieces between `%`, and a suffix. Each of these texts is searched once for
//! all patterns that contain it: prefixes and suffixes by tries from the string's two ends (an exact pattern is a prefix as
//! long as the string), and pieces by one search for all of them (`GramSearch`, or `PieceAutomaton` for unsuitable
//! pieces). The occurring pieces advance `PieceSequences`, the tree of the patterns' sequences of pieces.
//!
//! For strings as TPC-H's o_comment (48 bytes) and 16 patterns '%special%requests%' of four first and four second words, a
//! string costs 36 to 40 ns, all in all, on a core of an AMD EPYC (`measurements`). The patterns one by one take 157 to
//! 181 ns; the automaton alone 184 to 192 ns; vector instructions 27 ns for "is there a first word" (Teddy) and 60 to 70 ns
//! together with the automaton for the strings that have one; each of the eight words searched for by itself 53 ns, which
//! grows with their number. With 1024 patterns of words that nearly every string has, it is 200 ns.
//!
//! Patterns with `_` are matched one after the other. The caller handles null and NOT LIKE.
//!
//! | module | contents |
//! |---|---|
//! | `pattern_texts` | the distinct texts of the patterns |
//! | `affix_trie` | search for prefixes and suffixes |
//! | `gram_search`, `piece_automaton` | search for pieces |
//! | `piece_sequences` | the order of the pieces in the patterns |

mod affix_trie;
mod gram_search;
#[cfg(test)]
mod measurements;
mod pattern_texts;
mod piece_automaton;
mod piece_sequences;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use crate::expression::LikePattern;
use affix_trie::AffixTrie;
use gram_search::{GramSearch, SearchFrom};
use pattern_texts::PatternTexts;
use piece_automaton::PieceAutomaton;
use piece_sequences::{Node, PieceSequences, Progress, ROOT, SequencesBuilder};

/// The patterns of many queries on one column, by number.
#[derive(Debug)]
pub struct LikeIndex {
    pattern_count: usize,
    /// The patterns that every string matches.
    always: Vec<u64>,
    prefixes: Option<AffixTrie>,
    prefix_uses: Vec<PrefixUses>,
    suffixes: Option<AffixTrie>,
    /// The patterns that end with each suffix.
    suffix_uses: Vec<Vec<SuffixUse>>,
    pieces: Option<PieceSearch>,
    sequences: PieceSequences,
    /// The patterns with `_`.
    residual: Vec<(u32, LikePattern)>,
}

/// The patterns that a prefix belongs to.
#[derive(Debug, Default)]
struct PrefixUses {
    /// The patterns without `%` that equal this text.
    exact: Vec<u32>,
    /// The node of the sequences, if a `%` follows.
    node: Option<Node>,
}

/// A pattern with a suffix, and the node of the pieces before it.
#[derive(Debug)]
struct SuffixUse {
    node: Node,
    pattern: u32,
}

/// Finds the pieces between two `%`.
#[derive(Debug)]
enum PieceSearch {
    Grams(GramSearch),
    Automaton(Box<PieceAutomaton>),
}

/// One worker's matcher.
#[derive(Debug)]
pub struct LikeMatcher {
    index: Arc<LikeIndex>,
    progress: Progress,
}

impl LikeIndex {
    /// An index of patterns in SQL's notation, which may repeat. Panics with 2^32 patterns or more.
    pub fn new(patterns: &[&[u8]]) -> Self {
        assert!(u32::try_from(patterns.len()).is_ok(), "{} patterns", patterns.len());
        let patterns: Vec<LikePattern> = patterns.iter().map(|pattern| LikePattern::new(pattern)).collect();
        let texts = PatternTexts::new(&patterns);
        let mut index = Self {
            pattern_count: patterns.len(),
            always: vec![0; patterns.len().div_ceil(64)],
            prefixes: texts.prefix_trie(),
            prefix_uses: (0..texts.prefix_count()).map(|_| PrefixUses::default()).collect(),
            suffixes: texts.suffix_trie(),
            suffix_uses: (0..texts.suffix_count()).map(|_| Vec::new()).collect(),
            pieces: None,
            sequences: PieceSequences::default(),
            residual: Vec::new(),
        };
        let mut sequences = SequencesBuilder::new();
        for (number, pattern) in (0..).zip(&patterns) {
            index.add(number, pattern, &texts, &mut sequences);
        }
        index.sequences = sequences.build(texts.pieces().len());
        index.pieces = PieceSearch::new(texts.pieces(), &index.sequences);
        index.residual = (0..).zip(patterns).filter(|(_, pattern)| !pattern.is_plain()).collect();
        index
    }

    /// Adds a pattern without `_`.
    fn add(&mut self, number: u32, pattern: &LikePattern, texts: &PatternTexts<'_>, sequences: &mut SequencesBuilder) {
        let (prefix, middles, suffix) = match pattern {
            LikePattern::Exact(text) => return self.prefix_uses[texts.prefix(text)].exact.push(number),
            LikePattern::Plain { prefix, middles, suffix } => (prefix, middles, suffix),
            LikePattern::Characters(_) | LikePattern::General { .. } => return,
        };
        let mut node = ROOT;
        if !prefix.is_empty() {
            let uses = &mut self.prefix_uses[texts.prefix(prefix)];
            node = *uses.node.get_or_insert_with(|| sequences.add_node());
        }
        for middle in middles {
            node = sequences.step(node, texts.piece(middle.needle()));
        }
        if !suffix.is_empty() {
            self.suffix_uses[texts.suffix(suffix)].push(SuffixUse { node, pattern: number });
        } else if node == ROOT {
            set_bit(&mut self.always, number);
        } else {
            sequences.add_pattern(node, number);
        }
    }

    /// Number of patterns.
    pub fn pattern_count(&self) -> usize {
        self.pattern_count
    }

    /// Memory held, approximately.
    pub fn bytes(&self) -> usize {
        let tries = [&self.prefixes, &self.suffixes].into_iter().flatten().map(AffixTrie::bytes).sum::<usize>();
        let exact = |uses: &PrefixUses| size_of_val(uses) + size_of_val(&uses.exact[..]);
        let uses = self.prefix_uses.iter().map(exact).sum::<usize>()
            + self.suffix_uses.iter().map(|uses| size_of_val(uses) + size_of_val(&uses[..])).sum::<usize>();
        let pieces = self.pieces.as_ref().map_or(0, PieceSearch::bytes);
        let residual = self.residual.iter().map(|(_, pattern)| size_of::<u32>() + pattern.bytes()).sum::<usize>();
        size_of::<Self>() + size_of_val(&self.always[..]) + tries + uses + pieces + self.sequences.bytes() + residual
    }

    /// A matcher for one worker.
    pub fn matcher(self: &Arc<Self>) -> LikeMatcher {
        LikeMatcher { progress: Progress::new(&self.sequences), index: self.clone() }
    }
}

impl LikeMatcher {
    /// Sets the bit of each pattern that the string matches (words, least significant bits first), and clears all other bits.
    /// Returns whether the string matches any pattern. Panics with fewer bits than patterns.
    #[inline]
    pub fn matches(&mut self, string: &[u8], matched: &mut [u64]) -> bool {
        let Self { index, progress } = self;
        progress.reset();
        let mut matches = Matches { any: false, matched };
        matches.begin_with(&index.always);
        let goes_on =
            index.prefixes.as_ref().is_some_and(|trie| index.match_prefixes(trie, string, progress, &mut matches));
        let from = if goes_on { SearchFrom::Start } else { SearchFrom::FirstPiece };
        if let Some(pieces) = &index.pieces {
            pieces.occurrences(string, from, |piece, bytes| {
                index.sequences.advance(piece, bytes, progress, |node| {
                    matches.insert(index.sequences.patterns(node));
                });
            });
        }
        if let Some(trie) = &index.suffixes {
            index.match_suffixes(trie, string, progress, &mut matches);
        }
        for (number, pattern) in &index.residual {
            if pattern.matches(string) {
                matches.insert(&[*number]);
            }
        }
        matches.any
    }
}

impl LikeIndex {
    /// Whether pieces may follow a prefix that the string has.
    fn match_prefixes(
        &self,
        trie: &AffixTrie,
        string: &[u8],
        progress: &mut Progress,
        matches: &mut Matches<'_>,
    ) -> bool {
        let mut goes_on = false;
        trie.walk(string.iter().copied(), |prefix, bytes| {
            let uses = &self.prefix_uses[prefix];
            if bytes == string.len() {
                matches.insert(&uses.exact);
            }
            if let Some(node) = uses.node {
                progress.reach(node, bytes);
                matches.insert(self.sequences.patterns(node));
                goes_on |= self.sequences.has_steps(node);
            }
        });
        goes_on
    }

    fn match_suffixes(&self, trie: &AffixTrie, string: &[u8], progress: &Progress, matches: &mut Matches<'_>) {
        trie.walk(string.iter().rev().copied(), |suffix, bytes| {
            for SuffixUse { node, pattern } in &self.suffix_uses[suffix] {
                if progress.is_reached_by(*node, string.len() - bytes) {
                    matches.insert(&[*pattern]);
                }
            }
        });
    }
}

/// The patterns that a string is known to match.
#[derive(Debug)]
struct Matches<'a> {
    any: bool,
    matched: &'a mut [u64],
}

impl Matches<'_> {
    #[inline]
    fn begin_with(&mut self, always: &[u64]) {
        if let ([word], [always]) = (&mut *self.matched, always) {
            *word = *always;
            self.any = *always != 0;
            return;
        }
        let (words, rest) = self.matched.split_at_mut(always.len());
        words.copy_from_slice(always);
        rest.fill(0);
        self.any = always.iter().any(|word| *word != 0);
    }

    #[inline]
    fn insert(&mut self, patterns: &[u32]) {
        self.any |= !patterns.is_empty();
        patterns.iter().for_each(|pattern| set_bit(self.matched, *pattern));
    }
}

#[inline]
fn set_bit(words: &mut [u64], number: u32) {
    words[number as usize / 64] |= 1 << (number % 64);
}

impl PieceSearch {
    /// A search for the pieces, or `None` without pieces.
    fn new(pieces: &[&[u8]], sequences: &PieceSequences) -> Option<Self> {
        let grams = || GramSearch::new(pieces, |piece| sequences.begins_with(piece));
        let automaton = || Self::Automaton(Box::new(PieceAutomaton::new(pieces)));
        (!pieces.is_empty()).then(|| grams().map_or_else(automaton, Self::Grams))
    }

    /// Calls `found` with the number and the bytes of each occurrence of a piece. Of two occurrences that do not overlap, the
    /// earlier one is first.
    #[inline]
    fn occurrences(&self, string: &[u8], from: SearchFrom, found: impl FnMut(usize, Range<usize>)) {
        match self {
            Self::Grams(grams) => grams.occurrences(string, from, found),
            Self::Automaton(automaton) => automaton.occurrences(string, found),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Grams(grams) => grams.bytes(),
            Self::Automaton(automaton) => automaton.bytes(),
        }
    }
}
