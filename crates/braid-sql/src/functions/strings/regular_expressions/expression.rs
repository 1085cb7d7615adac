//! The tree of a regular expression, and which texts its parts find.
//!
//! `regex-automata` says which texts a part matches, at which lengths; what PostgreSQL prefers among them is decided here. For captures
//! the text of the whole is divided among the parts, the first ones first: each takes the longest or the shortest text with which
//! the rest still matches. The time of that grows with the square of the text's length at most.
//!
//! A part with back references is divided to find whether it matches at all ([`references`](super::references)): its automaton takes what the
//! group may match for what it has matched. Constraints that look around are no matter of automata ([`simulation`](super::simulation)).

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::meta::{Config, Regex};
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::{Hir, HirKind, Repetition};

use super::simulation::{Constraint, Program};
use crate::{SqlError, SqlState};

/// Steps of a search with constraints or back references, at most. They take a second or two.
const STEPS_MAX: usize = 1 << 26;

/// Bytes that the automaton of one part may take.
const AUTOMATON_BYTES_MAX: usize = 4 << 20;

/// A text in which an expression is looked for.
pub(super) struct Subject<'a> {
    pub text: &'a str,
    /// The constraints of the expression.
    pub constraints: &'a [Constraint],
    /// Steps that are left.
    steps: Cell<usize>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(text: &'a str, constraints: &'a [Constraint]) -> Self {
        Self { text, constraints, steps: Cell::new(STEPS_MAX) }
    }

    /// Counts steps.
    pub(super) fn take_steps(&self, count: usize) -> Result<(), SqlError> {
        let left = self.steps.get().checked_sub(count).ok_or_else(|| {
            let message = format!("a regular expression may take at most {STEPS_MAX} steps");
            SqlError::new(SqlState::ProgramLimitExceeded, message)
        });
        self.steps.set(left?);
        Ok(())
    }

    /// The place behind the character at a place, within a range.
    pub(super) fn next(&self, at: usize) -> usize {
        at + self.text[at..].chars().next().map_or(1, char::len_utf8)
    }

    /// The place before the character that ends at a place.
    pub(super) fn previous(&self, at: usize) -> usize {
        at - self.text[..at].chars().next_back().map_or(1, char::len_utf8)
    }
}

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
    /// Whether there is a back reference in it.
    pub refers: bool,
    /// Finds its longest and shortest texts.
    pub matcher: OnceLock<Matcher>,
}

/// What finds the texts of a part.
#[derive(Debug)]
pub(super) enum Matcher {
    Automaton(Regex),
    /// For expressions with constraints.
    Program(Program),
}

#[derive(Debug)]
pub(super) enum Kind {
    /// A part that need not be divided.
    Leaf(Hir),
    Concatenation(Box<[Expression; 2]>),
    Alternation(Vec<Expression>),
    Capture(usize, Box<Expression>),
    /// A least number of times, up to a highest. The least is 0 if there is no back reference.
    Iteration(Box<Expression>, u32, Option<u32>),
    /// What a group has matched, as often as this. The tree is that of what the group may match.
    BackReference {
        group: usize,
        min: u32,
        max: Option<u32>,
        may_match: Hir,
    },
}

/// Where the groups of a match are: the whole, then each group.
pub(super) type Captures = Vec<Option<Range<usize>>>;

impl Expression {
    fn new(kind: Kind, prefers: Option<Preference>, is_mixed: bool, captures: bool) -> Self {
        Self { kind, prefers, is_mixed, captures, refers: false, matcher: OnceLock::new() }
    }

    fn referring(self, refers: bool) -> Self {
        Self { refers, ..self }
    }

    pub(super) fn back_reference(group: usize, min: u32, max: Option<u32>, may_match: &Hir) -> Self {
        let repeated = Repetition { min, max, greedy: true, sub: Box::new(may_match.clone()) };
        let kind = Kind::BackReference { group, min, max, may_match: Hir::repetition(repeated) };
        Self::new(kind, None, false, false).referring(true)
    }

    pub(super) fn leaf(hir: Hir, prefers: Option<Preference>) -> Self {
        Self::new(Kind::Leaf(hir), prefers, false, false)
    }

    pub(super) fn capture(index: usize, inner: Self) -> Self {
        let (prefers, is_mixed, refers) = (inner.prefers, inner.is_mixed, inner.refers);
        Self::new(Kind::Capture(index, Box::new(inner)), prefers, is_mixed, true).referring(refers)
    }

    pub(super) fn iteration(inner: Self, (min, max): (u32, Option<u32>), prefers: Option<Preference>) -> Self {
        let is_mixed = inner.is_mixed || differ(inner.prefers, prefers);
        let (captures, refers) = (inner.captures, inner.refers);
        Self::new(Kind::Iteration(Box::new(inner), min, max), prefers, is_mixed, captures).referring(refers)
    }

    /// One after the other. The first that has a preference gives it.
    pub(super) fn concatenation(first: Self, second: Self) -> Self {
        let is_mixed = first.is_mixed || second.is_mixed || differ(first.prefers, second.prefers);
        let prefers = first.prefers.or(second.prefers);
        let captures = first.captures || second.captures;
        let refers = first.refers || second.refers;
        Self::new(Kind::Concatenation(Box::new([first, second])), prefers, is_mixed, captures).referring(refers)
    }

    /// One of several, which prefers the longest.
    pub(super) fn alternation(mut branches: Vec<Self>) -> Self {
        if branches.len() == 1 {
            return branches.remove(0);
        }
        let prefers = Some(Preference::Longest);
        let is_mixed = branches.iter().any(|branch| branch.is_mixed || differ(branch.prefers, prefers));
        let captures = branches.iter().any(|branch| branch.captures);
        let refers = branches.iter().any(|branch| branch.refers);
        let kind = match is_mixed || captures || refers {
            true => Kind::Alternation(branches),
            false => Kind::Leaf(Hir::alternation(branches.iter().map(Self::hir).collect())),
        };
        Self::new(kind, prefers, is_mixed, captures).referring(refers)
    }

    /// Whether it has to be divided to find what its parts match.
    pub(super) fn is_divided(&self) -> bool {
        self.is_mixed || self.captures || self.refers
    }

    /// What it matches, without captures and preferences.
    pub(super) fn hir(&self) -> Hir {
        match &self.kind {
            Kind::Leaf(hir) => hir.clone(),
            Kind::Concatenation(parts) => Hir::concat(parts.iter().map(Self::hir).collect()),
            Kind::Alternation(branches) => Hir::alternation(branches.iter().map(Self::hir).collect()),
            Kind::Capture(_, inner) => inner.hir(),
            Kind::Iteration(inner, min, max) => {
                Hir::repetition(Repetition { min: *min, max: *max, greedy: true, sub: Box::new(inner.hir()) })
            }
            Kind::BackReference { may_match, .. } => may_match.clone(),
        }
    }

    fn matcher(&self, subject: &Subject<'_>) -> Result<&Matcher, SqlError> {
        if let Some(matcher) = self.matcher.get() {
            return Ok(matcher);
        }
        let matcher = match subject.constraints.is_empty() {
            true => Matcher::Automaton(automaton(&self.hir(), MatchKind::All)?),
            false => Matcher::Program(Program::of(&self.hir(), false)?),
        };
        Ok(self.matcher.get_or_init(|| matcher))
    }

    /// Where the text ends that it matches at the start of a range, the longest or shortest one within it.
    pub(super) fn end(
        &self,
        subject: &Subject<'_>,
        range: Range<usize>,
        preference: Preference,
    ) -> Result<Option<usize>, SqlError> {
        match self.matcher(subject)? {
            Matcher::Automaton(automaton) => {
                let input = Input::new(subject.text).span(range).anchored(Anchored::Yes);
                let input = input.earliest(preference == Preference::Shortest);
                Ok(automaton.search_half(&input).map(|found| found.offset()))
            }
            Matcher::Program(program) => program.run(subject, range, preference, true),
        }
    }

    /// Whether it matches a range as a whole, but for back references.
    pub(super) fn matches(&self, subject: &Subject<'_>, range: Range<usize>) -> Result<bool, SqlError> {
        match &self.kind {
            Kind::Leaf(hir) if *hir.kind() == HirKind::Empty => Ok(range.is_empty()),
            _ => Ok(self.end(subject, range.clone(), Preference::Longest)? == Some(range.end)),
        }
    }

    /// Finds the captures within a range that it matches.
    pub(super) fn divide(
        &self,
        subject: &Subject<'_>,
        range: Range<usize>,
        captures: &mut Captures,
    ) -> Result<(), SqlError> {
        if !self.captures {
            return Ok(());
        }
        match &self.kind {
            Kind::Leaf(_) | Kind::BackReference { .. } => Ok(()),
            Kind::Capture(index, inner) => {
                captures[*index] = Some(range.clone());
                inner.divide(subject, range, captures)
            }
            Kind::Alternation(branches) => {
                for branch in branches {
                    if branch.matches(subject, range.clone())? {
                        return branch.divide(subject, range, captures);
                    }
                }
                Err(does_not_divide())
            }
            Kind::Concatenation(parts) => {
                let [first, second] = parts.as_ref();
                let middle = divide_in_two(first, second, subject, range.clone())?.ok_or_else(does_not_divide)?;
                first.divide(subject, range.start..middle, captures)?;
                second.divide(subject, middle..range.end, captures)
            }
            // PostgreSQL's division into longest repetitions prefers an empty one to none, that into shortest ones prefers none.
            Kind::Iteration(inner, ..) if range.is_empty() => {
                match inner.prefers != Some(Preference::Shortest) && inner.matches(subject, range.clone())? {
                    true => inner.divide(subject, range, captures),
                    false => Ok(()),
                }
            }
            Kind::Iteration(inner, _, max) => {
                let last = last_iteration(inner, *max, subject, range)?.ok_or_else(does_not_divide)?;
                inner.divide(subject, last, captures)
            }
        }
    }
}

fn differ(one: Option<Preference>, other: Option<Preference>) -> bool {
    one.is_some() && other.is_some() && one != other
}

/// A range that the whole matches is one that its parts match.
pub(super) fn does_not_divide() -> SqlError {
    SqlError::new(SqlState::InternalError, "a match of a regular expression does not divide")
}

/// Where the first part ends: as far or as near as it prefers.
fn divide_in_two(
    first: &Expression,
    second: &Expression,
    subject: &Subject<'_>,
    range: Range<usize>,
) -> Result<Option<usize>, SqlError> {
    let Some(longest) = first.end(subject, range.clone(), Preference::Longest)? else { return Ok(None) };
    let mut places = (range.start..=longest).filter(|at| subject.text.is_char_boundary(*at));
    let mut next = || if first.prefers == Some(Preference::Shortest) { places.next() } else { places.next_back() };
    while let Some(middle) = next() {
        // The second part fails sooner, as a rule: it begins with another character.
        if second.matches(subject, middle..range.end)? && first.matches(subject, range.start..middle)? {
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
    subject: &Subject<'_>,
    range: Range<usize>,
) -> Result<Option<Range<usize>>, SqlError> {
    // Repetitions by their starts, each with the end that was tried last.
    let mut open: Vec<(usize, Option<usize>)> = vec![(range.start, None)];
    // Without a limit it does not matter how many repetitions came before.
    let mut failed: HashSet<(usize, usize)> = HashSet::new();
    let limit = max.map_or(usize::MAX, |max| max as usize);
    while let Some((start, tried)) = open.last().copied() {
        let Some(end) = next_end(inner, subject, start..range.end, tried)? else {
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
    subject: &Subject<'_>,
    range: Range<usize>,
    tried: Option<usize>,
) -> Result<Option<usize>, SqlError> {
    let is_boundary = |at: &usize| subject.text.is_char_boundary(*at);
    if inner.prefers == Some(Preference::Shortest) {
        let from = tried.unwrap_or(range.start) + 1;
        for end in (from..=range.end).filter(is_boundary) {
            if inner.matches(subject, range.start..end)? {
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
    let end = inner.end(subject, range.start..limit, Preference::Longest)?;
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
