//! The LIKE patterns of many queries on one column, matched together: from a string to the set of the patterns that it
//! matches, in time that hardly grows with their number.
//!
//! A pattern without `_` is a prefix, pieces between `%`, and a suffix. Each of these texts is looked for once, however
//! many patterns have it: the prefixes and the suffixes by tries from the string's two ends (exact patterns are prefixes
//! as long as the string), the pieces by one search for all of them (`GramSearch`, or `PieceAutomaton` where the
//! pieces are no good for that). What occurs advances `PieceSequences`, the tree of the sequences of pieces that patterns
//! ask for.
//!
//! For strings as TPC-H's o_comment (48 bytes) and 16 patterns '%special%requests%' of four first and four second words, a
//! string costs 36 to 40 ns, all in all, on a core of an AMD EPYC (`measurements`). The patterns one by one take 157 to
//! 181 ns; the automaton alone 184 to 192 ns; vector instructions 27 ns for "is there a first word" (Teddy) and 60 to 70 ns
//! together with the automaton for the strings that have one; each of the eight words searched for by itself 53 ns, which
//! grows with their number. With 1024 patterns of words that nearly every string has, it is 200 ns.
//!
//! Patterns with `_` stay outside: they are matched one after the other. Nor is there anything about null or NOT LIKE here:
//! both are up to whoever asks.
//!
//! | module | what lives there |
//! |---|---|
//! | `pattern_texts` | the distinct texts of the patterns |
//! | `affix_trie` | what strings begin and end with |
//! | `gram_search`, `piece_automaton` | where pieces occur |
//! | `piece_sequences` | in which order they must |

mod affix_trie;
mod gram_search;
#[cfg(test)]
mod measurements;
mod pattern_texts;
mod piece_automaton;
mod piece_sequences;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::expression::LikePattern;
use affix_trie::AffixTrie;
use gram_search::GramSearch;
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

/// What a string's beginning is to the patterns.
#[derive(Debug, Default)]
struct PrefixUses {
    /// Those without `%` that are this text.
    exact: Vec<u32>,
    /// What it leads to when a `%` follows.
    node: Option<Node>,
}

/// A pattern that ends with some suffix, and the node of what comes before.
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

/// What one worker matches strings with.
#[derive(Debug)]
pub struct LikeMatcher {
    index: Arc<LikeIndex>,
    progress: Progress,
}

impl LikeIndex {
    /// From the patterns as SQL writes them; they may repeat. Panics when there are 2^32 or more.
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

    /// Notes where a pattern without `_` is to be found.
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

    /// Memory held, roughly.
    pub fn bytes(&self) -> usize {
        let tries = [&self.prefixes, &self.suffixes].into_iter().flatten().map(AffixTrie::bytes).sum::<usize>();
        let exact = |uses: &PrefixUses| size_of_val(uses) + size_of_val(&uses.exact[..]);
        let uses = self.prefix_uses.iter().map(exact).sum::<usize>()
            + self.suffix_uses.iter().map(|uses| size_of_val(uses) + size_of_val(&uses[..])).sum::<usize>();
        let pieces = self.pieces.as_ref().map_or(0, PieceSearch::bytes);
        let residual = self.residual.iter().map(|(_, pattern)| size_of::<u32>() + pattern.bytes()).sum::<usize>();
        size_of::<Self>() + size_of_val(&self.always[..]) + tries + uses + pieces + self.sequences.bytes() + residual
    }

    /// For one worker.
    pub fn matcher(self: &Arc<Self>) -> LikeMatcher {
        LikeMatcher { progress: Progress::new(&self.sequences), index: self.clone() }
    }
}

impl LikeMatcher {
    /// Sets the bit of each pattern that the string matches (words, least significant bits first) and clears all others;
    /// returns whether it matches any. Panics when there are fewer bits than patterns.
    #[inline]
    pub fn matches(&mut self, string: &[u8], matched: &mut [u64]) -> bool {
        let Self { index, progress } = self;
        progress.reset();
        let mut matches = Matches { any: false, matched };
        matches.begin_with(&index.always);
        let goes_on =
            index.prefixes.as_ref().is_some_and(|trie| index.match_prefixes(trie, string, progress, &mut matches));
        if let Some(pieces) = &index.pieces {
            pieces.occurrences(string, goes_on, |piece, start, end| {
                index.sequences.advance(piece, start, end, progress, |node| {
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
    /// None when there are no pieces.
    fn new(pieces: &[&[u8]], sequences: &PieceSequences) -> Option<Self> {
        let grams = || GramSearch::new(pieces, |piece| sequences.begins_with(piece));
        let automaton = || Self::Automaton(Box::new(PieceAutomaton::new(pieces)));
        (!pieces.is_empty()).then(|| grams().map_or_else(automaton, Self::Grams))
    }

    /// Calls `found` with the number, the beginning and the end of each piece that occurs; of two that do not overlap the
    /// earlier comes first. Unless `all` are wanted, those before any that patterns begin with may be left out.
    #[inline]
    fn occurrences(&self, string: &[u8], all: bool, found: impl FnMut(usize, usize, usize)) {
        match self {
            Self::Grams(grams) => grams.occurrences(string, all, found),
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
