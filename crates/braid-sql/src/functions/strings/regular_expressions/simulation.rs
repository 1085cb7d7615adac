//! Regular expressions that look ahead or behind, run character by character: `regex-automata` has no such constraints.
//!
//! A constraint stands in a tree as a literal that no text has ([`constraint`]): it takes no character. It looks at the whole text, also
//! where a search begins or ends within it. Looking behind runs the expression backwards from its place, so that it reads no more text
//! than it matches.

use std::ops::Range;
use std::sync::OnceLock;

use regex_automata::util::look::{Look as PlaceLook, LookMatcher};
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind, Look};

use super::expression::{Preference, Subject};
use crate::SqlError;

/// The byte before a constraint's number in a literal. No text has it.
const CONSTRAINT_BYTE: u8 = 0xFF;

/// Constraints of an expression, at most. Their numbers are bytes.
pub(super) const CONSTRAINTS_MAX: usize = 200;

/// States of a program, at most.
const STATES_MAX: usize = 200_000;

/// States that are cleared in the time of a step.
const STATES_PER_STEP: usize = 64;

/// A constraint: what stands ahead of a place or behind it.
#[derive(Debug)]
pub(super) struct Constraint {
    hir: Hir,
    is_ahead: bool,
    is_negated: bool,
    program: OnceLock<Program>,
}

/// The constraint of a number where a tree has it.
pub(super) fn constraint(number: u8) -> Hir {
    Hir::literal([CONSTRAINT_BYTE, number])
}

impl Constraint {
    /// `(?=…)`, `(?!…)`, `(?<=…)` and `(?<!…)`
    pub(super) fn new(hir: Hir, is_ahead: bool, is_negated: bool) -> Self {
        Self { hir, is_ahead, is_negated, program: OnceLock::new() }
    }

    fn holds(&self, subject: &Subject<'_>, at: usize) -> Result<bool, SqlError> {
        let program = match self.program.get() {
            Some(program) => program,
            None => {
                let program = Program::of(&self.hir, !self.is_ahead)?;
                self.program.get_or_init(|| program)
            }
        };
        let range = if self.is_ahead { at..subject.text.len() } else { 0..at };
        Ok(program.run(subject, range, Preference::Shortest, true)?.is_some() != self.is_negated)
    }
}

/// The tree without constraints of any kind.
pub(super) fn without_constraints(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Look(_) => Hir::empty(),
        HirKind::Literal(literal) => {
            let (mut kept, mut bytes) = (Vec::new(), literal.0.iter());
            while let Some(byte) = bytes.next() {
                if *byte == CONSTRAINT_BYTE {
                    bytes.next();
                } else {
                    kept.push(*byte);
                }
            }
            Hir::literal(kept)
        }
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(without_constraints).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(without_constraints).collect()),
        HirKind::Repetition(repetition) => Hir::repetition(repetition.with(without_constraints(&repetition.sub))),
        HirKind::Empty | HirKind::Class(_) | HirKind::Capture(_) => hir.clone(),
    }
}

/// A state of a program.
#[derive(Debug)]
enum State {
    /// Takes a character of a class.
    Class(ClassUnicode, usize),
    /// Takes this character.
    Character(char, usize),
    /// Goes to each of these states.
    Split(Vec<usize>),
    /// Goes on where an anchor holds.
    Anchor(PlaceLook, usize),
    /// Goes on where a constraint holds.
    Constraint(u8, usize),
    Match,
}

/// An expression as states.
#[derive(Debug)]
pub(super) struct Program {
    states: Vec<State>,
    start: usize,
    /// Whether it reads texts from their ends.
    is_reversed: bool,
}

/// The states of a run at one place, each once.
#[derive(Default)]
struct Places {
    list: Vec<usize>,
    is_there: Vec<bool>,
    /// States that are still to be entered.
    pending: Vec<usize>,
}

impl Places {
    fn clear(&mut self, state_count: usize) {
        self.list.clear();
        self.is_there.clear();
        self.is_there.resize(state_count, false);
    }
}

impl Program {
    /// The program of an expression; a reversed one matches backwards.
    pub(super) fn of(hir: &Hir, is_reversed: bool) -> Result<Self, SqlError> {
        let mut program = Self { states: vec![State::Match], start: 0, is_reversed };
        program.start = program.add(hir, 0)?;
        Ok(program)
    }

    fn push(&mut self, state: State) -> Result<usize, SqlError> {
        if self.states.len() >= STATES_MAX {
            let message = format!("a regular expression of more than {STATES_MAX} states is not supported");
            return Err(SqlError::unsupported(message));
        }
        self.states.push(state);
        Ok(self.states.len() - 1)
    }

    /// Adds a part, behind which comes the state `next`. Returns its first state.
    fn add(&mut self, hir: &Hir, next: usize) -> Result<usize, SqlError> {
        match hir.kind() {
            HirKind::Empty => Ok(next),
            HirKind::Literal(literal) => self.add_literal(&literal.0, next),
            HirKind::Class(Class::Unicode(class)) => self.push(State::Class(class.clone(), next)),
            HirKind::Class(Class::Bytes(class)) => {
                let class = class.to_unicode_class().unwrap_or_else(ClassUnicode::empty);
                self.push(State::Class(class, next))
            }
            HirKind::Look(look) => self.push(State::Anchor(place_look(*look), next)),
            HirKind::Capture(capture) => self.add(&capture.sub, next),
            HirKind::Alternation(parts) => {
                let starts = parts.iter().map(|part| self.add(part, next)).collect::<Result<Vec<_>, _>>()?;
                self.push(State::Split(starts))
            }
            HirKind::Concat(parts) => {
                let mut next = next;
                match self.is_reversed {
                    false => {
                        for part in parts.iter().rev() {
                            next = self.add(part, next)?;
                        }
                    }
                    true => {
                        for part in parts {
                            next = self.add(part, next)?;
                        }
                    }
                }
                Ok(next)
            }
            HirKind::Repetition(repetition) => {
                let mut next = next;
                match repetition.max {
                    None => {
                        let again = self.push(State::Split(Vec::new()))?;
                        let body = self.add(&repetition.sub, again)?;
                        self.states[again] = State::Split(vec![body, next]);
                        next = again;
                    }
                    Some(max) => {
                        let end = next;
                        for _ in repetition.min..max {
                            let body = self.add(&repetition.sub, next)?;
                            next = self.push(State::Split(vec![body, end]))?;
                        }
                    }
                }
                for _ in 0..repetition.min {
                    next = self.add(&repetition.sub, next)?;
                }
                Ok(next)
            }
        }
    }

    /// Characters, and constraints between them.
    fn add_literal(&mut self, bytes: &[u8], next: usize) -> Result<usize, SqlError> {
        let mut parts = Vec::new();
        let mut rest = bytes;
        while let Some(byte) = rest.first() {
            if *byte == CONSTRAINT_BYTE {
                parts.push(Err(rest.get(1).copied().unwrap_or_default()));
                rest = rest.get(2..).unwrap_or_default();
                continue;
            }
            let end = rest.iter().position(|byte| *byte == CONSTRAINT_BYTE).unwrap_or(rest.len());
            parts.extend(String::from_utf8_lossy(&rest[..end]).chars().map(Ok));
            rest = &rest[end..];
        }
        if !self.is_reversed {
            parts.reverse();
        }
        parts.into_iter().try_fold(next, |next, part| {
            self.push(match part {
                Ok(character) => State::Character(character, next),
                Err(number) => State::Constraint(number, next),
            })
        })
    }

    /// Where the longest or the shortest match ends that begins at the start of a range, or, if it is not anchored, somewhere in it. A
    /// reversed program begins at the range's end.
    pub(super) fn run(
        &self,
        subject: &Subject<'_>,
        range: Range<usize>,
        preference: Preference,
        is_anchored: bool,
    ) -> Result<Option<usize>, SqlError> {
        let (mut now, mut then) = (Places::default(), Places::default());
        now.clear(self.states.len());
        let mut at = if self.is_reversed { range.end } else { range.start };
        let mut found = None;
        let mut is_first = true;
        loop {
            if is_first || !is_anchored {
                self.enter(self.start, at, subject, &mut now)?;
            }
            is_first = false;
            if now.is_there[0] {
                found = Some(at);
                if preference == Preference::Shortest {
                    return Ok(found);
                }
            }
            let character = match self.is_reversed {
                false => subject.text[at..range.end].chars().next(),
                true => subject.text[range.start..at].chars().next_back(),
            };
            let Some(character) = character else { return Ok(found) };
            if now.list.is_empty() && is_anchored {
                return Ok(found);
            }
            at = if self.is_reversed { at - character.len_utf8() } else { at + character.len_utf8() };
            then.clear(self.states.len());
            subject.take_steps(1 + self.states.len() / STATES_PER_STEP)?;
            for state in &now.list {
                let next = match &self.states[*state] {
                    State::Class(class, next) if contains(class, character) => *next,
                    State::Character(own, next) if *own == character => *next,
                    _ => continue,
                };
                self.enter(next, at, subject, &mut then)?;
            }
            std::mem::swap(&mut now, &mut then);
        }
    }

    /// Adds a state, and those to which it goes without a character.
    fn enter(&self, state: usize, at: usize, subject: &Subject<'_>, places: &mut Places) -> Result<(), SqlError> {
        let mut next = Some(state);
        while let Some(state) = next.take().or_else(|| places.pending.pop()) {
            if std::mem::replace(&mut places.is_there[state], true) {
                continue;
            }
            subject.take_steps(1)?;
            match &self.states[state] {
                State::Class(..) | State::Character(..) | State::Match => places.list.push(state),
                State::Split(states) => places.pending.extend(states),
                State::Anchor(look, behind) => {
                    if LookMatcher::new().matches(*look, subject.text.as_bytes(), at) {
                        next = Some(*behind);
                    }
                }
                State::Constraint(number, behind) => {
                    if subject.constraints[usize::from(*number)].holds(subject, at)? {
                        next = Some(*behind);
                    }
                }
            }
        }
        Ok(())
    }
}

fn contains(class: &ClassUnicode, character: char) -> bool {
    let ranges = class.ranges();
    let at = ranges.partition_point(|range| range.end() < character);
    ranges.get(at).is_some_and(|range| range.start() <= character)
}

/// An anchor as `regex-automata` names it.
fn place_look(look: Look) -> PlaceLook {
    match look {
        Look::Start => PlaceLook::Start,
        Look::End => PlaceLook::End,
        Look::StartLF => PlaceLook::StartLF,
        Look::EndLF => PlaceLook::EndLF,
        Look::StartCRLF => PlaceLook::StartCRLF,
        Look::EndCRLF => PlaceLook::EndCRLF,
        Look::WordAscii => PlaceLook::WordAscii,
        Look::WordAsciiNegate => PlaceLook::WordAsciiNegate,
        Look::WordUnicode => PlaceLook::WordUnicode,
        Look::WordUnicodeNegate => PlaceLook::WordUnicodeNegate,
        Look::WordStartAscii => PlaceLook::WordStartAscii,
        Look::WordEndAscii => PlaceLook::WordEndAscii,
        Look::WordStartUnicode => PlaceLook::WordStartUnicode,
        Look::WordEndUnicode => PlaceLook::WordEndUnicode,
        Look::WordStartHalfAscii => PlaceLook::WordStartHalfAscii,
        Look::WordEndHalfAscii => PlaceLook::WordEndHalfAscii,
        Look::WordStartHalfUnicode => PlaceLook::WordStartHalfUnicode,
        Look::WordEndHalfUnicode => PlaceLook::WordEndHalfUnicode,
    }
}
