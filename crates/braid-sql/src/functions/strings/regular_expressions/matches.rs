//! The matches of a pattern in a text, one after the other, and the texts between them.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::expression::Captures;
use super::pattern::Pattern;
use super::syntax::Flags;
use crate::{SqlError, Value};

/// A part of a text; null if there is none.
pub(super) fn part(text: &str, range: Option<&Range<usize>>) -> Value {
    range.map_or(Value::Null, |range| Value::text(&text[range.clone()]))
}

/// The groups of a match, the whole if the pattern has none.
pub(super) fn groups(text: &str, captures: &Captures) -> Vec<Value> {
    let first = usize::from(captures.len() > 1);
    captures[first..].iter().map(|range| part(text, range.as_ref())).collect()
}

/// The matches of a pattern one after the other, which do not overlap.
pub(super) struct Matches<'a> {
    pattern: &'a Pattern,
    text: &'a str,
    /// Where the next search begins; `None` after the last.
    from: Option<usize>,
}

impl<'a> Matches<'a> {
    /// Matches from a character on, the first being 1.
    pub(super) fn new(pattern: &'a Pattern, text: &'a str, start: i32) -> Self {
        let skipped = start.max(1) as usize - 1;
        let from = text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(skipped);
        Self { pattern, text, from }
    }

    pub(super) fn next(&mut self) -> Result<Option<Range<usize>>, SqlError> {
        let Some(from) = self.from else { return Ok(None) };
        let found = self.pattern.find(self.text, from)?;
        self.from = found.as_ref().and_then(|found| after(self.text, found));
        Ok(found)
    }

    /// The match of a number, the first being 1.
    pub(super) fn nth(&mut self, number: i32) -> Result<Option<Range<usize>>, SqlError> {
        let mut found = self.next()?;
        for _ in 1..number {
            if found.is_none() {
                return Ok(None);
            }
            found = self.next()?;
        }
        Ok(found)
    }
}

/// Where to search after a match: one character later if it is empty.
fn after(text: &str, found: &Range<usize>) -> Option<usize> {
    match text[found.end..].chars().next() {
        _ if !found.is_empty() => Some(found.end),
        Some(c) => Some(found.end + c.len_utf8()),
        None => None,
    }
}

/// The groups of each match, made when they are asked for. It keeps the pattern's text: each thread has patterns of its own.
pub(super) struct Search {
    expression: Arc<str>,
    flags: Flags,
    text: Arc<str>,
    from: Option<usize>,
}

impl Search {
    /// A search for the pattern in the second argument in the text in the first.
    pub(super) fn new(args: &[Value], flags: Flags) -> Result<Self, SqlError> {
        let (text, expression) = (Arc::from(args[0].as_text()), Arc::from(args[1].as_text()));
        Pattern::of(&expression, flags)?;
        Ok(Self { expression, flags, text, from: Some(0) })
    }

    fn pattern(&self) -> Result<Rc<Pattern>, SqlError> {
        Pattern::of(&self.expression, self.flags)
    }

    fn next_match(&mut self) -> Result<Option<Range<usize>>, SqlError> {
        let pattern = self.pattern()?;
        let mut matches = Matches { pattern: &pattern, text: &self.text, from: self.from };
        let found = matches.next()?;
        self.from = matches.from.filter(|_| found.is_some());
        Ok(found)
    }

    fn next_groups(&mut self) -> Result<Option<Vec<Value>>, SqlError> {
        let Some(found) = self.next_match()? else { return Ok(None) };
        Ok(Some(groups(&self.text, &self.pattern()?.groups_of(&self.text, found)?)))
    }
}

impl Iterator for Search {
    type Item = Result<Vec<Value>, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_groups().transpose()
    }
}

/// The texts between matches. Empty matches at the ends, and directly after a match, divide nothing.
pub(super) struct Split {
    search: Search,
    /// Where the next text begins; `None` after the last.
    start: Option<usize>,
    previous_end: usize,
}

impl Split {
    /// The arguments are those of [`Search::new`].
    pub(super) fn new(args: &[Value], flags: Flags) -> Result<Self, SqlError> {
        Ok(Self { search: Search::new(args, flags)?, start: Some(0), previous_end: 0 })
    }

    fn next_part(&mut self) -> Result<Option<Value>, SqlError> {
        let Some(start) = self.start else { return Ok(None) };
        while let Some(found) = self.search.next_match()? {
            let divides = found.start < self.search.text.len() && found.end > self.previous_end;
            self.previous_end = found.end;
            if divides {
                self.start = Some(found.end);
                return Ok(Some(Value::text(&self.search.text[start..found.start])));
            }
        }
        self.start = None;
        Ok(Some(Value::text(&self.search.text[start..])))
    }
}

impl Iterator for Split {
    type Item = Result<Value, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_part().transpose()
    }
}
