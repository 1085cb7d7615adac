//! A regular expression that searches texts, and the expressions that were used last.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::LazyLock;

use regex_automata::meta::Regex;
use regex_automata::{Input, MatchKind};

use super::character_sets::CharacterSet;
use super::expression::{Captures, Expression, Preference, Subject, automaton, does_not_divide};
use super::references::Division;
use super::simulation::{Constraint, Program};
use super::syntax::{Flags, Parsed, parse};
use crate::SqlError;

/// Bytes of a pattern.
const PATTERN_BYTES_MAX: usize = 64 << 10;

/// Patterns that each thread keeps. An expression rarely has more, and each may hold some megabytes of automata that no budget counts.
const KEPT_MAX: usize = 4;

/// A regular expression.
#[derive(Debug)]
pub(super) struct Pattern {
    root: Expression,
    /// Finds where a match may begin; where it ends is the root's choice.
    search: Search,
    /// Its constraints that look around.
    constraints: Vec<Constraint>,
    ignores_case: bool,
    /// Groups that capture.
    pub groups: usize,
    uses_words: bool,
}

/// What finds places of matches.
#[derive(Debug)]
enum Search {
    /// An automaton finds where a match begins.
    Automaton(Regex),
    /// A program finds where the first match ends of an expression with constraints or back references.
    Program(Program),
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
        let Parsed { root, groups, uses_words, ignores_case, constraints } = parse(pattern, flags)?;
        let search = match constraints.is_empty() && !root.refers {
            true => Search::Automaton(automaton(&root.hir(), MatchKind::LeftmostFirst)?),
            false => Search::Program(Program::of(&root.hir(), false)?),
        };
        Ok(Self { root, search, constraints, ignores_case, groups, uses_words })
    }

    /// Whether there is a match in a text.
    pub(super) fn is_match(&self, text: &str) -> Result<bool, SqlError> {
        self.check(text)?;
        match &self.search {
            Search::Automaton(search) => Ok(search.is_match(Input::new(text).earliest(true))),
            Search::Program(program) if self.root.refers => Ok(self.find_divided(program, text, 0)?.is_some()),
            Search::Program(program) => {
                let subject = Subject::new(text, &self.constraints);
                Ok(program.run(&subject, 0..text.len(), Preference::Shortest, false)?.is_some())
            }
        }
    }

    /// The first match at or after a place.
    pub(super) fn find(&self, text: &str, from: usize) -> Result<Option<Range<usize>>, SqlError> {
        self.check(text)?;
        let subject = Subject::new(text, &self.constraints);
        let preference = self.root.prefers.unwrap_or(Preference::Longest);
        let (starts, last) = match &self.search {
            Search::Program(program) if self.root.refers => {
                let divided = self.find_divided(program, text, from)?;
                return Ok(divided.and_then(|captures| captures.into_iter().next().flatten()));
            }
            Search::Program(program) => {
                let first_end = program.run(&subject, from..text.len(), Preference::Shortest, false)?;
                let Some(last) = first_end else { return Ok(None) };
                (from, last)
            }
            Search::Automaton(search) => {
                let found = search.find(Input::new(text).span(from..text.len()));
                let Some(found) = found else { return Ok(None) };
                (found.start(), found.start())
            }
        };
        for start in (starts..=last).filter(|at| text.is_char_boundary(*at)) {
            if let Some(end) = self.root.end(&subject, start..text.len(), preference)? {
                return Ok(Some(start..end));
            }
        }
        Ok(None)
    }

    /// The first match at or after a place of an expression with back references, with the groups: the first place, and there the longest or
    /// the shortest text, with which it divides. PostgreSQL does not look at the end of a text if a search that begins before it finds the end
    /// of what may match just one character before.
    fn find_divided(&self, program: &Program, text: &str, from: usize) -> Result<Option<Captures>, SqlError> {
        let subject = Subject::new(text, &self.constraints);
        let mut next = from;
        loop {
            let last = program.run(&subject, next..text.len(), Preference::Shortest, false)?;
            let Some(last) = last else { return Ok(None) };
            for start in (next..=last).filter(|at| text.is_char_boundary(*at)) {
                if let Some(captures) = self.divided_from(&subject, start)? {
                    return Ok(Some(captures));
                }
            }
            next = if last < text.len() { subject.next(last) } else { last };
            if next >= text.len() {
                return Ok(None);
            }
        }
    }

    /// The longest or the shortest match from a place on that divides, with the groups.
    fn divided_from(&self, subject: &Subject<'_>, start: usize) -> Result<Option<Captures>, SqlError> {
        let preference = self.root.prefers.unwrap_or(Preference::Longest);
        // The shortest end from a place on, or the longest one up to it.
        let mut limit = if preference == Preference::Shortest { start } else { subject.text.len() };
        loop {
            let end = match preference {
                Preference::Longest => self.root.end(subject, start..limit, preference)?,
                Preference::Shortest => self.shortest_end(subject, start, limit)?,
            };
            let Some(end) = end else { return Ok(None) };
            if let Some(captures) = self.divided(subject, start..end)? {
                return Ok(Some(captures));
            }
            limit = match preference {
                Preference::Longest if end > start => subject.previous(end),
                Preference::Shortest if end < subject.text.len() => subject.next(end),
                _ => return Ok(None),
            };
        }
    }

    /// Where the shortest text ends that begins at a place and may match, at or behind another place.
    fn shortest_end(&self, subject: &Subject<'_>, start: usize, from: usize) -> Result<Option<usize>, SqlError> {
        let mut end = from;
        while !self.root.matches(subject, start..end)? {
            if end >= subject.text.len() {
                return Ok(None);
            }
            subject.take_steps(1)?;
            end = subject.next(end);
        }
        Ok(Some(end))
    }

    fn divided(&self, subject: &Subject<'_>, range: Range<usize>) -> Result<Option<Captures>, SqlError> {
        let captures = vec![None; self.groups + 1];
        let mut division = Division { subject, ignores_case: self.ignores_case, captures };
        let divides = division.divide(&self.root, range.clone())?;
        division.captures[0] = Some(range);
        Ok(divides.then_some(division.captures))
    }

    /// The first match at or after a place, with the groups.
    pub(super) fn captures(&self, text: &str, from: usize) -> Result<Option<Captures>, SqlError> {
        let Some(found) = self.find(text, from)? else { return Ok(None) };
        self.groups_of(text, found).map(Some)
    }

    /// The groups of a match.
    pub(super) fn groups_of(&self, text: &str, found: Range<usize>) -> Result<Captures, SqlError> {
        let subject = Subject::new(text, &self.constraints);
        if self.root.refers {
            return self.divided(&subject, found)?.ok_or_else(does_not_divide);
        }
        let mut captures = vec![None; self.groups + 1];
        captures[0] = Some(found.clone());
        self.root.divide(&subject, found, &mut captures)?;
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
