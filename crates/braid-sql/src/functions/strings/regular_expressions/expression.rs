//! The tree of a regular expression, and which texts its parts find.
//!
//! `regex-automata` says which texts a part matches, at which lengths; what PostgreSQL prefers among them is decided here. For captures
//! the text of the whole is divided among the parts, the first ones first: each takes the longest or the shortest text with which
//! the rest still matches. The time of that grows with the square of the text's length at most.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::meta::{Config, Regex};
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Hir, HirKind, Repetition};

use crate::{SqlError, SqlState};

/// Bytes that the automaton of one part may take.
const AUTOMATON_BYTES_MAX: usize = 4 << 20;

/// Which of several texts a part takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preference {
    Longest,
    Shortest,
}

/// A part of a regular expression.
#[derive(Debug)]
pub(super) struct Expression {
    pub kind: Kind,
    pub prefers: Option<Preference>,
    /// Whether there are both preferences in it.
    pub is_mixed: bool,
    /// Whether there is a capture in it.
    pub captures: bool,
    /// Finds its longest and shortest texts.
    pub matcher: OnceLock<Regex>,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A part that need not be divided.
    Leaf(Hir),
    Concatenation(Box<[Expression; 2]>),
    Alternation(Vec<Expression>),
    Capture(usize, Box<Expression>),
    /// Any number of times, up to a highest.
    Iteration(Box<Expression>, Option<u32>),
}

/// Where the groups of a match are: the whole, then each group.
pub(super) type Captures = Vec<Option<Range<usize>>>;

impl Expression {
    fn new(kind: Kind, prefers: Option<Preference>, is_mixed: bool, captures: bool) -> Self {
        Self { kind, prefers, is_mixed, captures, matcher: OnceLock::new() }
    }

    pub(super) fn leaf(hir: Hir, prefers: Option<Preference>) -> Self {
        Self::new(Kind::Leaf(hir), prefers, false, false)
    }

    pub(super) fn capture(index: usize, inner: Self) -> Self {
        let (prefers, is_mixed) = (inner.prefers, inner.is_mixed);
        Self::new(Kind::Capture(index, Box::new(inner)), prefers, is_mixed, true)
    }

    pub(super) fn iteration(inner: Self, max: Option<u32>, prefers: Option<Preference>) -> Self {
        let is_mixed = inner.is_mixed || differ(inner.prefers, prefers);
        Self::new(Kind::Iteration(Box::new(inner), max), prefers, is_mixed, true)
    }

    /// One after the other. The first that has a preference gives it.
    pub(super) fn concatenation(first: Self, second: Self) -> Self {
        let is_mixed = first.is_mixed || second.is_mixed || differ(first.prefers, second.prefers);
        let prefers = first.prefers.or(second.prefers);
        let captures = first.captures || second.captures;
        Self::new(Kind::Concatenation(Box::new([first, second])), prefers, is_mixed, captures)
    }

    /// One of several, which prefers the longest.
    pub(super) fn alternation(mut branches: Vec<Self>) -> Self {
        if branches.len() == 1 {
            return branches.remove(0);
        }
        let prefers = Some(Preference::Longest);
        let is_mixed = branches.iter().any(|branch| branch.is_mixed || differ(branch.prefers, prefers));
        let captures = branches.iter().any(|branch| branch.captures);
        let kind = match is_mixed || captures {
            true => Kind::Alternation(branches),
            false => Kind::Leaf(Hir::alternation(branches.iter().map(Self::hir).collect())),
        };
        Self::new(kind, prefers, is_mixed, captures)
    }

    /// Whether it has to be divided to find what its parts match.
    pub(super) fn is_divided(&self) -> bool {
        self.is_mixed || self.captures
    }

    /// What it matches, without captures and preferences.
    pub(super) fn hir(&self) -> Hir {
        match &self.kind {
            Kind::Leaf(hir) => hir.clone(),
            Kind::Concatenation(parts) => Hir::concat(parts.iter().map(Self::hir).collect()),
            Kind::Alternation(branches) => Hir::alternation(branches.iter().map(Self::hir).collect()),
            Kind::Capture(_, inner) => inner.hir(),
            Kind::Iteration(inner, max) => {
                Hir::repetition(Repetition { min: 0, max: *max, greedy: true, sub: Box::new(inner.hir()) })
            }
        }
    }

    fn matcher(&self) -> Result<&Regex, SqlError> {
        if let Some(matcher) = self.matcher.get() {
            return Ok(matcher);
        }
        let matcher = automaton(&self.hir(), MatchKind::All)?;
        Ok(self.matcher.get_or_init(|| matcher))
    }

    /// Where the text ends that it matches at the start of a range, the longest or shortest one within it.
    pub(super) fn end(
        &self,
        text: &str,
        range: Range<usize>,
        preference: Preference,
    ) -> Result<Option<usize>, SqlError> {
        let input = Input::new(text).span(range).anchored(Anchored::Yes);
        let input = input.earliest(preference == Preference::Shortest);
        Ok(self.matcher()?.search_half(&input).map(|found| found.offset()))
    }

    fn matches(&self, text: &str, range: Range<usize>) -> Result<bool, SqlError> {
        match &self.kind {
            Kind::Leaf(hir) if *hir.kind() == HirKind::Empty => Ok(range.is_empty()),
            _ => Ok(self.end(text, range.clone(), Preference::Longest)? == Some(range.end)),
        }
    }

    /// Finds the captures within a range that it matches.
    pub(super) fn divide(&self, text: &str, range: Range<usize>, captures: &mut Captures) -> Result<(), SqlError> {
        if !self.captures {
            return Ok(());
        }
        match &self.kind {
            Kind::Leaf(_) => Ok(()),
            Kind::Capture(index, inner) => {
                captures[*index] = Some(range.clone());
                inner.divide(text, range, captures)
            }
            Kind::Alternation(branches) => {
                for branch in branches {
                    if branch.matches(text, range.clone())? {
                        return branch.divide(text, range, captures);
                    }
                }
                Err(does_not_divide())
            }
            Kind::Concatenation(parts) => {
                let [first, second] = parts.as_ref();
                let middle = divide_in_two(first, second, text, range.clone())?.ok_or_else(does_not_divide)?;
                first.divide(text, range.start..middle, captures)?;
                second.divide(text, middle..range.end, captures)
            }
            // One repetition that is empty comes before none, as PostgreSQL makes `x*` of `(x+|)`.
            Kind::Iteration(inner, _) if range.is_empty() => match inner.matches(text, range.clone())? {
                true => inner.divide(text, range, captures),
                false => Ok(()),
            },
            Kind::Iteration(inner, max) => {
                let last = last_iteration(inner, *max, text, range)?.ok_or_else(does_not_divide)?;
                inner.divide(text, last, captures)
            }
        }
    }
}

fn differ(one: Option<Preference>, other: Option<Preference>) -> bool {
    one.is_some() && other.is_some() && one != other
}

/// A range that the whole matches is one that its parts match.
fn does_not_divide() -> SqlError {
    SqlError::new(SqlState::InternalError, "a match of a regular expression does not divide")
}

/// Where the first part ends: as far or as near as it prefers.
fn divide_in_two(
    first: &Expression,
    second: &Expression,
    text: &str,
    range: Range<usize>,
) -> Result<Option<usize>, SqlError> {
    let Some(longest) = first.end(text, range.clone(), Preference::Longest)? else { return Ok(None) };
    let mut places = (range.start..=longest).filter(|at| text.is_char_boundary(*at));
    let mut next = || if first.prefers == Some(Preference::Shortest) { places.next() } else { places.next_back() };
    while let Some(middle) = next() {
        // The second part fails sooner, as a rule: it begins with another character.
        if second.matches(text, middle..range.end)? && first.matches(text, range.start..middle)? {
            return Ok(Some(middle));
        }
    }
    Ok(None)
}

/// The last repetition of a part in a range that is not empty. Each repetition takes as much or as little as it prefers; none
/// is empty.
fn last_iteration(
    inner: &Expression,
    max: Option<u32>,
    text: &str,
    range: Range<usize>,
) -> Result<Option<Range<usize>>, SqlError> {
    // Repetitions by their starts, each with the end that was tried last.
    let mut open: Vec<(usize, Option<usize>)> = vec![(range.start, None)];
    // Without a limit it does not matter how many repetitions came before.
    let mut failed: HashSet<(usize, usize)> = HashSet::new();
    let limit = max.map_or(usize::MAX, |max| max as usize);
    while let Some((start, tried)) = open.last().copied() {
        let Some(end) = next_end(inner, text, start..range.end, tried)? else {
            open.pop();
            continue;
        };
        if end == range.end {
            return Ok(Some(start..end));
        }
        let count = open.len();
        open[count - 1].1 = Some(end);
        if count < limit && failed.insert((if max.is_some() { count } else { 0 }, end)) {
            open.push((end, None));
        }
    }
    Ok(None)
}

/// The next end to try, after another, of a text that a part matches at the start of a range. The text is not empty.
fn next_end(
    inner: &Expression,
    text: &str,
    range: Range<usize>,
    tried: Option<usize>,
) -> Result<Option<usize>, SqlError> {
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    if inner.prefers == Some(Preference::Shortest) {
        let from = tried.unwrap_or(range.start) + 1;
        for end in (from..=range.end).filter(is_boundary) {
            if inner.matches(text, range.start..end)? {
                return Ok(Some(end));
            }
        }
        return Ok(None);
    }
    let limit = match tried {
        None => Some(range.end),
        Some(tried) => (range.start + 1..tried).rev().find(is_boundary),
    };
    let Some(limit) = limit else { return Ok(None) };
    let end = inner.end(text, range.start..limit, Preference::Longest)?;
    Ok(end.filter(|end| *end > range.start))
}

/// The automaton of an expression.
pub(super) fn automaton(hir: &Hir, kind: MatchKind) -> Result<Regex, SqlError> {
    let config = Config::new().match_kind(kind).nfa_size_limit(Some(AUTOMATON_BYTES_MAX)).utf8_empty(true);
    Regex::builder().configure(config).build_from_hir(hir).map_err(|_| {
        SqlError::unsupported(format!(
            "a regular expression that takes more than {AUTOMATON_BYTES_MAX} bytes is not supported"
        ))
    })
}
