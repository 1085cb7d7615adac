//! Places in the statement's text, counted as errors report them: in characters from 1.

use sqlparser::ast::{Expr, Spanned};
use sqlparser::tokenizer::Location;

/// What begins the syntax of an array.
const ARRAY_WORD: &str = "array";

/// The text that places are in. They are computed for errors only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    text: &'a str,
}

impl<'a> Places<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text }
    }

    /// A place that the parser noted; `None` if it noted none.
    pub fn of(self, location: Location) -> Option<usize> {
        self.index_of(location).map(|at| at + 1)
    }

    /// Where an expression begins.
    pub fn of_expression(self, syntax: &Expr) -> Option<usize> {
        self.of(syntax.span().start)
    }

    /// Where the operator called `name` before its operand begins. The parser does not note it, nor the parentheses around the operand.
    pub fn before(self, operand: &Expr, name: &str) -> Option<usize> {
        let start = self.index_of(operand.span().start)?;
        let before: String = self.text.chars().take(start).collect();
        let is_opening = |c: char| c == '(' || c == '[' || c.is_whitespace();
        let mut before = before.trim_end_matches(is_opening);
        // The word is no part of an array's place either.
        while let Some(rest) = before.len().checked_sub(ARRAY_WORD.len()).and_then(|at| before.split_at_checked(at))
            && rest.1.eq_ignore_ascii_case(ARRAY_WORD)
        {
            before = rest.0.trim_end_matches(is_opening);
        }
        Some(before.strip_suffix(name)?.chars().count() + 1)
    }

    /// Where the operator called `name` between its operands begins. What ends the left one may be noted nowhere (`a::int + b`), so it is
    /// looked for before the right one first.
    pub fn between(self, left: &Expr, name: &str, right: &Expr) -> Option<usize> {
        let written = if name == "<>" { "!=" } else { name };
        self.before(right, name).or_else(|| self.before(right, written)).or_else(|| self.after(left))
    }

    /// Where the type after `::` or AS begins; `operand` is what is cast.
    pub fn of_cast_type(self, operand: &Expr) -> Option<usize> {
        const WORD_CHARACTERS: usize = 2;
        let after = self.after(operand)? - 1 + WORD_CHARACTERS;
        let blanks = self.text.chars().skip(after).take_while(|c| c.is_whitespace()).count();
        Some(after + blanks + 1)
    }

    /// Where the operator after its left operand begins. The parser does not note it, nor the parentheses around the operand.
    pub fn after(self, left: &Expr) -> Option<usize> {
        let end = self.index_of(left.span().end)?;
        let mut rest = self.text.chars().skip(end).enumerate().peekable();
        while let Some((at, character)) = rest.next() {
            match character {
                ')' | ']' => {}
                c if c.is_whitespace() => {}
                '-' if rest.peek().is_some_and(|(_, next)| *next == '-') => {
                    while rest.next_if(|(_, c)| *c != '\n').is_some() {}
                }
                '/' if rest.peek().is_some_and(|(_, next)| *next == '*') => skip_comment(&mut rest),
                _ => return Some(end + at + 1),
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
