//! Whether a part with back references matches a range, and what its groups match there.
//!
//! The range is divided among the parts, as PostgreSQL divides it: a part takes the longest or the shortest text first, and another one if it
//! or what comes behind it does not match so. A part that has matched is not divided otherwise because of what comes behind it, which
//! PostgreSQL does not do either. A group is matched when all of it is.

use std::ops::Range;

use super::expression::{Captures, Expression, Kind, Preference, Subject};
use crate::SqlError;
use crate::functions::strings::characters::to_lower;

/// Bytes of a text that an automaton reads in the time of a step.
const BYTES_PER_STEP: usize = 16;

/// A search for a division.
pub(super) struct Division<'a> {
    pub subject: &'a Subject<'a>,
    /// Whether small and capital letters are the same.
    pub ignores_case: bool,
    pub captures: Captures,
}

impl Division<'_> {
    /// Whether an expression matches a range, which it may match but for back references. Sets the groups if it does.
    pub(super) fn divide(&mut self, expression: &Expression, range: Range<usize>) -> Result<bool, SqlError> {
        self.subject.take_steps(1)?;
        if !expression.captures && !expression.refers {
            return Ok(true);
        }
        match &expression.kind {
            Kind::Leaf(_) => Ok(true),
            Kind::Capture(index, inner) => {
                let divides = self.divide(inner, range.clone())?;
                if divides {
                    self.captures[*index] = Some(range);
                }
                Ok(divides)
            }
            Kind::BackReference { group, min, max, .. } => Ok(self.repeats(*group, (*min, *max), range)),
            Kind::Alternation(branches) => {
                for branch in branches {
                    if self.may_match(branch, range.clone())? && self.divide(branch, range.clone())? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Kind::Concatenation(parts) => self.concatenation(parts, range),
            Kind::Iteration(inner, min, max) => self.iteration(inner, (*min, *max), range),
        }
    }

    fn may_match(&self, part: &Expression, range: Range<usize>) -> Result<bool, SqlError> {
        self.subject.take_steps(1 + range.len() / BYTES_PER_STEP)?;
        part.matches(self.subject, range)
    }

    /// Forgets the groups of a part.
    fn forget(&mut self, part: &Expression) {
        match &part.kind {
            Kind::Leaf(_) | Kind::BackReference { .. } => {}
            Kind::Capture(index, inner) => {
                self.captures[*index] = None;
                self.forget(inner);
            }
            Kind::Alternation(parts) => parts.iter().for_each(|part| self.forget(part)),
            Kind::Concatenation(parts) => parts.iter().for_each(|part| self.forget(part)),
            Kind::Iteration(inner, ..) => self.forget(inner),
        }
    }

    /// Whether a range is what a group has matched, so many times.
    fn repeats(&self, group: usize, (min, max): (u32, Option<u32>), range: Range<usize>) -> bool {
        let Some(matched) = self.captures[group].clone() else { return false };
        if matched.is_empty() {
            return range.is_empty() && max.is_none_or(|max| min <= max);
        }
        if range.is_empty() {
            return min == 0;
        }
        let fold = |c: char| if self.ignores_case { to_lower(c) } else { c };
        let unit = || self.subject.text[matched.clone()].chars();
        let (mut count, mut expected) = (0_u32, unit());
        for character in self.subject.text[range].chars() {
            let next = expected.next().unwrap_or_else(|| {
                count = count.saturating_add(1);
                expected = unit();
                expected.next().unwrap_or(character)
            });
            if fold(next) != fold(character) {
                return false;
            }
        }
        let count = count.saturating_add(1);
        expected.next().is_none() && count >= min && max.is_none_or(|max| count <= max)
    }

    fn concatenation(&mut self, parts: &[Expression; 2], range: Range<usize>) -> Result<bool, SqlError> {
        let [first, second] = parts;
        let is_shortest = first.prefers == Some(Preference::Shortest);
        let mut middle = if is_shortest { range.start } else { range.end };
        loop {
            // The next place where the first part may end.
            if !is_shortest {
                self.subject.take_steps(1 + range.len() / BYTES_PER_STEP)?;
                match first.end(self.subject, range.start..middle, Preference::Longest)? {
                    Some(end) => middle = end,
                    None => return Ok(false),
                }
            }
            let is_end = !is_shortest || self.may_match(first, range.start..middle)?;
            if is_end && self.may_match(second, middle..range.end)? && self.divide(first, range.start..middle)? {
                if self.divide(second, middle..range.end)? {
                    return Ok(true);
                }
                self.forget(first);
            }
            match is_shortest {
                true if middle >= range.end => return Ok(false),
                true => middle = self.subject.next(middle),
                false if middle <= range.start => return Ok(false),
                false => middle = self.subject.previous(middle),
            }
        }
    }

    /// The ends of the repetitions are chosen first, so that the part may match each; then each is divided.
    fn iteration(
        &mut self,
        inner: &Expression,
        (min, max): (u32, Option<u32>),
        range: Range<usize>,
    ) -> Result<bool, SqlError> {
        let is_optional = min == 0;
        let is_shortest = inner.prefers == Some(Preference::Shortest);
        if is_optional && is_shortest && range.is_empty() {
            return Ok(true);
        }
        let count_of = |range: Range<usize>| self.subject.text[range].chars().count();
        let count_min = min.max(1) as usize;
        let longest = count_of(range.clone());
        let count_max = max.map_or(longest, |max| longest.min(max as usize)).max(count_min);
        // Empty repetitions are only there to reach the least number.
        let needs_empty =
            |count: usize, from: usize| count < count_min && count_min - count >= count_of(from..range.end);
        let mut ends = vec![range.start];
        let mut limit = if is_shortest { range.start } else { range.end };
        let mut verified = 0;
        let subject = self.subject;
        'search: loop {
            let count = ends.len();
            let start = ends[count - 1];
            let end = match is_shortest {
                false => {
                    subject.take_steps(1 + (limit - start) / BYTES_PER_STEP)?;
                    inner.end(subject, start..limit, Preference::Longest)?
                }
                true => {
                    if limit == start && limit != range.end && !needs_empty(count, limit) {
                        limit = subject.next(limit);
                    }
                    if count >= count_max {
                        limit = range.end;
                    }
                    let mut end = limit;
                    loop {
                        subject.take_steps(1 + (end - start) / BYTES_PER_STEP)?;
                        if inner.matches(subject, start..end)? {
                            break Some(end);
                        }
                        if end >= range.end {
                            break None;
                        }
                        end = subject.next(end);
                    }
                }
            };
            if let Some(end) = end {
                ends.push(end);
                verified = verified.min(count - 1);
                if end != range.end {
                    let is_needless = !is_shortest && end == start && !needs_empty(count, end);
                    if count < count_max && !is_needless {
                        limit = if is_shortest { end } else { range.end };
                        continue;
                    }
                    if count >= count_max {
                        ends.pop();
                    }
                } else if count >= count_min {
                    let mut divides = true;
                    while divides && verified < count {
                        self.forget(inner);
                        divides = self.divide(inner, ends[verified]..ends[verified + 1])?;
                        verified += usize::from(divides);
                    }
                    if divides {
                        return Ok(true);
                    }
                }
            }
            // Another end of the last repetition for which there is one.
            while let [.., before, end] = ends[..] {
                let count = ends.len() - 1;
                ends.pop();
                match is_shortest {
                    true if end < range.end => {
                        limit = subject.next(end);
                        continue 'search;
                    }
                    false if end > before => {
                        limit = subject.previous(end);
                        if limit > before || needs_empty(count, before) {
                            continue 'search;
                        }
                    }
                    _ => {}
                }
            }
            break;
        }
        Ok(is_optional && range.is_empty())
    }
}
