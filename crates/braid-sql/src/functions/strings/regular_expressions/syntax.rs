//! PostgreSQL's advanced regular expressions, read into trees.
//!
//! A tree tells what each part prefers: the longest or the shortest text (PostgreSQL's manual, 9.7.3.5). Parts without captures that
//! prefer the same are one leaf, as they are in PostgreSQL: only the length of all of them together is chosen.
//!
//! Basic and extended expressions (flags `b` and `e`) and names of collating elements are refused.

use std::collections::BTreeMap;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, Look, Repetition};

use super::character_sets::CharacterSet;
use super::expression::{Expression, Kind, Preference};
use super::simulation::{CONSTRAINTS_MAX, Constraint, constraint, without_constraints};
use crate::{SqlError, SqlState};

/// How deep parentheses and parts with captures may be nested.
const DEPTH_MAX: usize = 250;

/// The highest count in a quantifier (`DUPMAX`).
const COUNT_MAX: u32 = 255;

/// Flags of a regular expression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Flags {
    /// Small and capital letters are the same.
    pub ignores_case: bool,
    /// A dot and what excludes characters do not match a newline.
    pub stops_at_newline: bool,
    /// Caret and dollar match at newlines, too.
    pub anchors_at_newline: bool,
    /// White space and comments mean nothing.
    pub is_expanded: bool,
    /// All characters mean themselves.
    pub is_literal: bool,
}

impl Flags {
    /// Applies a letter; `None` if there is no such flag.
    pub(super) fn apply(&mut self, letter: char) -> Option<Result<(), SqlError>> {
        match letter {
            'c' => self.ignores_case = false,
            'i' => self.ignores_case = true,
            'm' | 'n' => (self.stops_at_newline, self.anchors_at_newline) = (true, true),
            'p' => (self.stops_at_newline, self.anchors_at_newline) = (true, false),
            's' => (self.stops_at_newline, self.anchors_at_newline) = (false, false),
            'w' => (self.stops_at_newline, self.anchors_at_newline) = (false, true),
            't' => self.is_expanded = false,
            'x' => self.is_expanded = true,
            'q' => self.is_literal = true,
            'b' | 'e' => {
                let message = format!("regular expressions with the flag \"{letter}\" are not supported");
                return Some(Err(SqlError::unsupported(message)));
            }
            _ => return None,
        }
        Some(Ok(()))
    }
}

/// `invalid regular expression: …`
fn invalid(reason: &str) -> SqlError {
    SqlError::new(SqlState::InvalidRegularExpression, format!("invalid regular expression: {reason}"))
}

fn bad_quantifier() -> SqlError {
    invalid("quantifier operand invalid")
}

fn bad_escape() -> SqlError {
    invalid("invalid escape \\ sequence")
}

fn unbalanced_brackets() -> SqlError {
    invalid("brackets [] not balanced")
}

fn unbalanced_parentheses() -> SqlError {
    invalid("parentheses () not balanced")
}

fn bad_range() -> SqlError {
    invalid("invalid character range")
}

/// A regular expression that was read.
#[derive(Debug)]
pub(super) struct Parsed {
    pub root: Expression,
    /// Parentheses that capture.
    pub groups: usize,
    /// Whether it asks where words begin or end.
    pub uses_words: bool,
    /// Whether small and capital letters are the same.
    pub ignores_case: bool,
    /// The constraints that look ahead or behind, by their numbers in the tree.
    pub constraints: Vec<Constraint>,
}

/// Reads a regular expression.
pub(super) fn parse(pattern: &str, flags: Flags) -> Result<Parsed, SqlError> {
    let mut parser = Parser {
        rest: pattern.chars().collect(),
        at: 0,
        flags,
        groups: 0,
        open: 0,
        uses_words: false,
        may_match: BTreeMap::new(),
        constraints: Vec::new(),
        open_constraints: 0,
    };
    parser.prefixes()?;
    let root = if parser.flags.is_literal { parser.literal() } else { parser.alternatives(0)? };
    match parser.peek() {
        None => Ok(Parsed {
            root,
            groups: parser.groups,
            uses_words: parser.uses_words,
            ignores_case: parser.flags.ignores_case,
            constraints: parser.constraints,
        }),
        Some(_) => Err(unbalanced_parentheses()),
    }
}

struct Parser {
    rest: Vec<char>,
    at: usize,
    flags: Flags,
    groups: usize,
    /// Parentheses that are open.
    open: usize,
    uses_words: bool,
    /// What the groups that are closed may match.
    may_match: BTreeMap<usize, Hir>,
    constraints: Vec<Constraint>,
    /// Constraints that are open. Their parentheses are no groups.
    open_constraints: usize,
}

/// How often something may come.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Quantifier {
    min: u32,
    max: Option<u32>,
    prefers: Option<Preference>,
}

const ONCE: Quantifier = Quantifier { min: 1, max: Some(1), prefers: None };

/// What follows a backslash.
enum Escape {
    /// A character by its number; there may be no such character.
    Code(u32),
    Set(CharacterSet),
    Constraint(Look),
    BackReference(usize),
}

/// A piece of a branch.
enum Piece {
    Constraint(Hir),
    Atom(Expression),
    Group(Expression),
    BackReference(usize),
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest.get(self.at + 1).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    fn eat(&mut self, text: &str) -> bool {
        let eaten = self.rest[self.at..].iter().copied().take(text.len()).eq(text.chars());
        self.at += if eaten { text.len() } else { 0 };
        eaten
    }

    /// `***=`, `***:`, and options such as `(?i)`.
    fn prefixes(&mut self) -> Result<(), SqlError> {
        if self.flags.is_literal {
            return Ok(());
        }
        if self.eat("***=") {
            self.flags.is_literal = true;
            return Ok(());
        }
        if !self.eat("***:") && self.eat("***") {
            return Err(bad_quantifier());
        }
        let bad_option = || invalid("invalid embedded option");
        let is_letter = self.rest.get(self.at + 2).is_some_and(char::is_ascii_alphabetic);
        if self.rest[self.at..].starts_with(&['(', '?']) && is_letter {
            self.at += 2;
            loop {
                match self.next() {
                    Some(')') => break,
                    Some('c' | 'i' | 'm' | 'n' | 'p' | 's' | 't' | 'w' | 'x' | 'q' | 'b' | 'e') => {
                        let letter = self.rest[self.at - 1];
                        self.flags.apply(letter).ok_or_else(bad_option)??;
                    }
                    _ => return Err(bad_option()),
                }
            }
        }
        Ok(())
    }

    fn literal(&mut self) -> Expression {
        let ignores_case = self.flags.ignores_case;
        let characters = self.rest[self.at..].iter().map(|c| set_hir(&CharacterSet::of(*c, ignores_case))).collect();
        self.at = self.rest.len();
        Expression::leaf(Hir::concat(characters), None)
    }

    /// Skips comments, and white space where it means nothing.
    fn skip(&mut self) {
        loop {
            if self.eat("(?#") {
                while self.next().is_some_and(|c| c != ')') {}
            } else if !self.flags.is_expanded {
                return;
            } else if self.peek() == Some('#') {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            } else if self.peek().is_some_and(is_space) {
                self.at += 1;
            } else {
                return;
            }
        }
    }

    fn alternatives(&mut self, depth: usize) -> Result<Expression, SqlError> {
        let mut branches = vec![self.branch(depth)?];
        while self.peek() == Some('|') {
            self.at += 1;
            branches.push(self.branch(depth)?);
        }
        Ok(Expression::alternation(branches))
    }

    /// Pieces one after the other. A piece with captures, or with another preference than what is before it, divides the branch.
    fn branch(&mut self, depth: usize) -> Result<Expression, SqlError> {
        if depth > DEPTH_MAX {
            return Err(SqlError::unsupported(format!(
                "regular expressions of more than {DEPTH_MAX} parts are not supported"
            )));
        }
        let (mut prefix, mut prefers) = (Vec::new(), None);
        loop {
            self.skip();
            match self.peek() {
                None | Some('|') => break,
                Some(')') if self.open > 0 => break,
                Some(')') => return Err(unbalanced_parentheses()),
                Some(_) => {}
            }
            let (atom, captures) = match self.piece(depth)? {
                Piece::Constraint(constraint) => {
                    prefix.push(constraint);
                    continue;
                }
                Piece::Atom(atom) => (atom, false),
                Piece::Group(atom) => (atom, true),
                Piece::BackReference(group) => (self.back_reference(group, ONCE), true),
            };
            let quantifier = self.quantifier()?;
            if quantifier.max == Some(0) {
                continue;
            }
            let wishes = [prefers, quantifier.prefers, atom.prefers];
            let is_mixed = wishes.contains(&Some(Preference::Longest)) && wishes.contains(&Some(Preference::Shortest));
            if !captures && !is_mixed && !atom.is_divided() {
                prefers = wishes.into_iter().flatten().next();
                prefix.push(repeated(atom.hir(), quantifier));
                continue;
            }
            let atom = match atom.kind {
                Kind::BackReference { group, .. } => self.back_reference(group, quantifier),
                _ => quantified(atom, quantifier),
            };
            let rest = self.branch(depth + 1)?;
            let prefix = Expression::leaf(Hir::concat(prefix), prefers);
            return Ok(Expression::concatenation(prefix, Expression::concatenation(atom, rest)));
        }
        Ok(Expression::leaf(Hir::concat(prefix), prefers))
    }

    /// What a group has matched, so often. A part that is repeated keeps its repetitions to itself.
    fn back_reference(&self, group: usize, quantifier: Quantifier) -> Expression {
        let Quantifier { min, max, prefers } = quantifier;
        let may_match = self.may_match.get(&group).cloned().unwrap_or_else(Hir::fail);
        Expression { prefers, ..Expression::back_reference(group, min, max, &may_match) }
    }

    fn piece(&mut self, depth: usize) -> Result<Piece, SqlError> {
        for (text, look) in [("[[:<:]]", Look::WordStartUnicode), ("[[:>:]]", Look::WordEndUnicode)] {
            if self.eat(text) {
                self.uses_words = true;
                return Ok(Piece::Constraint(Hir::look(look)));
            }
        }
        let c = self.next().expect("the branch has not ended");
        let set = match c {
            '(' => return self.group(depth),
            '^' if self.flags.anchors_at_newline => return Ok(Piece::Constraint(Hir::look(Look::StartLF))),
            '^' => return Ok(Piece::Constraint(Hir::look(Look::Start))),
            '$' if self.flags.anchors_at_newline => return Ok(Piece::Constraint(Hir::look(Look::EndLF))),
            '$' => return Ok(Piece::Constraint(Hir::look(Look::End))),
            '*' | '+' | '?' => return Err(bad_quantifier()),
            '{' if self.is_count() => return Err(bad_quantifier()),
            '[' => self.bracket()?,
            '.' if self.flags.stops_at_newline => CharacterSet::all().without('\n'),
            '.' => CharacterSet::all(),
            '\\' => match self.escape()? {
                Escape::Constraint(look) => return Ok(Piece::Constraint(Hir::look(look))),
                Escape::BackReference(group) => return Ok(Piece::BackReference(group)),
                Escape::Set(set) => set,
                Escape::Code(code) => self.one(code),
            },
            c => CharacterSet::of(c, self.flags.ignores_case),
        };
        Ok(Piece::Atom(Expression::leaf(set_hir(&set), None)))
    }

    fn one(&self, code: u32) -> CharacterSet {
        char::from_u32(code).map_or_else(CharacterSet::default, |c| CharacterSet::of(c, self.flags.ignores_case))
    }

    /// What is in parentheses.
    fn group(&mut self, depth: usize) -> Result<Piece, SqlError> {
        let mut index = None;
        if self.eat("?") {
            match self.next() {
                Some(':') => {}
                Some(kind @ ('=' | '!')) => return self.constraint(true, kind == '!', depth),
                Some('<') if matches!(self.peek(), Some('=' | '!')) => {
                    let is_negated = self.next() == Some('!');
                    return self.constraint(false, is_negated, depth);
                }
                _ => return Err(bad_quantifier()),
            }
        } else if self.open_constraints == 0 {
            self.groups += 1;
            index = Some(self.groups);
        }
        self.open += 1;
        let inner = self.alternatives(depth + 1)?;
        self.open -= 1;
        if !self.eat(")") {
            return Err(unbalanced_parentheses());
        }
        Ok(match index {
            Some(index) => {
                self.may_match.insert(index, without_constraints(&inner.hir()));
                Piece::Group(Expression::capture(index, inner))
            }
            None => Piece::Atom(inner),
        })
    }

    /// What a constraint looks for, with the closing parenthesis. It has no quantifier.
    fn constraint(&mut self, is_ahead: bool, is_negated: bool, depth: usize) -> Result<Piece, SqlError> {
        self.open += 1;
        self.open_constraints += 1;
        let inner = self.alternatives(depth + 1)?;
        self.open -= 1;
        self.open_constraints -= 1;
        if !self.eat(")") {
            return Err(unbalanced_parentheses());
        }
        if self.constraints.len() >= CONSTRAINTS_MAX {
            let message = format!("regular expressions with more than {CONSTRAINTS_MAX} constraints are not supported");
            return Err(SqlError::unsupported(message));
        }
        let number = self.constraints.len() as u8;
        self.constraints.push(Constraint::new(inner.hir(), is_ahead, is_negated));
        Ok(Piece::Constraint(constraint(number)))
    }

    /// Whether a count follows an opening brace.
    fn is_count(&mut self) -> bool {
        let at = self.at;
        self.skip_expanded();
        let is_count = self.peek().is_some_and(|c| c.is_ascii_digit());
        self.at = at;
        is_count
    }

    fn skip_expanded(&mut self) {
        if self.flags.is_expanded {
            self.skip();
        }
    }

    fn quantifier(&mut self) -> Result<Quantifier, SqlError> {
        self.skip();
        let (min, max) = match self.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => {
                self.at += 1;
                if self.is_count() {
                    return self.counts();
                }
                self.at -= 1;
                return Ok(ONCE);
            }
            _ => return Ok(ONCE),
        };
        self.at += 1;
        Ok(Quantifier { min, max, prefers: Some(self.preference()) })
    }

    fn preference(&mut self) -> Preference {
        if self.eat("?") { Preference::Shortest } else { Preference::Longest }
    }

    /// `{m}`, `{m,}` and `{m,n}`. A single count has no preference of its own.
    fn counts(&mut self) -> Result<Quantifier, SqlError> {
        let min = self.count()?;
        let mut max = Some(min);
        let mut has_range = false;
        if self.eat(",") {
            has_range = true;
            self.skip_expanded();
            max = if self.peek().is_some_and(|c| c.is_ascii_digit()) { Some(self.count()?) } else { None };
        }
        if max.is_some_and(|max| max < min) {
            return Err(invalid("invalid repetition count(s)"));
        }
        match self.peek() {
            None => return Err(invalid("braces {} not balanced")),
            Some('}') => self.at += 1,
            Some(_) => return Err(invalid("invalid repetition count(s)")),
        }
        let preference = self.preference();
        Ok(Quantifier { min, max, prefers: has_range.then_some(preference) })
    }

    fn count(&mut self) -> Result<u32, SqlError> {
        self.skip_expanded();
        let mut count = 0_u32;
        while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
            count = count * 10 + digit;
            if count > COUNT_MAX {
                return Err(invalid("invalid repetition count(s)"));
            }
            self.at += 1;
            self.skip_expanded();
        }
        Ok(count)
    }

    fn escape(&mut self) -> Result<Escape, SqlError> {
        let c = self.next().ok_or_else(bad_escape)?;
        let class = |name: &str| CharacterSet::of_class(name, false).expect("the class exists");
        Ok(match c {
            'a' => Escape::Code(7),
            'A' => Escape::Constraint(Look::Start),
            'b' => Escape::Code(8),
            'B' => Escape::Code('\\'.into()),
            'c' => Escape::Code(u32::from(self.next().ok_or_else(bad_escape)?) & 0o37),
            'd' => Escape::Set(class("digit")),
            'D' => Escape::Set(class("digit").complement()),
            'e' => Escape::Code(0o33),
            'f' => Escape::Code(12),
            'm' => self.word_constraint(Look::WordStartUnicode),
            'M' => self.word_constraint(Look::WordEndUnicode),
            'n' => Escape::Code(10),
            'r' => Escape::Code(13),
            's' => Escape::Set(class("space")),
            'S' => Escape::Set(class("space").complement()),
            't' => Escape::Code(9),
            'u' => Escape::Code(self.digits(16, 4, 4)?),
            'U' => Escape::Code(self.digits(16, 8, 8)?),
            'v' => Escape::Code(11),
            'w' => Escape::Set(class("word")),
            'W' => Escape::Set(class("word").complement()),
            'x' => Escape::Code(self.digits(16, 1, 255)?),
            'y' => self.word_constraint(Look::WordUnicode),
            'Y' => self.word_constraint(Look::WordUnicodeNegate),
            'Z' => Escape::Constraint(Look::End),
            '0'..='9' => return self.number(c),
            c if c.is_ascii_alphanumeric() => return Err(bad_escape()),
            c => Escape::Code(c.into()),
        })
    }

    fn word_constraint(&mut self, look: Look) -> Escape {
        self.uses_words = true;
        Escape::Constraint(look)
    }

    /// A back reference, if it is one digit or there are as many groups; otherwise a character in octal.
    fn number(&mut self, first: char) -> Result<Escape, SqlError> {
        let start = self.at - 1;
        if first != '0' {
            self.at = start;
            let number = self.digits(10, 1, 255)?;
            if self.at == start + 1 || number as usize <= self.groups {
                let group = number as usize;
                return if self.may_match.contains_key(&group) && self.open_constraints == 0 {
                    Ok(Escape::BackReference(group))
                } else {
                    Err(invalid("invalid backreference number"))
                };
            }
        }
        self.at = start;
        let mut code = self.digits(8, 1, 3)?;
        if code > 0xFF {
            self.at -= 1;
            code >>= 3;
        }
        Ok(Escape::Code(code))
    }

    fn digits(&mut self, base: u32, min: usize, max: usize) -> Result<u32, SqlError> {
        let (mut number, mut count) = (0_u32, 0);
        while count < max {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(base)) else { break };
            let longer = number.checked_mul(base).and_then(|number| number.checked_add(digit));
            number = longer.filter(|number| *number < 0x7fff_ffff).ok_or_else(bad_escape)?;
            self.at += 1;
            count += 1;
        }
        if count < min { Err(bad_escape()) } else { Ok(number) }
    }

    /// What follows an opening bracket, with the closing one.
    fn bracket(&mut self) -> Result<CharacterSet, SqlError> {
        let is_negated = self.eat("^");
        let mut set = CharacterSet::default();
        let mut is_first = true;
        while is_first || self.peek() != Some(']') {
            if !is_first && self.peek() == Some('-') && self.peek_second() != Some(']') {
                return Err(if self.peek_second().is_none() { unbalanced_brackets() } else { bad_range() });
            }
            is_first = false;
            match self.element()? {
                Element::Set(part) => set.add_all(&part),
                Element::Code(first) if self.peek() == Some('-') && self.peek_second() != Some(']') => {
                    self.at += 1;
                    let Element::Code(last) = self.element()? else { return Err(bad_range()) };
                    self.add_range(&mut set, first, last)?;
                }
                Element::Code(code) => set.add_all(&self.one(code)),
            }
        }
        self.at += 1;
        if !is_negated {
            return Ok(set);
        }
        let complement = set.complement();
        Ok(if self.flags.stops_at_newline { complement.without('\n') } else { complement })
    }

    fn add_range(&self, set: &mut CharacterSet, first: u32, last: u32) -> Result<(), SqlError> {
        if first > last {
            return Err(bad_range());
        }
        let (Some(first), Some(last)) = (char::from_u32(first), char::from_u32(last)) else {
            return Err(SqlError::unsupported("a range of what are no characters is not supported"));
        };
        set.add_range(first, last, self.flags.ignores_case);
        Ok(())
    }

    fn element(&mut self) -> Result<Element, SqlError> {
        match self.next().ok_or_else(unbalanced_brackets)? {
            '\\' => match self.escape()? {
                Escape::Code(code) => Ok(Element::Code(code)),
                Escape::Set(set) => Ok(Element::Set(set)),
                Escape::Constraint(_) | Escape::BackReference(_) => Err(bad_escape()),
            },
            '[' => match self.peek() {
                Some(kind @ (':' | '.' | '=')) => {
                    self.at += 1;
                    let name = self.named(kind)?;
                    self.named_element(kind, &name)
                }
                None => Err(unbalanced_brackets()),
                Some(_) => Ok(Element::Code('['.into())),
            },
            c => Ok(Element::Code(c.into())),
        }
    }

    /// The name before `:]`, `.]` or `=]`.
    fn named(&mut self, kind: char) -> Result<String, SqlError> {
        let start = self.at;
        while let Some(c) = self.next() {
            if c == kind && self.peek() == Some(']') {
                let name = self.rest[start..self.at - 1].iter().collect();
                self.at += 1;
                return Ok(name);
            }
        }
        Err(unbalanced_brackets())
    }

    fn named_element(&self, kind: char, name: &str) -> Result<Element, SqlError> {
        if kind == ':' {
            let class = CharacterSet::of_class(name, self.flags.ignores_case);
            return class.map(Element::Set).ok_or_else(|| invalid("invalid character class"));
        }
        let mut characters = name.chars();
        match (characters.next(), characters.next()) {
            (None, _) => Err(invalid("invalid collating element")),
            (Some(c), None) if kind == '.' => Ok(Element::Code(c.into())),
            (Some(c), None) => Ok(Element::Set(CharacterSet::of(c, self.flags.ignores_case))),
            _ => Err(SqlError::unsupported(format!("the collating element \"{name}\" is not supported"))),
        }
    }
}

/// What is in brackets.
enum Element {
    Code(u32),
    Set(CharacterSet),
}

fn is_space(c: char) -> bool {
    CharacterSet::of_class("space", false).is_some_and(|space| space.contains(c))
}

fn set_hir(set: &CharacterSet) -> Hir {
    let ranges = set.characters().map(|(first, last)| ClassUnicodeRange::new(first, last));
    Hir::class(Class::Unicode(ClassUnicode::new(ranges)))
}

fn repeated(hir: Hir, quantifier: Quantifier) -> Hir {
    if (quantifier.min, quantifier.max) == (1, Some(1)) {
        return hir;
    }
    Hir::repetition(Repetition { min: quantifier.min, max: quantifier.max, greedy: true, sub: Box::new(hir) })
}

/// A part with captures, or with another preference, under a quantifier. Only its last repetition captures.
fn quantified(atom: Expression, quantifier: Quantifier) -> Expression {
    let Quantifier { min, max, prefers } = quantifier;
    let is_once = (min, max) == (1, Some(1));
    if is_once && (prefers.is_none() || !atom.is_mixed && (atom.prefers.is_none() || atom.prefers == prefers)) {
        return atom;
    }
    let combined = prefers.or(atom.prefers);
    if atom.refers {
        return Expression::iteration(atom, (min, max), combined);
    }
    if !atom.captures {
        let is_mixed = atom.is_mixed || prefers.is_some() && atom.prefers.is_some() && prefers != atom.prefers;
        let hir = repeated(atom.hir(), quantifier);
        return Expression { is_mixed, ..Expression::leaf(hir, combined) };
    }
    if min == 0 {
        return Expression::iteration(atom, (0, max), combined);
    }
    let before = Quantifier { min: min - 1, max: max.map(|max| max - 1), prefers };
    let before = Expression::leaf(repeated(atom.hir(), before), combined);
    Expression { prefers: combined, ..Expression::concatenation(before, atom) }
}
