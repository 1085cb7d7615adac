//! Places in the statement's text, counted as errors report them: in characters from 1.
//!
//! A place is computed for an error only. Until then it is a reference to the syntax, because what is bound successfully needs no place,
//! and finding one takes time in proportion to the text and to the tree.

use sqlparser::ast::{CastKind, DataType, Expr, Ident, Query, Spanned};
use sqlparser::tokenizer::{Location, Span};

use crate::SqlError;
use crate::expression::Origin;
use crate::functions::literal_notes::Noted;
use crate::syntax::{ROW, last_operand};

/// What begins the syntax of an array.
const ARRAY_WORD: &str = "array";

/// Where something stands, as the syntax says it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum Place<'s> {
    /// PostgreSQL reports no place, or the parser noted none.
    #[default]
    Nowhere,
    /// A place that the parser noted.
    At(Location),
    /// Where an expression begins.
    Start(&'s Expr),
    /// Where the operator of this name before its operand begins.
    Before(&'s str, &'s Expr),
    /// Where the operator of this name between its operands begins.
    Between(&'s Expr, &'s str, &'s Expr),
    /// Where the operator after its left operand begins.
    After(&'s Expr),
    /// Where the `::` after an expression begins, or else the expression.
    CastOperator(&'s Expr),
    /// Where the CAST around an expression begins, or else the expression.
    Cast(&'s Expr),
    /// Where the type after `::` or AS begins. The expression is what is cast.
    CastType(&'s Expr),
    /// Where the word ARRAY before elements begins.
    Array(&'s Expr),
    /// Where a query in parentheses begins.
    Query(&'s Query),
}

impl Place<'_> {
    /// Where a call stands, for messages about it.
    pub fn origin(self) -> Origin {
        Origin(match self {
            Self::At(location) => Some(location),
            _ => None,
        })
    }

    /// What the parser noted, if the place is where something begins.
    pub fn location(self) -> Option<Location> {
        match self {
            Self::At(location) => Some(location),
            Self::Start(syntax) => Some(syntax.span().start),
            _ => None,
        }
    }

    /// Where a literal at this place begins. Expressions of stored texts are without places.
    pub fn of_literal(self) -> Noted {
        let location = match self {
            Self::At(location) => location,
            Self::Start(syntax) => syntax.span().start,
            _ => return Noted::Nowhere,
        };
        if location == Span::empty().start { Noted::OfOtherText } else { Noted::At(location) }
    }

    /// Where a name stands.
    pub fn of(name: Option<&Ident>) -> Self {
        name.map_or(Self::Nowhere, |name| Self::At(name.span.start))
    }
}

/// The text that places are in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    text: &'a str,
}

impl<'a> Places<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// The text.
    pub fn text(self) -> &'a str {
        self.text
    }

    /// An error at a place. A place that the error has stays: it is the more exact one.
    pub fn mark(self, error: SqlError, place: Place<'_>) -> SqlError {
        match error.position() {
            Some(_) => error,
            None => error.at(self.resolve(place)),
        }
    }

    /// Whether a word and blanks are before what the parser noted.
    pub fn follows_word(self, location: Location, word: &str) -> bool {
        let Some(at) = self.index_of(location) else { return false };
        let before: String = self.text.chars().take(at).collect();
        let before = before.trim_end();
        before
            .len()
            .checked_sub(word.len())
            .and_then(|at| before.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(word))
    }

    /// Whether what the parser noted begins with a character.
    pub fn begins_with(self, location: Location, character: char) -> bool {
        self.index_of(location).is_some_and(|at| self.text.chars().nth(at) == Some(character))
    }

    /// The place as a number of characters; `None` if it is unknown.
    fn resolve(self, place: Place<'_>) -> Option<usize> {
        match place {
            Place::Nowhere => None,
            Place::At(location) => self.of(location),
            Place::Start(syntax) => self.start(syntax),
            Place::Before(name, operand) => self.before(operand, name),
            Place::Between(left, name, right) => self.between(left, name, right),
            Place::After(left) => self.after(left),
            Place::CastOperator(operand) => self.after(operand).or_else(|| self.start(operand)),
            Place::Cast(operand) => self.before(operand, "cast").or_else(|| self.start(operand)),
            Place::CastType(operand) => self.cast_type(operand),
            Place::Array(array) => self.opening(array, '[', ARRAY_WORD.len()),
            Place::Query(query) => self.before_query(query),
        }
    }

    fn of(self, location: Location) -> Option<usize> {
        self.index_of(location).map(|at| at + 1)
    }

    fn start(self, syntax: &Expr) -> Option<usize> {
        match syntax {
            Expr::Subquery(query) => self.before_query(query),
            Expr::Prefixed { prefix, .. } if prefix.value == ROW => self.of(prefix.span.start),
            Expr::Tuple(_) => self.opening(syntax, '(', 0),
            _ => self.of(syntax.span().start),
        }
    }

    /// Where the operator or word called `name` before its operand begins. The parser does not note it, nor the parentheses around the operand.
    fn before(self, operand: &Expr, name: &str) -> Option<usize> {
        let start = match operand {
            Expr::Prefixed { prefix, .. } if prefix.value == ROW => prefix.span.start,
            operand => operand.span().start,
        };
        let before: String = self.text.chars().take(self.index_of(start)?).collect();
        let is_opening = |c: char| c == '(' || c == '[' || c.is_whitespace();
        let mut before = before.trim_end_matches(is_opening);
        // The word is no part of an array's place either.
        while let Some(rest) = before.len().checked_sub(ARRAY_WORD.len()).and_then(|at| before.split_at_checked(at))
            && rest.1.eq_ignore_ascii_case(ARRAY_WORD)
        {
            before = rest.0.trim_end_matches(is_opening);
        }
        let (rest, written) = before.split_at_checked(before.len().checked_sub(name.len())?)?;
        written.eq_ignore_ascii_case(name).then(|| rest.chars().count() + 1)
    }

    /// What ends the left operand may be noted nowhere (`a::int + b`), so the operator is looked for before the right one first.
    fn between(self, left: &Expr, name: &str, right: &Expr) -> Option<usize> {
        let written = if name == "<>" { "!=" } else { name };
        self.before(right, name).or_else(|| self.before(right, written)).or_else(|| self.after(left))
    }

    /// So many characters before the parenthesis that opens a row or an array.
    fn opening(self, syntax: &Expr, parenthesis: char, word_length: usize) -> Option<usize> {
        let start = self.index_of(syntax.span().start)?;
        let before: String = self.text.chars().take(start).collect();
        let before = before.trim_end().strip_suffix(parenthesis)?.trim_end();
        before.chars().count().checked_sub(word_length).map(|opening| opening + 1)
    }

    fn before_query(self, query: &Query) -> Option<usize> {
        let start = self.index_of(query.span().start)?;
        let before: Vec<char> = self.text.chars().take(start).collect();
        Some(before.iter().rposition(|c| *c == '(')? + 1)
    }

    fn cast_type(self, operand: &Expr) -> Option<usize> {
        const WORD_CHARACTERS: usize = 2;
        let after = self.after(operand)? - 1 + WORD_CHARACTERS;
        let blanks = self.text.chars().skip(after).take_while(|c| c.is_whitespace()).count();
        Some(after + blanks + 1)
    }

    /// Where the operator after its left operand begins. The parser does not note it, nor the parentheses around the operand, nor the
    /// types that it is cast to at its end.
    fn after(self, left: &Expr) -> Option<usize> {
        let (operand, types) = casts_at_end(left);
        let first = self.next_symbol(self.index_of(operand.span().end)?)?;
        let after_type = |at: usize, data_type: &DataType| self.next_symbol(self.after_type(at, data_type)?);
        let last = types.into_iter().rev().try_fold(first, after_type);
        Some(last.unwrap_or(first) + 1)
    }

    /// Characters before what follows a cast that begins after so many characters, if the type is written as the parser prints it.
    fn after_type(self, cast: usize, data_type: &DataType) -> Option<usize> {
        let mut written = self.text.chars().enumerate().skip(cast).filter(|(_, c)| !c.is_whitespace());
        let mut last = None;
        for expected in format!("::{data_type}").chars().filter(|c| !c.is_whitespace()) {
            last = Some(written.next().filter(|(_, c)| c.eq_ignore_ascii_case(&expected))?.0);
        }
        last.map(|last| last + 1)
    }

    /// Characters before the first symbol or word after so many characters, except closing parentheses and comments.
    fn next_symbol(self, end: usize) -> Option<usize> {
        let mut rest = self.text.chars().skip(end).enumerate().peekable();
        while let Some((at, character)) = rest.next() {
            match character {
                ')' | ']' => {}
                c if c.is_whitespace() => {}
                '-' if rest.peek().is_some_and(|(_, next)| *next == '-') => {
                    while rest.next_if(|(_, c)| *c != '\n').is_some() {}
                }
                '/' if rest.peek().is_some_and(|(_, next)| *next == '*') => skip_comment(&mut rest),
                _ => return Some(end + at),
            }
        }
        None
    }

    /// Characters before a location.
    fn index_of(self, location: Location) -> Option<usize> {
        if location.line == 0 {
            return None;
        }
        let lines_before = self.text.split_inclusive('\n').take(location.line as usize - 1);
        let before: usize = lines_before.map(|line| line.chars().count()).sum();
        Some(before + location.column.saturating_sub(1) as usize)
    }
}

/// What ends an expression, without the types to which it is cast by `::`, the last one first.
fn casts_at_end(mut syntax: &Expr) -> (&Expr, Vec<&DataType>) {
    let mut types = Vec::new();
    loop {
        syntax = match syntax {
            Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } | Expr::BinaryOp { right: inner, .. } => inner,
            Expr::Cast { kind: CastKind::DoubleColon, expr, data_type, .. } => {
                types.push(data_type);
                expr
            }
            other => match last_operand(other) {
                Some(operand) => operand,
                None => return (other, types),
            },
        }
    }
}

/// To the end of a comment, which may contain comments.
fn skip_comment(rest: &mut impl Iterator<Item = (usize, char)>) {
    let (mut depth, mut previous) = (1, '\0');
    rest.next();
    for (_, character) in rest {
        match (previous, character) {
            ('*', '/') => depth -= 1,
            ('/', '*') => depth += 1,
            _ => {
                previous = character;
                continue;
            }
        }
        if depth == 0 {
            return;
        }
        previous = '\0';
    }
}
