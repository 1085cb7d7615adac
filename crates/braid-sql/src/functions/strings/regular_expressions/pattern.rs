//! A regular expression that searches texts, and the expressions that were used last.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::LazyLock;

use regex_automata::meta::Regex;
use regex_automata::{Input, MatchKind};

use super::character_sets::CharacterSet;
use super::expression::{Captures, Expression, Preference, automaton};
use super::syntax::{Flags, parse};
use crate::SqlError;

/// Bytes of a pattern.
const PATTERN_BYTES_MAX: usize = 64 << 10;

/// Patterns that each thread keeps. An expression rarely has more, and each may hold some megabytes of automata that no budget counts.
const KEPT_MAX: usize = 4;

/// A regular expression.
#[derive(Debug)]
pub(super) struct Pattern {
    root: Expression,
    /// Finds where a match begins; where it ends is the root's choice.
    search: Regex,
    /// Groups that capture.
    pub groups: usize,
    uses_words: bool,
}

type Kept = Vec<(String, Flags, Rc<Pattern>)>;

thread_local! {
    /// The expressions used last, the last one first.
    static KEPT: RefCell<Kept> = const { RefCell::new(Vec::new()) };
}

impl Pattern {
    /// A pattern with flags, from those kept if it is there.
    pub(super) fn of(pattern: &str, flags: Flags) -> Result<Rc<Self>, SqlError> {
        let found = KEPT.with_borrow_mut(|kept| {
            let at = kept.iter().position(|(text, kept_flags, _)| *kept_flags == flags && text == pattern)?;
            kept[..=at].rotate_right(1);
            Some(Rc::clone(&kept[0].2))
        });
        if let Some(found) = found {
            return Ok(found);
        }
        let compiled = Rc::new(Self::compile(pattern, flags)?);
        KEPT.with_borrow_mut(|kept| {
            kept.truncate(KEPT_MAX - 1);
            kept.insert(0, (pattern.to_owned(), flags, Rc::clone(&compiled)));
        });
        Ok(compiled)
    }

    fn compile(pattern: &str, flags: Flags) -> Result<Self, SqlError> {
        if pattern.len() > PATTERN_BYTES_MAX {
            let message = format!("regular expressions of more than {PATTERN_BYTES_MAX} bytes are not supported");
            return Err(SqlError::unsupported(message));
        }
        let parsed = parse(pattern, flags)?;
        let search = automaton(&parsed.root.hir(), MatchKind::LeftmostFirst)?;
        Ok(Self { root: parsed.root, search, groups: parsed.groups, uses_words: parsed.uses_words })
    }

    /// Whether there is a match in a text.
    pub(super) fn is_match(&self, text: &str) -> Result<bool, SqlError> {
        self.check(text)?;
        Ok(self.search.is_match(Input::new(text).earliest(true)))
    }

    /// The first match at or after a place.
    pub(super) fn find(&self, text: &str, from: usize) -> Result<Option<Range<usize>>, SqlError> {
        self.check(text)?;
        let Some(found) = self.search.find(Input::new(text).span(from..text.len())) else { return Ok(None) };
        let start = found.start();
        let preference = self.root.prefers.unwrap_or(Preference::Longest);
        let end = self.root.end(text, start..text.len(), preference)?;
        Ok(end.map(|end| start..end))
    }

    /// The first match at or after a place, with the groups.
    pub(super) fn captures(&self, text: &str, from: usize) -> Result<Option<Captures>, SqlError> {
        let Some(found) = self.find(text, from)? else { return Ok(None) };
        self.groups_of(text, found).map(Some)
    }

    /// The groups of a match.
    pub(super) fn groups_of(&self, text: &str, found: Range<usize>) -> Result<Captures, SqlError> {
        let mut captures = vec![None; self.groups + 1];
        captures[0] = Some(found.clone());
        self.root.divide(text, found, &mut captures)?;
        Ok(captures)
    }

    /// Refuses texts in which words begin and end elsewhere than in PostgreSQL.
    fn check(&self, text: &str) -> Result<(), SqlError> {
        if self.uses_words && !text.is_ascii() && text.chars().any(|c| !c.is_ascii() && WORD_DOUBTS.contains(c)) {
            return Err(SqlError::unsupported(
                "word boundaries next to some characters of this text are not supported",
            ));
        }
        Ok(())
    }
}

/// The characters that are part of words for PostgreSQL only, or for `regex-automata` only.
static WORD_DOUBTS: LazyLock<CharacterSet> = LazyLock::new(|| {
    let words = CharacterSet::of_class("word", false).expect("the class exists");
    let mut is_word = vec![false; 0x11_0000];
    for (first, last) in words.characters() {
        is_word[first as usize..=last as usize].fill(true);
    }
    let mut doubts = CharacterSet::default();
    for c in '\0'..=char::MAX {
        let is_word_there = regex_syntax::try_is_word_character(c).unwrap_or(false);
        if is_word_there != is_word[c as usize] {
            doubts.add(c, c);
        }
    }
    doubts.complement().complement()
});
