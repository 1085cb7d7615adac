//! Search for pieces that the gram search does not support, with Aho and Corasick's automaton, which makes one step per byte.

use std::ops::Range;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::{contiguous, noncontiguous};
use aho_corasick::{Anchored, MatchKind, StartKind, dfa};

/// Maximum total bytes of pieces for which the automaton has a transition for every byte, which takes about 100 bytes for each.
const TABLE_PIECES_BYTES_MAX: usize = 1 << 14;

/// The automaton of some pieces.
#[derive(Debug)]
pub(super) enum PieceAutomaton {
    /// An automaton with the next state for each byte.
    Table(dfa::DFA),
    /// An automaton with failure transitions.
    Links(contiguous::NFA),
}

impl PieceAutomaton {
    /// An automaton of non-empty pieces.
    pub fn new(pieces: &[&[u8]]) -> Self {
        let links = noncontiguous::Builder::new()
            .match_kind(MatchKind::Standard)
            .prefilter(false)
            .build(pieces)
            .expect("less text than an automaton has numbers for");
        if pieces.iter().map(|piece| piece.len()).sum::<usize>() <= TABLE_PIECES_BYTES_MAX {
            let table = dfa::Builder::new().start_kind(StartKind::Unanchored).build_from_noncontiguous(&links);
            Self::Table(table.expect("less text than an automaton has numbers for"))
        } else {
            let links = contiguous::Builder::new().build_from_noncontiguous(&links);
            Self::Links(links.expect("less text than an automaton has numbers for"))
        }
    }

    /// Calls `found` with the number and the bytes of each occurrence of a piece, in the order of their ends.
    pub fn occurrences(&self, string: &[u8], found: impl FnMut(usize, Range<usize>)) {
        match self {
            Self::Table(automaton) => run(automaton, string, found),
            Self::Links(automaton) => run(automaton, string, found),
        }
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Table(automaton) => automaton.memory_usage(),
            Self::Links(automaton) => automaton.memory_usage(),
        }
    }
}

fn run(automaton: &impl Automaton, string: &[u8], mut found: impl FnMut(usize, Range<usize>)) {
    let mut state = automaton.start_state(Anchored::No).expect("it was built for searches that are not anchored");
    for (end, &byte) in (1..).zip(string) {
        state = automaton.next_state(Anchored::No, state, byte);
        if automaton.is_special(state) && automaton.is_match(state) {
            for number in 0..automaton.match_len(state) {
                let piece = automaton.match_pattern(state, number);
                found(piece.as_usize(), end - automaton.pattern_len(piece)..end);
            }
        }
    }
}
